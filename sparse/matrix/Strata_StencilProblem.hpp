// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_STENCIL_PROBLEM_HPP
#define STRATA_SPARSE_STENCIL_PROBLEM_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::sparse {

/// The benchmark's 27-point problem on this rank's box of a process grid (row source, global
/// columns).
///
/// Row: 26 on the diagonal, -1 for each neighbour inside the global box, but -1 - beta for the one
/// at z - 1 and -1 + beta for the one at z + 1. Rows are numbered rank by rank, x fastest; the
/// rank of the box (px, py, pz) is px + grid_x (py + grid_y pz).
struct StencilProblem {
  std::int64_t nx = 0, ny = 0, nz = 0;     ///< points of this rank, the same on all
  int grid_x = 1, grid_y = 1, grid_z = 1;  ///< ranks along each dimension
  int px = 0, py = 0, pz = 0;              ///< the position of this rank among them
  double beta = 0;                         ///< 0: symmetric

  /// Rows of this rank.
  KOKKOS_FUNCTION std::int64_t rows() const { return nx * ny * nz; }
  /// The first row of this rank, in the whole matrix.
  KOKKOS_FUNCTION std::int64_t first_row() const { return rank(px, py, pz) * rows(); }
  /// The number of ranks.
  KOKKOS_FUNCTION int ranks() const { return grid_x * grid_y * grid_z; }
  /// Rows of the whole matrix.
  std::int64_t global_rows() const { return rows() * ranks(); }
  /// Entries of the whole matrix.
  std::int64_t global_entries() const {
    return (3 * nx * grid_x - 2) * (3 * ny * grid_y - 2) * (3 * nz * grid_z - 2);
  }
  /// The problem on every second point of each dimension.
  StencilProblem coarsened() const {
    StencilProblem coarse = *this;
    coarse.nx /= 2, coarse.ny /= 2, coarse.nz /= 2;
    return coarse;
  }
  /// The row of this box at the point of row `coarse` of the coarsened problem.
  KOKKOS_FUNCTION std::int64_t injected(std::int64_t coarse) const {
    std::int64_t const cx = nx / 2, cy = ny / 2;
    return local(2 * (coarse % cx), 2 * (coarse / cx % cy), 2 * (coarse / (cx * cy)));
  }

  /// The position of a row when lines along x are taken in bundles of 4 x 4, in which a line's
  /// neighbours are near: a permutation of this rank's rows (see `DistributedMatrix`).
  KOKKOS_FUNCTION std::int64_t neighbourly_position(std::int64_t row) const {
    constexpr std::int64_t edge = 4;
    std::int64_t const x = row % nx, y = row / nx % ny, z = row / (nx * ny);
    std::int64_t const y0 = y / edge * edge, z0 = z / edge * edge;
    std::int64_t const high = nz - z0 < edge ? nz - z0 : edge,
                       wide = ny - y0 < edge ? ny - y0 : edge;
    return x + nx * (z0 * ny + y0 * high + (z - z0) * wide + (y - y0));
  }

  /// Calls emit(column, value) for each entry, with the number of the column in the whole matrix.
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    std::int64_t const ix = row % nx, iy = row / nx % ny, iz = row / (nx * ny);
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          std::int64_t x = ix + dx, y = iy + dy, z = iz + dz;
          int const bx = px + wrap(x, nx), by = py + wrap(y, ny), bz = pz + wrap(z, nz);
          if (bx < 0 || bx >= grid_x || by < 0 || by >= grid_y || bz < 0 || bz >= grid_z) continue;
          bool const vertical = dx == 0 && dy == 0, diagonal = vertical && dz == 0;
          emit(rank(bx, by, bz) * rows() + local(x, y, z),
               diagonal ? 26.0 : -1.0 + (vertical ? beta * dz : 0.0));
        }
  }

 private:
  KOKKOS_FUNCTION std::int64_t rank(int x, int y, int z) const {
    return x + std::int64_t(grid_x) * (y + std::int64_t(grid_y) * z);
  }
  KOKKOS_FUNCTION std::int64_t local(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return x + nx * (y + ny * z);
  }
  // Takes a coordinate to the neighbouring box that it lies in; -1, 0 or 1 says which.
  KOKKOS_FUNCTION static int wrap(std::int64_t& coordinate, std::int64_t points) {
    int const box = coordinate < 0 ? -1 : coordinate >= points ? 1 : 0;
    coordinate -= box * points;
    return box;
  }
};

}  // namespace strata::sparse

#endif
