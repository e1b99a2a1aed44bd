// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_Vecchia.hpp>

#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/vecchia/detail/Strata_ResponseSums.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaData.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace strata::geostat {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using detail::ResponseColumns;
using detail::ResponseTerm;
using detail::VecchiaProfile;
using detail::VecchiaSums;
using Kind = detail::ResponseTerm::Kind;

// Each location is the response of one block, and all numbers are in range.
void check_blocks(ConditioningBlocks const& blocks, std::int64_t n) {
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  bool is_valid = blocks.offsets.size() == blocks.response_offsets.size() &&
                  static_cast<std::int64_t>(blocks.responses.size()) == n;
  for (std::size_t k = 0; is_valid && k + 1 < blocks.offsets.size(); ++k) {
    auto const first = blocks.offsets[k], size = blocks.offsets[k + 1] - first;
    for (auto r = blocks.response_offsets[k]; is_valid && r < blocks.response_offsets[k + 1]; ++r) {
      auto const position = blocks.responses[static_cast<std::size_t>(r)];
      is_valid = position >= 0 && position < size;
      if (!is_valid) break;
      auto const place = blocks.members[static_cast<std::size_t>(first + position)];
      is_valid = place >= 0 && place < n && !seen[static_cast<std::size_t>(place)];
      if (is_valid) seen[static_cast<std::size_t>(place)] = true;
    }
  }
  for (auto const member : blocks.members) is_valid = is_valid && member >= 0 && member < n;
  STRATA_REQUIRE(ValueError, is_valid, "Vecchia: the blocks are not those of ", n, " locations");
}

// What least squares takes of the values: coefficients of the basis, whose columns are orthogonal.
std::vector<double> least_squares(Trend const& trend, std::vector<double> const& Q,
                                  std::span<double const> values) {
  std::vector<double> result;
  for (std::size_t j = 0; j < static_cast<std::size_t>(trend.columns()); ++j) {
    double product = 0, square = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double const entry = Q[i + j * values.size()];
      product += entry * values[i];
      square += entry * entry;
    }
    result.push_back(product / square);
  }
  return result;
}

// Upper triangle of the products of the data's columns, in this order.
template <class Function>
void for_each_pair(int q, Function const& f) {
  for (int b = 0; b < q; ++b)
    for (int a = 0; a <= b; ++a) f(a, b);
}

std::vector<ResponseTerm> terms_of(ResponseColumns const& c, bool derivatives) {
  std::vector<ResponseTerm> terms{{Kind::Column, ResponseColumns::log_variance},
                                  {Kind::Column, ResponseColumns::rounding},
                                  {Kind::Triple, ResponseColumns::rounding, c.data(0)}};
  for_each_pair(c.q, [&](int a, int b) { terms.push_back({Kind::Product, c.data(a), c.data(b)}); });
  for (int j = 0; derivatives && j < c.parameters; ++j) {
    terms.push_back({Kind::Column, c.slope(j)});
    for_each_pair(c.q, [&](int a, int b) {
      terms.push_back(
          {Kind::Derivative, c.data(a), c.data(b), c.slope(j), c.product(b, j), c.product(a, j)});
    });
  }
  for (int k = 0; derivatives && k < c.parameters; ++k)
    for (int j = 0; j <= k; ++j) terms.push_back({Kind::Column, c.information(j, k)});
  return terms;
}

// The sums in the order of `terms_of`.
VecchiaSums unpacked(std::vector<double> const& sums, ResponseColumns const& c, bool derivatives) {
  VecchiaSums result;
  std::size_t next = 0;
  result.log_det = sums[next++];
  result.rounding = sums[next++];
  result.form_rounding = sums[next++];
  auto const square = [&] {
    auto const n = static_cast<std::size_t>(c.q);
    std::vector<double> G(n * n);
    for_each_pair(c.q, [&](int a, int b) {
      auto const i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
      G[i + j * n] = G[j + i * n] = sums[next++];
    });
    return G;
  };
  result.G = square();
  if (!derivatives) return result;
  auto const parameters = static_cast<std::size_t>(c.parameters);
  for (std::size_t j = 0; j < parameters; ++j) {
    result.log_det_by[j] = sums[next++];
    result.G_by[j] = square();
  }
  for (std::size_t k = 0; k < parameters; ++k)
    for (std::size_t j = 0; j <= k; ++j)
      result.information[j][k] = result.information[k][j] = sums[next++];
  return result;
}

// 1 + the first location without a variance.
template <class Exec>
std::int64_t first_without_variance(Exec const& exec,
                                    detail::ResponseRows<typename Exec::memory_space> const& rows) {
  auto const column = Kokkos::subview(rows, Kokkos::ALL, int{ResponseColumns::log_variance});
  using HostColumn = Kokkos::View<double*, Kokkos::HostSpace>;
  auto const host =
      allocate_on_host<HostColumn>("strata::geostat::vecchia::variances", column.extent(0));
  Kokkos::deep_copy(exec, host, column);
  exec.fence("strata::geostat::vecchia::variances");
  for (std::size_t i = 0; i < host.extent(0); ++i)
    if (!std::isfinite(host(i))) return static_cast<std::int64_t>(i) + 1;
  return 0;
}

// What is differentiated by beside the range and the variances.
struct Also {
  bool nu = false, directions = false, nu_2 = false;
  int axes = 0;  // ranges of so many coordinates
};

template <bool derivatives, class Exec>
void launch(Exec const& exec, detail::VecchiaData<typename Exec::memory_space> const& data,
            detail::Points<typename Exec::memory_space> const& points, MaternCovariance const& c,
            Also by, detail::ResponseRows<typename Exec::memory_space> const& rows) {
  using Kernel = detail::VecchiaKernel<Exec, derivatives>;
  using Policy = Kokkos::TeamPolicy<Exec>;
  constexpr std::size_t most_in_fast_memory = 40960;  // beyond it only some devices have it
  int const ld = static_cast<int>(data.largest);
  Kernel kernel{{exec, c, data.locations, data.pairs, by.nu, by.nu_2},
                data.blocks,
                points,
                data.errors,
                data.columns,
                by.nu,
                by.directions,
                c.second.has_value(),
                by.nu_2,
                by.axes,
                ld,
                0,
                rows};
  std::size_t const bytes = kernel.scratch_bytes();
  int const level = kernel.level = bytes <= most_in_fast_memory ? 0 : 1;
  auto const league = static_cast<int>(data.blocks.offsets.extent(0)) - 1;
  auto const scratch = Kokkos::PerTeam(bytes);
  int team = 1;
  if constexpr (!strata::runs_on_host<Exec>) {
    Policy automatic(exec, league, Kokkos::AUTO);
    automatic.set_scratch_size(level, scratch);
    team = std::min(64, automatic.team_size_recommended(kernel, Kokkos::ParallelForTag()));
  }
  Policy policy(exec, league, team);
  policy.set_scratch_size(level, scratch);
  Kokkos::parallel_for("strata::geostat::vecchia::blocks", policy, kernel);
}

}  // namespace

template <class Exec>
Vecchia<Exec>::Vecchia(Exec const& exec, Locations const& locations, std::span<double const> values,
                       Trend const& trend, ConditioningBlocks const& blocks) {
  using Space = typename Exec::memory_space;
  std::int64_t const n = locations.size();
  detail::check_values(n, values);
  check_locations(locations);
  trend.check(n);
  check_blocks(blocks, n);
  data_ = std::make_unique<detail::VecchiaData<Space>>();
  data_->locations = locations;
  data_->trend = trend;
  data_->needs_nugget = find_copies(locations, values).places > 0;
  data_->largest = blocks.largest();
  data_->pairs = blocks.pairs();
  auto const Q = trend.basis(n);
  data_->taken = least_squares(trend, Q, values);
  std::vector<double> columns =
      trend.columns() > 0 ? trend.residuals(values) : std::vector(values.begin(), values.end());
  columns.insert(columns.end(), Q.begin(), Q.end());
  auto const copied = [&exec]<class T>(std::vector<T> const& host, char const* label) {
    return detail::copy_of<Space>(exec, host, label);
  };
  data_->blocks = {copied(blocks.offsets, "strata::geostat::vecchia::offsets"),
                   copied(blocks.response_offsets, "strata::geostat::vecchia::response_offsets"),
                   copied(blocks.members, "strata::geostat::vecchia::members"),
                   copied(blocks.responses, "strata::geostat::vecchia::responses")};
  data_->points = detail::points_of<Space>(exec, locations);
  data_->errors = copied(locations.error_variances, "strata::geostat::vecchia::errors");
  using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using HostColumns = Kokkos::View<double const**, Kokkos::LayoutLeft, Kokkos::HostSpace,
                                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  data_->columns =
      allocate<Columns>(exec, "strata::geostat::vecchia::columns", n, 1 + trend.columns());
  Kokkos::deep_copy(
      exec, data_->columns,
      HostColumns(columns.data(), data_->columns.extent(0), data_->columns.extent(1)));
  exec.fence("strata::geostat::vecchia::copied");
}

template <class Exec>
Vecchia<Exec>::~Vecchia() = default;
template <class Exec>
Vecchia<Exec>::Vecchia(Vecchia&&) noexcept = default;
template <class Exec>
Vecchia<Exec>& Vecchia<Exec>::operator=(Vecchia&&) noexcept = default;

template <class Exec>
std::int64_t Vecchia<Exec>::size() const {
  return data_->locations.size();
}
template <class Exec>
Locations const& Vecchia<Exec>::locations() const {
  return data_->locations;
}
template <class Exec>
Trend const& Vecchia<Exec>::trend() const {
  return data_->trend;
}

template <class Exec>
VecchiaSums Vecchia<Exec>::sums(Exec const& exec, MaternCovariance const& shape, bool derivatives,
                                bool by_nu, bool by_directions) const {
  Region const region(exec, "strata::geostat::vecchia::sums");
  Locations const& locations = data_->locations;
  // These are checked.
  check_covariance(shape, {.x = {}, .y = {}, .metric = locations.metric});
  if (data_->needs_nugget && shape.nugget == 0) check_distinct(locations);
  using Space = typename Exec::memory_space;
  bool const has_second = shape.second.has_value(), turned = by_directions && !shape.has_axes();
  int const axes = by_directions ? static_cast<int>(shape.axes.size()) : 0;
  ResponseColumns const columns{static_cast<int>(data_->columns.extent(1)),
                                axes > 0        ? static_cast<int>(detail::By::axis) + axes
                                : has_second    ? 9
                                : by_directions ? 6
                                                : 4};
  auto const points =
      shape.has_directions() || shape.has_axes() || by_directions
          ? detail::points_of<Space>(exec, detail::Directions(shape, turned)(locations))
          : data_->points;
  auto const rows = allocate<detail::ResponseRows<Space>>(exec, "strata::geostat::vecchia::rows",
                                                          size(), columns.size(derivatives));
  Also const by{by_nu && has_shape(shape.family), turned,
                has_second && has_shape(shape.second->family), axes};
  derivatives ? launch<true>(exec, *data_, points, shape, by, rows)
              : launch<false>(exec, *data_, points, shape, {}, rows);
  auto result =
      unpacked(detail::sums_of(exec, rows, terms_of(columns, derivatives)), columns, derivatives);
  if (!std::isfinite(result.log_det)) result.info = first_without_variance(exec, rows);
  return result;
}

template <class Exec>
VecchiaProfile Vecchia<Exec>::profile(VecchiaSums const& sums, double sill) const {
  Trend const& trend = data_->trend;
  auto const k = static_cast<std::size_t>(trend.columns()), q = k + 1;
  VecchiaProfile result;
  result.sill = sill;
  Likelihood& likelihood = result.likelihood;
  likelihood.n = size();
  likelihood.info = sums.info;
  likelihood.backward_error = 0x1p-52;
  std::vector<double> A(k * k), b(k), inverse(k * k);
  for (std::size_t j = 0; j < k; ++j) {
    b[j] = sums.G[j + 1];
    for (std::size_t i = 0; i < k; ++i) A[i + j * k] = sums.G[i + 1 + (j + 1) * q];
  }
  result.L = detail::lower_factor(A, k);
  detail::substitute(result.L, b);
  result.form_of_shape = sums.G[0];
  for (double const part : b) result.form_of_shape -= part * part;
  detail::substitute_transposed(result.L, b);
  for (std::size_t j = 0; j < k; ++j) {
    std::span<double> const column{inverse.data() + j * k, k};
    column[j] = sill;
    detail::substitute(result.L, column);
    detail::substitute_transposed(result.L, column);
  }
  likelihood.log_det = sums.log_det + static_cast<double>(size()) * std::log(sill);
  likelihood.log_det_error = sums.rounding;
  likelihood.quadratic_form = result.form_of_shape / sill;
  likelihood.quadratic_form_error = sums.form_rounding / sill;
  if (trend.criterion() == Criterion::REML) {
    likelihood.log_det_trend =
        -trend.log_det_of_basis(size()) - static_cast<double>(k) * std::log(sill);
    for (std::size_t j = 0; j < k; ++j)
      likelihood.log_det_trend += 2 * std::log(result.L[j + j * k]);
  }
  for (std::size_t j = 0; j < k; ++j) b[j] += data_->taken[j];
  likelihood.coefficients = trend.coefficients(b);
  likelihood.coefficient_covariance = trend.covariances(inverse);
  likelihood.mean = k == 0 ? 0 : trend.is_constant() ? likelihood.coefficients[0] : nan;
  likelihood.log_likelihood = detail::log_likelihood_of(likelihood, trend);
  result.basis_coefficients = std::move(b);
  if (likelihood.info != 0)
    likelihood.log_likelihood = likelihood.log_det = likelihood.quadratic_form = nan;
  return result;
}

template <class Exec>
detail::LikelihoodDerivatives Vecchia<Exec>::derivatives(VecchiaSums const& sums,
                                                         VecchiaProfile const& profile,
                                                         MaternCovariance const& shape,
                                                         detail::Wanted const& wanted) const {
  auto const k = static_cast<std::size_t>(data_->trend.columns()), q = k + 1;
  bool const restricted = data_->trend.criterion() == Criterion::REML;
  detail::OfEach by{};
  for (std::size_t j = 0; j < by.size(); ++j) {
    if (sums.G_by[j].empty()) continue;
    // The form is (1, -b)' G (1, -b) for the best b, and log det A has the slope tr(A^-1 A_j).
    std::vector<double> v(q, 1);
    for (std::size_t a = 0; a < k; ++a) v[a + 1] = data_->taken[a] - profile.basis_coefficients[a];
    double form = 0, trace = 0;
    auto const& G = sums.G_by[j];
    for (std::size_t a = 0; a < q; ++a)
      for (std::size_t b = 0; b < q; ++b) form += v[a] * G[a + b * q] * v[b];
    for (std::size_t a = 0; restricted && a < k; ++a) {
      std::vector<double> column(k);
      for (std::size_t b = 0; b < k; ++b) column[b] = G[b + 1 + (a + 1) * q];
      detail::substitute(profile.L, column);
      detail::substitute_transposed(profile.L, column);
      trace += column[a];
    }
    by[j] = sums.info == 0 ? -0.5 * (sums.log_det_by[j] + form / profile.sill + trace) : nan;
  }
  detail::LikelihoodDerivatives result;
  result.gradient.info = sums.info;
  detail::take_derivatives(shape, wanted, by, result);
  for (std::size_t j = 0; j < by.size(); ++j)
    for (std::size_t l = 0; l < by.size(); ++l)
      if (sums.info == 0 && wanted[j] && wanted[l])
        result.information[j][l] = sums.information[j][l];
  return result;
}

template <class Exec>
Likelihood Vecchia<Exec>::log_likelihood(Exec const& exec, MaternCovariance const& c) const {
  Stopwatch const watch;
  Likelihood result = profile(sums(exec, c, false, false), 1).likelihood;
  result.seconds = watch.seconds();
  return result;
}

template <class Exec>
LikelihoodGradient Vecchia<Exec>::gradient(Exec const& exec, MaternCovariance const& c,
                                           std::array<bool, 4> const& wanted) const {
  Stopwatch const watch;
  bool const directions = c.has_directions() || c.has_axes();
  auto const by = detail::wanted_of(c, wanted, directions);
  auto const all = sums(exec, c, true, wanted[2], directions);
  LikelihoodGradient result = derivatives(all, profile(all, 1), c, by).gradient;
  result.seconds = watch.seconds();
  return result;
}

template <class Exec>
FisherInformation Vecchia<Exec>::information(Exec const& exec, MaternCovariance const& c,
                                             std::array<bool, 4> const& wanted,
                                             bool directions) const {
  Stopwatch const watch;
  auto const by = detail::wanted_of(c, wanted, directions);
  auto const all = sums(exec, c, true, wanted[2], directions);
  FisherInformation result;
  result.info = all.info;
  for (std::size_t j = 0; j < by.size(); ++j)
    for (std::size_t l = 0; l < by.size(); ++l) {
      bool const known = all.info == 0 && by[j] && by[l];
      result.of_all[j][l] = known ? all.information[j][l] : nan;
      if (j < 4 && l < 4) result.of[j][l] = result.of_all[j][l];
    }
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec) template class Vecchia<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
