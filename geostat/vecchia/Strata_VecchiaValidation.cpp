// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_VecchiaValidation.hpp>

#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaData.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace strata::geostat {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::int64_t>;

// The m nearest others of each.
template <class Exec>
NeighbourLists nearest_others(Exec const& exec, Locations const& at, std::int64_t m) {
  auto const all = nearest_neighbours(exec, at, at, m + 1);
  NeighbourLists result;
  for (std::int64_t i = 0; i < at.size(); ++i) {
    std::int64_t left = std::min(m, at.size() - 1);
    for (auto const j : all.of(i)) {
      if (j == i || left == 0) continue;
      result.members.push_back(j);
      --left;
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.members.size()));
  }
  return result;
}

double error_of(Locations const& at, std::size_t i) {
  return at.error_variances.empty() ? 0 : at.error_variances[i];
}

template <class Exec>
void leave_one_out(Exec const& exec, Vecchia<Exec> const& model, MaternCovariance const& c,
                   std::span<double const> values, std::int64_t neighbours,
                   CrossValidation& result) {
  auto const& data = model.data();
  std::int64_t const n = model.size();
  auto const profile = model.profile(model.sums(exec, c, false, false), 1);
  result.info = profile.likelihood.info;
  if (result.info != 0) return;
  auto const lists =
      nearest_others(exec, detail::Directions(c)(data.locations), std::min(neighbours, n - 1));
  auto const products = detail::local_products(exec, model, c, data.locations, lists, 0);
  auto const Q = data.trend.basis(n);
  auto const k = static_cast<std::size_t>(data.trend.columns());
  std::vector<double> f(k);
  for (std::int64_t i = 0; i < n; ++i) {
    auto const row = static_cast<std::size_t>(i);
    double const whole = c.field() + c.nugget + error_of(data.locations, row),
                 variance = whole - products(i, 0);
    double residual = values[row] - products(i, 1);
    for (std::size_t j = 0; j < k; ++j) {
      double const basis = Q[row + j * static_cast<std::size_t>(n)];
      f[j] = basis - products(i, static_cast<std::int64_t>(j) + 2);
      residual -= f[j] * (profile.basis_coefficients[j] - data.taken[j]) + basis * data.taken[j];
    }
    detail::substitute(profile.L, f);
    double leverage = 0;
    for (double const part : f) leverage += part * part / variance;
    bool const is_told = 1 - leverage > 0x1p-44 * static_cast<double>(n);
    result.residual[row] = is_told ? residual / (1 - leverage) : not_known;
    result.variance[row] = is_told ? variance / (1 - leverage) : not_known;
  }
}

// Some of the observations.
struct Part {
  Locations at;
  std::vector<double> values;
  std::vector<std::vector<double>> basis;
};

Part part_of(Locations const& at, std::span<double const> values, Trend const& trend,
             Rows const& rows) {
  Part part{{{}, {}, at.metric}, {}, {}};
  auto const Q = trend.basis(at.size());
  auto const take = [&rows](auto const& from, std::size_t first, auto& to) {
    for (auto const i : rows) to.push_back(from[first + static_cast<std::size_t>(i)]);
  };
  take(at.x, 0, part.at.x);
  take(at.y, 0, part.at.y);
  take(values, 0, part.values);
  for (auto const i : rows)
    part.at.numbers.push_back(at.numbers.empty() ? i : at.numbers[static_cast<std::size_t>(i)]);
  if (!at.error_variances.empty()) take(at.error_variances, 0, part.at.error_variances);
  for (auto const& one : at.further) take(one, 0, part.at.further.emplace_back());
  for (std::int64_t j = 0; j < trend.columns(); ++j)
    take(Q, static_cast<std::size_t>(j * at.size()), part.basis.emplace_back());
  return part;
}

// The trend of a part; none where its columns depend on each other there.
std::optional<Trend> trend_of(Trend const& trend, Part const& part) {
  if (trend.columns() == 0 || trend.is_constant()) return trend;
  try {
    return Trend(part.basis);
  } catch (Error const&) {
    return std::nullopt;
  }
}

template <class Exec>
void leave_out(Exec const& exec, Vecchia<Exec> const& model, MaternCovariance const& c,
               std::span<double const> values, LocalValidationOptions const& options,
               Rows const& out, Rows const& kept, CrossValidation& result) {
  auto const& data = model.data();
  auto const others = part_of(data.locations, values, data.trend, kept),
             these = part_of(data.locations, values, data.trend, out);
  auto const trend = trend_of(data.trend, others);
  if (!trend || kept.empty()) return;
  Vecchia<Exec> const rest(exec, others.at, others.values, *trend,
                           vecchia_blocks(exec, others.at, c, options.approximation).blocks);
  auto const found = predict(exec, rest, c, these.at,
                             {.neighbours = options.neighbours, .trend_columns = these.basis});
  for (std::size_t k = 0; k < out.size(); ++k) {
    auto const row = static_cast<std::size_t>(out[k]);
    result.residual[row] = values[row] - found.mean[k];
    result.variance[row] = found.variance[k] + c.nugget + error_of(data.locations, row);
  }
}

}  // namespace

template <class Exec>
CrossValidation cross_validate(Exec const& exec, Vecchia<Exec> const& model,
                               MaternCovariance const& c, std::span<double const> values,
                               LocalValidationOptions const& options) {
  Region const region(exec, "strata::geostat::vecchia::cross_validate");
  Stopwatch const watch;
  std::int64_t const n = model.size();
  auto const& folds = options.folds;
  constexpr std::int64_t most = 1000;
  STRATA_REQUIRE(ValueError, options.neighbours >= 1 && options.neighbours <= most,
                 "cross_validate: ", options.neighbours, " neighbours, must be 1 to ", most);
  detail::check_values(n, values);
  STRATA_REQUIRE(ShapeError, folds.empty() || static_cast<std::int64_t>(folds.size()) == n,
                 "cross_validate: ", folds.size(), " folds of ", n, " observations");
  CrossValidation result;
  result.residual.assign(static_cast<std::size_t>(n), not_known);
  result.variance = result.residual;
  std::map<std::int64_t, Rows> members;
  for (std::size_t i = 0; i < folds.size(); ++i)
    members[folds[i]].push_back(static_cast<std::int64_t>(i));
  if (folds.empty()) leave_one_out(exec, model, c, values, options.neighbours, result);
  double done = 0;
  for (auto const& [number, out] : members) {
    Rows kept;
    for (std::int64_t i = 0; i < n; ++i)
      if (folds[static_cast<std::size_t>(i)] != number) kept.push_back(i);
    leave_out(exec, model, c, values, options, out, kept, result);
    done += static_cast<double>(out.size()) / static_cast<double>(n);
    if (options.on_progress) options.on_progress(done);
  }
  if (result.info == 0) detail::summarise(result);
  result.seconds = watch.seconds();
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                                  \
  template CrossValidation cross_validate<Exec>(Exec const&, Vecchia<Exec> const&,                \
                                                MaternCovariance const&, std::span<double const>, \
                                                LocalValidationOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
