// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_MARKET_HPP
#define STRATA_MATRIX_MARKET_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace strata {

/// How a file lists its numbers: all of them, or some with their positions.
enum class MatrixMarketFormat {
  Array,       ///< all numbers, column by column
  Coordinate,  ///< some, each with its row and column
};
/// What its numbers are.
enum class MatrixMarketField {
  Real,     ///< decimal numbers
  Integer,  ///< whole numbers that fp64 has
  Pattern,  ///< entries without values, which are 1; in coordinate files
};

/// What a Matrix Market file says about itself in its first lines.
struct MatrixMarketHeader {
  /// All numbers, or some with their positions.
  MatrixMarketFormat format = MatrixMarketFormat::Array;
  MatrixMarketField field = MatrixMarketField::Real;  ///< what the numbers are
  bool symmetric = false;                             ///< only one triangle is listed
  bool skew = false;  ///< only one triangle is listed, and the other one is its negative
  std::int64_t rows = 0, cols = 0;  ///< rows and columns of the whole matrix
  std::int64_t entries =
      0;  ///< entries listed in the file: of one triangle only if symmetric or skew
};

/// A sparse matrix as the list of its entries, in the file's order; no position occurs twice.
struct CoordinateMatrix {
  std::int64_t rows = 0, cols = 0;     ///< rows and columns of the whole matrix
  bool symmetric = false;              ///< only entries with row >= col are listed
  std::vector<std::int64_t> row, col;  ///< 0-based
  std::vector<double> value;           ///< value of each entry
  std::int64_t added =
      0;  ///< entries of the file at positions listed before, added to the first ones
};

/// A dense matrix by columns; if symmetric its lower triangle only, packed by columns.
struct ArrayMatrix {
  std::int64_t rows = 0, cols = 0;  ///< rows and columns of the whole matrix
  bool symmetric = false;           ///< only the lower triangle is there
  std::vector<double> value;        ///< column by column
};

/// What a file holds.
using MatrixMarketMatrix = std::variant<ArrayMatrix, CoordinateMatrix>;

/// Read the first lines of a Matrix Market file, plain or gzip (told by its first bytes, not by its
/// name).
///
/// Throws   IoError as `read_matrix_market`, as far as the header goes, incl. counts that the file
/// cannot hold.
MatrixMarketHeader read_matrix_market_header(std::string const& path,
                                             ReadOptions const& options = {});

/// Read a Matrix Market file, plain or gzip, strictly.
///
/// Result   object `matrix`; `array` or `coordinate`; `real`, `integer` or, for coordinates,
///          `pattern` (each value is 1); `general`, `symmetric` or, for coordinates,
///          `skew-symmetric` (both triangles are returned). Comments, blank lines, CR LF, a missing
///          last line end, and the upper triangle of a symmetric or skew list are accepted. Entries
///          at one position are added, see `added`; `options.on_remark` is told.
/// Memory   grows with the entries that arrived, never by the header: at most 12 bytes per
///          (inflated) byte.
/// Throws   IoError "path:line: ..." for `complex` and `hermitian`; a header that promises more
///          than the file can hold; a number that is no number, not finite or outside the range of
///          fp64 (1e400, 1e-400) or no exact fp64 (integers); an index outside the matrix; entries
///          on both sides of the diagonal of a symmetric matrix, or on that of a skew one; too few
///          entries or anything after the last; a line of more than 64 KiB; a damaged, truncated or
///          overinflating gzip stream. MemoryError if the entries would need more than
///          `options.max_bytes`.
/// Source   R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, NISTIR 5935,
///          1996; deviation: comments are also accepted between entries.
MatrixMarketMatrix read_matrix_market(std::string const& path, ReadOptions const& options = {});

/// What one of several readers takes of a coordinate file.
struct MatrixMarketShare {
  MatrixMarketHeader header;  ///< header of the whole file
  /// Entries in the file's order, both triangles of a symmetric or skew list. Entries at one
  /// position stand side by side: `symmetric` is false, `added` is 0.
  CoordinateMatrix entries;
  std::int64_t listed = 0;  ///< entries that the file lists in this share
  bool has_above = false;   ///< whether one of a symmetric or skew list is above the diagonal
  bool has_below = false;   ///< whether one is below
};

/// Whether a file can be read in shares: it is not compressed.
bool has_shares(std::string const& path);

/// Read one share of a plain coordinate file: the entries whose lines begin in the `share`-th (from
/// 0) of `shares` equal parts of its bytes. So each of several readers parses its part.
///
/// Result   all shares in their order have what `read_matrix_market` has before it adds entries at
///          one position. What concerns the whole file is the caller's to check: the sum of
///          `listed` is `header.entries`, and not both triangles have entries.
/// Memory   24 bytes for each entry of the share, 48 of a symmetric or skew list.
/// Throws   as `read_matrix_market`, with lines counted from the share's first; ValueError for a
///          compressed file, an array file, or a share that is not one of `shares`.
MatrixMarketShare read_matrix_market_share(std::string const& path, int share, int shares,
                                           ReadOptions const& options = {});

/// Entries at one position become one with their sum, in the place of the first; `A.added` counts
/// the others. False, and A is of no use, where a sum is not finite. Cost: linear if columns or
/// rows ascend, else n log n.
bool add_entries_at_one_position(CoordinateMatrix& A);

/// The whole matrix, zeros included and both triangles if symmetric.
///
/// Throws   MemoryError if it is larger than `options.max_bytes`; ShapeError if it is more than 16
///          MiB and has fewer entries listed than rows or columns (a few bytes of file never cost
///          much memory).
HostMatrix to_dense(MatrixMarketMatrix const& matrix, ReadOptions const& options = {});

/// As `to_dense`, for a matrix that must be symmetric: by its header, or by its numbers up to
/// rounding.
///
/// Throws   also what `symmetrize` throws.
HostMatrix to_dense_symmetric(MatrixMarketMatrix const& matrix, ReadOptions const& options = {});

/// What a dense matrix is written as.
enum class Symmetry {
  General,    ///< all its numbers
  Symmetric,  ///< the lower triangle
};
/// Whether a file is written as it is or through gzip.
enum class Compression {
  None,  ///< text as it is
  Gzip,  ///< a gzip file
};

/// Choices of `write_matrix_market`.
struct MatrixMarketWriteOptions {
  Symmetry symmetry =
      Symmetry::General;  ///< symmetry of a dense matrix; Symmetric writes the lower triangle
  Compression compression = Compression::None;   ///< compression of the file
  std::function<void(double)> on_progress = {};  ///< hears what part of the numbers was written
};

/// Write a dense matrix (`array real`) or a list of entries (`coordinate real`).
///
/// Result   numbers with as many digits (at most 17) as reading back to the same bits needs. The
///          file appears whole or not at all: a temporary file in its folder, fsync, rename.
/// Throws   ShapeError, ValueError before anything is written: an array that is not square and
///          exactly symmetric where that was asked for; indices out of range or above the diagonal;
///          vectors of unequal length; a position listed twice; numbers that are not finite.
///          IoError with errno's text.
void write_matrix_market(std::string const& path, ConstHostMatrix const& A,
                         MatrixMarketWriteOptions const& options = {});
/// The same of a list of entries.
void write_matrix_market(std::string const& path, CoordinateMatrix const& A,
                         Compression compression = Compression::None);

}  // namespace strata

#endif
