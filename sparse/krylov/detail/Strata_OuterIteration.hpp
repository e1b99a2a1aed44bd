// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_OUTER_ITERATION_HPP
#define STRATA_SPARSE_DETAIL_OUTER_ITERATION_HPP

#include <core/Strata_Stopwatch.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/detail/Strata_ResidualNorms.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace strata::sparse::detail {

/// Whether an x is as good as fp64 has it, though its residual misses a tolerance. The normwise
/// backward error is then at most max(10, sqrt(n)) 2^-52, and the residual agrees with b to three
/// digits. An x so huge that any residual is small beside it is no solution.
bool is_within_rounding(std::int64_t n, double relative_residual, double backward_error);

/// What all Krylov methods do around their cycles: the one place that makes true residuals, decides
/// when a solve ends and how, and keeps the best x.
///
/// Before each cycle r is (b - A x) / 2^exponent of length 1 to 2, whatever the size of b: a cycle
/// works on it and adds 2^exponent times its correction to x. The x that is left in the end has the
/// least of all residuals that were made, the first among them. With `norms` a residual counts as
/// the largest of its norms. x may then seem to have 10^4 times the error that the tolerance
/// promises. A solve that has converged goes on to the backward error's limit while its residual
/// falls, for at most half as many iterations again.
template <class Exec>
class OuterIteration {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;
  using Norms = ResidualNorms<Exec>;
  /// The vectors of a method, with the entries of `A.allocate`.
  struct Work {
    Wide r, best;
  };

  /// Throws   ShapeError if b or x has not the entries of `A.allocate`; on all ranks.
  OuterIteration(Exec const& exec, DistributedMatrix<Exec> const& A, KrylovOptions const& options,
                 Wide const& b, Wide const& x, Work const& work, Norms const* norms = nullptr);

  /// Call `cycle(*this)` until the solve ends. It returns why it ended before its time, if it did.
  ///
  /// `stall_factor`: a cycle that leaves more than this of the residual ends the solve; 0: none
  /// does.
  template <class Cycle>
  KrylovReport run(double stall_factor, Cycle const& cycle) {
    std::optional<KrylovStatus> ended;
    if (!is_trivial())
      for (; goes_on(ended, stall_factor); ++report.cycles) ended = cycle(*this);
    return finish();
  }

  double norm() const { return norm_; }  ///< ||r||
  int exponent() const { return exponent_; }
  double unit() const;    ///< 2^exponent
  double target() const;  ///< the ||r|| that a cycle is to reach
  /// ||b - A x|| / ||b|| where ||r|| is `norm`.
  double relative(double norm) const;
  /// Whether a cycle may do another iteration.
  bool has_iterations() const { return report.iterations < most_iterations_ && !gave_up_; }
  /// Whether the solve has converged, and goes on for what its residual still gains.
  bool is_extra() const { return is_extra_; }
  /// One iteration is done, and leaves an r of length `norm`, as the cycle estimates it: counts it,
  /// and tells the monitor. Throws on all ranks what the monitor throws on one. Collective.
  void count(double norm);
  /// Whether an r that a cycle has brought up to date, and whose length meets the target, meets the
  /// tolerance in all norms; else there is a new target. Collective.
  bool meets(double norm);
  /// Whether an r that a cycle has brought up to date is as small as fp64 resolves b - A x.
  /// Collective.
  bool is_below_rounding() const;
  /// Whether the solve estimates errors: `saw` is called where it does.
  bool estimates() const { return norms_ != nullptr; }
  /// Room for a step.
  Wide const& step() const { return norms_->step; }
  /// The sizes of an r.
  struct Sizes {
    double rows = 0;     ///< ||r||, of rows in the units of x
    double largest = 0;  ///< its largest entry
  };
  /// The sizes of the r that a cycle has brought up to date. Collective.
  Sizes sizes() const;
  /// x moved by `step()` from where r was `before` to where it is `now`. Collective.
  void saw(Sizes const& before, Sizes const& now);
  /// x moved by `step()`, whose image is not known; what is in r is lost. Collective.
  void saw();

  KrylovReport report;

 private:
  struct Reached {
    double residual = std::numeric_limits<double>::infinity();  // ||b - A x||
    Sizes sizes;
    double relative = std::numeric_limits<double>::infinity();        // of the norms the largest
    double backward_error = std::numeric_limits<double>::infinity();  // the same
    double open_error =
        std::numeric_limits<double>::infinity();  // of norms that miss the tolerance
  };
  /// A norm of `norms`, of b.
  struct Beside {
    Power power = Power::Itself;
    Wide weight;
    double norm_A = 0, norm_b = 0, max_b = 0;
  };

  bool is_trivial();  // b = 0
  bool goes_on(std::optional<KrylovStatus> ended, double stall_factor);
  std::optional<KrylovStatus> verdict(std::optional<KrylovStatus> ended, double stall_factor);
  void look();                         // make r and the numbers of `here_`
  Reached judged(int exponent) const;  // of r 2^exponent
  void add(Reached& reached, double relative, double error) const;
  void add_norms();
  double size_of_x() const;
  void compare_with_best();
  void aim_lower(double reached, double worst);
  bool begins_extra();
  void begin_cycle();
  bool is_better(Reached const& one, Reached const& other) const;
  void keep_if_best();
  bool is_at_limit() const;
  bool is_good_enough() const;
  double forward_error() const;
  KrylovReport finish();

  Exec exec_;
  DistributedMatrix<Exec> A_;
  KrylovOptions const& options_;
  Wide b_, x_;
  Work work_;
  Norms const* norms_;
  Beside beside_[2];
  int count_beside_ = 0;
  Stopwatch watch_;
  double norm_b_ = 0, max_b_ = 0, norm_ = 0, goal_ = 0;
  double inverse_ = 0, error_rate_ = 0;  // least ||A^-1||_oo; error of x for rows of 1
  int exponent_ = 0;
  bool is_extra_ = false, gave_up_ = false;
  std::int64_t most_iterations_ = 0;
  Reached here_, before_, best_;
};

}  // namespace strata::sparse::detail

#endif
