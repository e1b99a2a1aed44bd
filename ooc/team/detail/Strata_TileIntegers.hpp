// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DETAIL_TILE_INTEGERS_HPP
#define STRATA_OOC_TEAM_DETAIL_TILE_INTEGERS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

// Whether sums of products of tiles' integers stay in the range in which their remainders tell them
// apart; all in device memory, and enqueued.
namespace strata::ooc::detail {

/// *largest = the largest of `rows` sums of squares.
template <class ExecutionSpace>
void largest_square(ExecutionSpace const& exec, std::int64_t rows, double const* squares,
                    double* largest);

/// sums[i] = squares[i], or with `accumulate` sums[i] + squares[i].
template <class ExecutionSpace>
void add_squares(ExecutionSpace const& exec, std::int64_t rows, double const* squares, double* sums,
                 bool accumulate);

/// *info = the least first_row + i + 1 of a row whose sum is above the limit, if *info was 0 or
/// more.
///
/// By Cauchy and Schwarz no sum of products of such rows' integers exceeds the largest sum of
/// squares. In a Cholesky factorisation of a positive definite matrix no row does.
template <class ExecutionSpace>
void judge_rows(ExecutionSpace const& exec, std::int64_t rows, double const* sums, double limit,
                std::int64_t first_row, std::int64_t* info);

/// *bound = (a b)^(1/2), or larger by that with `accumulate`. Two rows whose sums of squares are at
/// most a and b have no larger product.
template <class ExecutionSpace>
void add_bound(ExecutionSpace const& exec, double const* a, double const* b, double* bound,
               bool accumulate);

/// *outgrown = number if the bound is above the limit and *outgrown was 0. Memory of the host that
/// the device can write to.
template <class ExecutionSpace>
void judge_bound(ExecutionSpace const& exec, double const* bound, double limit, std::int64_t number,
                 std::int64_t* outgrown);

}  // namespace strata::ooc::detail

#endif
