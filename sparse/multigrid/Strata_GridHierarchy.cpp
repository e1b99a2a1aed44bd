// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/multigrid/detail/Strata_LevelOptions.hpp>

#include <string>
#include <variant>

namespace strata::sparse {
namespace {

template <class Exec>
using Rows = Vector<std::int32_t, typename Exec::memory_space>;

// injection(c): the fine row, in the fine matrix' order, of row c of the coarse one.
template <class Exec>
void inject(Exec const& exec, StencilProblem const& fine, Rows<Exec> const& coarse_old,
            Rows<Exec> const& fine_new, Rows<Exec> const& injection) {
  Kokkos::parallel_for(
      "strata::sparse::make_grid_hierarchy::inject",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(injection.extent(0))),
      KOKKOS_LAMBDA(std::int64_t c) { injection(c) = fine_new(fine.injected(coarse_old(c))); });
}

template <class Matrix>
KOKKOS_FUNCTION bool reads_halo(Matrix const& A, std::int64_t i) {
  auto const row = A.row(i);
  for (int k = 0; k < row.width; ++k)
    if (A.column(i, k) >= A.rows()) return true;
  return false;
}

// Coarse rows whose fine row reads no halo come first.
template <class Exec, class Matrix>
void put_free_first(Exec const& exec, Matrix const& A,
                    Injection<typename Exec::memory_space>& injection) {
  auto const fine_row = injection.fine_row, order = injection.order;
  std::int64_t free = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::make_grid_hierarchy::free",
      detail::RowPolicy<Exec>(exec, 0, injection.rows()),
      KOKKOS_LAMBDA(std::int64_t c, std::int64_t& sum) { sum += !reads_halo(A, fine_row(c)); },
      free);
  exec.fence("strata::sparse::make_grid_hierarchy::counted");
  Kokkos::parallel_scan(
      "strata::sparse::make_grid_hierarchy::free_first",
      detail::RowPolicy<Exec>(exec, 0, injection.rows()),
      KOKKOS_LAMBDA(std::int64_t c, std::int64_t& before, bool final) {
        bool const is_free = !reads_halo(A, fine_row(c));
        if (final) order(is_free ? before : free + c - before) = static_cast<std::int32_t>(c);
        before += is_free;
      });
  injection.free_rows = free;
}

// What is made beside an exchange is a launch more.
template <class Exec>
bool is_worth_a_launch(std::int64_t rows, MatrixOptions const& options) {
  constexpr std::int64_t few = std::int64_t{1} << 17;
  return options.free_colours ? *options.free_colours > 0
                              : strata::runs_on_host<Exec> || rows >= few;
}

// Places of the rows of `coarse` among the rows of `fine`.
template <class Exec>
Injection<typename Exec::memory_space> make_injection(Exec const& exec, StencilProblem const& grid,
                                                      DistributedMatrix<Exec> const& fine,
                                                      DistributedMatrix<Exec> const& coarse,
                                                      bool beside_exchange) {
  Injection<typename Exec::memory_space> injection;
  auto const allocate = [&](char const* label) {
    return strata::allocate<Rows<Exec>>(exec, std::string("strata::sparse::Injection::") + label,
                                        coarse.rows());
  };
  injection.fine_row = allocate("fine_row");
  inject(exec, grid, coarse.order().old_row, fine.order().new_row, injection.fine_row);
  if (fine.halo() == 0) {
    injection.free_rows = coarse.rows();
  } else if (beside_exchange) {
    injection.order = allocate("order");
    std::visit([&](auto const& A) { put_free_first(exec, A, injection); }, fine.stored());
  }
  exec.fence("strata::sparse::make_grid_hierarchy::injection");
  return injection;
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
std::int64_t GridHierarchy<Exec>::bytes() const {
  std::int64_t sum = 0;
  for (auto const& level : levels)
    sum += level.A.bytes() +
           (level.injection.rows() + static_cast<std::int64_t>(level.injection.order.extent(0))) *
               static_cast<std::int64_t>(sizeof(std::int32_t)) +
           2 * level.A.rows() * static_cast<std::int64_t>(sizeof(std::int32_t));
  return sum;
}

template <class Exec>
GridHierarchy<Exec> GridHierarchy<Exec>::stored_in(Exec const& exec, Precision precision) const {
  GridHierarchy result(*this);
  for (auto& level : result.levels) level.A = level.A.stored_in(exec, precision);
  return result;
}

template <class Exec>
GridHierarchy<Exec> make_grid_hierarchy(Exec const& exec, Communicator const& comm,
                                        StencilProblem const& problem, int levels,
                                        MatrixOptions const& options) {
  Region const region(exec, "strata::sparse::make_grid_hierarchy");
  comm.agree([&] { check(problem, levels, comm.size()); });
  GridHierarchy<Exec> hierarchy;
  StencilProblem grid = problem;
  for (int l = 0; l < levels; ++l) {
    auto how = detail::level_options(options, l);
    how.order = RowOrder::Sweep;
    hierarchy.levels.push_back({DistributedMatrix<Exec>(exec, comm, grid.rows(), grid, how), {}});
    if (l + 1 < levels) grid = grid.coarsened();
  }
  grid = problem;
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l, grid = grid.coarsened()) {
    auto& fine = hierarchy.levels[l];
    auto const& coarse = hierarchy.levels[l + 1].A;
    comm.agree([&] {
      fine.injection = make_injection(exec, grid, fine.A, coarse,
                                      is_worth_a_launch<Exec>(coarse.rows(), options));
    });
  }
  return hierarchy;
}

#define STRATA_INSTANTIATE_GRID_HIERARCHY(Space)     \
  template struct GridHierarchy<Space>;              \
  template GridHierarchy<Space> make_grid_hierarchy( \
      Space const&, Communicator const&, StencilProblem const&, int, MatrixOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_GRID_HIERARCHY)

}  // namespace strata::sparse
