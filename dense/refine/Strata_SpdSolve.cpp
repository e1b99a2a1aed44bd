// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/Strata_SpdSolve.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>
#include <dense/refine/detail/Strata_LostColumns.hpp>
#include <dense/refine/detail/Strata_RefinementMemory.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace strata::dense {

namespace {

SolveReport report_of(RefinementReport&& refinement) {
  SolveReport report;
  report.converged = refinement.converged;
  report.backward_error = refinement.backward_error;
  report.hpl_scaled_residual = refinement.hpl_scaled_residual;
  report.slate_error = refinement.slate_error;
  report.refinement = std::move(refinement);
  return report;
}

// Columns whose solution is beyond the range of fp64, or D B, are 0, whose backward error is 1.
void note_lost_columns(std::int64_t lost, std::int64_t n, SolveReport& report) {
  if (lost == 0) return;
  report.converged = report.refinement.converged = false;
  report.refinement.unconverged_columns = std::max(report.refinement.unconverged_columns, lost);
  report.backward_error = report.refinement.backward_error = 1;
  report.refinement.equilibrated_error = report.refinement.relative_residual = 1;
  report.hpl_scaled_residual = report.refinement.hpl_scaled_residual =
      1 / (static_cast<double>(n) * 0x1p-52);
}

// The memory that the factor keeps, or a new one; it never shrinks, so that solves of two kinds by
// turns allocate nothing.
template <class Exec>
std::shared_ptr<detail::RefinementMemory<Exec>> memory_of(SpdFactor<Exec>& factor, Exec const& exec,
                                                          std::int64_t cols, std::int64_t vectors) {
  auto& kept = factor.memory;
  if (kept && kept->fits(exec, factor.order())) {
    if (cols <= kept->cols() && vectors <= kept->vectors()) return kept;
    cols = std::max(cols, kept->cols()), vectors = std::max(vectors, kept->vectors());
  }
  return kept =
             std::make_shared<detail::RefinementMemory<Exec>>(exec, factor.order(), cols, vectors);
}

template <class Exec>
void keep_if_small(SpdFactor<Exec>& factor) {
  if (factor.memory && !factor.memory->is_worth_keeping()) factor.memory.reset();
}

// The refinement with the factor, cut short where its next rung costs less.
template <class Exec>
RefinementReport refine_with(Exec const& exec, SpdFactor<Exec>& factor,
                             typename RefinementOperators<Exec>::Block const& B,
                             typename RefinementOperators<Exec>::Block const& Y,
                             RefinementOptions const& options, detail::GivenSystem* given) {
  RefinementOptions limited = options;
  Patience patience;
  if (!factor.at_the_top() && limited.max_iterations == 0) {
    patience = factor.patience();
    limited.max_iterations = patience.iterations;
  }
  auto const operators = factor.operators(exec);
  auto const memory = memory_of(factor, exec, static_cast<std::int64_t>(B.extent(1)),
                                detail::RefinementMemory<Exec>::of_refinement);
  return detail::refine(exec, *memory, operators, B, Y, limited, patience.is_measured, given);
}

// Nothing of B is read after X was first written, so that X may lie on it.
template <class Exec>
class SpdSolve {
 public:
  SpdSolve(Exec const& exec, SpdFactor<Exec>& factor, StridedMatrix<double const> const& B,
           StridedMatrix<double> const& X, RefinementOptions const& asked)
      : exec_(exec),
        factor_(factor),
        B_(B),
        X_(X),
        asked_(asked),
        d_(factor.scaling()),
        memory_(memory_of(factor, exec, B.cols, Memory::of_solve)),
        right_(memory_->vector(Memory::Right, B.cols)),
        solution_(memory_->vector(Memory::Solution, B.cols)) {}
  ~SpdSolve() { keep_if_small(factor_); }
  SpdSolve(SpdSolve const&) = delete;
  SpdSolve& operator=(SpdSolve const&) = delete;

  SolveReport run() {
    int climbs = 0;
    std::string obstacle;
    bool doubtful = solve_on_this_rung();
    while (asked_.refine != Refine::None && !factor_.at_the_top() &&
           (!best_.converged || doubtful)) {
      try {
        if (!factor_.climb(doubtful ? Climb::ToTheTop : Climb::Higher)) {
          best_.converged = false;
          break;
        }
        ++climbs;
        doubtful = solve_on_this_rung();
      } catch (MemoryError const& error) {
        factor_.end_ladder();
        obstacle = error.what();
      }
    }
    if (!obstacle.empty() && !best_.converged && asked_.max_iterations == 0) {
      try {  // with the factor that there is, which need not be cut short any more
        doubtful |= solve_on_this_rung();
      } catch (MemoryError const& error) {
        obstacle.append("; nor was there for another solve: ").append(error.what());
      }
    }
    if (!obstacle.empty() && doubtful) {
      best_.converged = false;
      obstacle.insert(0, "A may be indefinite, which a higher rung would tell: ");
    }
    best_.climbs = climbs;
    best_.obstacle = std::move(obstacle);
    best_.iterations = iterations_;
    best_.seconds = seconds_;
    return std::move(best_);
  }

 private:
  using Block = typename RefinementOperators<Exec>::Block;
  using Memory = detail::RefinementMemory<Exec>;

  // Keeps the solution if it is the best one; returns whether A was seen to be indefinite.
  bool solve_on_this_rung() {
    Kokkos::Timer const timer;
    bool const first = solves_++ == 0;
    SolveReport now = report_of(first ? first_refinement() : refined());
    bool const indefinite = now.refinement.indefinite;
    iterations_ += now.refinement.iterations;
    bool const is_there = first && holds_ && now.refinement.outer_iterations == 0;
    if (!is_there) hand_over(first, now);
    if (first || now.converged || now.backward_error < best_.backward_error) best_ = std::move(now);
    seconds_ += timer.seconds();
    return indefinite;
  }

  RefinementReport refined(detail::GivenSystem* given = nullptr) {
    return refine_with(exec_, factor_, right_, solution_, asked_, given);
  }

  // Takes B, of which a column is 0 from now on if D B holds nothing of it.
  RefinementReport first_refinement() {
    // B that X lies on is there until nothing can end the solve before its time any more
    detail::GivenSystem given{B_, share_memory(B_, X_) ? StridedMatrix<double>{} : X_};
    RefinementReport report = refined(&given);
    if (given.found == detail::NotFinite) refuse_non_finite();
    holds_ = given.holds;
    if (given.found == detail::Lost) lost_ = detail::drop_lost_columns(exec_, B_, right_);
    return lost_ > 0 ? refined() : report;
  }

  [[noreturn]] void refuse_non_finite() const {
    std::int64_t const first = detail::first_non_finite(exec_, B_);
    throw ValueError(strata::detail::message("solve: column ", first / B_.rows,
                                             " of B holds a non-finite number, in row ",
                                             first % B_.rows, " (indices from 0)"));
  }

  // X = D Y if Y is the first or better, and what became of columns beyond the range.
  void hand_over(bool first, SolveReport& now) {
    std::int64_t const dropped =
        now.refinement.in_range ? 0 : detail::drop_overflow(exec_, d_, solution_);
    if (first) take_back();
    exec_.fence("strata::dense::solve: X is ready");
    note_lost_columns(lost_ + dropped, X_.rows, now);
    if (!first && (now.converged || now.backward_error < best_.backward_error)) {
      take_back();
      exec_.fence("strata::dense::solve: a better X is ready");
    }
  }

  // X = D Y
  void take_back() { detail::scale_rows(exec_, d_, solution_, X_, X_.rows, X_.cols); }

  Exec const& exec_;
  SpdFactor<Exec>& factor_;
  StridedMatrix<double const> const& B_;
  StridedMatrix<double> const& X_;
  RefinementOptions const& asked_;
  Kokkos::View<double const*, typename Exec::memory_space> d_;
  std::shared_ptr<Memory> memory_;
  Block right_, solution_;  // D B and Y
  bool holds_ = false;      // X_ does what the first solve led to
  std::int64_t lost_ = 0;   // columns of D B
  SolveReport best_;
  std::int64_t iterations_ = 0;
  int solves_ = 0;
  double seconds_ = 0;
};

}  // namespace

template <class ExecutionSpace>
RefinementReport refine(ExecutionSpace const& exec, SpdFactor<ExecutionSpace>& factor,
                        typename RefinementOperators<ExecutionSpace>::Block const& B,
                        typename RefinementOperators<ExecutionSpace>::Block const& Y,
                        RefinementOptions const& options) {
  auto report = refine_with(exec, factor, B, Y, options, nullptr);
  keep_if_small(factor);
  return report;
}

template <class ExecutionSpace>
SolveReport solve(ExecutionSpace const& exec, SpdFactor<ExecutionSpace>& factor,
                  StridedMatrix<double const> const& B, StridedMatrix<double> const& X,
                  RefinementOptions const& options) {
  std::int64_t const n = factor.order();
  STRATA_REQUIRE(ShapeError, B.rows == n && X.rows == n && B.cols == X.cols, "solve: B is ", B.rows,
                 " x ", B.cols, ", X ", X.rows, " x ", X.cols, ", A of order ", n);
  STRATA_REQUIRE(ValueError, !overlaps_itself(X),
                 "solve: elements of X share memory; its strides are ", X.row_stride, " and ",
                 X.col_stride);
  Region const region(exec, "strata::dense::solve");
  if (n > 0 && B.cols > 0) return SpdSolve<ExecutionSpace>(exec, factor, B, X, options).run();
  SolveReport nothing;
  nothing.converged = true;
  return nothing;
}

#define STRATA_INSTANTIATE(Exec)                                              \
  template RefinementReport refine<Exec>(                                     \
      Exec const&, SpdFactor<Exec>&, RefinementOperators<Exec>::Block const&, \
      RefinementOperators<Exec>::Block const&, RefinementOptions const&);     \
  template SolveReport solve<Exec>(Exec const&, SpdFactor<Exec>&,             \
                                   StridedMatrix<double const> const&,        \
                                   StridedMatrix<double> const&, RefinementOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
