// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_ZIP_HPP
#define STRATATEST_ZIP_HPP

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::test {

/// A number of so many bytes, the lowest first.
inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

/// Raw deflate.
inline std::string deflated(std::string const& bytes) {
  std::string packed(bytes.size() + 64, '\0');
  z_stream stream{};
  (void)deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  (void)deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  (void)deflateEnd(&stream);
  return packed;
}

/// A member of an archive, with what a hostile one would change.
struct ZipMember {
  std::string name, data;
  bool is_deflated = false;
  bool is_wide = false;         ///< its sizes are in the 64-bit extension
  std::int64_t more = 0;        ///< added to the size that the directory says
  std::uint32_t wrong_crc = 0;  ///< changes the checksum
  std::uint16_t flags = 0;
};

/// A .zip archive; `is_wide` puts its directory's place into the 64-bit extension.
inline std::string zip(std::vector<ZipMember> const& members, bool is_wide = false) {
  std::string file, directory;
  for (auto const& member : members) {
    auto const packed = member.is_deflated ? deflated(member.data) : member.data;
    auto const crc = crc32(0, reinterpret_cast<Bytef const*>(member.data.data()),
                           static_cast<uInt>(member.data.size())) ^
                     member.wrong_crc;
    auto const size = member.data.size() + static_cast<std::size_t>(member.more),
               packed_size =
                   packed.size() + (member.is_deflated ? 0 : static_cast<std::size_t>(member.more));
    auto const method = little(member.is_deflated ? 8 : 0, 2);
    std::string const unknown = little(0xffffffff, 4),
                      extra = member.is_wide ? little(1, 2) + little(16, 2) + little(size, 8) +
                                                   little(packed_size, 8)
                                             : std::string();
    auto const sizes =
        member.is_wide ? unknown + unknown : little(packed_size, 4) + little(size, 4);
    auto const common = little(member.flags, 2) + method + little(0, 4) + little(crc, 4) + sizes +
                        little(member.name.size(), 2) + little(extra.size(), 2);
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + common + little(0, 10) +
                 little(file.size(), 4) + member.name + extra;
    file += "PK\3\4" + little(45, 2) + common + member.name + extra + packed;
  }
  auto const place = file.size();
  file += directory;
  auto const count = members.size();
  if (is_wide)
    file += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
            little(count, 8) + little(count, 8) + little(directory.size(), 8) + little(place, 8) +
            "PK\6\7" + little(0, 4) + little(place + directory.size(), 8) + little(1, 4);
  return file + "PK\5\6" + little(0, 4) + little(is_wide ? 0xffff : count, 2) +
         little(is_wide ? 0xffff : count, 2) + little(directory.size(), 4) +
         little(is_wide ? 0xffffffff : place, 4) + little(0, 2);
}

/// A .npy file of version 1 from its parts.
inline std::string npy_of(std::string const& dtype, std::string const& shape,
                          std::string const& data) {
  std::string const dict =
      "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + little(dict.size(), 2) + dict + data;
}

/// The bytes of numbers as this machine has them, which is taken to be little endian.
template <class T>
std::string raw(std::vector<T> const& numbers) {
  return std::string(reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(T));
}

/// What scipy.sparse.save_npz writes: `pointers` of csr and csc, rows of coo.
inline std::vector<ZipMember> scipy(std::string const& format, std::string const& shape,
                                    std::vector<std::int32_t> const& pointers,
                                    std::vector<std::int32_t> const& indices,
                                    std::vector<double> const& data) {
  bool const is_coo = format == "coo";
  auto const vector = [](std::size_t count) { return "(" + std::to_string(count) + ",)"; };
  return {
      {is_coo ? "col.npy" : "indices.npy", npy_of("<i4", vector(indices.size()), raw(indices))},
      {is_coo ? "row.npy" : "indptr.npy", npy_of("<i4", vector(pointers.size()), raw(pointers))},
      {"format.npy", npy_of("|S3", "()", format)},
      {"shape.npy", npy_of("<i8", "(2,)", shape)},
      {"data.npy", npy_of("<f8", vector(data.size()), raw(data))}};
}

}  // namespace strata::test

#endif
