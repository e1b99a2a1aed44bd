// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_COLUMNS_STREAM_HPP
#define STRATA_DETAIL_COLUMNS_STREAM_HPP

#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

#include <functional>

namespace strata::detail {

/// Text columns of Strata_MatrixFile.hpp from and to any bytes (fuzz targets use memory).
HostMatrix read_columns(ByteSource& source, ReadOptions const& options);
void write_columns(ByteSink& sink, ConstHostMatrix const& A, char separator,
                   std::function<void(double)> const& on_progress = {});

}  // namespace strata::detail

#endif
