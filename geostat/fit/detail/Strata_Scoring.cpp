// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/fit/detail/Strata_Scoring.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace strata::geostat::detail {

namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

double dot(Vector const& a, Vector const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A = V diag(lambda) V', by Jacobi's rotations; V replaces A's columns.
Vector eigenvalues(Matrix& A, Matrix& V) {
  std::size_t const n = A.size();
  V.assign(n, Vector(n, 0));
  for (std::size_t i = 0; i < n; ++i) V[i][i] = 1;
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::abs(A[p][q]) <= 1e-300) continue;
        double const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]),
                     t = std::copysign(1, theta) / (std::abs(theta) + std::hypot(1, theta)),
                     c = 1 / std::hypot(1, t), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          double const kp = A[k][p], kq = A[k][q];
          A[k][p] = c * kp - s * kq, A[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < n; ++k) {
          double const pk = A[p][k], qk = A[q][k], vp = V[k][p], vq = V[k][q];
          A[p][k] = c * pk - s * qk, A[q][k] = s * pk + c * qk;
          V[k][p] = c * vp - s * vq, V[k][q] = s * vp + c * vq;
        }
      }
  Vector result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(A[i][i]);
  return result;
}

// The p with the largest g'p - p'Hp/2, |p| <= radius: (H + mu) p = g for the least mu >= 0 that
// will do.
Vector in_ball(Vector const& g, Matrix H, double radius) {
  std::size_t const n = g.size();
  Matrix V;
  Vector lambda = eigenvalues(H, V), a(n, 0);  // a = V'g
  double const largest = lambda.empty() ? 0 : std::max(0.0, std::ranges::max(lambda));
  for (double& value : lambda) value = std::max(value, 1e-14 * largest);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i) a[k] += V[i][k] * g[i];
  auto const length = [&](double mu) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k)
      if (a[k] != 0) sum += std::pow(a[k] / (lambda[k] + mu), 2);
    return std::sqrt(sum);
  };
  double low = 0, high = std::sqrt(dot(a, a)) / radius, mu = 0;
  if (!(length(0) <= radius)) {
    for (int k = 0; k < 100 && high - low > 1e-10 * high; ++k) {
      mu = (low + high) / 2;
      (length(mu) > radius ? low : high) = mu;
    }
    mu = high;
  }
  Vector p(n, 0);
  for (std::size_t k = 0; k < n; ++k)
    if (a[k] != 0)
      for (std::size_t i = 0; i < n; ++i) p[i] += V[i][k] * a[k] / (lambda[k] + mu);
  return p;
}

// The best p with the variables of `fixed` where they are in `p`.
Vector with_fixed(Quadratic const& model, std::vector<bool> const& fixed, Vector p, double radius) {
  std::vector<std::size_t> free;
  double rest = radius * radius;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (fixed[i])
      rest -= p[i] * p[i];
    else
      free.push_back(i);
  std::size_t const m = free.size();
  Vector g(m);
  Matrix H(m, Vector(m));
  for (std::size_t a = 0; a < m; ++a) {
    g[a] = model.g[free[a]];
    for (std::size_t i = 0; i < p.size(); ++i)
      if (fixed[i]) g[a] -= model.H[free[a]][i] * p[i];
    for (std::size_t b = 0; b < m; ++b) H[a][b] = model.H[free[a]][free[b]];
  }
  // Of variables that go to their bounds no more than the radius is left.
  Vector const found = in_ball(g, H, std::sqrt(std::max(rest, 1e-4 * radius * radius)));
  for (std::size_t a = 0; a < m; ++a) p[free[a]] = found[a];
  return p;
}

}  // namespace

BoxStep best_step(Quadratic const& model, std::span<double const> x, std::span<double const> lower,
                  std::span<double const> upper, double radius) {
  std::size_t const n = x.size();
  std::vector<bool> fixed(n, false);
  Vector p(n, 0), slope(n, 0);
  for (std::size_t round = 0; round < 4 * n + 1; ++round) {
    p = with_fixed(model, fixed, p, radius);
    std::optional<std::size_t> out, in;
    double furthest = 0, pull = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double const beyond = std::max(lower[i] - x[i] - p[i], x[i] + p[i] - upper[i]);
      if (!fixed[i] && beyond > furthest) furthest = beyond, out = i;
    }
    if (out) {
      p[*out] = std::clamp(p[*out], std::min(0.0, lower[*out] - x[*out]),
                           std::max(0.0, upper[*out] - x[*out]));
      fixed[*out] = true;
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      slope[i] = model.g[i] - dot(model.H[i], p);
      double const inwards = x[i] + p[i] <= lower[i] ? slope[i] : -slope[i];
      if (fixed[i] && inwards > std::max(pull, 1e-12 * std::abs(model.g[i])))
        pull = inwards, in = i;
    }
    if (!in || round >= 3 * n) break;
    fixed[*in] = false;
  }
  for (std::size_t i = 0; i < n; ++i)
    p[i] = std::clamp(p[i], std::min(0.0, lower[i] - x[i]), std::max(0.0, upper[i] - x[i]));
  double curved = 0;
  for (std::size_t i = 0; i < n; ++i) curved += p[i] * dot(model.H[i], p);
  return {p, dot(model.g, p) - curved / 2, std::sqrt(dot(p, p))};
}

namespace {

constexpr double largest_radius = 3;
constexpr std::size_t remembered = 2;

// A step and by how much the slope fell along it.
struct Secant {
  Vector p, y;
};

// H with the curvature that the last steps met, H p = y, by the update of Broyden, Fletcher,
// Goldfarb and Shanno. The average information alone may be far from that curvature, and steps
// would go to and fro.
Quadratic corrected(Quadratic model, std::vector<Secant> const& secants) {
  std::size_t const n = model.g.size();
  for (auto const& [p, y] : secants) {
    Vector Hp(n);
    for (std::size_t i = 0; i < n; ++i) Hp[i] = dot(model.H[i], p);
    double const expected = dot(p, Hp), met = dot(p, y);
    if (!(met > 0.05 * expected) || !(expected > 0)) continue;  // it is to stay definite
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        model.H[i][j] += y[i] * y[j] / met - Hp[i] * Hp[j] / expected;
  }
  return model;
}

constexpr int retreats = 20;
// So many evaluations for each variable must gain what counts, each, in the mean.
constexpr int patience = 10;
// A point whose noise is so many times the last one's counts as what it is at least.
constexpr double noisier = 10;

class Scoring {
 public:
  explicit Scoring(ScoringSearch const& search)
      : search_(search), result_{.x = search.start, .lower = search.lower} {}

  ScoringOutcome run() {
    if (!find_a_value()) return end(false, "there is no value near the start");
    double radius = std::min(search_.first_radius, largest_radius);
    for (;;) {
      auto const full = step(std::max(radius, 1.0));
      if (full.gain <= least_)
        return end(true, strata::detail::message("no step would gain more than ", least_,
                                                 " of the log-likelihood"));
      if (full.gain <= now_.noise / 10)
        return end(true, strata::detail::message(
                             "no step would change the log-likelihood by more than its error, ",
                             now_.noise));
      if (evaluations_ >= search_.max_evaluations) return end(false, "the evaluations are used up");
      bool const is_small = full.gain <= std::max(1e-3, now_.noise);
      if (evaluations_ - risen_ >= patience * std::ssize(full.p))
        return end(is_small, strata::detail::message("the last ", evaluations_ - risen_,
                                                     " evaluations gained no more than ", worth_,
                                                     " of the log-likelihood"));
      if (radius < search_.tolerance / 10)
        return end(is_small, "rounding errors hide further progress");
      radius = advance(radius < 1 ? step(radius) : full, radius);
    }
  }

 private:
  // In units in which no curvature is above the usual.
  BoxStep step(double radius) const {
    std::size_t const n = result_.x.size();
    Vector unit(n), x(n), lower(n), upper(n);
    Quadratic model = corrected_;
    for (std::size_t i = 0; i < n; ++i)
      unit[i] = 1 / std::sqrt(std::max(1.0, result_.model.H[i][i] / search_.usual_curvature));
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = result_.x[i] / unit[i];
      lower[i] = result_.lower[i] / unit[i], upper[i] = search_.upper[i] / unit[i];
      model.g[i] *= unit[i];
      for (std::size_t j = 0; j < n; ++j) model.H[i][j] *= unit[i] * unit[j];
    }
    BoxStep result = best_step(model, x, lower, upper, radius);
    for (std::size_t i = 0; i < n; ++i) result.p[i] *= unit[i];
    return result;
  }

  Scored value(Vector const& x) {
    ++evaluations_;
    return search_.value(x);
  }

  bool find_a_value() {
    for (int k = 0; k <= retreats && evaluations_ < search_.max_evaluations; ++k) {
      now_ = value(result_.x);
      if (now_.defined) {
        result_.model = corrected_ = search_.model();
        note_rise();
        return true;
      }
      for (std::size_t i = 0; i < result_.x.size(); ++i)
        result_.x[i] = (result_.x[i] + search_.safe[i]) / 2;
    }
    return false;
  }

  // Notes when the value has risen by what counts. In a bent valley that is nearly flat steps may
  // go on for ever without: what they gain each is less than a step that would end the search.
  void note_rise() {
    if (risen_ > 0 && !(now_.value > risen_to_ + std::max(worth_, now_.noise))) return;
    risen_ = evaluations_, risen_to_ = now_.value;
  }

  // To the end of a step, if it is one; returns the next radius.
  double advance(BoxStep const& step, double radius) {
    Vector there = result_.x;
    for (std::size_t i = 0; i < there.size(); ++i) {
      // To the bit: what is on its bound is told from what is near it.
      constexpr double nearly = 1 - 1e-12;
      there[i] += step.p[i];
      bool const is_at_lower =
                     step.p[i] < 0 && step.p[i] <= nearly * (result_.lower[i] - result_.x[i]),
                 is_at_upper =
                     step.p[i] > 0 && step.p[i] >= nearly * (search_.upper[i] - result_.x[i]);
      if (is_at_lower) there[i] = result_.lower[i];
      if (is_at_upper) there[i] = search_.upper[i];
      there[i] = std::max(there[i], result_.lower[i]);  // which may have been raised
    }
    Scored const then = value(there);
    if (!then.defined) {
      if (search_.on_undefined) search_.on_undefined(there, result_.lower);
      return std::min(radius, step.length) / 4;
    }
    // What of its noise is new says nothing for a point: near the end of fp64 it may be thousands.
    double const noise = std::max(now_.noise, std::min(then.noise, noisier * now_.noise)),
                 surely = then.value - std::max(0.0, then.noise - noise),
                 ratio = (surely - now_.value + 2 * noise) / (step.gain + 2 * noise);
    if (ratio > 0.1) {
      Quadratic const before = std::move(result_.model);
      result_.model = search_.model();
      Secant secant;
      for (std::size_t i = 0; i < there.size(); ++i) {
        secant.p.push_back(there[i] - result_.x[i]);
        secant.y.push_back(before.g[i] - result_.model.g[i]);
      }
      secants_.push_back(secant);
      if (secants_.size() > remembered) secants_.erase(secants_.begin());
      corrected_ = corrected(result_.model, secants_);
      now_ = then;
      note_rise();
      result_.x = there;
    }
    if (ratio < 0.25) return std::min(radius, step.length) / 4;
    return ratio > 0.75 && step.length > 0.99 * radius ? std::min(2 * radius, largest_radius)
                                                       : radius;
  }

  ScoringOutcome end(bool converged, std::string const& reason) {
    result_.converged = converged;
    result_.reason = reason;
    return result_;
  }

  ScoringSearch const& search_;
  double const least_ = 100 * search_.tolerance * search_.tolerance;  // gain of a step that counts
  double const worth_ = patience * static_cast<double>(search_.start.size()) * least_;
  ScoringOutcome result_;
  Quadratic corrected_;
  std::vector<Secant> secants_;  // of the last steps
  Scored now_;
  std::int64_t evaluations_ = 0, risen_ = 0;  // of them, those when the value last rose
  double risen_to_ = 0;
};

}  // namespace

ScoringOutcome maximise(ScoringSearch const& search) { return Scoring(search).run(); }

}  // namespace strata::geostat::detail
