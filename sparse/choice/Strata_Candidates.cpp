// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/choice/Strata_Candidates.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace strata::sparse {
namespace {

using Kind = PreconditionerKind;

// Nanoseconds of one core of a host: of each entry of the matrix, and of each row. Fitted by
// perf/sparse/study.py.
struct Cost {
  double entry, row;
  double of(MatrixFacts const& facts) const {
    return 1e-9 *
           (entry * static_cast<double>(facts.entries) + row * static_cast<double>(facts.rows));
  }
};
constexpr Cost short_recurrence{0.6, 5}, gmres{0.6, 20}, jacobi{0, 1}, sweep{1.5, 6},
    incomplete{0.5, 3.5}, cycle{5, 15};
constexpr Cost set_up_incomplete{12, 30}, set_up_amg{90, 150}, set_up_sweep{150, 50};
constexpr double flop_of_direct = 1e-9, entry_of_order = 2e-7, padding = 1.2;

double seconds_of_order(MatrixFacts const& facts) {
  return entry_of_order * static_cast<double>(facts.entries);
}

double width_of(MatrixFacts const& facts) {
  return static_cast<double>(facts.entries) /
         static_cast<double>(std::max<std::int64_t>(1, facts.rows));
}

// Several unknowns a node, or an operator of fourth order: couplings of both signs.
bool is_vector(MatrixFacts const& facts) { return facts.positive_share > 0.25; }
// Multigrid takes coarse rows in the place of aggregates: more entries, and fewer iterations.
bool is_classical(MatrixFacts const& facts) {
  return facts.block_size <= 1 && !facts.has_modes &&
         (!facts.symmetric || facts.positive_share > 0.15 || facts.jumps > 0);
}

// Steps of a narrow stencil that information takes through the matrix, or through the part that a
// dominant diagonal allows.
double steps_through(MatrixFacts const& facts) {
  constexpr double digits = 23;  // ln(1e10)
  // each jump of coefficients leaves a mode that local methods find late
  double const jumps = 1 + 2 * facts.jumps;
  double const of_hop = jumps * (is_vector(facts) ? 9 : width_of(facts) > 16 ? 2 : 1);
  double const hops = facts.hops > 0 ? static_cast<double>(facts.hops)
                                     : 2 * std::cbrt(static_cast<double>(facts.rows));
  double const bounded = facts.dominance > 0 ? 0.4 * std::sqrt(2 / facts.dominance) * digits
                                             : std::numeric_limits<double>::infinity();
  return std::min(of_hop * hops, bounded);
}

// Of a method with that preconditioner, to 1e-10.
double forecast_iterations(MatrixFacts const& facts, Kind kind) {
  double const steps = steps_through(facts);
  switch (kind) {
    case Kind::Amg:
      return is_vector(facts) ? (facts.block_size > 1 ? 30 : 40) : facts.symmetric ? 13 : 17;
    case Kind::Ic:
      return 8 + 0.38 * steps;
    case Kind::Ilu:
      return facts.symmetric ? 8 + 0.38 * steps : 8 + 0.12 * steps;  // a flow has a direction
    case Kind::GaussSeidel:
      return 12 + 0.6 * steps;
    case Kind::Direct:
      return 1;
    default:
      return 15 + 1.2 * steps;
  }
}

double seconds_of_direct(MatrixFacts const& facts) {
  double const rows = static_cast<double>(facts.rows), hops = static_cast<double>(facts.hops);
  double const separator = hops == 0              ? rows
                           : width_of(facts) > 16 ? rows / hops
                                                  : static_cast<double>(facts.widest);
  return seconds_of_factor(facts, 10 * separator * separator * separator);
}

double set_up_of(MatrixFacts const& facts, Kind kind) {
  switch (kind) {
    case Kind::Amg:
      return (is_classical(facts) ? 1.8 : 1) * set_up_amg.of(facts);
    case Kind::Ic:
    case Kind::Ilu:
      return set_up_incomplete.of(facts);
    case Kind::GaussSeidel:
      return set_up_sweep.of(facts);
    case Kind::Direct:
      return seconds_of_direct(facts);
    default:
      return jacobi.of(facts);
  }
}

double iteration_of(MatrixFacts const& facts, SolverKind solver, Kind kind) {
  bool const is_short = solver == SolverKind::ConjugateGradients || solver == SolverKind::Minres ||
                        solver == SolverKind::BiCgStab;
  double const of_zeros = 1e-9 * padding * static_cast<double>(facts.padding),
               method = (is_short ? short_recurrence.of(facts) : gmres.of(facts)) + of_zeros;
  double const twice = solver == SolverKind::BiCgStab ? 2 : 1;
  switch (kind) {
    case Kind::None:
      return twice * method;
    case Kind::Amg:
      return twice * (method + (is_classical(facts) ? 2 : 1) * (cycle.of(facts) + 4 * of_zeros));
    case Kind::Ic:
    case Kind::Ilu:
    case Kind::Direct:
      return twice * (method + incomplete.of(facts));
    case Kind::GaussSeidel:
      return twice * (method + sweep.of(facts));
    default:
      return twice * (method + jacobi.of(facts));
  }
}

class List {
 public:
  List(MatrixFacts const& facts, AskedMethod const& asked) : facts_(facts), asked_(asked) {}

  // If it was not excluded by what was asked for, and is not there yet.
  void add(SolverKind solver, Kind kind, std::string reason, int restart = 0) {
    if (asked_.solver == SolverKind::Direct) solver = SolverKind::Direct;
    bool const fits = (asked_.solver == SolverKind::Automatic || asked_.solver == solver ||
                       kind == Kind::Direct) &&
                      (asked_.preconditioner == Kind::Automatic || asked_.preconditioner == kind);
    bool const can = kind != Kind::Direct || facts_.ranks == 1;
    if (!fits || !can) return;
    if (asked_.solver != SolverKind::Automatic) solver = asked_.solver;
    for (auto const& there : found)
      if (there.solver == solver && there.preconditioner == kind && there.restart == restart)
        return;
    bool const can_analyse =
        kind == Kind::Direct && facts_.symmetric && facts_.positive && facts_.threads > 0;
    Candidate made{solver, kind};
    made.set_up_seconds = set_up_of(facts_, kind);
    made.iteration_seconds = iteration_of(facts_, solver, kind);
    made.iterations = forecast_iterations(facts_, kind);
    made.analysis_seconds = can_analyse ? seconds_of_order(facts_) : 0;
    made.needs_fp64 = kind == Kind::Amg && facts_.spread_bits > 24;
    made.restart = restart;
    made.reason = std::move(reason);
    found.push_back(std::move(made));
  }
  // What is there so far, the fastest first; the direct solver of few rows stays where it is.
  void sort() {
    auto const first = found.begin() + (found.front().reason.empty() ? 0 : 1);
    std::stable_sort(first, found.end(),
                     [](auto const& a, auto const& b) { return a.seconds() < b.seconds(); });
    auto const text = forecasts();
    std::for_each(first, found.end(), [&](auto& candidate) { candidate.reason = text; });
  }

  // The first kind, if it stands behind the second.
  void drop_behind(Kind kind, Kind better) {
    auto const place = [&](Kind wanted) {
      return std::find_if(found.begin(), found.end(),
                          [&](auto const& there) { return there.preconditioner == wanted; });
    };
    if (place(kind) != found.end() && place(better) < place(kind)) found.erase(place(kind));
  }
  // Whether there is none, or the direct solver of few rows.
  bool is_alone() const {
    return found.empty() || (found.size() == 1 && found.front().preconditioner == Kind::Direct);
  }

  std::vector<Candidate> found;

 private:
  std::string forecasts() const {
    std::string text = "forecast:";
    char number[32];
    for (auto const& candidate : found) {
      (void)std::snprintf(number, sizeof number, " %.2g s", candidate.seconds());
      text += std::string(&candidate == &found.front() ? " " : ", ") +
              std::string(name_of(candidate.preconditioner)) + number;
    }
    return text;
  }
  MatrixFacts const& facts_;
  AskedMethod const& asked_;
};

SolverKind general_solver(AskedMethod const& asked) {
  bool const is_any = asked.solver == SolverKind::Automatic || asked.solver == SolverKind::Direct ||
                      asked.solver == SolverKind::ConjugateGradients;
  if (!is_any) return asked.solver;
  return asked.has_16_bits() ? SolverKind::Fgmres : SolverKind::Gmres;
}

// A preconditioner that was asked for, with the methods that it may do with.
void add_asked(List& list, MatrixFacts const& facts, AskedMethod const& asked) {
  std::string const reason = "asked for";
  auto const kind = asked.preconditioner;
  if (kind == Kind::Direct && asked.solver == SolverKind::Automatic)
    return list.add(SolverKind::Direct, kind, reason);
  bool const may_do_cg = asked.solver == SolverKind::Automatic && facts.symmetric && facts.positive;
  if (may_do_cg) list.add(SolverKind::ConjugateGradients, kind, reason);
  list.add(asked.solver == SolverKind::Automatic ? general_solver(asked) : asked.solver, kind,
           reason);
}

// Where fp64 takes the place of the fp32 that was asked for, the reason says so.
void tell_of_fp64(List& list, MatrixFacts const& facts, Precision asked) {
  for (auto& candidate : list.found)
    if (candidate.needs_fp64 && asked == Precision::fp32)
      candidate.reason += ", in fp64: the diagonal spans 2^" + std::to_string(facts.spread_bits) +
                          ", more than fp32 tells apart";
}

constexpr std::int64_t few_rows = 300;

void add_definite(List& list, MatrixFacts const& facts, AskedMethod const& asked) {
  auto const cg_kind =
      asked.solver == SolverKind::Minres ? asked.solver : SolverKind::ConjugateGradients;
  bool const compares = facts.hops > 0 && !asked.has_16_bits();
  if (compares) {
    list.add(cg_kind, Kind::Ic, "");
    list.add(cg_kind, Kind::Amg, "");
    if (facts.floating_parts == 0) list.add(SolverKind::Direct, Kind::Direct, "");
    list.add(cg_kind, Kind::Jacobi, "");
    list.sort();
    list.drop_behind(Kind::Jacobi, Kind::Ic);  // which does better wherever both are slow
  }
  list.add(cg_kind, Kind::Amg, "symmetric, with a positive diagonal");
  if (!asked.has_16_bits()) list.add(cg_kind, Kind::Ic, "another preconditioner");
  list.add(cg_kind, Kind::GaussSeidel, "another preconditioner");
}

void add_general(List& list, MatrixFacts const& facts, AskedMethod const& asked) {
  auto const general = general_solver(asked);
  bool const has_sweeps = facts.zero_diagonal == 0;
  bool const compares = facts.hops > 0 && !asked.has_16_bits() && list.is_alone();
  if (compares) {
    list.add(general, Kind::Ilu, "");
    if (has_sweeps) list.add(general, Kind::Amg, "");
    if (facts.floating_parts == 0) list.add(SolverKind::Direct, Kind::Direct, "");
    list.sort();
  }
  if (has_sweeps) list.add(general, Kind::Amg, "not symmetric, or not positive");
  if (facts.symmetric && (!has_sweeps || asked.solver == SolverKind::Minres))
    list.add(SolverKind::Minres, Kind::None, "indefinite");
  if (!has_sweeps) list.add(general, Kind::None, "a zero on the diagonal");
  if (!asked.has_16_bits()) list.add(general, Kind::Ilu, "another preconditioner");
  if (!asked.has_16_bits()) list.add(SolverKind::BiCgStab, Kind::Ilu, "no restarts");
  if (has_sweeps) list.add(general, Kind::GaussSeidel, "another preconditioner");
}

}  // namespace

double seconds_of_factor(MatrixFacts const& facts, double flops) {
  double const pivoting = facts.symmetric && facts.positive ? 1 : 3;
  return pivoting * (flop_of_direct * flops + seconds_of_order(facts));
}

Precision first_precision(Candidate const& candidate, Precision asked) {
  bool const is_incomplete =
      candidate.preconditioner == Kind::Ic || candidate.preconditioner == Kind::Ilu;
  if (candidate.preconditioner == Kind::Direct) return Precision::fp64;
  if (candidate.needs_fp64 && asked == Precision::fp32) return Precision::fp64;
  return is_incomplete && traits(asked).bytes == 2 ? Precision::fp32 : asked;
}

void require_fitting(bool is_symmetric, int ranks, AskedMethod const& asked) {
  auto const precision = asked.precision;
  bool const is_incomplete = asked.preconditioner == Kind::Ic || asked.preconditioner == Kind::Ilu;
  bool const is_direct = asked.solver == SolverKind::Direct || asked.preconditioner == Kind::Direct;
  STRATA_REQUIRE(ValueError, is_symmetric || asked.solver != SolverKind::ConjugateGradients,
                 "CG needs a symmetric matrix, this one is not; take gmres or fgmres");
  STRATA_REQUIRE(ValueError, is_symmetric || asked.solver != SolverKind::Minres,
                 "MINRES needs a symmetric matrix, this one is not; take gmres or fgmres");
  STRATA_REQUIRE(ValueError, is_symmetric || asked.preconditioner != Kind::Ic,
                 "incomplete Cholesky needs a symmetric matrix, this one is not; take ilu");
  STRATA_REQUIRE(ValueError, traits(precision).bytes > 1 && !is_product_format(precision),
                 "preconditioners are stored in fp64, fp32, bf16 or fp16, not in ",
                 traits(precision).name);
  STRATA_REQUIRE(ValueError, !is_incomplete || !asked.has_16_bits(),
                 "incomplete factors are stored in fp64 or fp32, not in ", traits(precision).name);
  STRATA_REQUIRE(ValueError, ranks == 1 || !is_direct, "direct solver: the matrix is spread over ",
                 ranks, " ranks, must be on one");
}

std::vector<Candidate> candidates(MatrixFacts const& facts, AskedMethod const& asked) {
  constexpr int long_restart = 400;
  List list(facts, asked);
  if (asked.preconditioner != Kind::Automatic || asked.solver == SolverKind::Direct) {
    if (asked.preconditioner == Kind::Automatic)
      list.add(SolverKind::Direct, Kind::Direct, "asked for");
    else
      add_asked(list, facts, asked);
    tell_of_fp64(list, facts, asked.precision);
    return std::move(list.found);
  }
  bool const is_small = facts.rows <= few_rows && !asked.has_16_bits();
  if (is_small && facts.floating_parts == 0) list.add(SolverKind::Direct, Kind::Direct, "few rows");
  bool const is_for_symmetric = asked.solver == SolverKind::Automatic ||
                                asked.solver == SolverKind::ConjugateGradients ||
                                asked.solver == SolverKind::Minres;
  if (facts.symmetric && facts.positive && is_for_symmetric) add_definite(list, facts, asked);
  if (asked.solver != SolverKind::ConjugateGradients) add_general(list, facts, asked);
  list.add(SolverKind::Direct, Kind::Direct, "those before it failed");
  auto const kind = facts.zero_diagonal == 0 ? Kind::GaussSeidel : Kind::None;
  int const restart = static_cast<int>(std::min<std::int64_t>(facts.rows, long_restart));
  list.add(general_solver(asked), kind, "a longer restart", std::max(1, restart));
  if (list.found.empty()) list.add(asked.solver, Kind::None, "asked for");
  // who gives multigrid a near-null space wants it
  if (facts.has_modes)
    std::stable_partition(list.found.begin(), list.found.end(),
                          [](Candidate const& one) { return one.preconditioner == Kind::Amg; });
  tell_of_fp64(list, facts, asked.precision);
  return std::move(list.found);
}

Outcome outcome_of(KrylovStatus status) {
  switch (status) {
    case KrylovStatus::Converged:
    case KrylovStatus::RoundingLimit:
      return Outcome::Held;
    case KrylovStatus::NotPositiveDefinite:
      return Outcome::BrokeDown;
    case KrylovStatus::Breakdown:
      return Outcome::Overflowed;
    default:
      return Outcome::NotConverged;
  }
}

std::string why_next(Candidate const& candidate, KrylovReport const* report) {
  std::string const name = std::string(name_of(candidate.solver)) + " with " +
                           std::string(name_of(candidate.preconditioner));
  if (!report) return "there was no memory for " + name;
  if (std::isnan(report->relative_residual)) return name + ": the matrix is singular, or nearly so";
  char text[96];
  (void)std::snprintf(text, sizeof text, " at %.1e after %lld iterations",
                      report->relative_residual, static_cast<long long>(report->iterations));
  return name + ": " + std::string(name_of(report->status)) + text;
}

Patience::Patience(Candidate const& own, std::vector<Candidate> others, double tolerance,
                   std::function<double()> analyse)
    : own_(own), others_(std::move(others)), tolerance_(tolerance), analyse_(std::move(analyse)) {}

bool Patience::gives_up(std::int64_t iteration, double relative_residual) {
  constexpr std::size_t least = 24, pause = 8;
  constexpr double most_doubt = 4;
  double const now = std::log(std::max(relative_residual, 1e-300));
  least_.push_back(least_.empty() ? now : std::min(least_.back(), now));
  std::size_t const k = least_.size(), half = k / 2;
  bool const is_early = k < least || 2 * static_cast<double>(iteration) < own_.iterations;
  if (others_.empty() || is_early || k % pause != 0) return false;
  double const fallen = least_[half - 1] - least_[k - 1],
               left = least_[k - 1] - std::log(tolerance_);
  if (!(left > 0)) return false;
  double const more = left / fallen * static_cast<double>(k - half);  // infinite if nothing fell
  double const remaining = more * own_.iteration_seconds;
  for (auto& other : others_)
    if (analyse_ && other.analysis_seconds > 0 && remaining > other.analysis_seconds)
      other.set_up_seconds = std::exchange(analyse_, nullptr)();
  double const harder = std::max(1.0, (static_cast<double>(k) + more) / own_.iterations);
  auto const seconds = [&](Candidate const& other) {
    double const factor = other.preconditioner == Kind::Direct ? 1 : std::min(harder, 1e6);
    return other.set_up_seconds + factor * other.iterations * other.iteration_seconds;
  };
  auto const best = std::min_element(
      others_.begin(), others_.end(),
      [&](auto const& one, auto const& other) { return seconds(one) < seconds(other); });
  next_ = static_cast<std::size_t>(best - others_.begin());
  double const spent = static_cast<double>(k) * own_.iteration_seconds, of_best = seconds(*best);
  bool const may_quicken = own_.solver != SolverKind::Gmres && own_.solver != SolverKind::Fgmres;
  double const doubt = may_quicken ? std::clamp(of_best / spent, 1.0, most_doubt) : 1;
  return remaining > doubt * of_best;
}

}  // namespace strata::sparse
