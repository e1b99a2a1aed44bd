// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BYTE_SINK_HPP
#define STRATA_BYTE_SINK_HPP

#include <core/io/files/Strata_FileDescriptor.hpp>

#include <zlib.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// Where bytes go in order; nothing is final before `finish`.
class ByteSink {
 public:
  ByteSink() = default;
  virtual ~ByteSink() = default;
  ByteSink(ByteSink const&) = delete;
  ByteSink& operator=(ByteSink const&) = delete;
  /// Append so many bytes. Throws IoError.
  virtual void write(char const* data, std::size_t size) = 0;
  /// Make what was written final. Throws IoError.
  virtual void finish() = 0;
};

/// A file that appears whole or not at all: a temporary file beside it, fsync, rename.
///
/// An existing device or pipe (such as the standard output) is written to directly. Without
/// `finish` the temporary file is removed and an existing file stays as it was. Throws IoError with
/// errno's text.
class AtomicFile final : public ByteSink {
 public:
  /// Opens the temporary file. Throws IoError.
  explicit AtomicFile(std::string const& path);
  ~AtomicFile() override;
  /// Writes to the temporary file.
  void write(char const* data, std::size_t size) override;
  /// Ends the file by fsync and rename.
  void finish() override;

 private:
  std::string path_, target_, temporary_;
  FileDescriptor file_;
};

/// Bytes kept in a string (tests and fuzz targets).
class MemorySink final : public ByteSink {
 public:
  /// Appended to `bytes`.
  void write(char const* data, std::size_t size) override { bytes.append(data, size); }
  /// Nothing is left to do.
  void finish() override {}
  std::string bytes;  ///< all that was written
};

/// Deflates what it is given into a gzip stream; `finish` finishes the inner sink too.
class DeflateSink final : public ByteSink {
 public:
  /// `inner` gets the stream, and must outlive this.
  explicit DeflateSink(ByteSink& inner);
  ~DeflateSink() override;
  /// Compressed, by and by.
  void write(char const* data, std::size_t size) override { deflate_all(data, size, Z_NO_FLUSH); }
  /// Ends the stream, and finishes the inner sink.
  void finish() override;

 private:
  void deflate_all(char const* data, std::size_t size, int flush);

  ByteSink& inner_;
  std::unique_ptr<unsigned char[]> output_;
  z_stream stream_{};
};

/// Tells what part of the numbers was written, each time that a few thousand more are.
class WrittenPart {
 public:
  /// Counts up to `all` numbers; `tell` may be empty.
  WrittenPart(std::uint64_t all, std::function<void(double)> tell)
      : all_(all), tell_(std::move(tell)) {}
  /// Notes that so many more numbers are written.
  void add(std::uint64_t count) {
    done_ += count;
    if (!tell_ || done_ - told_ < step) return;
    told_ = done_;
    tell_(static_cast<double>(done_) / static_cast<double>(all_));
  }

 private:
  static constexpr std::uint64_t step = 1 << 12;
  std::uint64_t all_, done_ = 0, told_ = 0;
  std::function<void(double)> tell_;
};

/// Text and numbers through a buffer; a number is the shortest decimal that reads back to the same
/// bits (at most 17 significant digits).
class TextWriter {
 public:
  /// `sink` gets the text, and must outlive this.
  explicit TextWriter(ByteSink& sink)
      : sink_(sink), buffer_(std::make_unique_for_overwrite<char[]>(buffer_bytes)) {}

  /// A text as it is.
  TextWriter& operator<<(std::string_view text) {
    if (buffer_bytes - used_ < text.size()) flush();
    if (text.size() > buffer_bytes) {
      sink_.write(text.data(), text.size());
    } else {
      text.copy(buffer_.get() + used_, text.size());
      used_ += text.size();
    }
    return *this;
  }
  /// One character.
  TextWriter& operator<<(char c) { return *this << std::string_view(&c, 1); }
  /// A whole number in decimal.
  TextWriter& operator<<(std::int64_t value) { return number(value); }
  /// The shortest decimal that reads back.
  TextWriter& operator<<(double value) { return number(value); }
  /// Writes the buffer, and finishes the sink.
  void finish() {
    flush();
    sink_.finish();
  }

 private:
  template <class T>
  TextWriter& number(T value) {
    constexpr std::size_t widest = 32;
    if (buffer_bytes - used_ < widest) flush();
    char* const begin = buffer_.get() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + widest, value).ptr - begin);
    return *this;
  }
  void flush() {
    sink_.write(buffer_.get(), used_);
    used_ = 0;
  }

  ByteSink& sink_;
  static constexpr std::size_t buffer_bytes = 1 << 16;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

}  // namespace strata

#endif
