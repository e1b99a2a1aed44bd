// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/Strata_TextFile.hpp>

#include <core/io/files/Strata_ByteSink.hpp>

namespace strata {

void write_text_file(std::string const& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.finish();
}

}  // namespace strata
