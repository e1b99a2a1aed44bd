// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixBlocks.hpp>
#include <core/Strata_MatrixFile.hpp>
#include <core/Strata_MatrixMarket.hpp>
#include <core/Strata_Npy.hpp>
#include <core/detail/Strata_ByteSource.hpp>
#include <filesystem>
#include <string_view>

namespace strata {

namespace {

bool is_npy(std::string const& path) {
  char first = 0;
  return detail::FileSource(path).read_at(0, &first, 1) == 1 && first == '\x93';
}

HostMatrix read_raw(std::string const& path, ReadOptions const& options) {
  MatrixBlocks const blocks(path);
  auto const A = allocate_host_matrix("strata::read_matrix", blocks.order(), blocks.order(),
                                      options.max_bytes);
  blocks.read(0, 0, A);
  return A;
}

// What is wrong with the matrix is wrong with the file: name it.
template <class Read>
HostMatrix blame_file(std::string const& path, Read const& read) {
  try {
    return read();
  } catch (ShapeError const& error) {
    throw IoError(path + ": " + error.what());
  } catch (ValueError const& error) {
    throw IoError(path + ": " + error.what());
  }
}

}  // namespace

bool is_raw_matrix(std::string const& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path + ".json", error)) return false;
  char first[2] = {};
  std::size_t const got = detail::FileSource(path).read_at(0, first, 2);
  return !detail::is_gzip(first, got) && std::string_view(first, got) != "%%";
}

HostMatrix read_matrix(std::string const& path, ReadOptions const& options) {
  if (is_npy(path)) return read_npy(path, options).values;
  if (is_raw_matrix(path)) return read_raw(path, options);
  return blame_file(path, [&] { return to_dense(read_matrix_market(path, options), options); });
}

HostMatrix read_symmetric_matrix(std::string const& path, ReadOptions const& options) {
  return blame_file(path, [&] {
    bool const npy = is_npy(path);
    if (!npy && !is_raw_matrix(path))
      return to_dense_symmetric(read_matrix_market(path, options), options);
    auto const A = npy ? read_npy(path, options).values : read_raw(path, options);
    symmetrize(A);
    return A;
  });
}

}  // namespace strata
