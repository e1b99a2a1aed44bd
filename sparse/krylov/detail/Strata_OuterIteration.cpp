// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>

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
                                     Work const& work, Norms const* norms)
    : exec_(exec),
      A_(A),
      options_(options),
      b_(b),
      x_(x),
      work_(work),
      norms_(norms),
      goal_(options.tolerance),
      most_iterations_(options.max_iterations) {
  A.comm().agree([&] {
    A.require_in_order("b", b.extent(0));
    A.require_in_order("x", x.extent(0));
  });
  exec.fence("strata::sparse::OuterIteration::start");
  watch_ = {};
  report.initial_residual = norm_b_ = detail::norm(exec, A.comm(), b, A.rows());
  if (options.norm_A > 0) max_b_ = max_norm(exec, A.comm(), b, A.rows());
  if (norms && norms->scales.any()) add_norms();
}

// A norm in which b is 0, or beyond fp64, says nothing.
template <class Exec>
void OuterIteration<Exec>::add_norms() {
  auto const& comm = A_.comm();
  auto const& scales = norms_->scales;
  Beside const norms[] = {{Power::Inverse, scales.left, norms_->norm_given, 0, 0},
                          {Power::Itself, scales.right, norms_->norm_of_rows, 0, 0}};
  for (Beside norm : norms) {
    multiply_by_powers(exec_, norm.weight, norm.power, 0, b_, norms_->spare, A_.rows());
    norm.norm_b = detail::norm(exec_, comm, norms_->spare, A_.rows());
    norm.max_b = max_norm(exec_, comm, norms_->spare, A_.rows());
    if (norm.norm_b > 0 && std::isfinite(norm.norm_b)) beside_[count_beside_++] = norm;
  }
}

template <class Exec>
double OuterIteration<Exec>::unit() const {
  return std::ldexp(1.0, exponent_);
}

template <class Exec>
double OuterIteration<Exec>::target() const {
  return std::ldexp(goal_ * norm_b_, -exponent_);
}

template <class Exec>
double OuterIteration<Exec>::relative(double norm) const {
  return std::ldexp(norm, exponent_) / norm_b_;
}

template <class Exec>
void OuterIteration<Exec>::count(double norm) {
  ++report.iterations;
  if (norms_) report.history.push_back(relative(norm));
  if (options_.monitor)
    A_.comm().agree([&] { options_.monitor(report.iterations, relative(norm)); });
  if (options_.gives_up && !is_extra_)
    gave_up_ = options_.gives_up(report.iterations, relative(norm));
}

template <class Exec>
bool OuterIteration<Exec>::meets(double norm) {
  if (count_beside_ == 0 || is_extra_ || !(norm > 0)) return true;
  Reached const now = judged(exponent_);
  if (!(now.relative > options_.tolerance)) return true;
  aim_lower(relative(norm), now.relative);
  return false;
}

template <class Exec>
bool OuterIteration<Exec>::is_below_rounding() const {
  if (!(options_.norm_A > 0)) return false;
  Reached const now = judged(exponent_);
  return (is_extra_ ? now.backward_error : now.open_error) <= 0x1p-52;
}

// Then x = 0 is the solution, and nothing is there that a residual could be compared with.
template <class Exec>
bool OuterIteration<Exec>::is_trivial() {
  if (norm_b_ != 0) return false;
  Kokkos::deep_copy(exec_, x_, 0.0);
  here_ = {0, {}, 0, 0, 0};
  report.status = KrylovStatus::Converged;
  return true;
}

// Of x in the units that it is wanted in.
template <class Exec>
double OuterIteration<Exec>::size_of_x() const {
  auto const& comm = A_.comm();
  if (!norms_ || !norms_->scales.any()) return max_norm(exec_, comm, x_, A_.rows());
  multiply_by_powers(exec_, norms_->scales.right, Power::Itself, 0, x_, norms_->spare, A_.rows());
  return max_norm(exec_, comm, norms_->spare, A_.rows());
}

template <class Exec>
void OuterIteration<Exec>::add(Reached& reached, double relative, double error) const {
  bool const is_met = relative <= options_.tolerance;
  auto const raise = [](double& most, double value) {
    if (!(value <= most) && !std::isnan(most)) most = value;
  };
  raise(reached.relative, relative);
  raise(reached.backward_error, error);
  if (!is_met) raise(reached.open_error, error);
}

template <class Exec>
auto OuterIteration<Exec>::judged(int exponent) const -> Reached {
  auto const& comm = A_.comm();
  bool const is_bounded = options_.norm_A > 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Reached reached{std::ldexp(detail::norm(exec_, comm, work_.r, A_.rows()), exponent), {}, 0, 0, 0};
  reached.sizes.rows = reached.residual;
  double error = infinity;
  if (is_bounded) {
    reached.sizes.largest = std::ldexp(max_norm(exec_, comm, work_.r, A_.rows()), exponent);
    error = backward_error(options_.norm_A, max_norm(exec_, comm, x_, A_.rows()), max_b_,
                           reached.sizes.largest);
  }
  add(reached, reached.residual / norm_b_, error);
  if (count_beside_ == 0) return reached;
  double const size_x = size_of_x();
  for (int k = 0; k < count_beside_; ++k) {
    auto const& [power, weight, norm_A, norm_b, max_b] = beside_[k];
    multiply_by_powers(exec_, weight, power, 0, work_.r, norms_->spare, A_.rows());
    double const size = detail::norm(exec_, comm, norms_->spare, A_.rows()),
                 most = max_norm(exec_, comm, norms_->spare, A_.rows());
    if (power == Power::Itself) reached.sizes.rows = std::ldexp(size, exponent);
    add(reached, std::ldexp(size, exponent) / norm_b,
        is_bounded ? backward_error(norm_A, size_x, max_b, std::ldexp(most, exponent)) : infinity);
  }
  return reached;
}

template <class Exec>
void OuterIteration<Exec>::look() {
  A_.residual(exec_, b_, x_, work_.r);
  Region const region(exec_, "strata::sparse::OuterIteration::norms");
  here_ = judged(0);
  if (norms_ && report.cycles > 0) compare_with_best();
}

// What x - best tells of A^-1.
template <class Exec>
void OuterIteration<Exec>::compare_with_best() {
  if (!(here_.residual < best_.residual) || !std::isfinite(best_.residual)) return;
  scale(exec_, 1.0, x_, norms_->step, A_.rows());
  detail::add(exec_, -1.0, work_.best, norms_->step, A_.rows());
  exponent_ = 0;  // of r as it is now
  saw(best_.sizes, here_.sizes);
}

template <class Exec>
auto OuterIteration<Exec>::sizes() const -> Sizes {
  auto const& comm = A_.comm();
  Sizes found{0, max_norm(exec_, comm, work_.r, A_.rows())};
  bool const has_units = norms_->scales.any();
  if (has_units)
    multiply_by_powers(exec_, norms_->scales.right, Power::Itself, 0, work_.r, norms_->spare,
                       A_.rows());
  found.rows = detail::norm(exec_, comm, has_units ? norms_->spare : work_.r, A_.rows());
  return found;
}

template <class Exec>
void OuterIteration<Exec>::saw() {
  A_.multiply(exec_, norms_->step, work_.r);
  scale_by_power(exec_, -exponent_, work_.r, A_.rows());
  saw(sizes(), {});
}

template <class Exec>
void OuterIteration<Exec>::saw(Sizes const& before, Sizes const& now) {
  auto const& comm = A_.comm();
  auto const& step = norms_->step;
  if (!(now.rows < before.rows)) return;
  double const moved = max_norm(exec_, comm, step, A_.rows()), image = before.largest + now.largest;
  if (image > 0 && std::isfinite(moved))
    inverse_ = std::max(inverse_, std::ldexp(moved / image, -exponent_));
  if (norms_->scales.any())
    multiply_by_powers(exec_, norms_->scales.right, Power::Itself, 0, step, step, A_.rows());
  norms_->parts.remove_means(exec_, step);
  double const moved_x = max_norm(exec_, comm, step, A_.rows());
  if (std::isfinite(moved_x))
    error_rate_ = std::max(error_rate_, std::ldexp(moved_x / before.rows, -exponent_));
}

// The part of x's largest entry by which it is wrong if the residual that is left moves it as those
// before it did.
template <class Exec>
double OuterIteration<Exec>::forward_error() const {
  double const size = size_of_x();
  if (!(error_rate_ > 0) || !(size > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::max(error_rate_ * here_.sizes.rows / size, 0x1p-53);
}

// Where the target in the norm of r was met, and the tolerance in another was not.
template <class Exec>
void OuterIteration<Exec>::aim_lower(double reached, double worst) {
  goal_ = reached * std::clamp(0.5 * options_.tolerance / worst, 0x1p-10, 0.5);
}

template <class Exec>
bool OuterIteration<Exec>::begins_extra() {
  constexpr double much = 1e4;
  if (!norms_ || is_extra_ || report.cycles == 0 || !(options_.norm_A > 0)) return false;
  double const wanted = 0x1p-52 / here_.backward_error;
  if (!(forward_error() > much * options_.tolerance) || !(wanted < 0.5)) return false;
  is_extra_ = true;
  most_iterations_ = std::min(options_.max_iterations, report.iterations + report.iterations / 2);
  goal_ = here_.residual / norm_b_ * std::max(wanted, 0x1p-40);
  return report.iterations < most_iterations_;
}

// r of length 1 to 2.
template <class Exec>
void OuterIteration<Exec>::begin_cycle() {
  Region const region(exec_, "strata::sparse::OuterIteration::begin_cycle");
  before_ = here_;
  exponent_ = std::ilogb(here_.residual);
  norm_ = std::ldexp(here_.residual, -exponent_);
  keep_if_best();
  scale_by_power(exec_, -exponent_, work_.r, A_.rows());
}

// By the product of the largest relative residual and the norm of r, whose quotients are one
// without other norms.
template <class Exec>
bool OuterIteration<Exec>::is_better(Reached const& one, Reached const& other) const {
  bool const is_met = one.relative <= options_.tolerance;
  if (is_extra_ && is_met != (other.relative <= options_.tolerance)) return is_met;
  return (one.relative / other.relative) * (one.residual / other.residual) < 1;
}

template <class Exec>
void OuterIteration<Exec>::keep_if_best() {
  if (!is_better(here_, best_)) return;
  scale(exec_, 1.0, x_, work_.best, A_.rows());
  best_ = here_;
}

template <class Exec>
bool OuterIteration<Exec>::is_good_enough() const {
  return options_.norm_A > 0 &&
         is_within_rounding(A_.global_rows(), here_.relative, here_.open_error);
}

// At the last bit, or near it after a cycle that did not gain much.
template <class Exec>
bool OuterIteration<Exec>::is_at_limit() const {
  constexpr double halved = 0.5;
  bool const has_tried = report.cycles > 0 && here_.relative > halved * before_.relative;
  return is_good_enough() && (has_tried || here_.open_error <= 0x1p-52);
}

// How the solve ended, if it did.
template <class Exec>
std::optional<KrylovStatus> OuterIteration<Exec>::verdict(std::optional<KrylovStatus> ended,
                                                          double stall_factor) {
  constexpr double halved = 0.5;
  if (!std::isfinite(here_.relative))
    return is_extra_ ? KrylovStatus::Converged : KrylovStatus::Breakdown;
  if (is_extra_ && (ended || here_.residual > halved * before_.residual ||
                    here_.backward_error <= 0x1p-52 || !has_iterations()))
    return KrylovStatus::Converged;
  if (is_extra_) return std::nullopt;
  if (here_.relative <= options_.tolerance) {
    if (begins_extra()) return std::nullopt;
    return KrylovStatus::Converged;
  }
  if (is_at_limit()) return KrylovStatus::RoundingLimit;
  if (ended) return ended;
  bool const has_stalled = here_.residual > stall_factor * before_.residual &&
                           here_.relative > stall_factor * before_.relative;
  if (report.cycles > 0 && stall_factor > 0 && has_stalled) return KrylovStatus::Stalled;
  if (gave_up_) return KrylovStatus::Stalled;
  if (!has_iterations()) return KrylovStatus::IterationLimit;
  double const reached = here_.residual / norm_b_;
  if (reached <= goal_) aim_lower(reached, here_.relative);
  return std::nullopt;
}

template <class Exec>
bool OuterIteration<Exec>::goes_on(std::optional<KrylovStatus> ended, double stall_factor) {
  look();
  if (report.cycles == 0 && !std::isfinite(here_.relative) && std::isfinite(norm_b_)) {
    Kokkos::deep_copy(exec_, x_, 0.0);  // a guess that is none
    look();
  }
  auto const end = verdict(ended, stall_factor);
  if (end)
    report.status = *end;
  else
    begin_cycle();
  return !end;
}

template <class Exec>
KrylovReport OuterIteration<Exec>::finish() {
  bool const has_better = is_better(best_, here_) || std::isnan(here_.relative);
  if (has_better && std::isfinite(best_.relative)) {
    scale(exec_, 1.0, work_.best, x_, A_.rows());
    here_ = best_;
  }
  bool const gave_up = report.status == KrylovStatus::Stalled ||
                       report.status == KrylovStatus::IterationLimit ||
                       report.status == KrylovStatus::Breakdown;
  if (gave_up && is_good_enough()) report.status = KrylovStatus::RoundingLimit;
  report.relative_residual = norm_b_ > 0 ? here_.relative : here_.residual;
  report.backward_error = here_.backward_error;
  if (norms_) {
    report.condition = std::max(1.0, options_.norm_A * inverse_);
    report.forward_error = norm_b_ > 0 ? forward_error() : 0;
  }
  exec_.fence("strata::sparse::OuterIteration::end");
  report.seconds = watch_.seconds();
  return report;
}

#define STRATA_INSTANTIATE_OUTER_ITERATION(Space) template class OuterIteration<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_OUTER_ITERATION)

}  // namespace strata::sparse::detail
