// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_NPY_STREAM_HPP
#define STRATA_NPY_STREAM_HPP

#include <core/io/Strata_Npy.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

#include <string_view>

namespace strata::detail {

/// The dict of a .npy header; `name` begins the messages. Throws IoError.
NpyHeader parse_npy_dict(std::string const& name, std::string_view text);

/// The reader and writer of Strata_Npy.hpp over any bytes (fuzz targets use memory).
NpyMatrix read_npy(ByteSource& source, ReadOptions const& options);
void write_npy(ByteSink& sink, ConstHostMatrix const& A, NpyWriteOptions const& options);

}  // namespace strata::detail

#endif
