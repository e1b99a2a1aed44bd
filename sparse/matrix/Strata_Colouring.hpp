// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_COLOURING_HPP
#define STRATA_SPARSE_COLOURING_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse {

/// The colour of each row, 0 to count - 1; rows that share an entry differ.
template <class MemorySpace>
struct Colouring {
  Vector<std::int32_t, MemorySpace> colour;  ///< colour of each row
  int count = 0;                             ///< number of colours
};

/// Whether a_ij is stored wherever a_ji is, among the rows of A (columns from A.rows() on don't
/// count).
///
/// Sync     fences `exec`.
template <class Exec, class Value>
bool has_symmetric_pattern(Exec const& exec,
                           EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& A);

/// The pattern of A + A' among the rows, and of A in the columns from A.rows() on; values mean
/// nothing.
///
/// Sync     fences `exec`.
template <class Exec, class Value>
EllMatrix<fp8_e4m3, std::int32_t, typename Exec::memory_space> symmetric_pattern(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& A);

/// Colour the graph of a symmetric pattern; columns from graph.rows() on are no neighbours.
///
/// Result   depends on the pattern, the method and the seed only, not on the machine or on
///          scheduling: a row is coloured when all its neighbours of higher priority are.
/// Sync     fences `exec` once a round: about log(rows) rounds for JonesPlassmannLuby, the longest
///          ascending path for the others (7 n for a stencil of n^3 on a device, 1 on Serial).
/// Source   M. Jones & P. Plassmann, A parallel graph coloring heuristic, SISC 14(3), 1993,
///          doi:10.1137/0914041; M. Luby, SICOMP 15(4), 1986, doi:10.1137/0215074.
template <class Exec, class Value>
Colouring<typename Exec::memory_space> colour_rows(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& graph,
    ColouringMethod method, std::uint64_t seed = 0);

/// The order of sweeping `count` colours used unless another is asked for: last, first, last but
/// one, ...
///
/// Greedy's colour 0 holds the points that multigrid injects. Swept last, their residual would be
/// 0 and so would be the coarse correction; here they are swept second.
std::vector<int> alternating_order(int count);

}  // namespace strata::sparse

#endif
