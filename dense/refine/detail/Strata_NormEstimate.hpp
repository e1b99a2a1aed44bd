// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_NORM_ESTIMATE_HPP
#define STRATA_DETAIL_NORM_ESTIMATE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace strata::dense::detail {

/// ||M||_1 from below, and how often M was applied.
struct NormEstimate {
  double value = 0;
  std::int64_t applications = 0;
};

/// V = M V for a symmetric M of order n; V: its columns one after the other.
using Symmetric = std::function<void(std::vector<double>& V)>;

/// The estimate of a norm: blocks of columns, each applied at once.
class NormEstimator {
 public:
  /// columns of the first block; later blocks have half as many
  static constexpr std::int64_t columns = 8;
  static constexpr int most = 3;  ///< applications

  /// `on_progress` hears after each application what part of `most` is done.
  NormEstimator(std::int64_t n, Symmetric const& apply,
                std::function<void(double)> const& on_progress)
      : n_(n), apply_(apply), on_progress_(on_progress), sizes_(static_cast<std::size_t>(n)) {}

  /// Prefer `estimate_norm`. Contract as there.
  NormEstimate operator()() {
    if (n_ <= columns) {
      std::vector<std::int64_t> all(static_cast<std::size_t>(n_));
      std::iota(all.begin(), all.end(), std::int64_t(0));
      look_at(all, {});
      return result_;
    }
    std::vector<double> V = random_signs();
    apply(V);
    for (std::int64_t c = 0; c < columns; ++c) raise(norm(V, c) / static_cast<double>(n_));
    if (!std::isfinite(result_.value)) return result_;  // |v_i| <= 1
    // The rows of M that are largest in the 2-norm, and the signs that make the largest image
    // larger.
    note_sizes(V, 0, columns, [](double size, double v) { return size + v * v; });
    constexpr std::int64_t half = columns / 2;
    double const seen = look_at(largest(half - 1), signs_of(V));
    // A gradient is below the norm of its column: a larger one is worth a look.
    double const reached = *std::ranges::max_element(sizes_);
    raise(reached);
    if (reached > seen * (1 + 0x1p-40) && std::isfinite(result_.value)) look_at(largest(half), {});
    return result_;
  }

 private:
  std::size_t at(std::int64_t i, std::int64_t c) const {
    return static_cast<std::size_t>(i + c * n_);
  }

  void apply(std::vector<double>& V) {
    apply_(V);
    ++result_.applications;
    if (on_progress_) on_progress_(static_cast<double>(result_.applications) / most);
  }

  void raise(double found) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    result_.value = std::max(result_.value, std::isfinite(found) ? found : infinity);
  }

  /// The 1-norm of a column.
  double norm(std::vector<double> const& V, std::int64_t c) const {
    double sum = 0;
    for (std::int64_t i = 0; i < n_; ++i) sum += std::abs(V[at(i, c)]);
    return sum;
  }

  /// Magnitudes in [1/2, 1): two rows that have the same signs everywhere would hide a pair of
  /// theirs.
  std::vector<double> random_signs() const {
    std::mt19937_64 random(1);
    std::vector<double> V(at(0, columns));
    for (double& v : V) {
      std::uint64_t const bits = random();
      v = 0.5 + static_cast<double>(bits >> 12) * 0x1p-53;
      if (bits & 1u) v = -v;
    }
    return V;
  }

  /// The signs of the column that is largest in the 1-norm.
  std::vector<double> signs_of(std::vector<double> const& V) const {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < columns; ++c)
      if (norm(V, c) > norm(V, best)) best = c;
    std::vector<double> signs(V.begin() + best * n_, V.begin() + (best + 1) * n_);
    for (double& sign : signs) sign = sign < 0 ? -1 : 1;
    return signs;
  }

  /// What each row has in these columns, put together by `add`.
  template <class Add>
  void note_sizes(std::vector<double> const& V, std::int64_t begin, std::int64_t end,
                  Add const& add) {
    std::ranges::fill(sizes_, 0.0);
    for (std::int64_t c = begin; c < end; ++c)
      for (std::int64_t i = 0; i < n_; ++i) {
        double& size = sizes_[static_cast<std::size_t>(i)];
        size = add(size, V[at(i, c)]);
      }
  }

  /// The rows of the largest sizes.
  std::vector<std::int64_t> largest(std::int64_t count) const {
    std::vector<std::int64_t> order(sizes_.size());
    std::iota(order.begin(), order.end(), std::int64_t(0));
    auto const larger = [&](std::int64_t a, std::int64_t b) {
      double const x = sizes_[static_cast<std::size_t>(a)], y = sizes_[static_cast<std::size_t>(b)];
      return x > y || (x == y && a < b);
    };
    std::ranges::partial_sort(order, order.begin() + count, larger);
    order.resize(static_cast<std::size_t>(count));
    return order;
  }

  /// M times unit vectors and a column of signs. The magnitudes of the signs' image are the rows'
  /// sizes from now on. Returns the largest norm of a unit vector's image.
  double look_at(std::vector<std::int64_t> const& units, std::vector<double> const& signs) {
    auto const count = static_cast<std::int64_t>(units.size());
    std::vector<double> V(at(0, count), 0.0);
    for (std::int64_t c = 0; c < count; ++c) V[at(units[static_cast<std::size_t>(c)], c)] = 1;
    V.insert(V.end(), signs.begin(), signs.end());
    apply(V);
    double seen = 0;
    for (std::int64_t c = 0; c < count; ++c) seen = std::max(seen, norm(V, c));
    for (std::int64_t c = 0; c < count; ++c) raise(norm(V, c));
    if (!signs.empty()) {
      raise(norm(V, count) / static_cast<double>(n_));
      note_sizes(V, count, count + 1, [](double, double v) { return std::abs(v); });
    }
    return seen;
  }

  std::int64_t n_;
  Symmetric const& apply_;
  std::function<void(double)> const& on_progress_;
  std::vector<double> sizes_;  // of rows
  NormEstimate result_;
};

/// Estimate ||M||_1 of a symmetric M that can only be applied.
///
/// Result   infinity where M gives what is not finite; exact for n <= 8. n >= 1. Mostly 2, at most
///          3 applications, to eight vectors and then to four; `on_progress` hears after each what
///          part of them is done. The same signs on every machine.
/// Source   Higham and Tisseur, SIAM J. Matrix Anal. Appl. 21 (2000),
///          doi:10.1137/S0895479899356080, algorithm 2.4; deviations: all columns of the start are
///          random, of random magnitudes, too; the rows that are largest in their images are looked
///          at along with the gradient, and what it points to only where that is more.
inline NormEstimate estimate_norm(std::int64_t n, Symmetric const& apply,
                                  std::function<void(double)> const& on_progress = {}) {
  return NormEstimator(n, apply, on_progress)();
}

}  // namespace strata::dense::detail

#endif
