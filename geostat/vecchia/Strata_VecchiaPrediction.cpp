// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaData.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace strata::geostat {

namespace {

// For each new place v = L^-1 c of the covariances c with its neighbours, S = L L', and of v the
// products with itself and with L^-1 [y Q].
template <class Exec>
struct LocalKriging {
  using Space = typename Exec::memory_space;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Triangle = detail::TeamTriangle<Member>;

  detail::PairCovariance<Space, false> covariance;
  Kokkos::View<std::int32_t*, Space> neighbours;
  int n;  // of each place
  detail::Points<Space> points, places;
  Kokkos::View<double*, Space> errors;  // known variances, if any
  double at_same_place;                 // a nugget that is a variation of the field
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> data;  // [y Q]
  int level;
  detail::ResponseRows<Space> products;  // v'v, v'z for the columns z

  KOKKOS_FUNCTION static std::size_t scratch_bytes(int n, int q) {
    auto const m = static_cast<std::size_t>(n);
    return 8 * m * (m + static_cast<std::size_t>(q) + 1) + 64;
  }

  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const q = static_cast<int>(data.extent(1));
    std::int64_t const place = member.league_rank(), first = place * n;
    auto* const scratch =
        static_cast<double*>(member.team_scratch(level).get_shmem(scratch_bytes(n, q) - 64));
    Triangle const L{member, scratch, n};
    double* const z = scratch + n * n;  // columns: v, then the data's
    strata::team_for(member, n * n, [&](int t) {
      int const i = t % n, j = t / n;
      if (i < j) return;
      double const c = covariance(points(neighbours(first + i)), points(neighbours(first + j)));
      double const error = errors.extent(0) > 0 ? errors(neighbours(first + i)) : 0.0;
      L.at(i, j) = i == j ? covariance.field() + covariance.nugget() + error : c;
    });
    strata::team_for(member, n * (q + 1), [&](int t) {
      int const i = t % n, p = t / n;
      auto const k = neighbours(first + i);
      if (p > 0) {
        z[t] = data(k, p - 1);
        return;
      }
      bool const is_here = covariance.is_one_place(points(k), places(place));
      z[t] = covariance(points(k), places(place)) + (is_here ? at_same_place : 0.0);
    });
    member.team_barrier();
    L.factor(n);
    L.forward(n, z, q + 1);
    strata::team_for(member, q + 1, [&](int p) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += z[i] * z[i + p * n];
      products(place, p) = sum;
    });
  }
};

template <class Exec>
void launch(Exec const& exec, LocalKriging<Exec> kernel, int q) {
  using Policy = Kokkos::TeamPolicy<Exec>;
  constexpr std::size_t most_in_fast_memory = 40 * 1024;
  auto const league = static_cast<int>(kernel.places.size());
  std::size_t const bytes = LocalKriging<Exec>::scratch_bytes(kernel.n, q);
  kernel.level = bytes <= most_in_fast_memory ? 0 : 1;
  int team = 1;
  if constexpr (!strata::runs_on_host<Exec>) {
    Policy automatic(exec, league, Kokkos::AUTO);
    automatic.set_scratch_size(kernel.level, Kokkos::PerTeam(bytes));
    team = std::min(64, automatic.team_size_recommended(kernel, Kokkos::ParallelForTag()));
  }
  Policy policy(exec, league, team);
  policy.set_scratch_size(kernel.level, Kokkos::PerTeam(bytes));
  Kokkos::parallel_for("strata::geostat::vecchia::predict", policy, kernel);
}

}  // namespace

template <class Exec>
HostMatrix detail::local_products(Exec const& exec, Vecchia<Exec> const& approximation,
                                  MaternCovariance const& c, Locations const& places,
                                  NeighbourLists const& neighbours, double at_same_place) {
  using Space = typename Exec::memory_space;
  auto const& data = approximation.data();
  detail::Directions const turned(c);
  std::int64_t const count = places.size();
  int const q = static_cast<int>(data.columns.extent(1)),
            n = count > 0 ? static_cast<int>(neighbours.of(0).size()) : 0;
  auto const products = allocate<detail::ResponseRows<Space>>(
      exec, "strata::geostat::vecchia::products", count, q + 1);
  if (count > 0)
    launch<Exec>(
        exec,
        {{exec, c, places, count * n * (n + 1) / 2, false, false},
         detail::copy_of<Space>(exec, neighbours.members, "strata::geostat::vecchia::neighbours"),
         n,
         detail::points_of<Space>(exec, turned(data.locations)),
         detail::points_of<Space>(exec, turned(places)),
         data.errors,
         at_same_place,
         data.columns,
         0,
         products},
        q);
  auto const host = allocate_host_matrix("strata::geostat::vecchia::host_products", count, q + 1);
  Kokkos::deep_copy(exec, host, products);
  exec.fence("strata::geostat::vecchia::predicted");
  return host;
}

template <class Exec>
Prediction predict(Exec const& exec, Vecchia<Exec> const& approximation, MaternCovariance const& c,
                   Locations const& new_locations, LocalPredictionOptions const& options) {
  Region const region(exec, "strata::geostat::vecchia::predict");
  constexpr std::int64_t most = 1000;
  STRATA_REQUIRE(ValueError, options.neighbours >= 1 && options.neighbours <= most,
                 "predict: ", options.neighbours, " neighbours, must be 1 to ", most);
  auto const& data = approximation.data();
  auto const& trend = approximation.trend();
  auto const profile = approximation.profile(approximation.sums(exec, c, false, false), 1);
  STRATA_REQUIRE(ValueError, profile.likelihood.info == 0, "predict: location ",
                 profile.likelihood.info, " has no positive variance given its neighbours");
  std::int64_t const count = new_locations.size();
  detail::check_variation(data.locations, std::vector<double>(data.locations.x.size(), 0), c,
                          options.nugget);
  detail::Directions const turned(c);
  auto const observed = turned(data.locations), at = turned(new_locations);
  auto const neighbours = nearest_neighbours(exec, observed, at, options.neighbours);
  double const varies = options.nugget == NuggetIs::Variation ? c.nugget : 0;
  auto const f = trend.rows(count, options.trend_columns);
  if (count == 0) return {};
  int const q = static_cast<int>(trend.columns()) + 1;
  auto const host =
      detail::local_products(exec, approximation, c, new_locations, neighbours, varies);
  Prediction result;
  auto const k = static_cast<std::size_t>(q - 1);
  std::vector<double> rest(k);  // f - Q' S^-1 c
  for (std::int64_t i = 0; i < count; ++i) {
    double mean = host(i, 1), variance = c.field() + varies - host(i, 0);
    for (std::size_t j = 0; j < k; ++j) {
      double const basis = f[static_cast<std::size_t>(i) + j * static_cast<std::size_t>(count)];
      rest[j] = basis - host(i, static_cast<int>(j) + 2);
      mean += rest[j] * (profile.basis_coefficients[j] - data.taken[j]) + basis * data.taken[j];
    }
    detail::substitute(profile.L, rest);
    for (double const part : rest) variance += part * part;
    result.mean.push_back(mean);
    if (options.variances) result.variance.push_back(std::max(0.0, variance));
  }
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template Prediction predict<Exec>(Exec const&, Vecchia<Exec> const&, MaternCovariance const&, \
                                    Locations const&, LocalPredictionOptions const&);           \
  template HostMatrix detail::local_products<Exec>(Exec const&, Vecchia<Exec> const&,           \
                                                   MaternCovariance const&, Locations const&,   \
                                                   NeighbourLists const&, double);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
