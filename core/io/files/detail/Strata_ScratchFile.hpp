// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SCRATCH_FILE_HPP
#define STRATA_SCRATCH_FILE_HPP

#include <core/io/files/Strata_FileDescriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::detail {

/// Numbers on disk in a file without a name, which goes with the object or its process.
class ScratchFile {
 public:
  /// Opens a file in `folder`; "": the folder for temporary files.
  ///
  /// Throws   IoError.
  explicit ScratchFile(std::string const& folder);

  /// Number `position` is `value`; fastest for positions that follow one another. Throws IoError.
  void put(std::uint64_t position, double value);
  /// All numbers put are in the file. Throws IoError.
  void finish();
  /// Up to the last number put.
  std::uint64_t bytes() const { return end_ * sizeof(double); }
  /// Read `size` bytes at `offset`, fewer only at the end; zeros where nothing was put.
  std::size_t read_at(std::uint64_t offset, char* buffer, std::size_t size) const;

 private:
  std::string name_;
  FileDescriptor file_;
  std::vector<double> pending_;
  std::uint64_t begin_ = 0, end_ = 0;  // of what is pending; of all
};

/// Read `size` bytes at `offset` of a file, fewer only at its end; `name` begins the message.
///
/// Throws   IoError.
std::size_t read_at(FileDescriptor const& file, std::string const& name, std::uint64_t offset,
                    char* buffer, std::size_t size);

}  // namespace strata::detail

#endif
