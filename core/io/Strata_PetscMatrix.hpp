// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PETSC_MATRIX_HPP
#define STRATA_PETSC_MATRIX_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/Strata_MatrixMarket.hpp>

#include <cstdint>
#include <string>

namespace strata {

/// What a binary file of PETSc says about its first object.
struct PetscHeader {
  bool is_vector = false;           ///< a Vec, else a sparse Mat
  bool has_wide_indices = false;    ///< integers have 64 bits
  std::int64_t rows = 0, cols = 0;  ///< rows and columns; of a vector 1 column
  std::int64_t entries = 0;         ///< entries of a matrix
};

/// Read the header of a file that MatView or VecView wrote with a binary viewer.
///
/// Throws   IoError as the readers below, as far as the header and the file's size go.
PetscHeader read_petsc_header(std::string const& path);

/// Read the sparse matrix of such a file: real numbers in fp64, integers of 32 or 64 bits, told by
/// its first bytes.
///
/// Result   all entries, by rows; those at one position are added, see `added`, and
///          `options.on_remark` hears of it, and of what follows the matrix in the file, which is
///          not read.
/// Throws   IoError "path: ..." for a vector, a dense or a complex matrix, a file that is too short
///          for its header; for row lengths that do not add up, a column outside the matrix, a
///          value that is not finite. MemoryError if the entries would need more than
///          `options.max_bytes`.
/// Source   PETSc, manual pages MatLoad and VecLoad, the binary format of PETSc 3.0 to 3.24: big
///          endian, class number, rows, columns, entries, length of each row, columns, values.
CoordinateMatrix read_petsc_matrix(std::string const& path, ReadOptions const& options = {});

/// Read the vector of such a file, as one column. Throws IoError for a matrix, else the same;
/// MemoryError.
HostMatrix read_petsc_vector(std::string const& path, ReadOptions const& options = {});

class ByteSource;
namespace detail {

/// The same over any bytes (fuzz targets use memory).
PetscHeader read_petsc_header(ByteSource& source);
CoordinateMatrix read_petsc_matrix(ByteSource& source, ReadOptions const& options);
HostMatrix read_petsc_vector(ByteSource& source, ReadOptions const& options);

}  // namespace detail
}  // namespace strata

#endif
