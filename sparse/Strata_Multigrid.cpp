// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <core/detail/Strata_Instantiate.hpp>
#include <sparse/Strata_Multigrid.hpp>

namespace strata::sparse {
namespace {

template <class Exec>
using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
template <class Exec>
using Rows = Vector<std::int32_t, typename Exec::memory_space>;

// injection(c): the fine row, in the fine matrix' order, of row c of the coarse one.
template <class Exec>
void inject(Exec const& exec, StencilProblem const& fine, Rows<Exec> const& coarse_old,
            Rows<Exec> const& fine_new, Rows<Exec> const& injection) {
  Kokkos::parallel_for(
      "strata::sparse::make_hierarchy::inject",
      Policy<Exec>(exec, 0, static_cast<std::int64_t>(injection.extent(0))),
      KOKKOS_LAMBDA(std::int64_t c) { injection(c) = fine_new(fine.injected(coarse_old(c))); });
}

// How many of the first `count` injected rows are not among the fine rows that need no halo.
template <class Exec>
std::int64_t count_dependent(Exec const& exec, Rows<Exec> const& injection, std::int64_t count,
                             std::int64_t free) {
  std::int64_t dependent = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::make_hierarchy::dependent", Policy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t c, std::int64_t& sum) { sum += injection(c) >= free; }, dependent);
  exec.fence("strata::sparse::make_hierarchy::counted");
  return dependent;
}

template <class Exec, class Scalar>
void prolong(Exec const& exec, Rows<Exec> const& injection,
             Vector<Scalar, typename Exec::memory_space> const& coarse,
             Vector<Scalar, typename Exec::memory_space> const& fine) {
  Kokkos::parallel_for(
      "strata::sparse::prolong",
      Policy<Exec>(exec, 0, static_cast<std::int64_t>(injection.extent(0))),
      KOKKOS_LAMBDA(std::int64_t c) { fine(injection(c)) += coarse(c); });
}

void check(StencilProblem const& problem, int levels, int ranks) {
  STRATA_REQUIRE(ShapeError, levels >= 1 && levels < 31, "multigrid: ", levels, " levels");
  std::int64_t const divisor = std::int64_t(1) << (levels - 1);
  for (auto const points : {problem.nx, problem.ny, problem.nz})
    STRATA_REQUIRE(ShapeError, points % divisor == 0 && points >= 2 * divisor,
                   "multigrid: ", levels, " levels need a multiple of ", divisor, ", at least ",
                   2 * divisor, ", points in each dimension, not ", problem.nx, " x ", problem.ny,
                   " x ", problem.nz);
  STRATA_REQUIRE(ShapeError, problem.ranks() == ranks, "process grid ", problem.grid_x, " x ",
                 problem.grid_y, " x ", problem.grid_z, " for ", ranks, " ranks");
}

}  // namespace

template <class Exec>
std::int64_t Hierarchy<Exec>::bytes() const {
  std::int64_t sum = 0;
  for (auto const& level : levels)
    sum += level.A.bytes() +
           static_cast<std::int64_t>(level.injection.extent(0) * sizeof(std::int32_t)) +
           2 * level.A.rows() * static_cast<std::int64_t>(sizeof(std::int32_t));
  return sum;
}

template <class Exec>
Hierarchy<Exec> Hierarchy<Exec>::stored_in(Exec const& exec, Precision precision) const {
  Hierarchy result(*this);
  for (auto& level : result.levels) level.A = level.A.stored_in(exec, precision);
  return result;
}

template <class Exec>
Hierarchy<Exec> Hierarchy<Exec>::traced(WorkTrace<Exec> const& trace) const {
  Hierarchy result(*this);
  for (int l = 0; auto& level : result.levels)
    level.A = level.A.traced(trace.labelled(strata::detail::message(", level ", l++)));
  return result;
}

template <class Exec>
Hierarchy<Exec> make_hierarchy(Exec const& exec, Communicator const& comm,
                               StencilProblem const& problem, int levels,
                               MatrixOptions const& options) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::make_hierarchy");
  comm.agree([&] { check(problem, levels, comm.size()); });
  Hierarchy<Exec> hierarchy;
  StencilProblem grid = problem;
  for (int l = 0; l < levels; ++l) {
    hierarchy.levels.push_back(
        {DistributedMatrix<Exec>(exec, comm, grid.rows(), grid, options), {}, 0});
    if (l + 1 < levels) grid = grid.coarsened();
  }
  grid = problem;
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l, grid = grid.coarsened()) {
    auto& fine = hierarchy.levels[l];
    auto const& coarse = hierarchy.levels[l + 1].A;
    comm.agree([&] {
      fine.injection =
          detail::allocate<Rows<Exec>>(exec, "strata::sparse::Hierarchy::injection", coarse.rows());
      inject(exec, grid, coarse.order().old_row, fine.A.order().new_row, fine.injection);
      std::int64_t const free = coarse.order().free_rows;
      fine.free_injected =
          count_dependent(exec, fine.injection, free, fine.A.order().free_rows) == 0 ? free : 0;
    });
  }
  return hierarchy;
}

template <class Exec, class Scalar>
Multigrid<Exec, Scalar>::Multigrid(Exec const& exec, Hierarchy<Exec> const& hierarchy)
    : hierarchy_(hierarchy) {
  matrix().comm().agree([&] {
    for (std::size_t l = 1; l < hierarchy_.levels.size(); ++l) {
      auto const& A = hierarchy_.levels[l].A;
      work_.push_back({A.template allocate<Scalar>(exec, "strata::sparse::Multigrid::r"),
                       A.template allocate<Scalar>(exec, "strata::sparse::Multigrid::x"),
                       std::make_shared<Recording>(), std::make_shared<Recording>()});
    }
  });
}

template <class Exec, class Scalar>
bool Multigrid<Exec, Scalar>::is_enqueued() const {
  return std::all_of(hierarchy_.levels.begin(), hierarchy_.levels.end(),
                     [](auto const& level) { return level.A.is_enqueued(); });
}

template <class Exec, class Scalar>
void Multigrid<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                    Vector<Scalar, MemorySpace> const& x, MotifTimes* times) const {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::Multigrid::apply");
  cycle(exec, 0, r, x, times);
}

template <class Exec, class Scalar>
void Multigrid<Exec, Scalar>::cycle(Exec const& exec, std::size_t l,
                                    Vector<Scalar, MemorySpace> const& r,
                                    Vector<Scalar, MemorySpace> const& x, MotifTimes* times) const {
  auto const& level = hierarchy_.levels[l];
  auto const timed = [&](Motif motif, auto const& work) {
    MotifTimes::time(times, exec, motif, work);
  };
  bool const records = l > 0 && !level.A.is_enqueued() && times == nullptr && !level.A.trace();
  timed(Motif::GaussSeidel, [&] {
    auto const work = [&] { level.A.gauss_seidel(exec, r, x, Sweep::Forward, Guess::Zero); };
    records ? work_[l - 1].before->run(exec, work) : work();
  });
  if (l + 1 == hierarchy_.levels.size()) return;
  auto const& coarse = work_[l];
  timed(Motif::Restrict, [&] {
    level.A.restrict_residual(exec, level.injection, level.free_injected, r, x, coarse.r);
  });
  cycle(exec, l + 1, coarse.r, coarse.x, times);
  timed(Motif::Prolong, [&] {
    auto const work = [&] { prolong(exec, level.injection, coarse.x, x); };
    level.A.trace().enqueue(exec, TraceRow::Work, work, "prolongation");
  });
  timed(Motif::GaussSeidel, [&] {
    if (!records || level.A.order().free_rows > 0)
      return level.A.gauss_seidel(exec, r, x, Sweep::Forward, Guess::Given);
    level.A.fill_halo(exec, x);
    work_[l - 1].after->run(exec, [&] { level.A.sweep(exec, r, x, Sweep::Forward, Guess::Given); });
  });
}

#define STRATA_INSTANTIATE_MULTIGRID(Space)                                                   \
  template struct Hierarchy<Space>;                                                           \
  template Hierarchy<Space> make_hierarchy(Space const&, Communicator const&,                 \
                                           StencilProblem const&, int, MatrixOptions const&); \
  template class Multigrid<Space, fp64>;                                                      \
  template class Multigrid<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_MULTIGRID)

}  // namespace strata::sparse
