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
#include <geostat/Strata_LikelihoodGradient.hpp>
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

using detail::By;
using detail::OfEach;
using detail::OfEachTwo;
using detail::Wanted;
constexpr std::size_t sigma2 = By::sigma2, range = By::range, nugget = By::nugget;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class Exec>
using Panel = typename CovarianceFactor<Exec>::Block;

// Columns of S^-1 S_k for all derivatives; of those that are not wanted there is none.
template <class Exec>
using Columns = Kokkos::Array<Panel<Exec>, detail::derivative_count>;

// Columns of S_k for those that have some.
template <class Exec>
void fill_derivatives(Exec const& exec,
                      detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
                      std::int64_t first, std::int64_t rows, std::int64_t count,
                      Columns<Exec> const& by) {
  for_each_element(
      "strata::geostat::fisher_information::derivatives", exec, rows, count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        auto const entry = gradient(i, first + j);
        for (int k = 0; k < detail::derivative_count; ++k)
          if (by[k].extent(1) > 0) by[k](i, j) = entry.of[k];
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

// Of these the entries that lie opposite each other differ: with errors that do, or a second
// structure, those of sigma2, too.
std::vector<std::size_t> kept_of(Wanted const& wanted, bool with_sigma2) {
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    if (wanted[k] && k != nugget && (k != sigma2 || with_sigma2)) result.push_back(k);
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
        wanted_(detail::wanted_of(factor.covariance(), options.wanted, options.directions)),
        has_second_(factor.covariance().second.has_value()),
        on_progress_(options.on_progress),
        n_(factor.order()),
        width_(block_of(n_)),
        gradient_(exec, factor.covariance(), factor.locations(), wanted_),
        errors_(errors_of(exec, factor.locations())),
        kept_(kept_of(wanted_, has_second_ || errors_.extent(0) > 0)),
        squares_(exec, n_, width_, kept_.size(), factor.comm()) {
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      if (wanted_[k] || k == nugget)
        columns_[k] =
            allocate<Panel<Exec>>(exec, "strata::geostat::fisher_information::columns", n_, width_);
    bool const is_kept = has_second_ || errors_.extent(0) > 0;  // sigma2
    for (std::size_t const j : {sigma2, nugget})
      for (std::size_t k = 0; k < wanted_.size(); ++k) {
        bool const is_new = j == nugget ? is_kept || k != sigma2 : !is_kept;
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
  void run(detail::ManySolves& solves, OfEachTwo& traces) {
    for (auto const& [j, k] : pairs_) traces[j][k] = 0;
    for (std::int64_t first = 0; first < n_ && factor_.info().ok(); first += width_) {
      auto const A = together(factor_.comm(), [&] { return right_hand_sides(first); });
      for (std::size_t const k : kept_) share(A[k]);
      for (std::size_t k = 0; k < wanted_.size(); ++k)
        if (is_solved(k) && factor_.info().ok())
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
  // Whether S_k's columns are there before a solve: sigma2's follow from S^-1 where they can.
  bool is_filled(std::size_t k) const {
    return wanted_[k] && k != nugget && (k != sigma2 || has_second_);
  }
  bool is_solved(std::size_t k) const {
    return k == nugget ? wanted_[nugget] || wanted_[sigma2] : is_filled(k);
  }

  Columns<Exec> right_hand_sides(std::int64_t first) {
    Columns<Exec> A, filled;
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      if (columns_[k].extent(1) > 0)
        A[k] = columns_in(columns_[k], {0, std::min(width_, n_ - first)});
    detail::fill_unit_vectors(exec_, first, A[nugget]);
    auto const own = columns_of(rank(factor_.comm()), A[nugget]);
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      if (is_filled(k)) filled[k] = columns_in(A[k], own);
    if (own.first < own.second)
      fill_derivatives<Exec>(exec_, gradient_, first + own.first, n_, own.second - own.first,
                             filled);
    exec_.fence("strata::geostat::fisher_information::right_hand_sides");
    return A;
  }

  // Of a block's columns of each S_k each rank evaluates its part, as an entry may cost as
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

  void add(std::int64_t first, Columns<Exec> const& A, OfEachTwo& traces) {
    if (wanted_[sigma2] && !has_second_)
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
  Wanted wanted_;
  bool has_second_;
  std::function<void(double)> on_progress_;
  std::int64_t n_, width_;
  detail::CovarianceGradient<typename Exec::memory_space> gradient_;
  ErrorVariances<Exec> errors_;
  std::vector<std::size_t> kept_;  // whose opposite squares differ
  detail::KeptSquares<Exec> squares_;
  Columns<Exec> columns_;
  std::vector<Pair> pairs_;
  Panel<Exec> sums_;
  HostMatrix host_;
  HostMatrix shared_;  // columns on their way between devices of ranks
};

}  // namespace

std::size_t fisher_bytes_needed(std::int64_t n, std::array<bool, 4> const& wanted, int ranks,
                                bool with_errors, int further) {
  STRATA_REQUIRE(ValueError, ranks >= 1, "fisher_information: ", ranks,
                 " ranks, must be at least 1");
  auto const matrices =
      std::int64_t{wanted[sigma2] && with_errors} + wanted[range] + wanted[By::nu] + further;
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  (void)dense_bytes("fisher_information", n, n * matrices, any);
  auto const squares = detail::SquarePlan::of(n, block_of(n), ranks).most_at_a_time();
  return dense_bytes("fisher_information", block_of(n), block_of(n) * squares * matrices, any);
}

namespace {

constexpr std::size_t four = 4;

// The information in all and in the four parameters.
void take(OfEachTwo const& traces, OfEachTwo const& more, FisherInformation& result) {
  for (std::size_t j = 0; j < traces.size(); ++j)
    for (std::size_t k = 0; k < traces.size(); ++k) {
      double const trace = std::isnan(traces[j][k]) ? traces[k][j] : traces[j][k];
      result.of_all[j][k] = trace / 2 + more[j][k];
      if (j < four && k < four) result.of[j][k] = result.of_all[j][k];
    }
}

std::size_t bytes_needed(Locations const& locations, Covariance const& c,
                         FisherOptions const& options, int ranks) {
  bool const has_second = c.second.has_value();
  auto wanted = options.wanted;
  wanted[range] = wanted[range] || options.directions;
  int const axes = c.has_axes() ? static_cast<int>(c.axes.size()) : 2,
            further = (options.directions ? axes : 0) +
                      (has_second ? 2 + (has_shape(c.second->family) ? 1 : 0) : 0);
  return fisher_bytes_needed(locations.size(), wanted, ranks,
                             has_second || !locations.error_variances.empty(), further);
}

}  // namespace

template <class Exec>
FisherInformation fisher_information(Exec const& exec, CovarianceFactor<Exec>& factor,
                                     FisherOptions const& options) {
  Region const region(exec, "strata::geostat::fisher_information");
  Stopwatch const watch;
  FisherInformation result;
  for (auto& row : result.of) row.fill(nan);
  for (auto& row : result.of_all) row.fill(nan);
  std::size_t const bytes =
      bytes_needed(factor.locations(), factor.covariance(), options, ranks(factor.comm()));
  together(factor.comm(), [&] {
    STRATA_REQUIRE(MemoryError, bytes <= options.max_bytes, "fisher_information: ", bytes,
                   " bytes are needed for ", factor.order(), " observations",
                   on_each_of(ranks(factor.comm())), ", max_bytes is ", options.max_bytes);
  });
  detail::ManySolves solves;
  OfEachTwo traces = result.of_all, more{};
  if (factor.info().ok())
    together(factor.comm(), [&] {
      return Traces<Exec>(exec, factor, options);
    }).run(solves, traces);
  if (factor.info().ok() && options.trend.criterion() == Criterion::REML)
    more = detail::restricted_information(
        exec, factor, options.trend,
        detail::wanted_of(factor.covariance(), options.wanted, options.directions), solves);
  if (factor.info().ok()) {
    take(traces, more, result);
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

#define STRATA_INSTANTIATE(Exec)                                                            \
  template FisherInformation fisher_information<Exec>(Exec const&, CovarianceFactor<Exec>&, \
                                                      FisherOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::geostat
