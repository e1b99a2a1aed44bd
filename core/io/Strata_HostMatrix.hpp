// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_MATRIX_HPP
#define STRATA_HOST_MATRIX_HPP

#include <core/io/files/Strata_ReadOptions.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace strata {

/// A column-major matrix in ordinary memory: what the readers return and the writers take.
using HostMatrix = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
/// The same, to be read.
using ConstHostMatrix = Kokkos::View<double const**, Kokkos::LayoutLeft, Kokkos::HostSpace>;

/// Bytes of a rows x cols fp64 matrix.
///
/// Throws   MemoryError if that is more than `max_bytes` (`what` begins the message), also where
///          the product does not fit 64 bits.
std::size_t dense_bytes(std::string const& what, std::int64_t rows, std::int64_t cols,
                        std::size_t max_bytes);

/// An uninitialised rows x cols matrix without padding.
///
/// Throws   MemoryError if it is larger than `max_bytes` or cannot be had; Error before Kokkos is
/// initialised.
HostMatrix allocate_host_matrix(std::string const& label, std::int64_t rows, std::int64_t cols,
                                std::size_t max_bytes = physical_memory_bytes());

/// An element pair (row > col, 0-based) that makes a matrix unsymmetric.
struct Asymmetry {
  std::int64_t row, col;  ///< the position, in the lower triangle
  double lower, upper;    ///< a_ij and a_ji
};

/// The first pair (by blocks of columns) with |a_ij - a_ji| > tolerance max(|a_ij|, |a_ji|,
/// sqrt|a_ii a_jj|).
///
/// Shape    A: n x n.
/// Throws   ShapeError if A is not square.
std::optional<Asymmetry> find_asymmetry(ConstHostMatrix const& A, double tolerance = 0);

/// Make A exactly symmetric: the lower triangle is copied over the upper one, which may differ by
/// rounding only.
///
/// Shape    A: n x n.
/// Throws   ShapeError if A is not square; ValueError with the 1-based position and both values if
///          a pair differs by more than 16 eps sqrt(a_ii a_jj).
void symmetrize(HostMatrix const& A);

}  // namespace strata

#endif
