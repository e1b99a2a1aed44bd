// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/files/detail/Strata_ScratchFile.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace strata::detail {

namespace {
constexpr std::size_t pending_numbers = 1 << 19;  // 4 MiB
constexpr std::size_t largest_piece = 1 << 30;
}  // namespace

ScratchFile::ScratchFile(std::string const& folder) {
  std::error_code error;
  auto const where = folder.empty() ? std::filesystem::temp_directory_path(error).string() : folder;
  name_ = where + "/strata_scratch_XXXXXX";
  file_ = FileDescriptor(::mkostemp(name_.data(), O_CLOEXEC));
  if (!file_) throw_errno(where, "cannot create a scratch file");
  ::unlink(name_.c_str());
  name_ = "scratch file in " + where;
}

void ScratchFile::put(std::uint64_t position, double value) {
  if (position != begin_ + pending_.size() || pending_.size() == pending_numbers) {
    finish();
    begin_ = position;
  }
  pending_.push_back(value);
}

void ScratchFile::finish() {
  auto const* const data = reinterpret_cast<char const*>(pending_.data());
  std::size_t const size = pending_.size() * sizeof(double);
  for (std::size_t done = 0; done < size;) {
    auto const put = ::pwrite(file_.get(), data + done, std::min(size - done, largest_piece),
                              static_cast<off_t>(begin_ * sizeof(double) + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw_errno(name_, message("wrote ", begin_ * sizeof(double) + done, " bytes of the matrix"));
    done += static_cast<std::size_t>(put);
  }
  end_ = std::max(end_, begin_ + pending_.size());
  begin_ += pending_.size();
  pending_.clear();
}

std::size_t ScratchFile::read_at(std::uint64_t offset, char* buffer, std::size_t size) const {
  return detail::read_at(file_, name_, offset, buffer, size);
}

std::size_t read_at(FileDescriptor const& file, std::string const& name, std::uint64_t offset,
                    char* buffer, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    auto const got = ::pread(file.get(), buffer + done, std::min(size - done, largest_piece),
                             static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(name, "cannot read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace strata::detail
