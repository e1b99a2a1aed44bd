// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_JACOBI_HPP
#define STRATA_DENSE_DETAIL_JACOBI_HPP

#include <dense/log_determinant/detail/Strata_Tridiagonal.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace strata::dense::detail {

/// What one probe v says of C: v' log(C) v, v' log(C)^2 v, and the ends of the Ritz values.
struct Quadrature {
  double logarithm = 0, square = 0;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
};

/// The Jacobi matrix that Lanczos builds from one probe.
struct Jacobi {
  std::vector<double> diagonal, below;
  bool complete = false;  ///< the Krylov space is invariant

  /// By the Gauss rule, which lies above v' log(C) v; NaN if C is not positive definite.
  Quadrature gauss() const { return of(diagonal); }

  /// v' log(C) v by the Gauss-Radau rule with a node at a > 0. It lies below where no eigenvalue
  /// does; -infinity where a Ritz value is not above a.
  double radau(double a) const {
    if (complete) return gauss().logarithm;
    auto const longer = radau_diagonal(a);
    return longer.empty() ? -std::numeric_limits<double>::infinity() : of(longer).logarithm;
  }

  /// The diagonal of the matrix that is longer by one, with an eigenvalue at a; empty where a Ritz
  /// value is not above a.
  ///
  /// Source   Golub, SIAM Rev. 15 (1973), doi:10.1137/1015032.
  std::vector<double> radau_diagonal(double a) const {
    double pivot = std::numeric_limits<double>::infinity(), square = 0;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      pivot = diagonal[i] - a - square / pivot;
      if (!(pivot > 0)) return {};
      square = below[i] * below[i];
    }
    auto longer = diagonal;
    longer.push_back(a + square / pivot);
    return longer;
  }

  /// ||(C - I) v||^2, from the first step.
  double deviation() const {
    double const first = diagonal.front() - 1;
    return first * first + below.front() * below.front();
  }

 private:
  Quadrature of(std::vector<double> const& alpha) const {
    auto const rule = gauss_rule(alpha, below);
    Quadrature result;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
      double const logarithm = std::log(rule.nodes[i]);
      result.logarithm += rule.weights[i] * logarithm;
      result.square += rule.weights[i] * logarithm * logarithm;
      result.lowest = std::min(result.lowest, rule.nodes[i]);
      result.highest = std::max(result.highest, rule.nodes[i]);
    }
    return result;
  }
};

/// A number that the eigenvalues of C exceed, by the Ritz values of `steps` steps from each random
/// probe.
inline double below_spectrum(std::vector<Jacobi> const& matrices, double n, Quadrature const& all) {
  double const probes = static_cast<double>(matrices.size()),
               steps = static_cast<double>(matrices.front().diagonal.size());
  // The extreme Ritz values of one probe are off by more than eps (lambda_max - lambda_min) with
  // probability 1.648 n^(1/2) exp(-eps^(1/2) (2 steps - 1)) at most; of all probes in 1e-4.
  double const root = std::log(1.648 * std::sqrt(n) / std::pow(1e-4, 1 / probes)) / (2 * steps - 1);
  double const eps = root * root;
  double const by_ritz = eps < 0.25 ? all.lowest - eps / (1 - 2 * eps) * (all.highest - all.lowest)
                                    : -std::numeric_limits<double>::infinity();
  double squares = 0;  // ||E||_F^2, which a mean of 16 chi-squares underestimates tenfold in 3e-6
  for (Jacobi const& T : matrices) squares += n / probes * T.deviation();
  return std::max(by_ritz, 1 - std::sqrt(10 * squares));
}

}  // namespace strata::dense::detail

#endif
