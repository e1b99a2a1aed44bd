// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NPY_HPP
#define STRATA_NPY_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace strata {

/// What a .npy file says about its array.
struct NpyHeader {
  std::string dtype = "<f8";   ///< '<f4', '<f8', '>f4' or '>f8'
  bool fortran_order = false;  ///< columns are contiguous in the file
  int rank = 2;                ///< 1 or 2
  std::int64_t rows = 0;       ///< rows of the array
  std::int64_t cols = 1;       ///< 1 if the rank is 1
};

/// An array of a .npy file, in fp64 by columns, and how it was stored.
struct NpyMatrix {
  HostMatrix values;  ///< rows x cols
  NpyHeader header;   ///< header as the file has it
};

/// Read the header of a .npy file.
///
/// Throws   IoError as `read_npy`, as far as the header and the file's size go.
NpyHeader read_npy_header(std::string const& path);

/// Read a .npy file, versions 1 to 3, strictly: fp32 or fp64 of either byte order, rank 1 or 2,
/// either order.
///
/// Memory   the result and at most 8 MiB; fp64 in Fortran order is read straight into the result.
/// Throws   IoError "path: ..." for another dtype (object arrays would need pickle); a header
///          longer than 64 KiB or not exactly the three keys; a shape whose bytes are not exactly
///          the rest of the file; a number that is not finite (with its 1-based position).
///          MemoryError beyond `options.max_bytes`.
/// Source   NumPy Enhancement Proposal 1 (NEP 1) and numpy.lib.format, versions 1.0 to 3.0.
NpyMatrix read_npy(std::string const& path, ReadOptions const& options = {});

/// The order of the numbers in a file: by rows, or by columns.
enum class NpyOrder {
  C,        ///< numbers lie row by row
  Fortran,  ///< numbers lie column by column
};

/// Choices of `write_npy`.
struct NpyWriteOptions {
  NpyOrder order = NpyOrder::Fortran;            ///< order of the numbers in the file
  int rank = 2;                                  ///< 1 writes a single column as a vector
  std::function<void(double)> on_progress = {};  ///< hears what part of the numbers was written
};

/// Write a matrix in fp64 as .npy version 1.0, bit for bit; whole or not at all (temporary file,
/// fsync, rename).
///
/// Throws   ShapeError if the rank is not 2, or not 1 with one column, before anything is written;
/// IoError with errno's text.
void write_npy(std::string const& path, ConstHostMatrix const& A,
               NpyWriteOptions const& options = {});

}  // namespace strata

#endif
