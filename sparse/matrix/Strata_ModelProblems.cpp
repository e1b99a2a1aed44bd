// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <core/Strata_Errors.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

namespace strata::sparse {
namespace {

using Point = std::array<std::int64_t, 3>;

Point point_of(ModelSize const& size, std::int64_t i) {
  return {i % size.nx, i / size.nx % size.ny, i / (size.nx * size.ny)};
}
bool inside(ModelSize const& size, Point const& p) {
  return p[0] >= 0 && p[0] < size.nx && p[1] >= 0 && p[1] < size.ny && p[2] >= 0 && p[2] < size.nz;
}
std::int64_t number_of(ModelSize const& size, Point const& p) {
  return p[0] + size.nx * (p[1] + size.ny * p[2]);
}

// Call step(offset) for the 27 points around one, in the order of their numbers.
template <class Step>
void for_each_offset(Step const& step) {
  for (std::int64_t z = -1; z <= 1; ++z)
    for (std::int64_t y = -1; y <= 1; ++y)
      for (std::int64_t x = -1; x <= 1; ++x) step(Point{x, y, z});
}

void add_poisson27(ModelSize const& size, std::int64_t i, HostRows& rows) {
  auto const p = point_of(size, i);
  for_each_offset([&](Point const& d) {
    Point const q{p[0] + d[0], p[1] + d[1], p[2] + d[2]};
    if (inside(size, q)) rows.add(number_of(size, q), q == p ? 26 : -1);
  });
}

/// What flows over the faces of a point's cell: minus the entries of its neighbours.
struct SevenPoint {
  std::array<double, 3> low{1, 1, 1}, high{1, 1, 1};
};

void add_seven_point(ModelSize const& size, std::int64_t i, SevenPoint const& flow,
                     HostRows& rows) {
  auto const p = point_of(size, i);
  double diagonal = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) diagonal += flow.low[axis] + flow.high[axis];
  auto const neighbour = [&](std::size_t axis, int step, double value) {
    Point q = p;
    q[axis] += step;
    if (inside(size, q)) rows.add(number_of(size, q), -value);
  };
  for (std::size_t axis = 3; axis-- > 0;) neighbour(axis, -1, flow.low[axis]);
  rows.add(i, diagonal);
  for (std::size_t axis = 0; axis < 3; ++axis) neighbour(axis, +1, flow.high[axis]);
}

// Diffusion 1, and what a vortex about the middle of the x, y plane carries in from upstream.
SevenPoint vortex(ModelSize const& size, std::int64_t i) {
  constexpr double strength = 40;
  auto const p = point_of(size, i);
  double const x = (static_cast<double>(p[0]) + 0.5) / static_cast<double>(size.nx) - 0.5,
               y = (static_cast<double>(p[1]) + 0.5) / static_cast<double>(size.ny) - 0.5;
  std::array<double, 3> const velocity{strength * y, -strength * x, 2};
  SevenPoint flow;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    flow.low[axis] += std::max(velocity[axis], 0.0);
    flow.high[axis] += std::max(-velocity[axis], 0.0);
  }
  return flow;
}

using Stiffness = std::array<std::array<double, 24>, 24>;

// Of the unit cube, by Gauss' rule with two points an axis; corner k is at the bits of k.
Stiffness element_stiffness() {
  constexpr double ratio = 0.3, lambda = ratio / ((1 + ratio) * (1 - 2 * ratio)),
                   mu = 0.5 / (1 + ratio);
  double const gauss[2] = {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)};
  Stiffness K{};
  for (int g = 0; g < 8; ++g) {
    double gradient[8][3];
    for (int k = 0; k < 8; ++k)
      for (int axis = 0; axis < 3; ++axis) {
        gradient[k][axis] = 1;
        for (int b = 0; b < 3; ++b) {
          double const at = gauss[g >> b & 1];
          bool const upper = (k >> b & 1) != 0;
          gradient[k][axis] *= b == axis ? (upper ? 1 : -1) : (upper ? at : 1 - at);
        }
      }
    for (std::size_t k = 0; k < 8; ++k)
      for (std::size_t l = 0; l < 8; ++l) {
        double dot = 0;
        for (int axis = 0; axis < 3; ++axis) dot += gradient[k][axis] * gradient[l][axis];
        for (std::size_t a = 0; a < 3; ++a)
          for (std::size_t b = 0; b < 3; ++b)
            K[3 * k + a][3 * l + b] +=
                0.125 * (lambda * gradient[k][a] * gradient[l][b] +
                         mu * gradient[k][b] * gradient[l][a] + (a == b ? mu * dot : 0));
      }
  }
  return K;
}

// The points at x = 0 are held and have no rows: point (0, y, z) is one step from them.
void add_elasticity(ModelSize const& size, std::int64_t row, HostRows& rows) {
  static Stiffness const K = element_stiffness();
  auto const p = point_of(size, row / 3);
  auto const component = static_cast<std::size_t>(row % 3);
  for_each_offset([&](Point const& d) {
    Point const q{p[0] + d[0], p[1] + d[1], p[2] + d[2]};
    if (!inside(size, q)) return;
    double block[3] = {};
    for (int corner = 0; corner < 8; ++corner) {  // the element of which p is this corner
      std::size_t other = 0;
      bool shared = true;
      for (int axis = 0; axis < 3; ++axis) {
        std::int64_t const bit = corner >> axis & 1, low = p[static_cast<std::size_t>(axis)] - bit,
                           theirs = bit + d[static_cast<std::size_t>(axis)];
        std::int64_t const most = axis == 0 ? size.nx : axis == 1 ? size.ny : size.nz;
        shared =
            shared && theirs >= 0 && theirs <= 1 && low >= (axis == 0 ? -1 : 0) && low + 1 < most;
        other |= static_cast<std::size_t>(theirs & 1) << axis;
      }
      if (!shared) continue;
      for (std::size_t b = 0; b < 3; ++b)
        block[b] += K[3 * static_cast<std::size_t>(corner) + component][3 * other + b];
    }
    for (std::int64_t b = 0; b < 3; ++b) rows.add(3 * number_of(size, q) + b, block[b]);
  });
}

// A ring, and chords of six lengths of which every second one is there.
void add_graph(std::int64_t n, std::int64_t i, std::uint64_t seed, HostRows& rows) {
  double diagonal = i == 0 ? 1 : 0;
  auto const edge = [&](std::int64_t start, std::int64_t other, std::uint64_t chord) {
    auto const key = static_cast<std::uint64_t>(start);
    if (chord > 0 && uniform(seed, key, 2 * chord) < 0.5) return;
    double const weight = std::pow(10.0, 2 * uniform(seed, key, 2 * chord + 1));
    rows.add(other, -weight);
    diagonal += weight;
  };
  for (std::uint64_t chord = 0; chord < 7; ++chord) {
    auto const bits = static_cast<std::int64_t>(random_bits(seed, chord) >> 2);
    std::int64_t const step =
        chord == 0 ? 1 : 2 + bits % std::max<std::int64_t>((n - 1) / 2 - 1, 1);
    if (2 * step >= n) continue;  // both ends would be the same, or an edge given twice
    edge(i, (i + step) % n, chord);
    edge((i + n - step) % n, (i + n - step) % n, chord);
  }
  rows.add(i, diagonal);
}

}  // namespace

int unknowns_per_point(ModelProblem problem) { return problem == ModelProblem::Elasticity ? 3 : 1; }

std::int64_t model_rows(ModelProblem problem, ModelSize const& size) {
  auto const [nx, ny, nz] = size;
  std::int64_t const least = problem == ModelProblem::Elasticity ? 2 : 1;
  STRATA_REQUIRE(ShapeError, nx >= 1 && ny >= least && nz >= least, name_of(problem), ": ", nx,
                 " x ", ny, " x ", nz, " points, must be at least 1 x ", least, " x ", least);
  STRATA_REQUIRE(ShapeError, problem != ModelProblem::Graph || (ny == 1 && nz == 1), "graph: ", nx,
                 " x ", ny, " x ", nz, " vertices; give --n, or nx alone");
  double const points = static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz);
  STRATA_REQUIRE(ShapeError, points < 0x1p40, name_of(problem), ": ", nx, " x ", ny, " x ", nz,
                 " points are more than 2^40");
  return nx * ny * nz * unknowns_per_point(problem);
}

HostRows make_model(ModelProblem problem, ModelSize const& size, std::int64_t first,
                    std::int64_t end, std::uint64_t seed,
                    std::function<void(double)> const& on_progress) {
  std::int64_t const all = model_rows(problem, size);
  STRATA_REQUIRE(ShapeError, 0 <= first && first <= end && end <= all, name_of(problem), ": rows ",
                 first, " to ", end, " of ", all);
  HostRows rows;
  SevenPoint anisotropic;
  anisotropic.low = anisotropic.high = {1, 1e-2, 1e-4};
  for (std::int64_t row = first; row < end; ++row) {
    if (problem == ModelProblem::Poisson27) add_poisson27(size, row, rows);
    if (problem == ModelProblem::Poisson7) add_seven_point(size, row, {}, rows);
    if (problem == ModelProblem::Anisotropic) add_seven_point(size, row, anisotropic, rows);
    if (problem == ModelProblem::Convection) add_seven_point(size, row, vortex(size, row), rows);
    if (problem == ModelProblem::Elasticity) add_elasticity(size, row, rows);
    if (problem == ModelProblem::Graph) add_graph(size.nx, row, seed, rows);
    rows.end_row();
    constexpr std::int64_t step = 1 << 12;
    std::int64_t const done = row + 1 - first;
    if (on_progress && done % step == 0)
      on_progress(static_cast<double>(done) / static_cast<double>(end - first));
  }
  return rows;
}

}  // namespace strata::sparse
