// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_FisherInformation.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>
#include <geostat/detail/Strata_KeptSquares.hpp>
#include <geostat/detail/Strata_RestrictedInformation.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace {

constexpr std::size_t sigma2 = 0, range = 1, nu = 2, nugget = 3;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class Exec>
using Panel = typename CovarianceFactor<Exec>::Block;

// Columns of S^-1 S_k for the four parameters; of those that are not wanted there is none.
template <class Exec>
using Columns = std::array<Panel<Exec>, 4>;

// Columns of S_range and S_nu; what has none is not wanted.
template <class Exec>
void fill_derivatives(Exec const& exec,
                      detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
                      std::int64_t first, Panel<Exec> const& by_range, Panel<Exec> const& by_nu) {
  bool const has_range = by_range.extent(1) > 0, has_nu = by_nu.extent(1) > 0;
  Panel<Exec> const& any = has_range ? by_range : by_nu;
  for_each_element(
      "strata::geostat::fisher_information::derivatives", exec,
      static_cast<std::int64_t>(any.extent(0)), static_cast<std::int64_t>(any.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto const entry = gradient(i, first + j);
        if (has_range) by_range(i, j) = entry.of[range];
        if (has_nu) by_nu(i, j) = entry.of[nu];
      });
}

// Known variances of errors where kernels read them; empty: none.
template <class Exec>
using ErrorVariances = Kokkos::View<double*, typename Exec::memory_space>;

template <class Exec>
ErrorVariances<Exec> errors_of(Exec const& exec, Locations const& locations) {
  if (locations.error_variances.empty()) return {};
  auto const copy = detail::copy_of<typename Exec::memory_space>(
      exec, locations.error_variances, "strata::geostat::fisher_information::errors");
  exec.fence("strata::geostat::fisher_information::copied");
  return copy;
}

// Columns of S^-1 S_sigma2 = (I - S^-1 N) / sigma2 from those of S^-1, N the diagonal of nugget and
// errors.
template <class Exec>
void fill_by_sigma2(Exec const& exec, MaternCovariance const& theta, std::int64_t first,
                    ErrorVariances<Exec> const& errors, Panel<Exec> const& inverse,
                    Panel<Exec> const& A) {
  bool const has_errors = errors.extent(0) > 0;
  double const variance = theta.sigma2, noise = theta.nugget;
  for_each_element(
      "strata::geostat::fisher_information::by_sigma2", exec,
      static_cast<std::int64_t>(A.extent(0)), static_cast<std::int64_t>(A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const of_column = noise + (has_errors ? errors(first + j) : 0);
        A(i, j) = ((i == first + j ? 1.0 : 0.0) - of_column * inverse(i, j)) / variance;
      });
}

struct Pair {
  std::size_t j, k;
};

// Of these the entries that lie opposite each other differ: with errors that do, those of sigma2,
// too.
std::vector<std::size_t> kept_of(std::array<bool, 4> const& wanted, bool with_errors) {
  std::vector<std::size_t> result;
  for (std::size_t const k : {sigma2, range, nu})
    if (wanted[k] && (k != sigma2 || with_errors)) result.push_back(k);
  return result;
}

int ranks(Communicator const* comm) { return comm ? comm->size() : 1; }
int rank(Communicator const* comm) { return comm ? comm->rank() : 0; }

using Range = std::pair<std::int64_t, std::int64_t>;

// Some columns of a matrix that has them, or of one that has none.
template <class Matrix>
Matrix columns_in(Matrix const& A, Range const& which) {
  return A.extent(1) > 0 ? Matrix(Kokkos::subview(A, Kokkos::ALL, which)) : A;
}

std::string on_each_of(int ranks) {
  return ranks == 1 ? "" : " on each of " + std::to_string(ranks) + " ranks";
}

std::int64_t block_of(std::int64_t n) { return std::min(n, detail::column_block); }

// S^-1 S_k is symmetric for the nugget, and for sigma2 without known errors. The trace of its
// product with another such matrix is the sum of the products of their entries, column by column,
// which each rank has. For the others the squares are kept until the opposite ones come.
template <class Exec>
class Traces {
 public:
  Traces(Exec const& exec, CovarianceFactor<Exec>& factor, FisherOptions const& options)
      : exec_(exec),
        factor_(factor),
        wanted_(wanted_of(options, factor.covariance())),
        on_progress_(options.on_progress),
        n_(factor.order()),
        width_(block_of(n_)),
        gradient_(exec, factor.covariance(), factor.locations(), wanted_[nu]),
        errors_(errors_of(exec, factor.locations())),
        kept_(kept_of(wanted_, errors_.extent(0) > 0)),
        squares_(exec, n_, width_, kept_.size(), factor.comm()) {
    for (std::size_t k = 0; k < 4; ++k)
      if (wanted_[k] || k == nugget)
        columns_[k] =
            allocate<Panel<Exec>>(exec, "strata::geostat::fisher_information::columns", n_, width_);
    bool const has_errors = errors_.extent(0) > 0;
    for (std::size_t const j : {sigma2, nugget})
      for (std::size_t k = 0; k < 4; ++k) {
        bool const is_new = j == nugget ? has_errors || k != sigma2 : !has_errors;
        if (wanted_[j] && wanted_[k] && is_new) pairs_.push_back({j, k});
      }
    auto const count = static_cast<std::int64_t>(pairs_.size());
    sums_ = allocate<Panel<Exec>>(exec, "strata::geostat::fisher_information::sums", width_, count);
    host_ = allocate_host_matrix("strata::geostat::fisher_information::host", width_, count);
    if (!runs_on_host<Exec> && ranks(factor.comm()) > 1)
      shared_ = allocate_host_matrix("strata::geostat::fisher_information::shared", n_,
                                     width_ / ranks(factor.comm()) + 1);
  }

  /// Collective; what goes wrong on one rank between its solves all throw.
  void run(detail::ManySolves& solves, std::array<Parameters, 4>& traces) {
    for (auto const& [j, k] : pairs_) traces[j][k] = 0;
    for (std::int64_t first = 0; first < n_ && factor_.info().ok(); first += width_) {
      auto const A = together(factor_.comm(), [&] { return right_hand_sides(first); });
      for (std::size_t const k : kept_) share(A[k]);
      for (std::size_t const k : {range, nu, nugget})
        if ((wanted_[k] || (k == nugget && wanted_[sigma2])) && factor_.info().ok())
          detail::solve_in_place(exec_, factor_, A[k], solves);
      together(factor_.comm(), [&] {
        add(first, A, traces);
        auto const done = static_cast<double>(std::min(n_, first + width_));
        if (on_progress_) on_progress_(done / static_cast<double>(n_));
      });
    }
    auto const of_kept = squares_.traces();
    for (std::size_t j = 0; j < kept_.size(); ++j)
      for (std::size_t k = j; k < kept_.size(); ++k) traces[kept_[j]][kept_[k]] = of_kept[j][k];
  }

 private:
  static std::array<bool, 4> wanted_of(FisherOptions const& options, Covariance const& covariance) {
    auto wanted = options.wanted;
    wanted[nu] = wanted[nu] && has_shape(covariance.family);
    return wanted;
  }

  Columns<Exec> right_hand_sides(std::int64_t first) {
    Columns<Exec> A;
    for (std::size_t k = 0; k < 4; ++k)
      if (columns_[k].extent(1) > 0)
        A[k] = columns_in(columns_[k], {0, std::min(width_, n_ - first)});
    detail::fill_unit_vectors(exec_, first, A[nugget]);
    auto const own = columns_of(rank(factor_.comm()), A[nugget]);
    if (own.first < own.second)
      fill_derivatives<Exec>(exec_, gradient_, first + own.first, columns_in(A[range], own),
                             columns_in(A[nu], own));
    exec_.fence("strata::geostat::fisher_information::right_hand_sides");
    return A;
  }

  // Of a block's columns of S_range and S_nu each rank evaluates its part, as an entry may cost as
  // much as a hundred products, and has the others' from them.
  void share(Panel<Exec> const& A) const {
    if (ranks(factor_.comm()) == 1) return;
    LocalSteps attempt;
    for (int from = 0; from < ranks(factor_.comm()); ++from) {
      auto const part = columns_in(A, columns_of(from, A));
      auto const copy = [&](auto const& to, auto const& source) {
        attempt([&] {
          Kokkos::deep_copy(exec_, to, source);
          exec_.fence("strata::geostat::fisher_information::share");
        });
      };
      if constexpr (runs_on_host<Exec>) {
        factor_.comm()->broadcast({part.data(), part.size()}, from);
      } else {
        HostMatrix const host = columns_in(shared_, {0, static_cast<std::int64_t>(part.extent(1))});
        if (rank(factor_.comm()) == from) copy(host, part);
        factor_.comm()->broadcast({host.data(), host.size()}, from);
        if (rank(factor_.comm()) != from) copy(part, host);
      }
    }
    attempt.end(factor_.comm());
  }
  // The columns of a block that a rank evaluates.
  Range columns_of(int rank, Panel<Exec> const& A) const {
    auto const count = static_cast<std::int64_t>(A.extent(1));
    std::int64_t const parts = ranks(factor_.comm());
    return {count * rank / parts, count * (rank + 1) / parts};
  }

  void add(std::int64_t first, Columns<Exec> const& A, std::array<Parameters, 4>& traces) {
    if (wanted_[sigma2])
      fill_by_sigma2<Exec>(exec_, factor_.covariance(), first, errors_, A[nugget], A[sigma2]);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      detail::inner_products(exec_, A[pairs_[p].j], A[pairs_[p].k], sums_,
                             static_cast<std::int64_t>(p));
    Kokkos::deep_copy(exec_, host_, sums_);
    std::vector<Panel<Exec>> kept;
    for (std::size_t const k : kept_) kept.push_back(A[k]);
    squares_.take(first, kept);
    exec_.fence("strata::geostat::fisher_information::block");
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t j = 0; j < A[nugget].extent(1); ++j)
        traces[pairs_[p].j][pairs_[p].k] += host_(j, p);
  }

  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  std::array<bool, 4> wanted_;
  std::function<void(double)> on_progress_;
  std::int64_t n_, width_;
  detail::CovarianceGradient<typename Exec::memory_space> gradient_;
  ErrorVariances<Exec> errors_;
  std::vector<std::size_t> kept_;  // those of range and nu that are wanted
  detail::KeptSquares<Exec> squares_;
  Columns<Exec> columns_;
  std::vector<Pair> pairs_;
  Panel<Exec> sums_;
  HostMatrix host_;
  HostMatrix shared_;  // columns on their way between devices of ranks
};

// The inverse of a correlation-like matrix of the parameters in `which`, by Cholesky; false if a
// pivot is below 1e-10.
bool invert(std::array<Parameters, 4>& R, std::vector<std::size_t> const& which) {
  std::size_t const m = which.size();
  std::array<Parameters, 4> L{}, W{};  // W = L^-1
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t i = j; i < m; ++i) {
      double sum = R[which[i]][which[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      if (i == j && !(sum > 1e-10)) return false;
      L[i][j] = i == j ? std::sqrt(sum) : sum / L[j][j];
    }
  }
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = j; i < m; ++i) {
      double sum = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; ++k) sum -= L[i][k] * W[k][j];
      W[i][j] = sum / L[i][i];
    }
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0;
      for (std::size_t k = std::max(i, j); k < m; ++k) sum += W[k][i] * W[k][j];
      R[which[i]][which[j]] = sum;
    }
  return true;
}

}  // namespace

std::size_t fisher_bytes_needed(std::int64_t n, std::array<bool, 4> const& wanted, int ranks,
                                bool with_errors) {
  STRATA_REQUIRE(ValueError, ranks >= 1, "fisher_information: ", ranks,
                 " ranks, must be at least 1");
  auto const matrices = static_cast<std::int64_t>(kept_of(wanted, with_errors).size());
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  (void)dense_bytes("fisher_information", n, n * matrices, any);
  auto const squares = detail::SquarePlan::of(n, block_of(n), ranks).most_at_a_time();
  return dense_bytes("fisher_information", block_of(n), block_of(n) * squares * matrices, any);
}

template <class Exec>
FisherInformation fisher_information(Exec const& exec, CovarianceFactor<Exec>& factor,
                                     FisherOptions const& options) {
  Region const region(exec, "strata::geostat::fisher_information");
  Stopwatch const watch;
  FisherInformation result;
  for (auto& row : result.of) row = {nan, nan, nan, nan};
  std::size_t const bytes =
      fisher_bytes_needed(factor.order(), options.wanted, ranks(factor.comm()),
                          !factor.locations().error_variances.empty());
  together(factor.comm(), [&] {
    STRATA_REQUIRE(MemoryError, bytes <= options.max_bytes, "fisher_information: ", bytes,
                   " bytes are needed for ", factor.order(), " observations",
                   on_each_of(ranks(factor.comm())), ", max_bytes is ", options.max_bytes);
  });
  detail::ManySolves solves;
  std::array<Parameters, 4> traces = result.of;
  if (factor.info().ok())
    together(factor.comm(), [&] {
      return Traces<Exec>(exec, factor, options);
    }).run(solves, traces);
  std::array<Parameters, 4> more{};
  if (factor.info().ok() && options.trend.criterion() == Criterion::REML)
    more = detail::restricted_information(exec, factor, options.trend, options.wanted, solves);
  if (factor.info().ok()) {
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        double const trace = std::isnan(traces[j][k]) ? traces[k][j] : traces[j][k];
        result.of[j][k] = trace / 2 + more[j][k];
      }
    result.backward_error = solves.backward_error;
    result.solve_converged = solves.converged;
  } else {
    result.info = factor.info().order();
    result.backward_error = nan;
    result.solve_converged = false;
  }
  result.seconds = watch.seconds();
  return result;
}

namespace {

// log sigma2 - 2 nu log range has these derivatives by the logarithms of the parameters.
double error_of_ratio(StandardErrors const& errors, MaternCovariance const& theta) {
  if (!is_matern(theta.family)) return nan;
  double const order = theta.order();
  Parameters const by = {1, -2 * order, -2 * order * std::log(theta.range), 0};
  double variance = 0;
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k)
      if (errors.reasons[j].empty() && errors.reasons[k].empty())
        variance += by[j] * errors.of_logarithm[j] * errors.correlation[j][k] *
                    errors.of_logarithm[k] * by[k];
  return errors.reasons[sigma2].empty() && errors.reasons[range].empty()
             ? std::sqrt(std::max(0.0, variance))
             : nan;
}

}  // namespace

StandardErrors standard_errors(FisherInformation const& information, MaternCovariance const& theta,
                               std::array<bool, 4> const& estimated) {
  StandardErrors result;
  result.of = result.of_logarithm = {nan, nan, nan, nan};
  result.correlation = {result.of, result.of, result.of, result.of};
  result.of_logarithm_of_ratio = nan;
  // R = D^-1 I D^-1 with ones on its diagonal.
  std::array<Parameters, 4> R = information.of;
  std::vector<std::size_t> which;
  for (std::size_t k = 0; k < 4; ++k) {
    if (!estimated[k])
      result.reasons[k] = "not estimated";
    else if (information.info != 0)
      result.reasons[k] = "the covariance matrix is not positive definite";
    else if (!(R[k][k] > 0) || !std::isfinite(R[k][k]))
      result.reasons[k] = "the observations tell nothing about this parameter";
    else
      which.push_back(k);
  }
  for (auto const j : which)
    for (auto const k : which)
      R[j][k] = information.of[j][k] / std::sqrt(information.of[j][j] * information.of[k][k]);
  if (!invert(R, which)) {
    for (auto const k : which)
      result.reasons[k] = "the observations do not tell it apart from the others";
    return result;
  }
  Parameters const values = parameters_of(theta);
  for (auto const j : which) {
    result.of[j] = std::sqrt(R[j][j] / information.of[j][j]);
    result.of_logarithm[j] = result.of[j] / values[j];
    for (auto const k : which) result.correlation[j][k] = R[j][k] / std::sqrt(R[j][j] * R[k][k]);
  }
  result.of_logarithm_of_ratio = error_of_ratio(result, theta);
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                            \
  template FisherInformation fisher_information<Exec>(Exec const&, CovarianceFactor<Exec>&, \
                                                      FisherOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
