// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/detail/Strata_LineReader.hpp>

#include <algorithm>
#include <cstring>

namespace strata::detail {

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (char const c : text.substr(0, longest)) result += (c >= ' ' && c <= '~') ? c : '?';
  return result + (text.size() > longest ? "...'" : "'");
}

// One byte more than a small file has, so that its end shows.
LineReader::LineReader(ByteSource& source)
    : source_(source),
      capacity_(std::min<std::uint64_t>(4 * max_line_bytes, source.size_limit() + 1)),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

void LineReader::refill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  auto const room = capacity_ - end_;
  if (room == 0) fail("the file grew while it was read");
  auto const got = source_.read(buffer_.get() + end_, room);
  end_ += got;
  taken_ += got;
  at_end_ = got < room;
}

bool LineReader::next(std::string_view& line) {
  ++number_;
  std::size_t scanned = 0;
  for (;;) {
    char const* const start = buffer_.get() + begin_;
    auto const have = end_ - begin_;
    auto const* const newline =
        have > scanned
            ? static_cast<char const*>(std::memchr(start + scanned, '\n', have - scanned))
            : nullptr;
    auto const length = newline ? static_cast<std::size_t>(newline - start) : have;
    if (length > max_line_bytes) fail("a line of more than ", max_line_bytes, " bytes");
    if (newline || (at_end_ && have > 0)) {
      line = std::string_view(start, length);
      begin_ += length + (newline ? 1 : 0);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      return true;
    }
    if (at_end_) {
      --number_;
      return false;
    }
    scanned = have;
    refill();
  }
}

}  // namespace strata::detail
