// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_TILES_HPP
#define STRATATEST_TILES_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace strata::test {

using namespace geostat;

/// A Matern covariance matrix in tiles, and how they are rounded.
struct MaternCase {
  std::int64_t n, tile;
  double range;
  ooc::PrecisionRule rule;
  double nu = 0.5;
};

/// The rule of these layers, "fp16x2,fp32".
inline ooc::PrecisionRule layered(char const* layers) {
  ooc::PrecisionRule rule;
  auto const list = dense::LayerList::parse(layers);
  rule.layers.assign(list.begin(), list.end());
  return rule;
}

/// The rule of tiles in fp64 whose products are made of integers modulo so many numbers, with an
/// accuracy beside tiles in fp32 and fp16.
inline ooc::PrecisionRule integers(int moduli, double accuracy = 0) {
  ooc::PrecisionRule rule{accuracy};
  rule.precisions = {integer_precision(moduli)};
  if (accuracy > 0)
    rule.precisions.insert(rule.precisions.end(), {Precision::fp32, Precision::fp16});
  return rule;
}

/// A Matern covariance matrix (nu = 1/2), row and column i scaled by a power of two up to 2^spread.
inline HostMatrix matern_matrix(std::int64_t n, double range, double spread = 0) {
  HostMatrix const A("strata::test::A", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  fill_covariance(Kokkos::DefaultHostExecutionSpace(), MaternCovariance{1, range, 0.5, 0},
                  synthetic_locations(n), A);
  auto const factor = [&](std::int64_t i) {
    return std::exp2(spread * std::sin(static_cast<double>(7 * i)));
  };
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) A(i, j) *= factor(i) * factor(j);
  return A;
}

/// Devices of a test: host workers, or all of them the first GPU.
template <class Exec>
ooc::Devices devices_of(int count, std::size_t budget_bytes = 0) {
  ooc::Devices devices = ooc::make_devices(count, budget_bytes);
  if (!std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>)
    for (ooc::Device& device : devices) device.id = 0;
  return devices;
}

/// A host that tells few free bytes.
class FewFreeBytes {
 public:
  explicit FewFreeBytes(std::size_t bytes) { ooc::detail::pretended_free_bytes = bytes; }
  ~FewFreeBytes() { ooc::detail::pretended_free_bytes = ooc::detail::all_bytes; }
  FewFreeBytes(FewFreeBytes const&) = delete;
  FewFreeBytes& operator=(FewFreeBytes const&) = delete;
};

/// Workers on a host, or the GPUs that there are, in turn.
template <class Exec>
ooc::Devices devices_in_turn(int count, std::size_t budget_bytes = 0) {
  ooc::Devices devices = ooc::make_devices(count, budget_bytes);
  if (!std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>)
    for (ooc::Device& device : devices) device.id %= Kokkos::num_devices();
  return devices;
}

/// A field's covariance matrix in tiles.
template <class Exec>
ooc::TileMatrix<Exec> field(std::int64_t n, std::int64_t nb, ooc::PrecisionRule const& rule = {},
                            double range = 0.05) {
  Exec const exec;
  auto const tiles =
      geostat::matern_tiles(exec, MaternCovariance{1, range, 0.5, 0}, synthetic_locations(n));
  return ooc::TileMatrix<Exec>::generate(exec, n, nb, tiles, rule);
}

/// A copy in the memory of an execution space.
template <class Exec>
auto on_space(HostMatrix const& A) {
  return Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), A);
}

/// A matrix of 5 x 5 tiles whose tile (4, 3) is zero, though L_42 fills in, and then there is
/// L_42 L_32^T. Its norms say nothing of that, and too few moduli are taken there.
inline HostMatrix matrix_that_fills_in(std::int64_t nb) {
  std::int64_t const n = 5 * nb;
  HostMatrix const A("strata::test::A", static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, i) = 1;
    for (std::int64_t j = 0; j < i; ++j) {
      std::pair const tile(i / nb, j / nb);
      bool const is_there = tile == std::pair<std::int64_t, std::int64_t>(2, 0) ||
                            tile == std::pair<std::int64_t, std::int64_t>(4, 0) ||
                            tile == std::pair<std::int64_t, std::int64_t>(3, 2);
      double const size = 0.9 / static_cast<double>(nb);
      A(i, j) = A(j, i) = is_there ? size * std::sin(static_cast<double>(i * j + i)) : 0;
    }
  }
  return A;
}

/// The lower triangle that the tiles stand for, in fp64.
template <class Matrix>
HostMatrix stored_matrix(Matrix const& matrix) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  std::int64_t const n = matrix.order(), nb = matrix.tile_size();
  HostMatrix const A("strata::test::stored", static_cast<std::size_t>(n),
                     static_cast<std::size_t>(n));
  LeafBlas<Host> blas{Host()};
  for (std::int64_t j = 0; j < matrix.tiles(); ++j)
    for (std::int64_t i = j; i < matrix.tiles(); ++i)
      blas.convert(matrix.op(i, j), matrix.tile(i, j),
                   matrix_ref(A).block(i * nb, j * nb, matrix.rows(i), matrix.rows(j)));
  Host().fence("strata::test::stored");
  return A;
}

/// What this rank has of a matrix is what one rank has of the same.
template <class Exec>
void expect_same_matrix(ooc::TileMatrix<Exec> const& mine, ooc::TileMatrix<Exec> const& whole) {
  EXPECT_EQ(mine.digest(), whole.digest());
  EXPECT_EQ(mine.hash(), whole.hash());
  EXPECT_EQ(mine.norm_inf(), whole.norm_inf());
  EXPECT_EQ(mine.given_norm_inf(), whole.given_norm_inf());
  EXPECT_EQ(mine.scaling(), whole.scaling());
  for (std::int64_t j = 0; j < mine.tiles(); ++j)
    for (std::int64_t i = j; i < mine.tiles(); ++i) {
      if (!mine.has_tile(i, j)) {
        ASSERT_EQ(mine.data(i, j), nullptr);
        continue;
      }
      ASSERT_EQ(mine.copy_bytes(i, j), whole.copy_bytes(i, j));
      // between the numbers and the trailer there may be anything
      ASSERT_EQ(mine.square(i, j), whole.square(i, j));
      auto const a = mine.tile(i, j), b = whole.tile(i, j);
      std::size_t const bytes =
          static_cast<std::size_t>(a.rows * a.cols) * traits(a.precision).bytes;
      ASSERT_EQ(std::memcmp(a.data, b.data, bytes), 0) << "tile " << i << ", " << j;
    }
}

}  // namespace strata::test

#endif
