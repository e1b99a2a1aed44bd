// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/Strata_ByteSource.hpp>

#include <core/io/files/detail/Strata_ScratchFile.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace strata {

namespace {
constexpr std::size_t input_bytes = 1 << 16;
constexpr std::uint64_t ratio_floor_bytes = 4 << 20;
constexpr std::size_t largest_read_bytes = 1 << 30;
}  // namespace

FileSource::FileSource(std::string const& path, std::function<void(double)> on_progress)
    // without O_NONBLOCK the opening of a pipe would wait for its writer
    : ByteSource(path),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
      on_progress_(std::move(on_progress)) {
  if (!file_) throw_errno(path, "cannot open");
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) throw_errno(path, "cannot stat");
  STRATA_REQUIRE(IoError, S_ISREG(status.st_mode), path, ": not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t FileSource::read(char* buffer, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    auto const got = ::read(file_.get(), buffer + done, std::min(size - done, largest_read_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(name(), "cannot read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  position_ += done;
  if (on_progress_ && size_ > 0 && position_ <= size_)
    on_progress_(static_cast<double>(position_) / static_cast<double>(size_));
  return done;
}

std::size_t FileSource::read_at(std::uint64_t offset, char* buffer, std::size_t size) const {
  return detail::read_at(file_, name(), offset, buffer, size);
}

std::size_t MemorySource::read(char* buffer, std::size_t size) {
  auto const count = std::min(size, size_ - position_);
  if (count > 0) std::memcpy(buffer, data_ + position_, count);
  position_ += count;
  return count;
}

InflateSource::InflateSource(std::unique_ptr<ByteSource> compressed, double max_ratio)
    : ByteSource(compressed->name()),
      compressed_(std::move(compressed)),
      max_ratio_(max_ratio),
      input_(std::make_unique_for_overwrite<unsigned char[]>(input_bytes)) {
  constexpr int gzip_only = 16 + MAX_WBITS;
  STRATA_REQUIRE(MemoryError, inflateInit2(&stream_, gzip_only) == Z_OK, name(),
                 ": no memory for inflating");
}

InflateSource::~InflateSource() { inflateEnd(&stream_); }

std::uint64_t InflateSource::size_limit() const {
  double const limit = max_ratio_ * static_cast<double>(compressed_->size_limit());
  constexpr double most = 9e18;
  return std::max(ratio_floor_bytes, static_cast<std::uint64_t>(std::clamp(limit, 0.0, most)));
}

bool InflateSource::refill() {
  auto const got = compressed_->read(reinterpret_cast<char*>(input_.get()), input_bytes);
  stream_.next_in = input_.get();
  stream_.avail_in = static_cast<uInt>(got);
  bytes_in_ += got;
  return got > 0;
}

// After a member: true if another one begins, false at the end; anything else is an error.
bool InflateSource::next_member() {
  if (stream_.avail_in == 0 && !refill()) return false;
  STRATA_REQUIRE(IoError, stream_.next_in[0] == 0x1f, name(),
                 ": bytes after the end of the gzip stream (at byte ", bytes_in_ - stream_.avail_in,
                 " of ", compressed_->size_limit(), ")");
  inflateReset(&stream_);
  return true;
}

std::size_t InflateSource::read(char* buffer, std::size_t size) {
  std::size_t done = 0;
  while (done < size && !ended_) {
    STRATA_REQUIRE(IoError, stream_.avail_in > 0 || refill(), name(),
                   ": the gzip stream ends early, after ", bytes_in_, " compressed and ",
                   bytes_out_, " inflated bytes");
    auto const room = static_cast<uInt>(std::min<std::size_t>(size - done, input_bytes));
    stream_.next_out = reinterpret_cast<unsigned char*>(buffer) + done;
    stream_.avail_out = room;
    int const status = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    bytes_out_ += room - stream_.avail_out;
    auto const consumed = static_cast<double>(bytes_in_ - stream_.avail_in);
    STRATA_REQUIRE(
        IoError,
        bytes_out_ <= ratio_floor_bytes || static_cast<double>(bytes_out_) <= max_ratio_ * consumed,
        name(), ": ", consumed, " gzip bytes inflate to more than ", bytes_out_,
        " bytes; the largest ratio allowed is ", max_ratio_);
    if (status == Z_STREAM_END) {
      ended_ = !next_member();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw IoError(
          detail::message(name(), ": damaged gzip stream after ", bytes_out_,
                          " inflated bytes: ", stream_.msg ? stream_.msg : zError(status)));
    }
  }
  return done;
}

bool is_gzip(char const* bytes, std::size_t size) {
  return size >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

std::unique_ptr<ByteSource> open_source(std::string const& path, ReadOptions const& options) {
  auto file = std::make_unique<FileSource>(path, options.on_progress);
  char magic[2];
  if (!is_gzip(magic, file->read_at(0, magic, 2))) return file;
  return std::make_unique<InflateSource>(std::move(file), options.max_gz_ratio);
}

}  // namespace strata
