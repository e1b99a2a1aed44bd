// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/Strata_FisherInformation.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <geostat/detail/Strata_CovarianceGradient.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
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

// Of S^-1 S_sigma2 = (I - nugget S^-1) / sigma2, from those of S^-1.
template <class Exec>
void fill_by_sigma2(Exec const& exec, MaternCovariance const& theta, std::int64_t first,
                    Panel<Exec> const& inverse, Panel<Exec> const& A) {
  double const variance = theta.sigma2, noise = theta.nugget;
  for_each_element(
      "strata::geostat::fisher_information::by_sigma2", exec,
      static_cast<std::int64_t>(A.extent(0)), static_cast<std::int64_t>(A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        A(i, j) = ((i == first + j ? 1.0 : 0.0) - noise * inverse(i, j)) / variance;
      });
}

// sums(j, at) = (A' B)_jj.
template <class Exec>
void inner_products(Exec const& exec, Panel<Exec> const& A, Panel<Exec> const& B,
                    Panel<Exec> const& sums, int at) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::fisher_information::products",
      Policy(exec, static_cast<int>(A.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const j = team.league_rank();
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, n),
            [&](std::int64_t i, double& sum) { sum += A(i, j) * B(i, j); }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { sums(j, at) = total; });
      });
}

// trace(A B), square by square, since one of them is read along its rows.
double trace_of_product(HostMatrix const& A, HostMatrix const& B) {
  constexpr std::size_t square = 64;
  std::size_t const n = A.extent(0);
  double sum = 0;
  for (std::size_t column = 0; column < n; column += square)
    for (std::size_t row = 0; row < n; row += square)
      for (std::size_t j = column; j < std::min(n, column + square); ++j)
        for (std::size_t i = row; i < std::min(n, row + square); ++i) sum += A(i, j) * B(j, i);
  return sum;
}

struct Pair {
  std::size_t j, k;
};

// S^-1 S_k is symmetric for sigma2 and nugget: the trace of such a one and another is the sum of the products of their
// entries, column by column. Of range and nu all of it is kept, for the sum with the entries that lie opposite.
template <class Exec>
class Traces {
 public:
  Traces(Exec const& exec, CovarianceFactor<Exec>& factor, FisherOptions const& options)
      : exec_(exec),
        factor_(factor),
        wanted_(options.wanted),
        on_progress_(options.on_progress),
        n_(factor.order()),
        width_(std::min(n_, detail::column_block)) {
    for (std::size_t const k : {range, nu})
      if (wanted_[k])
        whole_[k] = allocate_host_matrix("strata::geostat::fisher_information::whole", n_, n_);
    for (std::size_t k = 0; k < 4; ++k)
      if (wanted_[k] || k == nugget)
        columns_[k] =
            allocate<Panel<Exec>>(exec, "strata::geostat::fisher_information::columns", n_, width_);
    for (std::size_t const j : {sigma2, nugget})
      for (std::size_t k = 0; k < 4; ++k)
        if (wanted_[j] && wanted_[k] && (j != nugget || k != sigma2)) pairs_.push_back({j, k});
  }

  void run(detail::ManySolves& solves, std::array<Parameters, 4>& traces) {
    detail::CovarianceGradient<typename Exec::memory_space> const gradient(
        exec_, factor_.covariance(), factor_.locations(), wanted_[nu]);
    auto const count = static_cast<std::int64_t>(pairs_.size());
    auto const sums =
        allocate<Panel<Exec>>(exec_, "strata::geostat::fisher_information::sums", width_, count);
    HostMatrix const host =
        allocate_host_matrix("strata::geostat::fisher_information::host", width_, count);
    for (auto const& [j, k] : pairs_) traces[j][k] = 0;
    for (std::int64_t first = 0; first < n_ && factor_.info().ok(); first += width_) {
      auto const A = solve(gradient, first, solves);
      for (std::size_t p = 0; p < pairs_.size(); ++p)
        inner_products(exec_, A[pairs_[p].j], A[pairs_[p].k], sums, static_cast<int>(p));
      Kokkos::deep_copy(exec_, host, sums);
      keep(first, A);
      exec_.fence("strata::geostat::fisher_information::block");
      for (std::size_t p = 0; p < pairs_.size(); ++p)
        for (std::size_t j = 0; j < A[nugget].extent(1); ++j)
          traces[pairs_[p].j][pairs_[p].k] += host(j, p);
      auto const done = std::min(n_, first + width_);
      tell_together(factor_.comm(), on_progress_,
                    static_cast<double>(done) / static_cast<double>(n_));
    }
    for (Pair const pair : {Pair{range, range}, Pair{range, nu}, Pair{nu, nu}})
      if (wanted_[pair.j] && wanted_[pair.k])
        traces[pair.j][pair.k] = trace_of_product(whole_[pair.j], whole_[pair.k]);
  }

 private:
  Columns<Exec> solve(detail::CovarianceGradient<typename Exec::memory_space> const& gradient,
                      std::int64_t first, detail::ManySolves& solves) {
    Columns<Exec> A;
    for (std::size_t k = 0; k < 4; ++k)
      if (columns_[k].extent(1) > 0)
        A[k] = Kokkos::subview(columns_[k], Kokkos::ALL,
                               std::pair(std::int64_t{0}, std::min(width_, n_ - first)));
    detail::fill_unit_vectors(exec_, first, A[nugget]);
    fill_derivatives<Exec>(exec_, gradient, first, A[range], A[nu]);
    for (std::size_t const k : {range, nu, nugget})
      if ((wanted_[k] || (k == nugget && wanted_[sigma2])) && factor_.info().ok())
        detail::solve_in_place(exec_, factor_, A[k], solves);
    if (wanted_[sigma2])
      fill_by_sigma2<Exec>(exec_, factor_.covariance(), first, A[nugget], A[sigma2]);
    return A;
  }

  void keep(std::int64_t first, Columns<Exec> const& A) {
    for (std::size_t const k : {range, nu})
      if (wanted_[k]) {
        auto const last = first + static_cast<std::int64_t>(A[k].extent(1));
        Kokkos::deep_copy(exec_, Kokkos::subview(whole_[k], Kokkos::ALL, std::pair(first, last)),
                          A[k]);
      }
  }

  Exec const& exec_;
  CovarianceFactor<Exec>& factor_;
  std::array<bool, 4> wanted_;
  std::function<void(double)> on_progress_;
  std::int64_t n_, width_;
  std::array<HostMatrix, 4> whole_;
  Columns<Exec> columns_;
  std::vector<Pair> pairs_;
};

// The inverse of a correlation-like matrix of the parameters in `which`, by Cholesky; false if a pivot is below 1e-10.
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

std::size_t fisher_bytes_needed(std::int64_t n, std::array<bool, 4> const& wanted) {
  std::int64_t const matrices = (wanted[range] ? 1 : 0) + (wanted[nu] ? 1 : 0);
  return dense_bytes("fisher_information", n, n * matrices,
                     std::numeric_limits<std::size_t>::max());
}

template <class Exec>
FisherInformation fisher_information(Exec const& exec, CovarianceFactor<Exec>& factor,
                                     FisherOptions const& options) {
  Region const region(exec, "strata::geostat::fisher_information");
  Stopwatch const watch;
  FisherInformation result;
  for (auto& row : result.of) row = {nan, nan, nan, nan};
  std::size_t const bytes = fisher_bytes_needed(factor.order(), options.wanted);
  STRATA_REQUIRE(MemoryError, bytes <= options.max_bytes, "fisher_information: ", bytes,
                 " bytes are needed for ", factor.order(), " observations, max_bytes is ",
                 options.max_bytes);
  detail::ManySolves solves;
  std::array<Parameters, 4> traces = result.of;
  if (factor.info().ok()) Traces<Exec>(exec, factor, options).run(solves, traces);
  if (factor.info().ok()) {
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) {
        double const trace = std::isnan(traces[j][k]) ? traces[k][j] : traces[j][k];
        result.of[j][k] = trace / 2;
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
  Parameters const by = {1, -2 * theta.nu, -2 * theta.nu * std::log(theta.range), 0};
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
      result.reasons[k] = "the observations tell nothing of it";
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
