// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CSV_STREAM_HPP
#define STRATA_CSV_STREAM_HPP

#include <core/io/Strata_Csv.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

namespace strata::detail {

/// The reader and writer of Strata_Csv.hpp over any bytes (fuzz targets use memory).
Stations read_stations(ByteSource& source, ReadOptions const& options,
                       MissingNumbers missing = MissingNumbers::Refused,
                       StationColumns const& columns = {});
Stations read_locations(ByteSource& source, ReadOptions const& options,
                        StationColumns const& columns = {});
void write_stations(ByteSink& sink, Stations const& stations);

}  // namespace strata::detail

#endif
