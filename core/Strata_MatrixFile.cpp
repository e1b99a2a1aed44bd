// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixFile.hpp>
#include <core/Strata_MatrixMarket.hpp>
#include <core/Strata_Npy.hpp>
#include <core/detail/Strata_ByteSource.hpp>

namespace strata {

namespace {

bool is_npy(std::string const& path) {
  char first = 0;
  return detail::FileSource(path).peek(&first, 1) == 1 && first == '\x93';
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

HostMatrix read_matrix(std::string const& path, ReadOptions const& options) {
  if (is_npy(path)) return read_npy(path, options).values;
  return blame_file(path, [&] { return to_dense(read_matrix_market(path, options), options); });
}

HostMatrix read_symmetric_matrix(std::string const& path, ReadOptions const& options) {
  return blame_file(path, [&] {
    if (!is_npy(path)) return to_dense_symmetric(read_matrix_market(path, options), options);
    auto const A = read_npy(path, options).values;
    symmetrize(A);
    return A;
  });
}

}  // namespace strata
