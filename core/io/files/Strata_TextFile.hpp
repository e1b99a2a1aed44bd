// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEXT_FILE_HPP
#define STRATA_TEXT_FILE_HPP

#include <string>
#include <string_view>

namespace strata {

/// Write a file whole or not at all: a temporary file in its folder, fsync, rename. A device or
/// pipe is written to directly.
///
/// Throws   IoError with the path and errno's text.
void write_text_file(std::string const& path, std::string_view text);

}  // namespace strata

#endif
