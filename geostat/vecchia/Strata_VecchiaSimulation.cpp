// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_VecchiaSimulation.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaData.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace strata::geostat {

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using HostPairs = detail::PairCovariance<Kokkos::HostSpace, false>;
using detail::Points;

// Observations, then new locations, in the coordinates without directions.
Locations joined_places(Locations const& first, Locations const& then) {
  Locations all{first.x, first.y, first.metric};
  all.x.insert(all.x.end(), then.x.begin(), then.x.end());
  all.y.insert(all.y.end(), then.y.begin(), then.y.end());
  all.further = first.further;
  for (std::size_t k = 0; k < all.further.size(); ++k)
    all.further[k].insert(all.further[k].end(), then.further[k].begin(), then.further[k].end());
  return all;
}

// All observations, then the new locations in maximin order.
template <class Exec>
std::vector<std::int64_t> order_behind(Exec const& exec, std::int64_t n, Locations const& then) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
  for (auto const i : maximin_order(exec, then)) order.push_back(n + i);
  return order;
}

// What a new location takes of its neighbours, and its standard deviation given these.
struct Weighing {
  HostPairs const& covariance;
  Points<Kokkos::HostSpace> const& points;
  std::vector<double> const& errors;
  NeighbourLists const& neighbours;
  std::int64_t n;    // observations
  double variation;  // a nugget that is one of the field
  std::vector<double>& weights;
  std::vector<double>& deviation;
  std::vector<double>& ridge;

  // Covariance of the field at two of all places.
  double entry(std::int64_t i, std::int64_t j) const {
    bool const is_one = variation > 0 && covariance.is_one_place(points(i), points(j));
    return covariance(points(i), points(j)) + (is_one ? variation : 0);
  }
  double diagonal(std::int64_t i) const {
    double const own =
        i < n ? covariance.nugget() + (errors.empty() ? 0 : errors[static_cast<std::size_t>(i)])
              : variation;
    return covariance.field() + own;
  }

  // S = L L' of the neighbours; false: there is no factor.
  bool factor(std::span<std::int32_t const> near, double added, std::vector<double>& L) const {
    std::size_t const m = near.size();
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t i = j; i < m; ++i) {
        double sum = i == j ? diagonal(near[i]) + added : entry(near[i], near[j]);
        for (std::size_t k = 0; k < j; ++k) sum -= L[i + k * m] * L[j + k * m];
        if (i == j && !(sum > 0)) return false;
        L[i + j * m] = i == j ? std::sqrt(sum) : sum / L[j + j * m];
      }
    return true;
  }

  void operator()(std::int64_t number) const {
    auto const place = n + number;
    auto const near = neighbours.of(place);
    std::size_t const m = near.size();
    std::vector<double> L(m * m), w;
    auto const at = static_cast<std::size_t>(number);
    for (double const part : {0.0, 1e-12, 1e-10, 1e-8}) {
      ridge[at] = part;
      if (factor(near, part * covariance.field(), L)) break;
      if (part == 1e-8) ridge[at] = std::numeric_limits<double>::quiet_NaN();
    }
    for (auto const other : near) w.push_back(entry(place, other));
    detail::substitute(L, w);
    double variance = covariance.field() + variation;
    for (double const part : w) variance -= part * part;
    detail::substitute_transposed(L, w);
    deviation[at] = std::sqrt(std::max(0.0, variance));
    std::ranges::copy(w, weights.begin() + (neighbours.offsets[static_cast<std::size_t>(place)] -
                                            neighbours.offsets[static_cast<std::size_t>(n)]));
  }
};

// All of N new locations.
void weigh(Host const& exec, Weighing const& weighing, std::int64_t N) {
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>>;
  Kokkos::parallel_for("strata::geostat::vecchia::simulate::weights", Policy(exec, 0, N), weighing);
  exec.fence("strata::geostat::vecchia::simulate::weights");
}

double largest_ridge(std::vector<double> const& ridges) {
  double largest = 0;
  for (double const ridge : ridges) {
    if (std::isnan(ridge))
      throw Error(
          "simulate: neighbours of a location have no factor, nor with 1e-8 of sigma2 added");
    largest = std::max(largest, ridge);
  }
  return largest;
}

// Residuals of the observations, and of the new locations as they are drawn.
struct Drawing {
  std::vector<double> y;  // values less Q taken
  std::vector<double> Q, F;
  std::vector<double> taken, b, L;
  std::int64_t n, N;

  // Basis of place i of all.
  double basis(std::int64_t i, std::size_t j) const {
    return i < n ? Q[static_cast<std::size_t>(i) + j * static_cast<std::size_t>(n)]
                 : F[static_cast<std::size_t>(i - n) + j * static_cast<std::size_t>(N)];
  }

  void field(std::vector<std::int64_t> const& order, NeighbourLists const& neighbours,
             std::vector<double> const& weights, std::vector<double> const& deviation,
             HostMatrix const& normal, std::int64_t which, HostMatrix const& fields) const {
    std::size_t const k = b.size();
    std::vector<double> drawn(k), left(y);
    for (std::size_t j = 0; j < k; ++j) drawn[j] = normal(static_cast<std::int64_t>(j), which);
    detail::substitute_transposed(L, drawn);
    for (std::size_t j = 0; j < k; ++j) drawn[j] += b[j] - taken[j];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < k; ++j)
        left[static_cast<std::size_t>(i)] -= basis(i, j) * drawn[j];
    left.resize(static_cast<std::size_t>(n + N));
    auto const first = neighbours.offsets[static_cast<std::size_t>(n)];
    for (auto const place : order) {
      if (place < n) continue;
      auto const at = static_cast<std::size_t>(place);
      double sum = deviation[at - static_cast<std::size_t>(n)] *
                   normal(static_cast<std::int64_t>(k) + place - n, which);
      auto const* weight = weights.data() + (neighbours.offsets[at] - first);
      for (auto const other : neighbours.of(place))
        sum += *weight++ * left[static_cast<std::size_t>(other)];
      left[at] = sum;
      for (std::size_t j = 0; j < k; ++j) sum += basis(place, j) * (drawn[j] + taken[j]);
      fields(place - n, which) = sum;
    }
  }
};

template <class Exec>
Drawing drawing_of(Exec const& exec, Vecchia<Exec> const& model, MaternCovariance const& c,
                   std::vector<double> const& F, std::int64_t N) {
  auto const& data = model.data();
  auto const profile = model.profile(model.sums(exec, c, false, false), 1);
  STRATA_REQUIRE(ValueError, profile.likelihood.info == 0, "simulate: location ",
                 profile.likelihood.info, " has no positive variance given its neighbours");
  std::int64_t const n = model.size();
  auto const columns = allocate_host_matrix("strata::geostat::vecchia::simulate::columns", n,
                                            static_cast<std::int64_t>(data.columns.extent(1)));
  Kokkos::deep_copy(exec, columns, data.columns);
  exec.fence("strata::geostat::vecchia::simulate::columns");
  return {std::vector<double>(columns.data(), columns.data() + n),
          data.trend.basis(n),
          F,
          data.taken,
          profile.basis_coefficients,
          profile.L,
          n,
          N};
}

}  // namespace

template <class Exec>
Simulation detail::simulate_from(Exec const& exec, Vecchia<Exec> const& model,
                                 MaternCovariance const& c, Locations const& at,
                                 LocalSimulationOptions const& options, HostMatrix const& normal) {
  Locations const& observed = model.locations();
  std::int64_t const n = observed.size(), N = at.size();
  STRATA_REQUIRE(ValueError,
                 at.metric == observed.metric && at.coordinates() == observed.coordinates(),
                 "simulate: the locations differ in metric or coordinates");
  detail::check_variation(observed, std::vector<double>(observed.x.size(), 0), c, options.nugget);
  auto const F = model.trend().rows(N, options.trend_columns);
  auto const drawing = drawing_of(exec, model, c, F, N);
  detail::Directions const turned(c);
  auto const then = turned(at), all = joined_places(turned(observed), then);
  auto const order = order_behind(exec, n, then);
  auto const neighbours = ordered_neighbours(exec, all, order, options.neighbours);
  Host const host;
  HostPairs const covariance(host, c, all, neighbours.offsets.back() * options.neighbours / 2,
                             false, false);
  Points<Kokkos::HostSpace> const points(host, all);
  std::vector<double> weights(static_cast<std::size_t>(
      neighbours.offsets.back() - neighbours.offsets[static_cast<std::size_t>(n)])),
      deviation(static_cast<std::size_t>(N)), ridges(deviation);
  double const variation = options.nugget == NuggetIs::Variation ? c.nugget : 0;
  weigh(host,
        {covariance, points, observed.error_variances, neighbours, n, variation, weights, deviation,
         ridges},
        N);
  Simulation result;
  result.ridge = largest_ridge(ridges);
  auto const count = static_cast<std::int64_t>(normal.extent(1));
  result.fields = allocate_host_matrix("strata::geostat::vecchia::simulate::fields", N, count);
  for (std::int64_t which = 0; which < count; ++which)
    drawing.field(order, neighbours, weights, deviation, normal, which, result.fields);
  return result;
}

template <class Exec>
Simulation simulate(Exec const& exec, Vecchia<Exec> const& model, MaternCovariance const& c,
                    Locations const& at, LocalSimulationOptions const& options) {
  Region const region(exec, "strata::geostat::vecchia::simulate");
  constexpr std::int64_t most = 1000;
  STRATA_REQUIRE(ValueError, options.neighbours >= 1 && options.neighbours <= most,
                 "simulate: ", options.neighbours, " neighbours, must be 1 to ", most);
  STRATA_REQUIRE(ValueError, options.count >= 1, "simulate: ", options.count,
                 " fields, must be at least 1");
  if (at.size() == 0) return {};
  std::int64_t const rows = model.trend().columns() + at.size();
  auto const normal =
      allocate_host_matrix("strata::geostat::vecchia::simulate::normal", rows, options.count);
  for (std::int64_t j = 0; j < options.count; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      normal(i, j) = detail::normal_number(options.seed, i, j);
  return detail::simulate_from(exec, model, c, at, options, normal);
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template Simulation simulate<Exec>(Exec const&, Vecchia<Exec> const&, MaternCovariance const&, \
                                     Locations const&, LocalSimulationOptions const&);           \
  template Simulation detail::simulate_from<Exec>(                                               \
      Exec const&, Vecchia<Exec> const&, MaternCovariance const&, Locations const&,              \
      LocalSimulationOptions const&, HostMatrix const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
