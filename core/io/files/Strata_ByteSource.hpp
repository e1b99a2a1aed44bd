// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BYTE_SOURCE_HPP
#define STRATA_BYTE_SOURCE_HPP

#include <core/io/files/Strata_FileDescriptor.hpp>
#include <core/io/files/Strata_ReadOptions.hpp>

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace strata {

/// Bytes that come in order, from a file that nobody vouches for.
class ByteSource {
 public:
  /// `name` is for messages.
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(ByteSource const&) = delete;
  ByteSource& operator=(ByteSource const&) = delete;

  /// The path, for messages.
  std::string const& name() const { return name_; }
  /// Read `size` bytes, fewer only at the end. Throws IoError.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// No more bytes than this can come in all; exact unless `compressed()`.
  virtual std::uint64_t size_limit() const = 0;
  /// Whether the bytes are inflated, so that their number is not known before the end.
  virtual bool compressed() const { return false; }

 private:
  std::string name_;
};

/// A regular file; devices, pipes and folders are refused, since their size says nothing.
class FileSource final : public ByteSource {
 public:
  /// Opens the file; `on_progress` hears what part was read. Throws IoError.
  explicit FileSource(std::string const& path, std::function<void(double)> on_progress = {});
  std::size_t read(char* buffer, std::size_t size) override;
  std::uint64_t size_limit() const override { return size_; }
  /// Read `size` bytes at `offset` without moving on, fewer only at the end.
  std::size_t read_at(std::uint64_t offset, char* buffer, std::size_t size) const;

 private:
  FileDescriptor file_;
  std::function<void(double)> on_progress_;
  std::uint64_t size_ = 0, position_ = 0;
};

/// Bytes of the caller's, which must outlive it (tests and fuzz targets).
class MemorySource final : public ByteSource {
 public:
  /// Reads `size` bytes at `data`.
  MemorySource(std::string name, char const* data, std::size_t size)
      : ByteSource(std::move(name)), data_(data), size_(size) {}
  std::size_t read(char* buffer, std::size_t size) override;
  std::uint64_t size_limit() const override { return size_; }

 private:
  char const* data_;
  std::size_t size_, position_ = 0;
};

/// The inflated bytes of a gzip stream of one or more members.
///
/// Throws (read)   IoError if the stream is damaged, ends early, is followed by anything else, or
/// inflates by
///                 more than `max_ratio` once 4 MiB have come out.
class InflateSource final : public ByteSource {
 public:
  /// Takes the compressed bytes over. Throws MemoryError.
  InflateSource(std::unique_ptr<ByteSource> compressed, double max_ratio);
  ~InflateSource() override;
  std::size_t read(char* buffer, std::size_t size) override;
  std::uint64_t size_limit() const override;
  /// Always.
  bool compressed() const override { return true; }

 private:
  bool refill();
  bool next_member();

  std::unique_ptr<ByteSource> compressed_;
  double max_ratio_;
  std::unique_ptr<unsigned char[]> input_;
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;
  bool ended_ = false;
  z_stream stream_{};
};

/// Whether bytes begin like a gzip file.
bool is_gzip(char const* bytes, std::size_t size);

/// The file's bytes, inflated if it begins like a gzip file, whatever its name.
std::unique_ptr<ByteSource> open_source(std::string const& path, ReadOptions const& options);

}  // namespace strata

#endif
