// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LINE_READER_HPP
#define STRATA_LINE_READER_HPP

#include <core/io/files/Strata_ByteSource.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace strata::detail {

/// Text from a file as it may stand in a message: at most 40 characters, in quotes, on one line.
std::string excerpt(std::string_view text);

/// The lines of a source, ended by LF or CR LF, the last one also by the end of the file.
class LineReader {
 public:
  static constexpr std::size_t max_line_bytes = 1 << 16;

  explicit LineReader(ByteSource& source);

  /// Move to the next line; `line` holds until the next call. False at the end of the file.
  ///
  /// Throws   IoError if the line is longer than 65,536 bytes, and what the source throws.
  bool next(std::string_view& line);
  /// 1-based number of the current line.
  std::int64_t number() const { return number_; }
  ByteSource const& source() const { return source_; }
  /// Bytes of the source before the next line.
  std::uint64_t position() const { return taken_ - (end_ - begin_); }

  /// IoError "path:line: ...".
  template <class... Part>
  [[noreturn]] void fail(Part const&... part) const {
    throw IoError(message(source_.name(), ':', number_, ": ", part...));
  }
  /// IoError "path: ... (the file ends at line N)".
  template <class... Part>
  [[noreturn]] void fail_at_end(Part const&... part) const {
    throw IoError(message(source_.name(), ": ", part..., "; the file ends at line ", number_));
  }

 private:
  void refill();

  ByteSource& source_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t taken_ = 0;  // from the source
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace strata::detail

#endif
