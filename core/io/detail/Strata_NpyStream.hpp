// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NPY_STREAM_HPP
#define STRATA_NPY_STREAM_HPP

#include <core/io/Strata_Npy.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata::detail {

/// Which arrays are read.
enum class NpyKinds {
  Numbers,  ///< fp32 and fp64 of rank 1 or 2
  Any,      ///< any type but structures, also rank 0, which is 1 x 1
};
/// The dict of a .npy header; `name` begins the messages. Throws IoError.
NpyHeader parse_npy_dict(std::string const& name, std::string_view text,
                         NpyKinds kinds = NpyKinds::Numbers);

/// The header of bytes, which are not read further. Throws IoError, also for a shape that does not
/// fit what follows.
NpyHeader read_npy_header(ByteSource& source, NpyKinds kinds = NpyKinds::Numbers);
/// An array of whole numbers of 32 or 64 bits, of rank 0 or 1. Throws IoError; MemoryError beyond
/// `options.max_bytes`.
std::vector<std::int64_t> read_npy_integers(ByteSource& source, ReadOptions const& options);
/// The one text of an array of rank 0, in ASCII. Throws IoError.
std::string read_npy_text(ByteSource& source);

/// The reader and writer of Strata_Npy.hpp over any bytes (fuzz targets use memory).
NpyMatrix read_npy(ByteSource& source, ReadOptions const& options);
void write_npy(ByteSink& sink, ConstHostMatrix const& A, NpyWriteOptions const& options);

}  // namespace strata::detail

#endif
