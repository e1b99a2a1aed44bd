// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_TrilinearHierarchy.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/multigrid/detail/Strata_LevelOptions.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace strata::sparse {
namespace {

/// Row i: the entries at i - 1, i, i + 1.
using Tridiagonal = std::vector<double>;

/// One dimension of a level: mass, stencil and slope, and how many points.
struct Axis {
  std::int64_t n = 1;
  Tridiagonal M, K, N;

  bool coarsens() const { return n >= 3; }
  std::int64_t coarse_points() const { return coarsens() ? n / 2 : n; }
};

/// A coarse point next to a fine one, and its weight.
struct Weight {
  std::int64_t point;
  double weight;
};

// The coarse points 2 c + 1 = fine, or on both sides of it; values outside the grid are 0.
std::vector<Weight> coarse_of(Axis const& axis, std::int64_t fine) {
  if (!axis.coarsens()) return {{fine, 1}};
  if (fine % 2 == 1) return {{fine / 2, 1}};
  std::vector<Weight> weights;
  for (auto const c : {fine / 2 - 1, fine / 2})
    if (c >= 0 && c < axis.coarse_points()) weights.push_back({c, 0.5});
  return weights;
}
std::vector<Weight> fine_of(Axis const& axis, std::int64_t coarse) {
  if (!axis.coarsens()) return {{coarse, 1}};
  std::vector<Weight> weights{{2 * coarse, 0.5}, {2 * coarse + 1, 1}};
  if (2 * coarse + 2 < axis.n) weights.push_back({2 * coarse + 2, 0.5});
  return weights;
}

// p' T p
Tridiagonal galerkin(Axis const& axis, Tridiagonal const& T) {
  Tridiagonal result(static_cast<std::size_t>(3 * axis.coarse_points()), 0.0);
  for (std::int64_t i = 0; i < axis.n; ++i)
    for (std::int64_t d = -1; d <= 1; ++d) {
      if (i + d < 0 || i + d >= axis.n) continue;
      double const t = T[static_cast<std::size_t>(3 * i + d + 1)];
      for (auto const& [row, a] : coarse_of(axis, i))
        for (auto const& [col, b] : coarse_of(axis, i + d))
          result[static_cast<std::size_t>(3 * row + col - row + 1)] += a * t * b;
    }
  return result;
}

Axis finest_axis(std::int64_t n) {
  Axis axis{n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    axis.M.insert(axis.M.end(), {0, 1, 0});
    axis.K.insert(axis.K.end(), {1, 1, 1});
    axis.N.insert(axis.N.end(), {-1, 0, 1});
  }
  return axis;
}

using Grid = std::array<Axis, 3>;

Grid coarsened(Grid const& fine) {
  Grid coarse;
  for (std::size_t d = 0; d < 3; ++d)
    coarse[d] = {fine[d].coarse_points(), galerkin(fine[d], fine[d].M),
                 galerkin(fine[d], fine[d].K), galerkin(fine[d], fine[d].N)};
  return coarse;
}

std::int64_t rows_of(Grid const& grid) { return grid[0].n * grid[1].n * grid[2].n; }

/// 27 M x M x M - K x K x K + beta M x M x N (row source, global columns), of rows from `first` on.
template <class Exec>
struct TensorRows {
  using Numbers = Vector<double, typename Exec::memory_space>;
  std::int64_t nx, ny, nz, first;
  double beta;
  Numbers Mx, My, Mz, Kx, Ky, Kz, Nz;

  TensorRows(Exec const& exec, Grid const& grid, std::int64_t first_row, double slope)
      : nx(grid[0].n), ny(grid[1].n), nz(grid[2].n), first(first_row), beta(slope) {
    auto const copy = [&](Tridiagonal const& T) {
      return detail::to_device(exec, "strata::sparse::make_trilinear_hierarchy::axis", T);
    };
    Mx = copy(grid[0].M), My = copy(grid[1].M), Mz = copy(grid[2].M);
    Kx = copy(grid[0].K), Ky = copy(grid[1].K), Kz = copy(grid[2].K);
    Nz = copy(grid[2].N);
  }

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t local, Emit const& emit) const {
    std::int64_t const row = first + local, x = row % nx, y = row / nx % ny, z = row / (nx * ny);
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (x + dx < 0 || x + dx >= nx || y + dy < 0 || y + dy >= ny || z + dz < 0 ||
              z + dz >= nz)
            continue;
          std::int64_t const i = 3 * x + dx + 1, j = 3 * y + dy + 1, k = 3 * z + dz + 1;
          double const value = Mx(i) * My(j) * (27 * Mz(k) + beta * Nz(k)) - Kx(i) * Ky(j) * Kz(k);
          emit(row + dx + nx * (dy + ny * dz), value);
        }
  }
};

// For rows [first, end) of `rows`: products of the weights that `next` gives in each dimension.
template <class Next>
HostRows interpolation(Grid const& rows, std::array<std::int64_t, 3> const& columns,
                       std::int64_t first, std::int64_t end, Next const& next) {
  HostRows result;
  for (std::int64_t row = first; row < end; ++row) {
    auto const of_x = next(0, row % rows[0].n), of_y = next(1, row / rows[0].n % rows[1].n),
               of_z = next(2, row / (rows[0].n * rows[1].n));
    for (auto const& [z, wz] : of_z)
      for (auto const& [y, wy] : of_y)
        for (auto const& [x, wx] : of_x)
          result.add(x + columns[0] * (y + columns[1] * z), wx * wy * wz);
    result.end_row();
  }
  return result;
}

template <class Exec>
DistributedMatrix<Exec> matrix_of(Exec const& exec, Communicator const& comm, Grid const& grid,
                                  double beta, MatrixOptions const& options) {
  auto const first = even_partition(rows_of(grid), comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const source = comm.agree([&] { return TensorRows<Exec>(exec, grid, first[rank], beta); });
  return DistributedMatrix<Exec>(exec, comm, first[rank + 1] - first[rank], source, options);
}

template <class Exec>
void connect(Exec const& exec, Grid const& fine_grid, Grid const& coarse_grid,
             typename TransferHierarchy<Exec>::Level& fine, DistributedMatrix<Exec> const& coarse) {
  std::array<std::int64_t, 3> const fine_points{fine_grid[0].n, fine_grid[1].n, fine_grid[2].n},
      coarse_points{coarse_grid[0].n, coarse_grid[1].n, coarse_grid[2].n};
  auto const& comm = coarse.comm();
  auto const P = comm.agree([&] {
    return interpolation(
        fine_grid, coarse_points, fine.A.first_row(), fine.A.first_row() + fine.A.rows(),
        [&](std::size_t axis, std::int64_t i) { return coarse_of(fine_grid[axis], i); });
  });
  fine.P = Transfer<Exec>(exec, fine.A, coarse, P);
  auto const R = comm.agree([&] {
    return interpolation(
        coarse_grid, fine_points, coarse.first_row(), coarse.first_row() + coarse.rows(),
        [&](std::size_t axis, std::int64_t c) { return fine_of(fine_grid[axis], c); });
  });
  fine.R = Transfer<Exec>(exec, coarse, fine.A, R);
}

void check(StencilGrid const& grid, std::int64_t coarse_rows) {
  auto const [nx, ny, nz] = grid.points;
  double const points = static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz);
  STRATA_REQUIRE(ShapeError, nx >= 1 && ny >= 1 && nz >= 1 && points < 0x1p40, "grid of ", nx,
                 " x ", ny, " x ", nz, " points: each must be at least 1, all below 2^40");
  STRATA_REQUIRE(ValueError, coarse_rows >= 1 && coarse_rows <= 10000, "grid: ", coarse_rows,
                 " rows to be solved directly, must be 1 to 10000");
}

}  // namespace

template <class Exec>
TransferHierarchy<Exec> make_trilinear_hierarchy(Exec const& exec, Communicator const& comm,
                                                 StencilGrid const& grid,
                                                 MatrixOptions const& options,
                                                 std::int64_t coarse_rows) {
  Region const region(exec, "strata::sparse::make_trilinear_hierarchy");
  comm.agree([&] { check(grid, coarse_rows); });
  Grid level{finest_axis(grid.points[0]), finest_axis(grid.points[1]), finest_axis(grid.points[2])};
  auto const options_of = [&](std::size_t l) {
    auto how = detail::level_options(options, static_cast<int>(l));
    how.order = RowOrder::Sweep;
    return how;
  };
  auto hierarchy = single_level(matrix_of(exec, comm, level, grid.beta, options_of(0)));
  while (rows_of(level) > coarse_rows &&
         std::any_of(level.begin(), level.end(), [](auto const& a) { return a.coarsens(); })) {
    auto next = coarsened(level);
    auto const coarse = matrix_of(exec, comm, next, grid.beta, options_of(hierarchy.levels.size()));
    connect(exec, level, next, hierarchy.levels.back(), coarse);
    hierarchy.levels.push_back({coarse, {}, {}});
    level = std::move(next);
  }
  hierarchy.coarse = CoarseSolve::Direct;
  return hierarchy;
}

#define STRATA_INSTANTIATE_TRILINEAR(Space)                   \
  template TransferHierarchy<Space> make_trilinear_hierarchy( \
      Space const&, Communicator const&, StencilGrid const&, MatrixOptions const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_TRILINEAR)

}  // namespace strata::sparse
