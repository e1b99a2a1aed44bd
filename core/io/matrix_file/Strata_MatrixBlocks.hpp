// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_BLOCKS_HPP
#define STRATA_MATRIX_BLOCKS_HPP

#include <core/Strata_Pimpl.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace strata {

/// A block of a matrix in host memory, by columns without gaps.
using HostBlock = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Choices of `MatrixBlocks`.
struct MatrixBlocksOptions {
  /// The folder in which a text file is unpacked, to a file without a name; "": the folder for
  /// temporary files.
  std::string scratch_folder;
  /// The ratio of `ReadOptions`, for .gz files.
  double max_gz_ratio = 200;
  /// The function of `ReadOptions`, called while a text file is unpacked.
  std::function<void(double)> on_progress = {};
  /// Read all of a raw file that has a crc32; of several ranks one is enough.
  bool verify_checksum = true;
};

/// Two numbers that symmetry makes equal, and that differ.
struct AsymmetricPair {
  /// The place of the numbers' block in the order of the check.
  std::int64_t block;
  /// "path: the matrix is not symmetric: A(18, 5) = 2 but A(5, 18) = 3"
  std::string text;
};

/// Which blocks of a matrix are checked. The blocks of its lower triangle are numbered column by
/// column; numbers share, share + of, ... are checked.
struct SymmetryCheck {
  std::int64_t block_size = 1024;  ///< rows and columns of a block
  std::int64_t share = 0;          ///< number of the share, from 0
  std::int64_t of = 1;             ///< the number of shares
};

/// A square matrix in a file that is read by blocks. The whole matrix is never in memory.
///
/// I/O      told by their content:
///          - .npy, as `read_npy` takes it, of rank 2;
///          - Matrix Market `array`, plain or gzip, as `read_matrix_market` takes it. Text can't be
///            read in the middle: it is unpacked once, to 8 n^2 bytes in a scratch file, of a
///            symmetric matrix 4 n^2;
///          - raw numbers, if there is a file PATH.json beside PATH:
///            {"dtype": "float64", "n": 1000, "ld": 1000, "order": "column", "endian": "little",
///             "crc32": "cbf43926"}. dtype is float64 or float32; ld, the distance of columns (or
///            rows), is n if it is left out; order is "column" or "row", endian "little" or "big",
///            where left out the first. crc32 (zlib's, of all bytes) is verified if it is there.
///          The file must not change while the object lives.
class MatrixBlocks {
 public:
  /// Throws   IoError "path: ..." for another format; a coordinate file; a matrix that is not
  ///          square; a file that is not exactly as long as it says; a sidecar with a key that is
  ///          missing, unknown or out of range; a checksum that differs; a scratch file that can't
  ///          be written; what the readers throw for a header or text that is not right.
  explicit MatrixBlocks(std::string const& path, MatrixBlocksOptions const& options = {});
  ~MatrixBlocks();
  MatrixBlocks(MatrixBlocks&&) noexcept;
  MatrixBlocks& operator=(MatrixBlocks&&) noexcept;

  /// Rows, and columns, of the matrix.
  std::int64_t order() const;
  /// For people: "NumPy <f8, Fortran order", ...
  std::string const& format() const;
  /// Whether only the lower triangle is in the file: above the diagonal `read` finds zeros.
  bool is_lower() const;
  /// Size of the file itself.
  std::uint64_t file_bytes() const;
  /// Size of the scratch file; 0: there is none.
  std::uint64_t scratch_bytes() const;

  /// A(i, j) = the matrix's (row + i, col + j), also from several threads at once.
  ///
  /// Throws   ShapeError if the block is not inside the matrix; IoError with errno's text, or if
  ///          the file has become shorter.
  void read(std::int64_t row, std::int64_t col, HostBlock const& A) const;

  /// Reads the blocks of a share and their mirror images in the other triangle, and compares them.
  /// Returns the first pair that differs by more than 16 eps sqrt(|a_ii a_jj|). Numbers that are
  /// not finite are passed over.
  ///
  /// Memory   two blocks of block_size^2 numbers, and one column.
  /// I/O      each number of these blocks once; numbers of the diagonal again where a pair differs.
  /// Throws   ValueError if block_size < 1 or share is not one of them; what `read` throws.
  std::optional<AsymmetricPair> find_asymmetry(SymmetryCheck const& check = {}) const;

  /// Throws   IoError with the text of what `find_asymmetry` finds; what it throws.
  void require_symmetric(std::int64_t block_size = 1024) const;

 private:
  struct State;
  Pimpl<State> state_;
};

}  // namespace strata

#endif
