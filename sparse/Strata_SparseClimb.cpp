// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/detail/Strata_SparseSolverImpl.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

// The climb of a solve: from method to method, and with each from precision to precision.
namespace strata::sparse {
namespace {

Precision next_higher(Precision precision) {
  return detail::is_16_bit(precision) ? Precision::fp32 : Precision::fp64;
}

}  // namespace

template <class Exec>
KrylovOptions SparseSolver<Exec>::Impl::krylov_options(Candidate const& candidate,
                                                       Precision precision, bool is_last,
                                                       std::int64_t used) const {
  constexpr double low_precision_factor = 0.5, restart_factor = 0.999;
  constexpr int restart_of_direct = 8;  // refinement takes a few steps
  bool const is_cg = candidate.solver == SolverKind::ConjugateGradients;
  int const restart = candidate.preconditioner == PreconditionerKind::Direct ? restart_of_direct
                      : candidate.restart > 0                                ? candidate.restart
                      : is_cg                                                ? options.restart
                                                                             : base.restart;
  std::int64_t const left = options.max_iterations - used;
  KrylovOptions krylov{restart, goal, is_last ? left : (left + 1) / 2};
  krylov.stop = options.stop;
  krylov.stall_factor = is_cg && !detail::is_16_bit(precision) ? 0
                        : precision == Precision::fp64         ? restart_factor
                                                               : low_precision_factor;
  if (precision != Precision::fp64) krylov.cycle_floor = cycle_floor_of_fp32;
  krylov.norm_A = std::isfinite(work.norm()) ? work.norm() : 0;
  if (options.monitor)
    krylov.monitor = [this, used](std::int64_t iteration, double residual) {
      options.monitor(used + iteration, residual);
    };
  return krylov;
}

template <class Exec>
KrylovReport SparseSolver<Exec>::Impl::run(Exec const& exec, Run& how, std::int64_t used,
                                           Wide const& b, Wide const& x) {
  how.set_up_seconds = method.prepare(exec, how.candidate, how.precision);
  base.preconditioner_bytes = method.bytes();
  if (!how.is_last && method.preconditioners().facts().is_singular) {
    KrylovReport none;
    none.status = KrylovStatus::Breakdown;
    none.relative_residual = std::nan("");
    return none;
  }
  auto krylov = krylov_options(how.candidate, how.precision, how.is_last, used);
  krylov.gives_up = how.gives_up;
  return method.solve(exec, krylov, b, x, norms);
}

template <class Exec>
void SparseSolver<Exec>::Impl::describe(SparseReport& report) {
  auto const facts = method.preconditioners().facts();
  report.preconditioner = facts.kind;
  report.levels.clear();
  for (auto const& level : facts.levels) report.levels.push_back({level.rows, level.entries});
  report.operator_complexity = facts.operator_complexity;
  report.direct_coarse_solve = facts.direct_coarse_solve;
  report.block_size = facts.block_size;
  report.modes = facts.modes;
  report.has_old_pattern = facts.has_old_pattern;
  report.incomplete = {facts.incomplete.fill, facts.incomplete.entries, facts.incomplete.shift,
                       facts.incomplete.replaced};
}

template <class Exec>
void SparseSolver<Exec>::Impl::take(SparseReport& report, Run const& how,
                                    KrylovReport const& krylov) {
  report.solver = how.candidate.solver;
  report.precision = how.precision;
  describe(report);
  bool const is_first = report.attempts.empty() || report.attempts.back().reason != how.reason;
  Rung const rung = is_first                           ? Rung::AsAsked
                    : how.precision == Precision::fp64 ? Rung::Fp64
                                                       : Rung::HigherPrecision;
  report.attempts.push_back({{rung, outcome_of(krylov.status)},
                             how.candidate.solver,
                             how.candidate.preconditioner,
                             how.reason,
                             how.set_up_seconds,
                             how.precision,
                             krylov});
  report.status = krylov.status;
  report.iterations += krylov.iterations;
  report.condition_at_least = std::max(report.condition_at_least, krylov.condition);
  if (!std::isnan(krylov.forward_error)) report.forward_error = krylov.forward_error;
  if (report.preconditioner == PreconditionerKind::Direct)  // one step tells nothing of the others
    report.forward_error = std::max(report.forward_error, 0x1p-53 * report.condition_at_least);
}

template <class Exec>
auto SparseSolver<Exec>::Impl::steps() const -> std::vector<Step> {
  std::vector<Step> result;
  for (std::size_t number = first; number < choices.size(); ++number)
    for (auto precision = first_precision(choices[number], options.precision);;
         precision = next_higher(precision)) {
      result.push_back({number, precision});
      if (precision == Precision::fp64) break;
    }
  return result;
}

template <class Exec>
void SparseSolver<Exec>::Impl::begin_candidate(Exec const& exec, Ascent& at,
                                               SparseReport const& report) {
  auto const& candidate = choices[at.ladder.now().candidate];
  auto const& attempts = report.attempts;
  bool const chooses = options.preconditioner == PreconditionerKind::Automatic;
  bool const is_first = !at.patience;
  std::vector<Candidate> behind;
  at.others.clear();
  auto const& steps = at.ladder.steps();
  for (std::size_t k = at.ladder.next(); k < steps.size(); ++k) {
    std::size_t const number = steps[k].candidate;
    bool const is_new = number != steps[k - 1].candidate;
    if (is_new) at.others.push_back(number), behind.push_back(choices[number]);
  }
  at.is_last = at.others.empty();
  at.how = {candidate, is_first ? candidate.reason
                                : why_next(at.how.candidate,
                                           attempts.empty() ? nullptr : &attempts.back().krylov)};
  at.how.is_last = at.is_last || !chooses;
  at.patience.emplace(candidate, chooses ? behind : std::vector<Candidate>(), goal, [this, exec] {
    try {
      return seconds_of_factor(known, method.preconditioners().analyse_direct(exec));
    } catch (MemoryError const&) {
      return std::numeric_limits<double>::infinity();  // no rival
    } catch (std::bad_alloc const&) {
      return std::numeric_limits<double>::infinity();
    }
  });
  at.has_given_up = false;
  at.how.gives_up = [&at](std::int64_t iteration, double residual) {
    return at.has_given_up = at.patience->gives_up(iteration, residual);
  };
}

template <class Exec>
bool SparseSolver<Exec>::Impl::holds(Ascent& at, KrylovReport const& krylov, SparseReport& report) {
  constexpr double fallen = 0.1;  // of the residual, for a higher precision to be worth its while
  take(report, at.how, krylov);
  auto& ladder = at.ladder;
  bool const is_spent = report.iterations >= options.max_iterations;
  if (report.solved()) {
    first = ladder.now().candidate;
    return true;
  }
  if (is_spent || !std::isfinite(krylov.initial_residual)) {
    if (report.status == KrylovStatus::Stalled && is_spent)
      report.status = KrylovStatus::IterationLimit;
    ladder.end();
    return false;
  }
  bool const chooses = options.preconditioner == PreconditionerKind::Automatic;
  bool const is_limit = krylov.status == KrylovStatus::IterationLimit;
  bool const is_indefinite = krylov.status == KrylovStatus::NotPositiveDefinite;
  bool const is_hopeful = at.is_last || !chooses || krylov.status == KrylovStatus::Breakdown ||
                          krylov.relative_residual <= fallen;
  if (at.has_given_up && !at.others.empty())
    ladder.bring_forward([best = at.others[at.patience->next()]](Step const& step) {
      return step.candidate == best;
    });
  if (!is_limit && !at.has_given_up && is_hopeful && ladder.now().precision != Precision::fp64)
    return false;  // on in the next precision
  ladder.leave_out([&](Step const& step) {
    bool const is_cg = choices[step.candidate].solver == SolverKind::ConjugateGradients;
    return at.is_of_now(step) || (is_indefinite && is_cg);
  });
  if (is_limit ? at.how.is_last : !chooses && !is_indefinite) ladder.end();
  return false;
}

template <class Exec>
void SparseSolver<Exec>::Impl::climb(Exec const& exec, Wide const& b, Wide const& x,
                                     SparseReport& report) {
  Ascent at{StepLadder<Step>(steps())};
  std::optional<std::size_t> candidate;
  (void)at.ladder.climb(
      [&](Step const& step) {
        if (candidate != step.candidate) begin_candidate(exec, at, report);
        candidate = step.candidate;
        at.how.precision = step.precision;
        return std::optional(run(exec, at.how, report.iterations, b, x));
      },
      [&](MemoryError const& error) -> std::optional<KrylovReport> {  // the same on all ranks
        if (report.attempts.empty() && at.is_last) throw;
        report.obstacle = error.what();
        at.ladder.leave_out([&](Step const& step) { return at.is_of_now(step); });
        return std::nullopt;
      },
      [&](std::optional<KrylovReport> const& krylov) {
        return krylov && holds(at, *krylov, report);
      });
}

#define STRATA_INSTANTIATE_CLIMB(Space) template struct SparseSolver<Space>::Impl;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_CLIMB)

}  // namespace strata::sparse
