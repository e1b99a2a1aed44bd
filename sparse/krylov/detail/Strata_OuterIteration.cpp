// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/matrix/detail/Strata_Norms.hpp>

#include <algorithm>
#include <cmath>

namespace strata::sparse::detail {

bool is_within_rounding(std::int64_t n, double relative_residual, double backward_error) {
  constexpr double least_agreement = 1e-3;
  double const limit = std::max(10.0, std::sqrt(static_cast<double>(n))) * 0x1p-52;
  return relative_residual <= least_agreement && backward_error <= limit;
}

template <class Exec>
OuterIteration<Exec>::OuterIteration(Exec const& exec, DistributedMatrix<Exec> const& A,
                                     KrylovOptions const& options, Wide const& b, Wide const& x,
                                     Work const& work)
    : exec_(exec), A_(A), options_(options), b_(b), x_(x), work_(work) {
  A.comm().agree([&] {
    A.require_in_order("b", b.extent(0));
    A.require_in_order("x", x.extent(0));
  });
  exec.fence("strata::sparse::OuterIteration::start");
  watch_ = {};
  report.initial_residual = norm_b_ = detail::norm(exec, A.comm(), b, A.rows());
  if (options.norm_A > 0) max_b_ = max_norm(exec, A.comm(), b, A.rows());
}

template <class Exec>
double OuterIteration<Exec>::unit() const {
  return std::ldexp(1.0, exponent_);
}

template <class Exec>
double OuterIteration<Exec>::target() const {
  return std::ldexp(options_.tolerance * norm_b_, -exponent_);
}

template <class Exec>
double OuterIteration<Exec>::relative(double norm) const {
  return std::ldexp(norm, exponent_) / norm_b_;
}

template <class Exec>
void OuterIteration<Exec>::count(double norm) {
  ++report.iterations;
  if (options_.monitor) options_.monitor(report.iterations, relative(norm));
}

template <class Exec>
bool OuterIteration<Exec>::is_below_rounding() const {
  if (!(options_.norm_A > 0)) return false;
  auto const& comm = A_.comm();
  double const size_r = std::ldexp(max_norm(exec_, comm, work_.r, A_.rows()), exponent_),
               size_x = max_norm(exec_, comm, x_, A_.rows());
  return backward_error(options_.norm_A, size_x, max_b_, size_r) <= 0x1p-52;
}

// Then x = 0 is the solution, and nothing is there that a residual could be compared with.
template <class Exec>
bool OuterIteration<Exec>::is_trivial() {
  if (norm_b_ != 0) return false;
  Kokkos::deep_copy(exec_, x_, 0.0);
  here_ = {0, 0};
  report.status = KrylovStatus::Converged;
  return true;
}

template <class Exec>
void OuterIteration<Exec>::look() {
  auto const& comm = A_.comm();
  A_.residual(exec_, b_, x_, work_.r);
  Region const region(exec_, "strata::sparse::OuterIteration::norms");
  here_.residual = detail::norm(exec_, comm, work_.r, A_.rows());
  if (options_.norm_A > 0)
    here_.backward_error = backward_error(options_.norm_A, max_norm(exec_, comm, x_, A_.rows()),
                                          max_b_, max_norm(exec_, comm, work_.r, A_.rows()));
}

// r of length 1 to 2.
template <class Exec>
void OuterIteration<Exec>::begin_cycle() {
  Region const region(exec_, "strata::sparse::OuterIteration::begin_cycle");
  before_ = here_.residual;
  exponent_ = std::ilogb(here_.residual);
  norm_ = std::ldexp(here_.residual, -exponent_);
  keep_if_best();
  scale_by_power(exec_, -exponent_, work_.r, A_.rows());
}

template <class Exec>
void OuterIteration<Exec>::keep_if_best() {
  if (!(here_.residual < best_.residual)) return;
  scale(exec_, 1.0, x_, work_.best, A_.rows());
  best_ = here_;
}

template <class Exec>
bool OuterIteration<Exec>::is_good_enough() const {
  return options_.norm_A > 0 &&
         is_within_rounding(A_.global_rows(), here_.residual / norm_b_, here_.backward_error);
}

// At the last bit, or near it after a cycle that did not gain much.
template <class Exec>
bool OuterIteration<Exec>::is_at_limit() const {
  constexpr double halved = 0.5;
  bool const has_tried = report.cycles > 0 && here_.residual > halved * before_;
  return is_good_enough() && (has_tried || here_.backward_error <= 0x1p-52);
}

template <class Exec>
bool OuterIteration<Exec>::goes_on(std::optional<KrylovStatus> ended, double stall_factor) {
  look();
  bool const is_comparable = std::isfinite(here_.residual / norm_b_);
  if (report.cycles == 0 && !is_comparable && std::isfinite(norm_b_)) {
    Kokkos::deep_copy(exec_, x_, 0.0);  // a guess that is none
    look();
  }
  if (!std::isfinite(here_.residual))
    report.status = KrylovStatus::Breakdown;
  else if (here_.residual / norm_b_ <= options_.tolerance)
    report.status = KrylovStatus::Converged;
  else if (is_at_limit())
    report.status = KrylovStatus::RoundingLimit;
  else if (ended)
    report.status = *ended;
  else if (report.cycles > 0 && stall_factor > 0 && here_.residual > stall_factor * before_)
    report.status = KrylovStatus::Stalled;
  else if (report.iterations < options_.max_iterations) {
    begin_cycle();
    return true;
  }
  return false;
}

template <class Exec>
KrylovReport OuterIteration<Exec>::finish() {
  if (best_.residual < here_.residual || std::isnan(here_.residual)) {
    if (std::isfinite(best_.residual)) {
      scale(exec_, 1.0, work_.best, x_, A_.rows());
      here_ = best_;
    }
  }
  bool const gave_up = report.status == KrylovStatus::Stalled ||
                       report.status == KrylovStatus::IterationLimit ||
                       report.status == KrylovStatus::Breakdown;
  if (gave_up && is_good_enough()) report.status = KrylovStatus::RoundingLimit;
  report.relative_residual = norm_b_ > 0 ? here_.residual / norm_b_ : here_.residual;
  report.backward_error = here_.backward_error;
  exec_.fence("strata::sparse::OuterIteration::end");
  report.seconds = watch_.seconds();
  return report;
}

#define STRATA_INSTANTIATE_OUTER_ITERATION(Space) template class OuterIteration<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_OUTER_ITERATION)

}  // namespace strata::sparse::detail
