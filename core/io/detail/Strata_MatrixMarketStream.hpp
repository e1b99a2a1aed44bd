// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATRIX_MARKET_STREAM_HPP
#define STRATA_MATRIX_MARKET_STREAM_HPP

#include <core/io/Strata_ByteSink.hpp>
#include <core/io/Strata_ByteSource.hpp>
#include <core/io/Strata_MatrixMarket.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace strata::detail {

/// The readers and writers of Strata_MatrixMarket.hpp over any bytes (fuzz targets use memory).
MatrixMarketMatrix read_matrix_market(ByteSource& source, ReadOptions const& options);
/// An array file, number by number, in its order. `begin` gets the header (also of a coordinate
/// file, which it must refuse by throwing), then `entry` each number. Throws as
/// `read_matrix_market`.
void read_array_entries(ByteSource& source,
                        std::function<void(MatrixMarketHeader const&)> const& begin,
                        std::function<void(double)> const& entry);
void write_matrix_market(ByteSink& sink, ConstHostMatrix const& A, Symmetry symmetry);
void write_matrix_market(ByteSink& sink, CoordinateMatrix const& A);

/// Two entries (0-based, in the order of the list) of the same position, if there are any. Cost:
/// linear for a list sorted by columns or by rows, else n log n.
std::optional<std::pair<std::size_t, std::size_t>> find_duplicate(CoordinateMatrix const& A);
/// Entries at one position become one with their sum, in the place of the first; `added` counts the
/// others. The position whose sum is not finite, if there is one. Cost as `find_duplicate`.
std::optional<std::pair<std::int64_t, std::int64_t>> add_duplicates(CoordinateMatrix& A);
/// The same of the matrix of a file that lists so many entries; `options.on_remark` hears of it.
/// Throws IoError for a sum that is not finite.
void take_duplicates(std::string const& path, CoordinateMatrix& A, std::int64_t listed,
                     ReadOptions const& options);

}  // namespace strata::detail

#endif
