// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/Strata_ByteSink.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

namespace strata {

namespace {

constexpr std::size_t largest_write_bytes = 1 << 30;
constexpr std::size_t output_bytes = 1 << 16;

std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Follow symbolic links, so that the file is replaced and not the link; a path that is not there
// stays.
std::string resolved(std::string const& path) {
  std::unique_ptr<char, decltype(&std::free)> const real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

std::string random_suffix() {
  std::random_device device;
  return detail::message('.', std::hex, device(), device(), ".tmp");
}

}  // namespace

AtomicFile::AtomicFile(std::string const& path) : path_(path), target_(resolved(path)) {
  struct stat status;
  bool const exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    throw_errno(path_, "cannot create");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = FileDescriptor(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_) throw_errno(path_, "cannot open for writing");
    return;
  }
  constexpr int attempts = 8;
  for (int attempt = 0; attempt < attempts && !file_; ++attempt) {
    temporary_ = target_ + random_suffix();
    file_ = FileDescriptor(
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) {
    temporary_.clear();
    throw_errno(path_, "cannot create");
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(char const* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    auto const put = ::write(file_.get(), data + done, std::min(size - done, largest_write_bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_errno(path_, detail::message("wrote ", done, " of ", size, " bytes"));
    done += static_cast<std::size_t>(put);
  }
}

void AtomicFile::finish() {
  bool const regular = !temporary_.empty();
  if (regular && ::fsync(file_.get()) != 0) throw_errno(path_, "cannot write to disk");
  if (!file_.close()) throw_errno(path_, "cannot close");
  if (!regular) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
    throw_errno(path_, "cannot rename into place");
  temporary_.clear();
  // the rename itself reaches the disk with its folder; some file systems cannot sync one
  FileDescriptor const folder(
      ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    throw_errno(path_, "cannot write its folder to disk");
}

DeflateSink::DeflateSink(ByteSink& inner)
    : inner_(inner), output_(std::make_unique_for_overwrite<unsigned char[]>(output_bytes)) {
  constexpr int gzip_only = 16 + MAX_WBITS, memory_level = 8;
  STRATA_REQUIRE(MemoryError,
                 deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_only, memory_level,
                              Z_DEFAULT_STRATEGY) == Z_OK,
                 "no memory for deflating");
}

DeflateSink::~DeflateSink() { deflateEnd(&stream_); }

void DeflateSink::finish() {
  deflate_all(nullptr, 0, Z_FINISH);
  inner_.finish();
}

void DeflateSink::deflate_all(char const* data, std::size_t size, int flush) {
  do {
    auto const piece = std::min<std::size_t>(size, largest_write_bytes);
    stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data));
    stream_.avail_in = static_cast<uInt>(piece);
    do {
      stream_.next_out = output_.get();
      stream_.avail_out = static_cast<uInt>(output_bytes);
      int const status = deflate(&stream_, flush);
      STRATA_REQUIRE(Error, status != Z_STREAM_ERROR, "deflate: ", zError(status));
      inner_.write(reinterpret_cast<char const*>(output_.get()), output_bytes - stream_.avail_out);
    } while (stream_.avail_out == 0);
    data += piece;
    size -= piece;
  } while (size > 0);
}

}  // namespace strata
