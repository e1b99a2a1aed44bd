// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_FILE_FORMAT_HPP
#define STRATA_MATRIX_FILE_FORMAT_HPP

#include <core/Strata_EnumNames.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// What the file of a matrix holds.
enum class MatrixFileFormat {
  MatrixMarket,  ///< plain or gzip
  Npy,           ///< an array of NumPy's
  Npz,           ///< an archive of NumPy's or SciPy's
  Petsc,         ///< a binary matrix or vector of PETSc's
  Raw,           ///< numbers that a sidecar PATH.json describes, see `MatrixBlocks`
  Columns,  ///< text: a row of the matrix on each line, its numbers separated by commas or blanks
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(MatrixFileFormat) {
  return enum_names<MatrixFileFormat>("format",
                                      {{MatrixFileFormat::MatrixMarket, "a Matrix Market file"},
                                       {MatrixFileFormat::Npy, "a .npy file of NumPy"},
                                       {MatrixFileFormat::Npz, "a .npz archive of NumPy"},
                                       {MatrixFileFormat::Petsc, "a binary file of PETSc"},
                                       {MatrixFileFormat::Raw, "raw numbers"},
                                       {MatrixFileFormat::Columns, "columns of numbers"}});
}

/// What a file holds, by its first bytes and, of text columns, by its name.
///
/// Result   columns only if the name ends in .csv or .txt; what is not told is taken for Matrix
///          Market, whose reader says what is wrong with it.
/// Throws   IoError "path: ..." if the name promises another format than the first bytes show
///          (.npy, .npz, .mtx, .mtx.gz, .csv, .txt), or if it is one that is not read.
MatrixFileFormat matrix_file_format(std::string const& path);

/// The format that the ending of a file's name promises; none for another ending.
std::optional<MatrixFileFormat> promised_format(std::string_view path);

}  // namespace strata

#endif
