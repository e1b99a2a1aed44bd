// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/document/Strata_Document.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Tiles.hpp>
#include <apps/solve/Strata_SolveFields.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/system/Strata_Answer.hpp>
#include <apps/system/Strata_SystemReport.hpp>
#include <comm/Strata_Transport.hpp>
#include <core/blas/Strata_FlopCount.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

void show_breakdown(Report& report, DenseResult const& result) {
  if (result.info != 0)
    report.only_screen("NOT POSITIVE DEFINITE",
                       words("the leading minor of order ", result.info, " is not positive",
                             result.refusal.empty() ? "" : ", which rounding explains"));
}

// The end of the section: the log-determinant, and whether the solution is one.
void show_rest(Report& report, DenseResult const& result, bool stagnated) {
  if (result.log_determinant) {
    auto const& estimate = *result.log_determinant;
    report.only_screen("log det A", text("%.12g +- %.1e", estimate.value, estimate.error()));
  }
  if (result.exit() == Exit::NotConverged)
    report.only_screen("NOT CONVERGED", words("the errors are those reached",
                                              stagnated ? "; they no longer fell" : ""));
}

void show_factor(Report& report, SolveResult const& result) {
  auto const& factor = result.factor;
  double const full = 8.0 * static_cast<double>(factor.n) * static_cast<double>(factor.n);
  double const share = full > 0 ? 100 * static_cast<double>(factor.stored_bytes) / full : 0;
  auto const range = [](double low, double high) { return text("%.3g to %.3g", low, high); };
  report.section("Factorisation A = L L^T");
  report.show("layers", factor.layers.name(), unit::plain, "asked for: " + result.layers_asked);
  bool const first_held =
      factor.layers.name() == result.layers_asked || factor.rung == Rung::AsAsked;
  report.only_screen("reason", first_held ? result.layers_reason
                                          : words("the first attempt's layers did not serve (",
                                                  result.layers_reason, ")"));
  report.show("leaf size", factor.leaf_size);
  auto const D = "D A D with D from " + range(factor.smallest_scaling, factor.largest_scaling);
  report.only_screen("equilibration", factor.equilibrated ? D : "none");
  report.only_screen("block scales",
                     range(factor.smallest_block_scale, factor.largest_block_scale));
  report.show("shift", factor.shift, "%.3g");
  report.only_screen("jitter",
                     factor.jitter > 0
                         ? text("%.0e of the mean diagonal was added to the diagonal: x is the "
                                "solution of that system",
                                factor.jitter)
                         : "");
  auto const tries = factor.attempts.size();
  report.show("rung of the ladder", name_of(factor.rung), unit::plain, words("attempts: ", tries));
  int number = 0;
  for (auto const& attempt : factor.attempts)
    report.only_screen(words("  attempt ", ++number),
                       words(attempt.layers.name(), ", shift ", attempt.shift, ": ",
                             outcome_of(attempt), text(", %.3f s", attempt.seconds())));
  report.show("bytes of the factor", factor.stored_bytes, unit::bytes,
              text("%.1f %% of 8 n^2", share));
  report.show("  while factoring", factor.peak_bytes, unit::bytes);
  show_breakdown(report, result);
}

// What the backward error means for X: that depends on the matrix.
void show_condition(Report& report, SolveResult const& result) {
  auto const& condition = result.factor.condition;
  bool const known = result.solve && condition.converged;
  report.only_screen("condition number kappa",
                     !known || !(condition.value > 0)
                         ? ""
                         : words(text("%.1e, estimated in the 1-norm", condition.value),
                                 result.factor.equilibrated ? ", of D A D" : ""));
  if (result.solve && !known) report.only_screen("condition number kappa", "not known");
}

void show_solution(Report& report, SolveResult const& result) {
  report.section("Solution");
  if (!result.solve) return show_condition(report, result);
  auto const& solve = *result.solve;
  show_refinement(report, result, solve);
  report.show("backward error", solve.backward_error, unit::error, "normwise");
  show_forward_error(report, result);
  show_condition(report, result);
  show_digits(report, expected_error(result));
  report.only_screen("SLATE error",
                     text("%.2e  (limit %.2e)  ", solve.slate_error, dense::slate_threshold) +
                         (solve.slate_error <= dense::slate_threshold ? "PASSED" : "FAILED"));
  show_rest(report, result, solve.refinement.stagnated);
}

void show_seconds(Report& report, SolveResult const& result) {
  auto const& wall = result.seconds;
  auto const& factor = result.factor;
  bool const has_climbed = result.solve && result.solve->climbs > 0;
  auto const rates = rates_of(result);
  begin_seconds(report, result.repeat);
  show_time(report, result.problem.read_or_generate(), wall.read);
  show_time(report, "transfer, known vector", wall.transfer);
  show_time(report, "factor", wall.factor);
  show_time(report, "  analyse", factor.analyse_seconds);
  show_time(report, "  load", factor.load_seconds);
  show_time(report, "  layered Cholesky", factor.factor_seconds,
            rate_of(factor.factor_flop_per_s) +
                (has_climbed ? "  (these three: also of the climbs, in the solve)" : ""));
  show_time(report, "solve, refined", wall.solve, rate_of(rates.solve));
  show_time(report, "condition", wall.condition);
  show_time(report, "log-determinant", wall.log_determinant);
  show_time(report, "factor + solve", wall.factor + wall.solve, rate_of(rates.whole));
  show_time(report, "comparison", wall.compare);
  show_time(report, "total", wall.total);
}

void show_comparison(Report& report, SolveResult const& result) {
  if (!result.comparison) return;
  auto const& vendor = *result.comparison;
  auto const& wall = result.seconds;
  report.section("Comparison with " + vendor.library);
  report.show_unless_zero("broke down at minor", vendor.info);
  show_compared(report,
                {{"Cholesky alone", vendor.factor_seconds, result.factor.factor_seconds},
                 {"factor, A kept", vendor.copy_seconds + vendor.factor_seconds, wall.factor},
                 {"solve", vendor.solve_seconds, wall.solve},
                 {"factor + solve", vendor.seconds(), seconds_of_solve(result)}});
  show_compared_errors(report, vendor.backward_error, result.solve->backward_error);
}

void show_devices(Report& report, ooc::CholeskyReport const& factor) {
  auto const moved = [](std::uint64_t bytes, char const* where) {
    return in_bytes(static_cast<double>(bytes)) + where;
  };
  for (auto const& device : factor.devices)
    report.only_screen(
        words("device ", device.id),
        words(moved(device.budget_bytes, " for tiles; "), moved(device.bytes_in, " in, "),
              moved(device.bytes_out, " out, "),
              device.bytes_peer > 0 ? moved(device.bytes_peer, " from other devices, ") : "",
              device.hits, " hits, ", device.misses, " misses, ", device.evictions, " evictions"));
}

void show_tile_factor(Report& report, OutOfCoreResult const& result) {
  auto const& factor = result.factor;
  report.show_unless_zero("scratch file", result.problem.scratch_bytes, unit::bytes);
  report.section("Factorisation A = L L^T in tiles");
  if (!result.rule.layers.empty())
    report.show("layers asked for", dense::LayerList(result.rule.layers).name());
  show_tiles(report,
             {factor.histogram, factor.tile_size, factor.rung, factor.attempts, result.map});
  report.show_unless_zero("moduli of products", factor.moduli);
  bool const on_devices = result.storage == ooc::TileStorage::Devices;
  report.show(on_devices ? "in devices' memory" : "in host memory", result.tile_bytes, unit::bytes);
  report.show_unless_zero("not on devices", result.no_room);
  report.show_unless_zero("checkpoint", result.checkpoint, unit::plain,
                          words(factor.first_column, " of ", factor.tiles, " columns were there"));
  show_devices(report, factor);
  if (result.ranks > 1)
    report.only_screen(
        "ranks", words(result.ranks, " on a grid of ", factor.grid_rows, " x ", factor.grid_cols,
                       "; messages ", name_of(factor.transport), "; rank 0 sent ",
                       in_bytes(static_cast<double>(factor.bytes_sent)), ", got ",
                       in_bytes(static_cast<double>(factor.bytes_received)), ", has room for ",
                       in_bytes(static_cast<double>(factor.room_bytes)), " of others"));
  show_breakdown(report, result);
}

void show_tile_solution(Report& report, OutOfCoreResult const& result) {
  report.section("Solution");
  if (!result.solve) return;
  auto const& solve = *result.solve;
  show_refinement(report, result, solve);
  report.only_screen("backward error", text("%.2e  (normwise; tolerance %.2e)  ",
                                            solve.backward_error, solve.refinement.tolerance) +
                                           (solve.converged ? "PASSED" : "FAILED"));
  show_forward_error(report, result);
  show_rest(report, result, solve.refinement.stagnated);
}

void show_tile_seconds(Report& report, OutOfCoreResult const& result) {
  auto const& wall = result.seconds;
  report.section("Seconds");
  show_time(report, result.problem.read_or_generate(), wall.read);
  show_time(report, "fill tiles", wall.fill);
  show_time(report, "factor", wall.factor,
            rate_of(result.factor.flop_per_s) + " in the last attempt");
  show_time(report, "solve, refined", wall.solve);
  show_time(report, "log-determinant", wall.log_determinant);
  show_time(report, "total", wall.total);
}

double per_second(std::int64_t flops, double seconds) {
  return seconds > 0 ? static_cast<double>(flops) / seconds : 0;
}

}  // namespace

Rates rates_of(SolveResult const& result) {
  if (!result.solve) return {};
  auto const n = result.problem.n, nrhs = result.problem.nrhs;
  return {per_second(refinement_flops(n, nrhs) * result.solve->iterations, result.solve->seconds),
          per_second(potrf_flops(n) + potrs_flops(n, nrhs),
                     result.seconds.factor + result.seconds.solve)};
}

std::optional<double> expected_forward_error(SolveResult const& result) {
  return result.solve ? std::optional(expected_error(result).error) : std::nullopt;
}

ExpectedError expected_error(SolveResult const& result) {
  return expected_error(*result.solve, result.factor.condition);
}

std::string verdict(SolveResult const& result) {
  if (result.exit() != Exit::Solved) return "NOT SOLVED";
  if (!result.factor.condition.converged) return solved_to(result.solve->backward_error);
  return right_digits("about ", expected_error(result).digits);
}

std::string verdict(OutOfCoreResult const& result) {
  return result.exit() == Exit::Solved ? solved_to(result.solve->backward_error) : "NOT SOLVED";
}

std::vector<NodeBytes> nodes_of(OutOfCoreResult const& result) {
  std::vector<NodeBytes> nodes;
  for (auto const& [node, bytes] : result.node_bytes) nodes.push_back({node, bytes});
  return nodes;
}

Report report(SolveResult const& result) {
  Report report;
  report.document("", json_of(result));
  show_problem(report, result);
  report.show("entries in the file", or_null(result.problem.entries));
  report.show("condition number", or_null(result.problem.condition), "%.3g (prescribed)");
  show_factor(report, result);
  show_solution(report, result);
  show_seconds(report, result);
  show_comparison(report, result);
  if (result.solve) show_hpl(report, *result.solve);
  add_configuration(report);
  return report;
}

Report report(OutOfCoreResult const& result) {
  Report report;
  report.document("", json_of(result));
  show_problem(report, result);
  show_tile_factor(report, result);
  show_tile_solution(report, result);
  show_tile_seconds(report, result);
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
