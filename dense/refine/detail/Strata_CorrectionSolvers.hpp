// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_CORRECTION_SOLVERS_HPP
#define STRATA_DENSE_DETAIL_CORRECTION_SOLVERS_HPP

#include <core/Strata_HessenbergLeastSquares.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// What an inner solver is asked for, and did, in one column.
struct Correction {
  double target = 0;            ///< target of ||r - A d||_2 / ||r||_2
  std::int64_t budget = 0;      ///< applications of M^-1
  bool is_cut_short = false;    ///< the solver ends once it sees that the budget will not do
  std::int64_t iterations = 0;  ///< made
  bool indefinite = false;      ///< p'Ap was negative in a direction p: A is not positive definite
  bool broken = false;   ///< a direction was met in which A or M is not positive, or not finite
  bool gave_up = false;  ///< the budget would not have done
};

/// Whether, at the rate so far, the column needs more iterations than it may have. `gained` is the
/// norm of its residual over the first one, and `enough_to_tell` iterations are made in any case.
/// The residual with the factor of a matrix that was rounded falls by nearly the same factor in
/// each iteration.
inline bool will_not_do(Correction const& column, double gained, std::int64_t enough_to_tell) {
  if (!column.is_cut_short || column.iterations < enough_to_tell) return false;
  return static_cast<double>(column.iterations) * std::log(column.target) <
         static_cast<double>(column.budget) * std::log(std::max(gained, 0x1p-500));
}

/// Preconditioned conjugate gradients on A D = R, all columns in lock step.
///
/// The update of the direction is Polak-Ribiere's: exact when M^-1 is a fixed symmetric matrix, and
/// robust when it is only nearly one (Golub and Ye).
template <class Exec>
class ConjugateGradients {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Scalars = typename Kernels::Scalars;

  ConjugateGradients(Kernels& kernels, RefinementOperators<Exec> const& operators,
                     std::int64_t cols)
      : kernels_(kernels),
        operators_(operators),
        P_(kernels.allocate("strata::dense::refine::P", cols)),
        Q_(kernels.allocate("strata::dense::refine::Q", cols)),
        Z_(kernels.allocate("strata::dense::refine::Z", cols)),
        d_(operators.apply_given ? operators.scaling : typename Kernels::Scaling()),
        V_(d_.extent(0) > 0 ? kernels.allocate("strata::dense::refine::V", cols) : P_) {}

  /// R: columns of magnitude 1, overwritten by what is left of them. D: the solution; M^-1 R
  /// before, if that `is_there`.
  void solve(Block const& R, Block const& D, std::vector<Correction>& columns, bool is_there) {
    auto const cols = columns.size();
    auto const first = [&](Block const& A) {
      return Block(Kokkos::subview(A, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, cols)));
    };
    Block const P = first(P_), Q = first(Q_), Z = first(Z_), V = first(V_);
    auto const start = kernels_.norms(Scalars(cols, 1.0), R);
    Scalars scale(cols), goal(cols), back(cols), before(cols, 0.0);  // the last: -p'Ap
    std::vector<bool> live(cols);
    for (std::size_t c = 0; c < cols; ++c) {
      goal[c] = columns[c].target * columns[c].target * start[c].sum[0];
      live[c] = start[c].sum[0] > goal[c] && columns[c].budget > 0;
      scale[c] = live[c] ? normaliser(start[c].max[0]) : 0;
    }
    if (is_there) kernels_.scale(scale, D, Z);
    kernels_.fill(D, 0);
    kernels_.fill(Q, 0);
    while (std::ranges::find(live, true) != live.end()) {
      if (!std::exchange(is_there, false)) {
        kernels_.scale(scale, R, Z);
        operators_.precondition(Z);  // z = M^-1 (scale r)
      }
      for (std::size_t c = 0; c < cols; ++c) back[c] = live[c] ? 1 / scale[c] : 0;
      kernels_.see_products(R, Q, Z);
      kernels_.direction(back, Z, before, P, d_, V);  // p = z / scale + beta p
      multiply(P, V, Q);
      kernels_.see_curvature(P, d_, Q);
      auto const steps = kernels_.advance(back, P, Q, D, R);  // d += alpha p, r -= alpha q
      for (std::size_t c = 0; c < cols; ++c) {
        if (live[c]) live[c] = goes_on(steps[c], start[c].sum[0], goal[c], back[c], columns[c]);
        before[c] = live[c] ? -steps[c].curvature.sum[0] : 0;
        scale[c] = live[c] ? normaliser(steps[c].residual.max[0]) : 0;
      }
    }
  }

 private:
  /// Q = A P, or G V for V = d P, where `see_curvature` multiplies by d.
  void multiply(Block const& P, Block const& V, Block const& Q) {
    if (d_.extent(0) > 0)
      operators_.apply_given(V, Q);
    else
      operators_.apply(P, Q);
  }

  /// Whether there is more to do in a column, of which `start` was r'r at first.
  static bool goes_on(ConjugateStep const& step, double start, double goal, double back,
                      Correction& column) {
    ++column.iterations;
    double const rz = back * step.products.sum[0], curvature = step.curvature.sum[0],
                 left = step.residual.sum[0];
    column.broken = step_length(rz, curvature) == 0;
    column.indefinite |= rz > 0 && curvature < 0;
    if (column.broken || !(left > goal) || column.iterations >= column.budget) return false;
    column.gave_up = will_not_do(column, std::sqrt(left / start), 4);
    return !column.gave_up;
  }

  Kernels& kernels_;
  RefinementOperators<Exec> const& operators_;
  Block P_, Q_, Z_;
  typename Kernels::Scaling d_;  // where products are with the matrix as given
  Block V_;
};

/// Flexible GMRES on A D = R, preconditioned from the right, one cycle; columns in lock step.
///
/// Orthogonalised by classical Gram-Schmidt twice. The vectors M^-1 v are kept, so M^-1 may change
/// from one application to the next, and each may have a scale of its own: it cancels in y.
template <class Exec>
class FlexibleGmres {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Basis = typename Kernels::Basis;
  using Scalars = typename Kernels::Scalars;

  /// For up to `cols` columns at a time and cycles of `steps`.
  FlexibleGmres(Exec const& exec, std::int64_t rows, RefinementOperators<Exec> const& operators,
                std::int64_t cols, std::int64_t steps)
      : kernels_(exec, rows, cols, steps + 1),
        operators_(operators),
        V_(kernels_.allocate("strata::dense::refine::V", cols, steps + 1)),
        Z_(kernels_.allocate("strata::dense::refine::MV", cols, steps)) {}

  std::int64_t steps() const { return static_cast<std::int64_t>(Z_.extent(2)); }

  /// R: columns of magnitude 1. D: the solution.
  void solve(Block const& R, Block const& D, std::vector<Correction>& columns) {
    std::size_t const chunk = Z_.extent(1);
    kernels_.fill(D, 0);
    for (std::size_t first = 0; first < columns.size(); first += chunk) {
      std::size_t const last = std::min(first + chunk, columns.size());
      std::pair const range(first, last);
      cycle(Kokkos::subview(R, Kokkos::ALL, range), Kokkos::subview(D, Kokkos::ALL, range),
            columns.data() + first, last - first);
    }
  }

 private:
  /// One column's least-squares problem and whether it still grows.
  struct State {
    HessenbergLeastSquares problem;
    double start, goal;  ///< norm of the residual at first, and where it may end
    bool live;
  };

  Block step(Basis const& A, std::int64_t k, std::size_t cols) const {
    return Kokkos::subview(A, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, cols), k);
  }

  void cycle(Block const& R, Block const& D, Correction* columns, std::size_t cols) {
    auto const size = kernels_.norms(Scalars(cols, 1.0), R);
    std::vector<State> states;
    Scalars to_v(cols), to_z(cols);
    for (std::size_t c = 0; c < cols; ++c) {
      double const beta = std::sqrt(size[c].sum[0]);
      bool const live = beta > 0 && std::isfinite(beta) && columns[c].budget > 0;
      states.push_back({HessenbergLeastSquares(beta), beta, columns[c].target * beta, live});
      to_v[c] = live ? 1 / beta : 0;
      to_z[c] = live ? normaliser(size[c].max[0]) : 0;
    }
    kernels_.scale(to_v, to_z, R, step(V_, 0, cols), step(Z_, 0, cols));
    auto const live = [](State const& state) { return state.live; };
    for (std::int64_t k = 0; k < steps() && std::ranges::any_of(states, live); ++k) {
      Block const W = step(V_, k + 1, cols), Z = step(Z_, k, cols);
      operators_.precondition(Z);
      operators_.apply(Z, W);
      auto const [h, length] = orthogonalise(k + 1, W, cols);
      for (std::size_t c = 0; c < cols; ++c) {
        if (states[c].live) extend(states[c], h.data() + c * (k + 1), k + 1, length[c], columns[c]);
        to_v[c] = states[c].live ? 1 / std::sqrt(length[c].sum[0]) : 0;
        to_z[c] = states[c].live ? normaliser(length[c].max[0]) : 0;
      }
      if (k + 1 < steps()) kernels_.scale(to_v, to_z, W, W, step(Z_, k + 1, cols));
    }
    Scalars y;
    std::size_t longest = 0;
    for (State const& state : states) longest = std::max(longest, state.problem.columns());
    for (State const& state : states) {
      auto part = state.problem.minimiser();
      part.resize(longest);
      y.insert(y.end(), part.begin(), part.end());
    }
    kernels_.combine(1, Z_, static_cast<std::int64_t>(longest), y, D);  // d = Z y
  }

  /// W -= V V^T W, twice; the coefficients and what is left.
  std::pair<Scalars, std::vector<Moments>> orthogonalise(std::int64_t steps, Block const& W,
                                                         std::size_t cols) {
    Scalars h = kernels_.project(V_, steps, W);
    kernels_.combine(-1, V_, steps, h, W);
    Scalars const again = kernels_.project(V_, steps, W);
    kernels_.combine(-1, V_, steps, again, W);
    for (std::size_t k = 0; k < h.size(); ++k) h[k] += again[k];
    return {std::move(h), kernels_.norms(Scalars(cols, 1.0), W)};
  }

  static void extend(State& state, double const* h, std::int64_t steps, Moments const& rest,
                     Correction& column) {
    ++column.iterations;
    double const below = std::sqrt(rest.sum[0]);
    double size = below;
    for (std::int64_t k = 0; k < steps; ++k) size = std::hypot(size, h[k]);
    state.live = false;
    column.broken = !std::isfinite(size);
    if (column.broken) return;
    state.problem.append(std::vector<double>(h, h + steps), below);
    bool const complete = below <= 0x1p-52 * size;  // the Krylov space holds the solution
    state.live =
        !complete && state.problem.residual() > state.goal && column.iterations < column.budget;
    if (!state.live) return;
    column.gave_up = will_not_do(column, state.problem.residual() / state.start, 10);
    state.live = !column.gave_up;
  }

  Kernels kernels_;
  RefinementOperators<Exec> const& operators_;
  Basis V_, Z_;
};

}  // namespace strata::dense::detail

#endif
