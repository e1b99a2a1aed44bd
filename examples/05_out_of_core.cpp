// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix larger than the memory that its factorisation may use on the device. Your own function
// makes it tile by tile, and the host's memory keeps it in up to four precisions.
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;

constexpr double length = 100, ahead = 10;  // of memory, of prediction, in steps of time

// The tile whose first entry is A(row, col), of the covariance exp(-|i - j| / length).
void fill_tile(Exec const& exec, std::int64_t row, std::int64_t col,
               ooc::TileView<Exec> const& tile) {
  auto const m = static_cast<int>(tile.extent(0)), n = static_cast<int>(tile.extent(1));
  Kokkos::parallel_for(
      "fill_tile", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {m, n}),
      KOKKOS_LAMBDA(int i, int j) {
        tile(i, j) = Kokkos::exp(-Kokkos::abs(double(row + i - col - j)) / length);
      });
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  int const n = 2000, tile_size = 128;
  std::size_t const budget = 4'000'000;  // bytes for tiles on the device
  auto matrix = ooc::TileMatrix<Exec>::generate(exec, n, tile_size, fill_tile,
                                                ooc::PrecisionRule{.accuracy = 1e-6});
  auto factor = ooc::cholesky(ooc::make_devices(1, budget), std::move(matrix));
  if (!factor.info().ok()) {
    std::cerr << "the matrix is not positive definite\n";
    return 1;
  }
  std::cout << "tiles in fp64, fp32, fp16, fp8:";
  for (auto const count : factor.report().histogram) std::cout << ' ' << count;
  std::cout << "; " << factor.report().bytes_in() << " bytes copied to the device\n";

  // The best prediction of the process 10 steps ahead needs its last value only: x = (0, ..., 0,
  // e^(-10 / length)).
  Kokkos::View<double*> const b("b", n), x("x", n);
  auto const b_host = Kokkos::create_mirror_view(b);
  for (int i = 0; i < n; ++i) b_host(i) = std::exp(-(n - 1 - i + ahead) / length);
  Kokkos::deep_copy(b, b_host);
  auto const report = factor.solve(exec, b, x);  // residuals come from the function, in fp64
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  double error = 0;
  for (int i = 0; i < n; ++i)
    error = std::max(error, std::abs(x_host(i) - (i == n - 1 ? std::exp(-ahead / length) : 0)));
  std::cout << report.iterations << " iterations, backward error " << report.backward_error
            << ", largest error " << error << '\n';
  return report.converged && error < 1e-11 ? 0 : 1;
}
