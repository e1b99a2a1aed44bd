// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_OUTER_ITERATION_HPP
#define STRATA_SPARSE_DETAIL_OUTER_ITERATION_HPP

#include <core/Strata_Stopwatch.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace strata::sparse::detail {

/// Whether an x is as good as fp64 has it, though its residual misses a tolerance: the normwise backward error is at
/// most max(10, sqrt(n)) 2^-52, and the residual agrees with b to three digits. An x so huge that any residual is
/// small beside it is no solution.
bool is_within_rounding(std::int64_t n, double relative_residual, double backward_error);

/// What all Krylov methods do around their cycles: the one place that makes true residuals, decides when a solve
/// ends and how, and keeps the best x.
///
/// Before each cycle r is (b - A x) / 2^exponent of length 1 to 2, whatever the size of b: a cycle works on it and
/// adds 2^exponent times its correction to x. The x that is left in the end has the least of all residuals that
/// were made, the first among them.
template <class Exec>
class OuterIteration {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;
  /// Of a method, with the entries of `A.allocate`.
  struct Work {
    Wide r, best;
  };

  /// Throws   ShapeError if b or x has not the entries of `A.allocate`; on all ranks.
  OuterIteration(Exec const& exec, DistributedMatrix<Exec> const& A, KrylovOptions const& options,
                 Wide const& b, Wide const& x, Work const& work);

  /// Call `cycle(*this)` until the solve ends. It returns why it ended before its time, if it did.
  ///
  /// `stall_factor`: a cycle that leaves more than this of the residual ends the solve; 0: none does.
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
  double target() const;  ///< the ||r|| that meets the tolerance
  /// ||b - A x|| / ||b|| where ||r|| is `norm`.
  double relative(double norm) const;
  /// One iteration is done, and leaves an r of length `norm`, as the cycle estimates it: counts it, and tells the monitor.
  void count(double norm);
  /// Whether an r that a cycle has brought up to date is as small as fp64 resolves b - A x. Collective.
  bool is_below_rounding() const;

  KrylovReport report;

 private:
  struct Reached {
    double residual = std::numeric_limits<double>::infinity();  // ||b - A x||
    double backward_error = std::numeric_limits<double>::infinity();
  };

  bool is_trivial();  // b = 0
  bool goes_on(std::optional<KrylovStatus> ended, double stall_factor);
  void look();  // make r and the numbers of `here_`
  void begin_cycle();
  void keep_if_best();
  bool is_at_limit() const;
  bool is_good_enough() const;
  KrylovReport finish();

  Exec exec_;
  DistributedMatrix<Exec> A_;
  KrylovOptions const& options_;
  Wide b_, x_;
  Work work_;
  Stopwatch watch_;
  double norm_b_ = 0, max_b_ = 0, before_ = 0, norm_ = 0;
  int exponent_ = 0;
  Reached here_, best_;
};

}  // namespace strata::sparse::detail

#endif
