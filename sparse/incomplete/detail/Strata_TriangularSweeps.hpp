// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_TRIANGULAR_SWEEPS_HPP
#define STRATA_SPARSE_DETAIL_TRIANGULAR_SWEEPS_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/incomplete/detail/Strata_HostFactor.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// Sets of rows of a triangle whose solutions need only the solutions of sets before.
struct LevelSchedule {
  std::vector<std::int32_t> rows;      ///< level by level
  std::vector<std::int64_t> begin{0};  ///< first row of each level, and the end
  std::int64_t levels() const { return static_cast<std::int64_t>(begin.size()) - 1; }
};

/// The least levels: a row's level is one more than the highest level of the rows that its entries
/// name. `first_to_last`: rows name those before them, else those after them.
LevelSchedule level_schedule(HostCsr const& triangle, bool first_to_last);

/// Solves with I + L or I + U, strict triangles with values of a type, on any backend.
///
/// One thread of a host takes row after row; several, and devices, take level after level,
/// neighbouring small levels in one launch of one team.
template <class Exec, class Value>
class TriangularSweep {
 public:
  using MemorySpace = typename Exec::memory_space;

  TriangularSweep() = default;
  /// Values are rounded. Fences. Throws MemoryError.
  TriangularSweep(Exec const& exec, HostCsr const& triangle, bool first_to_last);

  /// x_i = (d_i x_i) - sum_j t_ij x_j, in the order of the triangle, in place; no d: 1. Enqueued on
  /// `exec`.
  template <class Scalar>
  void solve(Exec const& exec, Vector<LaneOf<Scalar>, MemorySpace> const& d,
             Vector<Scalar, MemorySpace> const& x) const;

  std::int64_t bytes() const;
  std::int64_t levels() const { return levels_; }

 private:
  // Levels that one launch takes: a wide one, or a run of others.
  struct Launch {
    std::int64_t first, end;          // levels
    std::int64_t first_row, end_row;  // positions in `rows_`
    bool is_wide;
  };
  void plan(Exec const& exec, HostCsr const& triangle);

  std::int64_t n_ = 0, levels_ = 0;
  bool first_to_last_ = true;
  Vector<std::int64_t, MemorySpace> begin_;
  Vector<std::int32_t, MemorySpace> column_;
  Vector<Value, MemorySpace> value_;
  Vector<std::int32_t, MemorySpace> rows_;         // level by level; empty: one thread
  Vector<std::int64_t, MemorySpace> level_begin_;  // positions in `rows_`
  std::vector<Launch> launches_;
};

}  // namespace strata::sparse::detail

#endif
