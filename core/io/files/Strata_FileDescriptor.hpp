// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FILE_DESCRIPTOR_HPP
#define STRATA_FILE_DESCRIPTOR_HPP

#include <core/Strata_Errors.hpp>

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace strata {

/// Owns an open file; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes an open file over.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  /// Move.
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  /// Exchanges the two.
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// The descriptor for system calls, which this object still owns.
  int get() const { return fd_; }
  /// Whether there is a file.
  explicit operator bool() const { return fd_ >= 0; }
  /// Close now, so that an error shows; false with errno set.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

/// IoError "path: what: text of errno (errno N)".
[[noreturn]] inline void throw_errno(std::string const& path, std::string const& what) {
  int const code = errno;
  throw IoError(detail::message(path, ": ", what, ": ", std::generic_category().message(code),
                                " (errno ", code, ")"));
}

}  // namespace strata

#endif
