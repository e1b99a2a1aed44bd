// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_FILE_HPP
#define STRATA_MATRIX_FILE_HPP

#include <core/Strata_HostMatrix.hpp>

#include <string>

namespace strata {

/// Read a dense matrix from a Matrix Market (plain or gzip) or .npy file, told by its first bytes, or
/// from a raw one with a sidecar (see `MatrixBlocks`).
///
/// Result   the whole matrix, zeros included; a vector is n x 1.
/// Throws   IoError "path...", MemoryError: see `read_matrix_market`, `to_dense`,
///          `read_npy` and `MatrixBlocks`.
HostMatrix read_matrix(std::string const& path, ReadOptions const& options = {});

/// Whether the file has a sidecar that says what its raw numbers are, and does not begin as text.
///
/// Throws   IoError if there is a sidecar, but no file.
bool is_raw_matrix(std::string const& path);

/// As `read_matrix`, for a matrix that must be symmetric: by its header, or by its numbers up to
/// rounding (then the lower triangle counts, see `symmetrize`).
///
/// Throws   also IoError "path: ..." if it is not square or not symmetric, with the place and the
/// values.
HostMatrix read_symmetric_matrix(std::string const& path, ReadOptions const& options = {});

}  // namespace strata

#endif
