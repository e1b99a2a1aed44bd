// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_Divergence.hpp>

#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace strata::geostat {

namespace {

template <class Exec>
using BlockOf = typename ooc::TileFactor<Exec>::Block;

// z'E^2 z, z'E^3 z and z'E^4 z for a vector z.
struct Moments {
  double second = 0, third = 0, fourth = 0;
};

template <class Exec>
BlockOf<Exec> block(Exec const& exec, std::int64_t n, std::int64_t columns, char const* label) {
  return BlockOf<Exec>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)),
                       static_cast<std::size_t>(n), static_cast<std::size_t>(columns));
}

// Y = E X = L^-1 S L^-T X - X, with room for one more block.
template <class Exec>
void apply_error(Exec const& exec, ooc::TileFactor<Exec> const& factor, BlockOf<Exec> const& X,
                 BlockOf<Exec> const& Y, BlockOf<Exec> const& scratch) {
  Kokkos::deep_copy(exec, scratch, X);
  factor.half_solve(exec, Op::Trans, scratch);
  factor.apply(exec, scratch, Y);
  factor.half_solve(exec, Op::NoTrans, Y);
  strata::for_each_element(
      "strata::geostat::divergence::error", exec, static_cast<std::int64_t>(X.extent(0)),
      static_cast<std::int64_t>(X.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { Y(i, j) -= X(i, j); });
}

// sums(j, :) = w'w, w'v, v'v for the columns of W = E Z and V = E W.
template <class Exec>
void multiply(Exec const& exec, BlockOf<Exec> const& W, BlockOf<Exec> const& V,
              BlockOf<Exec> const& sums) {
  auto const n = static_cast<std::int64_t>(W.extent(0));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::divergence::moments",
      Policy(exec, static_cast<int>(W.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const j = team.league_rank();
        double second = 0, third = 0, fourth = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += W(i, j) * W(i, j); }, second);
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += W(i, j) * V(i, j); }, third);
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& s) { s += V(i, j) * V(i, j); }, fourth);
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
          sums(j, 0) = second;
          sums(j, 1) = third;
          sums(j, 2) = fourth;
        });
      });
}

// The vectors number `first` on: columns of the identity, or of -1 and 1.
template <class Exec>
void fill_vectors(Exec const& exec, BlockOf<Exec> const& Z, std::int64_t first, bool unit,
                  std::uint64_t seed) {
  strata::for_each_element(
      "strata::geostat::divergence::vectors", exec, static_cast<std::int64_t>(Z.extent(0)),
      static_cast<std::int64_t>(Z.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto const row = static_cast<std::uint64_t>(i);
        bool const up = random_bits(seed, row, static_cast<std::uint64_t>(first + j)) >> 63 == 0;
        Z(i, j) = unit ? (i == first + j ? 1.0 : 0.0) : (up ? 1.0 : -1.0);
      });
}

template <class Exec>
std::vector<Moments> moments(Exec const& exec, ooc::TileFactor<Exec> const& factor,
                             std::int64_t count, bool unit, DivergenceOptions const& options) {
  std::int64_t const n = factor.matrix().order(), width = std::min<std::int64_t>(count, 256);
  auto const Z = block(exec, n, width, "strata::geostat::divergence::Z"),
             W = block(exec, n, width, "strata::geostat::divergence::W"),
             V = block(exec, n, width, "strata::geostat::divergence::V"),
             sums = block(exec, width, 3, "strata::geostat::divergence::sums");
  HostMatrix const host = allocate_host_matrix("strata::geostat::divergence::host", width, 3);
  std::vector<Moments> result;
  for (std::int64_t first = 0; first < count; first += width) {
    auto const now = std::pair(std::int64_t{0}, std::min(width, count - first));
    BlockOf<Exec> const z = Kokkos::subview(Z, Kokkos::ALL, now),
                        w = Kokkos::subview(W, Kokkos::ALL, now),
                        v = Kokkos::subview(V, Kokkos::ALL, now);
    fill_vectors<Exec>(exec, z, first, unit, options.seed);
    apply_error<Exec>(exec, factor, z, w, v);
    apply_error<Exec>(exec, factor, w, v, z);  // z is not needed again
    multiply<Exec>(exec, w, v, sums);
    Kokkos::deep_copy(exec, host, sums);
    exec.fence("strata::geostat::divergence::chunk");
    for (std::int64_t j = 0; j < now.second; ++j)
      result.push_back({host(j, 0), host(j, 1), host(j, 2)});
    tell_together(factor.matrix().comm(), options.on_progress,
                  static_cast<double>(first + now.second) / static_cast<double>(count));
  }
  return result;
}

}  // namespace

template <class Exec>
Divergence divergence(Exec const& exec, ooc::TileFactor<Exec> const& factor, double log_det_exact,
                      DivergenceOptions const& options) {
  Region const region(exec, "strata::geostat::divergence");
  STRATA_REQUIRE(ValueError, options.probes >= 2 && options.exact_up_to >= 0,
                 "divergence: probes is ", options.probes, " and exact_up_to ", options.exact_up_to,
                 ", must be at least 2 and 0");
  Divergence result{.log_det_half = (factor.log_determinant() - log_det_exact) / 2};
  std::int64_t const n = factor.matrix().order();
  if (n == 0) return result;
  bool const exact = n <= options.exact_up_to;
  auto const all = moments(exec, factor, exact ? n : options.probes, exact, options);
  double const weight = exact ? 1 : 1 / static_cast<double>(options.probes);
  double norm = 0, fourth = 0, squares = 0;
  for (auto const& m : all) {
    result.full += weight * (m.second / 2 - m.third / 3 + m.fourth / 4) / 2;
    fourth += weight * m.fourth;
    if (m.second > 0) norm = std::max(norm, std::sqrt(m.fourth / m.second));
  }
  // |sum over k > 4 of (-1)^k trace(E^k)/k| <= trace(E^4)/5 sum over k > 0 of ||E||^k
  result.truncation_error = norm < 1 ? fourth / 10 * norm / (1 - norm) : INFINITY;
  if (exact) return result;
  for (auto const& m : all) {
    double const deviation = (m.second / 2 - m.third / 3 + m.fourth / 4) / 2 - result.full;
    squares += deviation * deviation;
  }
  result.standard_error = std::sqrt(squares * weight / (options.probes - 1));
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                          \
  template Divergence divergence<Exec>(Exec const&, ooc::TileFactor<Exec> const&, double, \
                                       DivergenceOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
