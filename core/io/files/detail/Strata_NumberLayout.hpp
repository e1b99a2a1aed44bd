// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NUMBER_LAYOUT_HPP
#define STRATA_NUMBER_LAYOUT_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace strata::detail {

/// How numbers lie in a file: fp32 or fp64, of either byte order.
class NumberLayout {
 public:
  explicit NumberLayout(bool single = false, bool little_endian = true)
      : single_(single), swap_(little_endian != (std::endian::native == std::endian::little)) {}

  /// Whether the file has the same bytes as fp64 in memory.
  bool is_native() const { return !single_ && !swap_; }
  std::size_t bytes() const { return single_ ? 4 : 8; }

  /// The first `count` numbers at `from`, as fp64.
  void decode(char const* from, std::size_t count, double* out) const {
    if (is_native())
      std::memcpy(out, from, count * sizeof(double));
    else if (single_)
      decode_as<float>(from, count, out);
    else
      decode_as<double>(from, count, out);
  }

 private:
  template <class Stored>
  void decode_as(char const* from, std::size_t count, double* out) const {
    for (std::size_t k = 0; k < count; ++k) {
      char text[sizeof(Stored)];
      std::memcpy(text, from + k * sizeof(Stored), sizeof text);
      if (swap_) std::reverse(text, text + sizeof text);
      Stored value;
      std::memcpy(&value, text, sizeof value);
      out[k] = static_cast<double>(value);
    }
  }

  bool single_, swap_;
};

}  // namespace strata::detail

#endif
