// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_DETAIL_BUDGETS_HPP
#define STRATA_OOC_DETAIL_BUDGETS_HPP

#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// What a factorisation takes of its devices, where that was left open.
namespace strata::ooc::detail {

/// Streams of each device. Throws ValueError for options out of range.
template <class ExecutionSpace>
int streams_of(CholeskyOptions const& options);

/// The number of streams of each device, on hosts, where it was left open: as many as keep all
/// cores busy and have their budgets, each of `least` bytes.
template <class ExecutionSpace>
int streams_on_cores(Devices const& devices, std::int64_t tiles, std::int64_t tile_size,
                     std::size_t least);

/// The devices with the bytes that their pools may take, each at least the smallest budget. Where
/// the user left a budget open, it is a part of 9/10 of the memory that is free or in the machine's
/// pools. The ranks that share the free memory (`sharing`, for each device) get equal parts, and so
/// do devices that share a memory. Tiles of `map` that the matrix keeps on devices come first. They
/// are part of the 9/10 as long as more than the smallest budget is left.
///
/// Throws   MemoryError for less than `least`.
template <class ExecutionSpace>
Devices with_budgets(Machine<ExecutionSpace>& machine, CholeskyReport const& report,
                     std::size_t least, std::vector<int> const& sharing,
                     TileMatrix<ExecutionSpace> const& matrix, PrecisionMap const& map);

/// The block of columns for which V4 moves least, the smaller of two that move nearly the same.
/// `given`: the team's devices, `devices`: these with their budgets.
///
/// Throws   ValueError if what was asked for is out of range.
template <class ExecutionSpace>
std::int64_t column_block_of(Devices const& given, Devices const& devices,
                             TileMatrix<ExecutionSpace> const& matrix,
                             CholeskyOptions const& options, int streams);

}  // namespace strata::ooc::detail

#endif
