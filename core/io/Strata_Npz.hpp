// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NPZ_HPP
#define STRATA_NPZ_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>

#include <cstdint>
#include <string>

namespace strata {

/// What an archive of NumPy's says about its matrix.
struct NpzHeader {
  bool is_sparse = false;           ///< a sparse matrix of SciPy's, else one array
  std::string format;               ///< "csr", "csc" or "coo" of a sparse matrix
  std::int64_t rows = 0, cols = 0;  ///< rows and columns
  std::int64_t entries = 0;         ///< entries of a sparse matrix, those at one position each
};

/// Read what an archive (.npz) holds: a sparse matrix, as scipy.sparse.save_npz writes it, or one
/// array of numpy.savez.
///
/// Throws   IoError as the readers below, as far as the members' headers go, and for an archive of
///          several arrays.
NpzHeader read_npz_header(std::string const& path);

/// Read the sparse matrix of an archive, stored or deflated.
///
/// Result   all entries of formats csr, csc and coo, in the file's order; those at one position are
///          added, see `added`, and `options.on_remark` hears of it. Values are fp32 or fp64.
/// Memory   the result, and 16 bytes for each entry.
/// Throws   IoError "path..." for another format, an index outside the matrix, pointers that do not
///          fit, a value that is not finite; for an archive that is truncated or damaged, or would
///          inflate by more than `options.max_gz_ratio`. MemoryError if the entries would
///          need more than `options.max_bytes`.
/// Source   scipy.sparse.save_npz, SciPy 1.0 to 1.17; the archive as NumPy Enhancement Proposal 1.
CoordinateMatrix read_sparse_npz(std::string const& path, ReadOptions const& options = {});

/// Read the one array of an archive.
///
/// Throws   IoError for several arrays, and as `read_npy`; MemoryError.
NpyMatrix read_npz(std::string const& path, ReadOptions const& options = {});

namespace detail {

class ZipArchive;
/// The same over any bytes (fuzz targets use memory).
NpzHeader read_npz_header(ZipArchive const& archive, ReadOptions const& options);
CoordinateMatrix read_sparse_npz(ZipArchive const& archive, ReadOptions const& options);
NpyMatrix read_npz(ZipArchive const& archive, ReadOptions const& options);

}  // namespace detail
}  // namespace strata

#endif
