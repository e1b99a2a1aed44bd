// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_NORMS_HPP
#define STRATA_SPARSE_DETAIL_NORMS_HPP

#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// max_i |x_i| over the ranks, of the first `rows` entries; infinity if one is not a number.
/// Fences.
template <class Exec, class Scalar>
double max_norm(Exec const& exec, Communicator const& comm,
                Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows);

/// ||x||_2 over the ranks, of the first `rows` entries, wherever that is a number of fp64. Fences.
///
/// Squares are summed as they are; where that over- or underflows, once more, of entries scaled by
/// a power of two: 0 is returned for zeros only.
template <class Exec, class Scalar>
double norm(Exec const& exec, Communicator const& comm,
            Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows);

/// x = 2^exponent x, exact unless the result over- or underflows. Enqueued on `exec`.
template <class Exec>
void scale_by_power(Exec const& exec, int exponent,
                    Vector<double, typename Exec::memory_space> const& x, std::int64_t rows);

/// r / (A x + b) of norms, without over- or underflow on the way; NaN where one of them is not
/// finite.
double backward_error(double norm_A, double norm_x, double norm_b, double norm_r);

}  // namespace strata::sparse::detail

#endif
