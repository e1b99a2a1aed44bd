// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ZIP_ARCHIVE_HPP
#define STRATA_ZIP_ARCHIVE_HPP

#include <core/io/files/Strata_ByteSource.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace strata::detail {

/// Bytes that can be read anywhere, of a file or of memory that outlives it.
struct PlacedBytes {
  std::string name;
  std::uint64_t size = 0;
  /// Reads at an offset, fewer bytes only at the end.
  std::function<std::size_t(std::uint64_t, char*, std::size_t)> read_at;
};
/// Those of a file. Throws IoError.
PlacedBytes placed_bytes(std::string const& path);
/// Those of memory.
PlacedBytes placed_bytes(std::string name, char const* data, std::size_t size);

/// A .zip archive by its directory, which nobody vouches for, of members that are stored or
/// deflated, as NumPy writes them.
///
/// Source   PKWARE, .ZIP File Format Specification (APPNOTE), version 6.3.10, with its 64-bit
///          extension.
class ZipArchive {
 public:
  /// A member as the directory has it.
  struct Member {
    std::string name;
    std::uint64_t header = 0;            // offset of its local header
    std::uint64_t packed = 0, size = 0;  // bytes in the archive, and inflated
    std::uint32_t crc = 0;
    bool is_deflated = false;
  };

  /// Throws   IoError "path: ..." for what has no directory at its end, or one with more than
  ///          1,000 members, members outside the file, encrypted ones or other compressions.
  explicit ZipArchive(PlacedBytes bytes);

  /// The path, for messages.
  std::string const& name() const { return bytes_.name; }
  std::vector<Member> const& members() const { return members_; }
  /// The member of a name, or nullptr.
  Member const* find(std::string const& name) const;
  /// Its bytes.
  ///
  /// Throws   IoError for a damaged local header, and for a member that promises to inflate by more
  ///          than `max_ratio` beyond 4 MiB. Reading throws IoError for a stream that is damaged,
  ///          of another length or with another checksum.
  std::unique_ptr<ByteSource> open(Member const& member, double max_ratio) const;

 private:
  void read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count);

  PlacedBytes bytes_;
  std::vector<Member> members_;
};

}  // namespace strata::detail

#endif
