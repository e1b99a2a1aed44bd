// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/detail/Strata_AbreastCg.hpp>

#include <core/Strata_Stopwatch.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::sparse::detail {
namespace {

using ColumnNumbers = Abreast<double>;
template <class Exec>
using Wide = Vector<ColumnNumbers, typename Exec::memory_space>;

/// Two sums of each column.
struct TwoSums {
  ColumnNumbers first, second;
  KOKKOS_FUNCTION TwoSums() : first(0.0), second(0.0) {}
  KOKKOS_FUNCTION TwoSums& operator+=(TwoSums const& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Largest magnitudes of each column, which a reduction "adds".
struct Largest {
  ColumnNumbers moved, moved_in_units, residual, size, size_in_units;
  KOKKOS_FUNCTION Largest()
      : moved(0.0), moved_in_units(0.0), residual(0.0), size(0.0), size_in_units(0.0) {}
  // A number that is none stays.
  KOKKOS_FUNCTION static void raise(ColumnNumbers& most, int j, double value) {
    if (!(value <= most.of[j])) most.of[j] = value;
  }
  KOKKOS_FUNCTION Largest& operator+=(Largest const& other) {
    for (int j = 0; j < ColumnNumbers::count; ++j) {
      raise(moved, j, other.moved.of[j]);
      raise(moved_in_units, j, other.moved_in_units.of[j]);
      raise(residual, j, other.residual.of[j]);
      raise(size, j, other.size.of[j]);
      raise(size_in_units, j, other.size_in_units.of[j]);
    }
    return *this;
  }
};

// (z' r, z' q) of each column.
template <class Exec, class Scalar>
TwoSums two_products(Exec const& exec,
                     Vector<Abreast<Scalar>, typename Exec::memory_space> const& z,
                     Wide<Exec> const& r, Wide<Exec> const& q, std::int64_t rows) {
  TwoSums sums;
  Kokkos::parallel_reduce(
      "strata::sparse::AbreastCg::products", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, TwoSums& sum) {
        ColumnNumbers const own(z(i));
        sum.first += own * r(i);
        sum.second += own * q(i);
      },
      sums);
  exec.fence("strata::sparse::AbreastCg::products");
  return sums;
}

// s = a r in s' type, 0 where a is.
template <class Exec, class Scalar>
void normalise(Exec const& exec, ColumnNumbers const& a, Wide<Exec> const& r,
               Vector<Abreast<Scalar>, typename Exec::memory_space> const& s, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::AbreastCg::normalise", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        for (int j = 0; j < ColumnNumbers::count; ++j)
          s(i).of[j] = a.of[j] == 0 ? Scalar(0) : static_cast<Scalar>(a.of[j] * r(i).of[j]);
      });
}

// p = a z + beta p, without the old one where beta is 0.
template <class Exec, class Scalar>
void new_directions(Exec const& exec, ColumnNumbers const& a,
                    Vector<Abreast<Scalar>, typename Exec::memory_space> const& z,
                    ColumnNumbers const& beta, Wide<Exec> const& p, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::AbreastCg::directions", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        for (int j = 0; j < ColumnNumbers::count; ++j) {
          double const old = beta.of[j] == 0 ? 0 : beta.of[j] * p(i).of[j];
          p(i).of[j] = a.of[j] * static_cast<double>(z(i).of[j]) + old;
        }
      });
}

// x += alpha p, r -= alpha q; the squares of ||r||.
template <class Exec>
ColumnNumbers advance(Exec const& exec, ColumnNumbers const& alpha, Wide<Exec> const& p,
                      Wide<Exec> const& q, Wide<Exec> const& x, Wide<Exec> const& r,
                      std::int64_t rows) {
  TwoSums squares;
  Kokkos::parallel_reduce(
      "strata::sparse::AbreastCg::advance", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, TwoSums& sum) {
        x(i) += alpha * p(i);
        ColumnNumbers const rest = r(i) - alpha * q(i);
        r(i) = rest;
        sum.first += rest * rest;
      },
      squares);
  exec.fence("strata::sparse::AbreastCg::advance");
  return squares.first;
}

// max |x - kept|, |r| and |x|, as they are and in units (none: 1); x is kept.
template <class Exec>
Largest keep_and_compare(Exec const& exec, Wide<Exec> const& x, Wide<Exec> const& r,
                         Wide<Exec> const& kept,
                         Vector<double, typename Exec::memory_space> const& units,
                         std::int64_t rows) {
  Largest largest;
  bool const has_units = units.extent(0) > 0;
  Kokkos::parallel_reduce(
      "strata::sparse::AbreastCg::keep", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, Largest& most) {
        ColumnNumbers const now = x(i), rest = r(i), old = kept(i);
        double const unit = has_units ? units(i) : 1;
        for (int j = 0; j < ColumnNumbers::count; ++j) {
          double const moved = Kokkos::abs(now.of[j] - old.of[j]), size = Kokkos::abs(now.of[j]);
          Largest::raise(most.moved, j, moved);
          Largest::raise(most.moved_in_units, j, unit * moved);
          Largest::raise(most.residual, j, Kokkos::abs(rest.of[j]));
          Largest::raise(most.size, j, size);
          Largest::raise(most.size_in_units, j, unit * size);
        }
        kept(i) = now;
      },
      largest);
  exec.fence("strata::sparse::AbreastCg::keep");
  return largest;
}

// ||v|| of each column, and its largest magnitude.
template <class Exec>
std::pair<ColumnNumbers, ColumnNumbers> sizes(Exec const& exec, Wide<Exec> const& v,
                                              std::int64_t rows) {
  TwoSums const squares = two_products(exec, v, v, v, rows);
  Largest largest;
  Kokkos::parallel_reduce(
      "strata::sparse::AbreastCg::largest", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, Largest& most) {
        for (int j = 0; j < ColumnNumbers::count; ++j)
          Largest::raise(most.size, j, Kokkos::abs(v(i).of[j]));
      },
      largest);
  exec.fence("strata::sparse::AbreastCg::largest");
  ColumnNumbers norms(0.0);
  for (int j = 0; j < ColumnNumbers::count; ++j) norms.of[j] = std::sqrt(squares.first.of[j]);
  return {norms, largest.size};
}

// Whether squares of numbers of that size are numbers of fp64, with all that CG makes of them.
bool is_moderate(double norm) { return norm > 1e-100 && norm < 1e100; }

}  // namespace

template <class Exec>
AbreastCg<Exec>::AbreastCg(Exec const& exec, DistributedMatrix<Exec> const& A,
                           PreconditionerAbreast<Exec> const& M, KrylovOptions const& options,
                           Vector<double, MemorySpace> const& units)
    : A_(A), M_(M), options_(checked(options, "CG")), units_(units), largest_b_(0.0) {
  auto const vector = [&](char const* label) {
    return A_.template allocate<ColumnNumbers>(exec, label);
  };
  r_ = vector("strata::sparse::AbreastCg::r");
  p_ = vector("strata::sparse::AbreastCg::p");
  q_ = vector("strata::sparse::AbreastCg::q");
  kept_ = vector("strata::sparse::AbreastCg::kept");
  s_ = vector("strata::sparse::AbreastCg::s");
  z_ = vector("strata::sparse::AbreastCg::z");
  if (!M_.narrow) return;
  narrow_s_ = A_.template allocate<Abreast<float>>(exec, "strata::sparse::AbreastCg::narrow_s");
  narrow_z_ = A_.template allocate<Abreast<float>>(exec, "strata::sparse::AbreastCg::narrow_z");
}

template <class Exec>
void AbreastCg<Exec>::begin(Exec const& exec, Wide const& B, Wide const& X,
                            std::vector<double> const& tolerances) {
  int const count = static_cast<int>(tolerances.size());
  auto const rows = A_.rows();
  columns_.assign(static_cast<std::size_t>(count), {});
  history_.assign(static_cast<std::size_t>(count), {});
  A_.residual(exec, B, X, r_);
  auto const [norm_b, largest_b] = sizes(exec, B, rows);
  auto const [norm_r, largest_r] = sizes(exec, r_, rows);
  largest_b_ = largest_b;
  for (int j = 0; j < count; ++j) {
    auto& column = columns_[static_cast<std::size_t>(j)];
    column.norm_b = norm_b.of[j];
    column.norm = column.first = column.least = column.before = column.kept_norm = norm_r.of[j];
    column.tolerance = tolerances[static_cast<std::size_t>(j)];
    column.goal = column.tolerance * column.norm_b;
    column.end = options_.max_iterations;
    column.is_active =
        is_moderate(column.norm_b) && is_moderate(column.norm) && column.norm > column.goal;
  }
  Kokkos::deep_copy(exec, kept_, X);
  Kokkos::deep_copy(exec, q_, ColumnNumbers(0.0));
  Kokkos::deep_copy(exec, p_, ColumnNumbers(0.0));
}

template <class Exec>
bool AbreastCg<Exec>::is_any_active() const {
  return std::ranges::any_of(columns_, &Column::is_active);
}

template <class Exec>
double AbreastCg<Exec>::worst() const {
  double most = 0;
  for (auto const& column : columns_)
    if (column.is_active) most = std::max(most, column.norm / column.norm_b);
  return most;
}

template <class Exec>
template <class Scalar>
void AbreastCg<Exec>::step(Exec const& exec, Preconditioner<Exec, Abreast<Scalar>> const& M,
                           Vector<Abreast<Scalar>, MemorySpace> const& s,
                           Vector<Abreast<Scalar>, MemorySpace> const& z, Wide const& X) {
  auto const rows = A_.rows();
  ColumnNumbers a(0.0), length(0.0), beta(0.0), alpha(0.0);
  int const count = static_cast<int>(columns_.size());
  for (int j = 0; j < count; ++j) {
    auto const& column = columns_[static_cast<std::size_t>(j)];
    if (!column.is_active) continue;
    length.of[j] = column.norm;
    a.of[j] = 1 / column.norm;
  }
  normalise(exec, a, r_, s, rows);
  M.apply(exec, s, z);  // z = M^-1 r / ||r||
  auto const [zr, zq] = two_products(exec, z, r_, q_, rows);
  for (int j = 0; j < count; ++j) {
    auto const& column = columns_[static_cast<std::size_t>(j)];
    if (column.is_active && column.curvature != 0)
      beta.of[j] = -zq.of[j] * column.norm / column.curvature;
  }
  new_directions(exec, length, z, beta, p_, rows);
  A_.multiply(exec, p_, q_);
  auto const [pr, curvature] = two_products(exec, p_, r_, q_, rows);
  for (int j = 0; j < count; ++j) {
    auto& column = columns_[static_cast<std::size_t>(j)];
    bool const is_sound = zr.of[j] > 0 && curvature.of[j] > 0 && std::isfinite(zr.of[j]) &&
                          std::isfinite(curvature.of[j]) && std::isfinite(pr.of[j]);
    column.is_active = column.is_active && is_sound;
    if (!column.is_active) continue;
    column.curvature = curvature.of[j];
    alpha.of[j] = pr.of[j] / curvature.of[j];
  }
  auto const squares = advance(exec, alpha, p_, q_, X, r_, rows);
  for (int j = 0; j < count; ++j) {
    auto& column = columns_[static_cast<std::size_t>(j)];
    if (!column.is_active) continue;
    column.norm = std::sqrt(squares.of[j]);
    column.is_active = std::isfinite(column.norm);
    column.least = std::min(column.least, column.norm);
    ++column.iterations;
    history_[static_cast<std::size_t>(j)].push_back(column.norm / column.norm_b);
  }
}

// What x moved since the last that was kept tells of A^-1; of the first nobody knows.
template <class Exec>
void AbreastCg<Exec>::keep(Exec const& exec, Wide const& X) {
  auto const most = keep_and_compare(exec, X, r_, kept_, units_, A_.rows());
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    auto& column = columns_[j];
    column.size = most.size.of[j];
    column.size_in_units = most.size_in_units.of[j];
    if (!(column.norm < column.kept_norm)) continue;
    double const moved = most.moved_in_units.of[j];
    if (column.kept_most > 0 && std::isfinite(moved)) {
      column.inverse =
          std::max(column.inverse, most.moved.of[j] / (column.kept_most + most.residual.of[j]));
      column.error_rate = std::max(column.error_rate, moved / column.kept_norm);
    }
    column.kept_norm = column.norm;
    column.kept_most = most.residual.of[j];
  }
}

template <class Exec>
double AbreastCg<Exec>::forward_error(Column const& column) const {
  if (!(column.error_rate > 0) || !(column.size_in_units > 0))
    return std::numeric_limits<double>::quiet_NaN();
  return std::max(column.error_rate * column.norm / column.size_in_units, 0x1p-53);
}

// Columns that meet the tolerance end, or, where x seems to have few digits, go on for half as many
// iterations as they took.
template <class Exec>
void AbreastCg<Exec>::judge(Exec const& exec, Wide const& X) {
  constexpr double much = 1e4, much_less = 0.1;
  bool has_met = false, have_fallen = true;
  for (auto const& column : columns_) {
    if (!column.is_active) continue;
    has_met = has_met || column.norm <= column.goal;
    have_fallen = have_fallen && column.norm <= much_less * column.kept_norm;
  }
  if (has_met || (have_fallen && is_any_active())) keep(exec, X);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    auto& column = columns_[j];
    if (!column.is_active) continue;
    if (column.norm <= column.goal && !column.is_met) {
      column.is_met = true;
      double const error =
          backward_error(options_.norm_A, column.size, largest_b_.of[j], column.kept_most);
      double const wanted = 0x1p-52 / error;
      column.is_extra = forward_error(column) > much * column.tolerance && wanted < 0.5;
      column.goal = column.norm * std::max(wanted, 0x1p-40);
      column.end = std::min(column.end, column.iterations + column.iterations / 2);
      column.least = column.before = column.norm;
      column.is_active = column.is_extra;
    }
    if (column.norm <= column.goal || column.iterations >= column.end) column.is_active = false;
  }
}

template <class Exec>
void AbreastCg<Exec>::end_window() {
  constexpr double halved = 0.5, hardly = 0.9;
  for (auto& column : columns_) {
    if (column.least > (column.is_extra ? halved : hardly) * column.before)
      column.is_active = false;
    column.before = column.least;
  }
}

template <class Exec>
std::vector<KrylovReport> AbreastCg<Exec>::finish(Exec const& exec, Wide const& B, Wide const& X) {
  auto const rows = A_.rows();
  A_.residual(exec, B, X, r_);
  auto const [norms, largest] = sizes(exec, r_, rows);
  auto const size = sizes(exec, X, rows).second;
  std::vector<KrylovReport> reports(columns_.size());
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    auto& column = columns_[j];
    auto& report = reports[j];
    column.norm = norms.of[j];
    report.iterations = column.iterations;
    report.cycles = 1;
    report.initial_residual = column.norm_b;
    bool const is_better = column.norm <= column.first;
    report.relative_residual = is_better ? column.norm / column.norm_b : std::nan("");
    report.backward_error =
        backward_error(options_.norm_A, size.of[j], largest_b_.of[j], largest.of[j]);
    report.condition = std::max(1.0, options_.norm_A * column.inverse);
    report.forward_error = forward_error(column);
    report.history = std::move(history_[j]);
    report.status = column.is_met && report.relative_residual <= column.tolerance
                        ? KrylovStatus::Converged
                    : column.iterations >= options_.max_iterations ? KrylovStatus::IterationLimit
                                                                   : KrylovStatus::Stalled;
  }
  return reports;
}

template <class Exec>
std::vector<KrylovReport> AbreastCg<Exec>::solve(Exec const& exec, Wide const& B, Wide const& X,
                                                 std::vector<double> const& tolerances) {
  Region const region(exec, "strata::sparse::AbreastCg::solve");
  constexpr int window = 50;
  constexpr double rounding = 4 * std::numeric_limits<float>::epsilon();  // of M's vectors
  Stopwatch const watch;
  begin(exec, B, X, tolerances);
  for (std::int64_t k = 1; is_any_active() && k <= options_.max_iterations; ++k) {
    if (M_.narrow && rounding * worst() <= options_.tolerance)
      step(exec, *M_.narrow, narrow_s_, narrow_z_, X);
    else
      step(exec, M_.wide, s_, z_, X);
    bool const goes_on = is_any_active();  // else all broke down in this step
    double const residual = worst();
    if (goes_on && options_.monitor) options_.monitor(k, residual);
    judge(exec, X);
    if (goes_on && options_.gives_up && options_.gives_up(k, residual)) break;
    if (k % window == 0) end_window();
  }
  auto reports = finish(exec, B, X);
  for (auto& report : reports)
    report.seconds = watch.seconds() / static_cast<double>(tolerances.size());
  return reports;
}

#define STRATA_INSTANTIATE_ABREAST_CG(Space) template class AbreastCg<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_ABREAST_CG)

}  // namespace strata::sparse::detail
