// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_TRIDIAGONAL_HPP
#define STRATA_DENSE_DETAIL_TRIDIAGONAL_HPP

#include <cmath>
#include <cstddef>
#include <vector>

namespace strata::dense::detail {

/// Nodes and weights of the Gauss rule of a Jacobi matrix T: its eigenvalues, and the squares of
/// the first components of its eigenvectors.
struct GaussRule {
  std::vector<double> nodes, weights;
};

/// The Gauss rule of the k x k matrix with `diagonal` (k) and `below` (at least k - 1).
///
/// Cyclic Jacobi rotations on the full matrix: 4 k^3 flops a sweep, meant for k <= 100. A matrix
/// that is not finite gives nodes that are NaN.
inline GaussRule gauss_rule(std::vector<double> const& diagonal, std::vector<double> const& below) {
  std::size_t const k = diagonal.size();
  std::vector<double> T(k * k, 0.0), first(k, 0.0);
  for (std::size_t i = 0; i < k; ++i) {
    T[i + i * k] = diagonal[i];
    if (i + 1 < k) T[i + 1 + i * k] = T[i + (i + 1) * k] = below[i];
  }
  if (k > 0) first[0] = 1;
  // Rotate the rows and columns p and q so that T(p, q) = 0; false if it is zero to rounding
  // already.
  auto const rotate = [&](std::size_t p, std::size_t q) {
    double const off = T[p + q * k], a = T[p + p * k], b = T[q + q * k];
    if (!(std::abs(off) > 0x1p-54 * std::sqrt(std::abs(a * b))) || off == 0) return false;
    double const theta = (b - a) / (2 * off);
    double const t = std::copysign(1 / (std::abs(theta) + std::hypot(theta, 1)), theta);
    double const c = 1 / std::hypot(t, 1), s = t * c;
    auto const turn = [&](double& x, double& y) {
      double const old = x;
      x = c * old - s * y;
      y = s * old + c * y;
    };
    for (std::size_t i = 0; i < k; ++i) turn(T[i + p * k], T[i + q * k]);
    for (std::size_t i = 0; i < k; ++i) turn(T[p + i * k], T[q + i * k]);
    turn(first[p], first[q]);
    return true;
  };
  bool turned = true;
  for (int sweep = 0; turned && sweep < 40; ++sweep) {
    turned = false;
    for (std::size_t q = 1; q < k; ++q)
      for (std::size_t p = 0; p < q; ++p) turned |= rotate(p, q);
  }
  GaussRule rule;
  for (std::size_t i = 0; i < k; ++i) {
    rule.nodes.push_back(T[i + i * k]);
    rule.weights.push_back(first[i] * first[i]);
  }
  return rule;
}

}  // namespace strata::dense::detail

#endif
