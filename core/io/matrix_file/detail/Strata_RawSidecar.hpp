// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RAW_SIDECAR_HPP
#define STRATA_RAW_SIDECAR_HPP

#include <cstdint>
#include <optional>
#include <string>

namespace strata::detail {

/// What the JSON beside a file of raw numbers says, see `MatrixBlocks`.
struct RawSidecar {
  std::int64_t n = 0, ld = 0;
  bool single = false, by_rows = false, little_endian = true;
  std::optional<std::uint32_t> crc32;
};

/// Throws   IoError "path: ..." for what is no such JSON, or more than 64 KiB.
RawSidecar read_raw_sidecar(std::string const& path);

}  // namespace strata::detail

#endif
