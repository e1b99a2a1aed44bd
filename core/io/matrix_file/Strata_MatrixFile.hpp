// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_FILE_HPP
#define STRATA_MATRIX_FILE_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/matrix_file/Strata_MatrixFileFormat.hpp>

#include <functional>
#include <string>

namespace strata {

/// Read a dense matrix from a file of any of the formats.
///
/// Result   the whole matrix, zeros included; a vector is n x 1. In text columns, lines that are
///          blank or begin with # are passed over.
/// Throws   IoError "path...", MemoryError: see `matrix_file_format`, `read_matrix_market`,
///          `to_dense`, `read_npy`, `read_npz`, `read_petsc_matrix` and `MatrixBlocks`; for text
///          columns, IoError "path:line: ..." for what is no finite number in the range of fp64,
///          and for lines of unlike length.
HostMatrix read_matrix(std::string const& path, ReadOptions const& options = {});

/// As `read_matrix`, for a matrix that must be symmetric. It is so by its header, or by its numbers
/// up to rounding (then the lower triangle counts, see `symmetrize`).
///
/// Throws   also IoError "path: ..." if it is not square or not symmetric, with the position and
///          the
/// values.
HostMatrix read_symmetric_matrix(std::string const& path, ReadOptions const& options = {});

/// Writes a dense matrix in the format that the file's name says. These are .npy (one column as a
/// vector), .mtx or .mtx.gz (a Matrix Market array), .csv (commas) and .txt (blanks).
///
/// Result   numbers that read back to the same bits. The file appears whole or not at all.
///          `on_progress` hears now and then what part of the numbers was written, 0 to 1; what it
///          throws ends the call.
/// Throws   ValueError as `require_matrix_name`; see `write_npy` and `write_matrix_market`.
void write_matrix(std::string const& path, ConstHostMatrix const& A,
                  std::function<void(double)> const& on_progress = {});

/// Throws   ValueError if `write_matrix` knows no format for the file's name.
void require_matrix_name(std::string const& path);

}  // namespace strata

#endif
