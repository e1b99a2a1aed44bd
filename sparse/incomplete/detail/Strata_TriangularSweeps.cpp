// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/incomplete/detail/Strata_TriangularSweeps.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>

#include <algorithm>
#include <type_traits>

namespace strata::sparse::detail {
namespace {

/// What a row's solution is made of.
template <class Value, class Scalar>
struct RowOfTriangle {
  std::int64_t const* begin;
  std::int32_t const* column;
  Value const* value;
  LaneOf<Scalar> const* d;  // or nullptr
  Scalar* x;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Scalar sum = d ? d[i] * x[i] : x[i];
    for (std::int64_t k = begin[i]; k < begin[i + 1]; ++k)
      sum -= static_cast<LaneOf<Scalar>>(value[k]) * x[column[k]];
    x[i] = sum;
  }
};

/// All rows by one thread.
template <class Row>
struct RowAfterRow {
  Row row;
  std::int64_t n;
  bool first_to_last;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    if (first_to_last)
      for (std::int64_t i = 0; i < n; ++i) row(i);
    else
      for (std::int64_t i = n; i-- > 0;) row(i);
  }
};

/// The rows of one level.
template <class Row>
struct RowsOfLevel {
  Row row;
  std::int32_t const* rows;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const { row(rows[k]); }
};

/// The rows of some levels by one team, level by level.
template <class Exec, class Row>
struct LevelsOfTeam {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Row row;
  std::int32_t const* rows;
  std::int64_t const* level_begin;
  std::int64_t first, end;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t level = first; level < end; ++level) {
      Kokkos::parallel_for(
          Kokkos::TeamThreadRange(team, level_begin[level], level_begin[level + 1]),
          [&](std::int64_t k) { row(rows[k]); });
      team.team_barrier();
    }
  }
};

// Whether levels are worth their launches: rows of which a thread of a host does so many in the
// time that one takes.
template <class Exec>
bool takes_levels(Exec const& exec, std::int64_t rows, std::int64_t levels) {
  constexpr std::int64_t rows_of_a_launch = 2048;
  if constexpr (!runs_on_host<Exec>) return true;
  return exec.concurrency() > 1 && rows >= rows_of_a_launch * levels;
}

}  // namespace

LevelSchedule level_schedule(HostCsr const& triangle, bool first_to_last) {
  auto const n = triangle.rows();
  LevelSchedule schedule;
  std::vector<std::int32_t> level(at(n), 0);
  std::int32_t levels = 0;
  for (std::int64_t step = 0; step < n; ++step) {
    auto const i = first_to_last ? step : n - 1 - step;
    std::int32_t own = 0;
    for (auto k = triangle.begin[at(i)]; k < triangle.begin[at(i) + 1]; ++k)
      own = std::max(own, level[at(triangle.column[at(k)])] + 1);
    level[at(i)] = own;
    levels = std::max(levels, own + 1);
  }
  schedule.begin.assign(at(levels) + 1, 0);
  for (auto const own : level) ++schedule.begin[at(own) + 1];
  for (std::size_t l = 1; l < schedule.begin.size(); ++l)
    schedule.begin[l] += schedule.begin[l - 1];
  auto next = schedule.begin;
  schedule.rows.resize(at(n));
  for (std::int64_t i = 0; i < n; ++i)
    schedule.rows[at(next[at(level[at(i)])]++)] = static_cast<std::int32_t>(i);
  return schedule;
}

template <class Exec, class Value>
TriangularSweep<Exec, Value>::TriangularSweep(Exec const& exec, HostCsr const& triangle,
                                              bool first_to_last)
    : n_(triangle.rows()), first_to_last_(first_to_last) {
  begin_ = to_device(exec, "strata::sparse::TriangularSweep::begin", triangle.begin);
  column_ = to_device(exec, "strata::sparse::TriangularSweep::column", triangle.column);
  std::vector<Value> const rounded(triangle.value.begin(), triangle.value.end());
  value_ = to_device(exec, "strata::sparse::TriangularSweep::value", rounded);
  bool const is_alone = runs_on_host<Exec> && exec.concurrency() == 1;
  if (!is_alone) plan(exec, triangle);
}

template <class Exec, class Value>
void TriangularSweep<Exec, Value>::plan(Exec const& exec, HostCsr const& triangle) {
  constexpr std::int64_t widest_of_team = 4096;
  auto const schedule = level_schedule(triangle, first_to_last_);
  levels_ = schedule.levels();
  if (!takes_levels(exec, n_, levels_)) return;
  rows_ = to_device(exec, "strata::sparse::TriangularSweep::rows", schedule.rows);
  level_begin_ = to_device(exec, "strata::sparse::TriangularSweep::levels", schedule.begin);
  for (std::int64_t level = 0; level < levels_; ++level) {
    auto const first = schedule.begin[at(level)], end = schedule.begin[at(level) + 1];
    bool const is_wide = runs_on_host<Exec> || end - first > widest_of_team;
    if (!is_wide && !launches_.empty() && !launches_.back().is_wide) {
      launches_.back().end = level + 1;
      launches_.back().end_row = end;
    } else {
      launches_.push_back({level, level + 1, first, end, is_wide});
    }
  }
}

template <class Exec, class Value>
template <class Scalar>
void TriangularSweep<Exec, Value>::solve(Exec const& exec,
                                         Vector<LaneOf<Scalar>, MemorySpace> const& d,
                                         Vector<Scalar, MemorySpace> const& x) const {
  char const* const label = "strata::sparse::TriangularSweep::solve";
  using Row = RowOfTriangle<Value, Scalar>;
  Row const row{begin_.data(), column_.data(), value_.data(), d.data(), x.data()};
  if (n_ == 0) return;
  if (launches_.empty()) {
    Kokkos::parallel_for(label, RowPolicy<Exec>(exec, 0, 1),
                         RowAfterRow<Row>{row, n_, first_to_last_});
    return;
  }
  for (auto const& launch : launches_) {
    if (launch.is_wide) {
      Kokkos::parallel_for(label, RowPolicy<Exec>(exec, launch.first_row, launch.end_row),
                           RowsOfLevel<Row>{row, rows_.data()});
      continue;
    }
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Kernel = LevelsOfTeam<Exec, Row>;
    Kernel const kernel{row, rows_.data(), level_begin_.data(), launch.first, launch.end};
    Policy const automatic(exec, 1, Kokkos::AUTO);
    int const threads = std::min(512, automatic.team_size_max(kernel, Kokkos::ParallelForTag()));
    Kokkos::parallel_for(label, Policy(exec, 1, threads), kernel);
  }
}

template <class Exec, class Value>
std::int64_t TriangularSweep<Exec, Value>::bytes() const {
  return static_cast<std::int64_t>((begin_.extent(0) + level_begin_.extent(0)) *
                                       sizeof(std::int64_t) +
                                   (column_.extent(0) + rows_.extent(0)) * sizeof(std::int32_t) +
                                   value_.extent(0) * sizeof(Value));
}

#define STRATA_INSTANTIATE_SOLVE(Space, Value, Scalar)                  \
  template void TriangularSweep<Space, Value>::solve(                   \
      Space const&, Vector<LaneOf<Scalar>, Space::memory_space> const&, \
      Vector<Scalar, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_SWEEP(Space, Value)            \
  template class TriangularSweep<Space, Value>;           \
  STRATA_INSTANTIATE_SOLVE(Space, Value, fp64)            \
  STRATA_INSTANTIATE_SOLVE(Space, Value, fp32)            \
  STRATA_INSTANTIATE_SOLVE(Space, Value, Abreast<double>) \
  STRATA_INSTANTIATE_SOLVE(Space, Value, Abreast<float>)
#define STRATA_INSTANTIATE_SWEEPS(Space) \
  STRATA_INSTANTIATE_SWEEP(Space, fp64)  \
  STRATA_INSTANTIATE_SWEEP(Space, fp32)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SWEEPS)

}  // namespace strata::sparse::detail
