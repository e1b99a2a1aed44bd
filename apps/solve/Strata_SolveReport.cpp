// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Report.hpp>
#include <apps/shared/Strata_Tiles.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <comm/Strata_Transport.hpp>
#include <core/blas/Strata_FlopCount.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace strata::apps {

namespace {

using Value = Report::Value;

void add_problem(Report& report, DenseResult const& result, char const* schema) {
  auto const& problem = result.problem;
  report.section("Problem");
  report.only_json("schema", schema);
  report.only_json("status", status_name(result.exit()));
  report.only_json("info", result.info);
  report.add("problem/source", "matrix", problem.source);
  report.add("problem/format", "format", problem.format);
  report.add("n", "order", problem.n);
  report.tell("nrhs", "right-hand sides", problem.nrhs, words(problem.nrhs, ", ", problem.rhs));
  report.only_json("problem/rhs", problem.rhs);
  report.add("bytes/needed", "memory needed", problem.bytes_needed, unit::bytes, "at most");
}

void add_breakdown(Report& report, DenseResult const& result) {
  if (result.info != 0)
    report.only_screen("NOT POSITIVE DEFINITE",
                       words("the leading minor of order ", result.info, " is not positive",
                             result.refusal.empty() ? "" : ", which rounding explains"));
}

void add_refinement(Report& report, DenseResult const& result, dense::SolveReport const& solve) {
  auto const& refinement = solve.refinement;
  bool const needless = refinement.method == dense::Refine::None && result.refine_asked != "none";
  auto const method = name_of(refinement.method);
  report.tell("refine/method", "refinement", method,
              words(needless ? "none needed" : method, ", ",
                    refinement.method == dense::Refine::None
                        ? ""
                        : counted(refinement.iterations, "iteration") + ", ",
                    counted(refinement.outer_iterations + 1, "fp64 residual"),
                    "  (asked for: ", result.refine_asked, ")"));
  report.only_json("refine/tolerance", refinement.tolerance);
  report.only_json("refine/stagnated", refinement.stagnated);
  report.only_json("refine/history", refinement.history);
  report.only_json("iterations", solve.iterations);
  report.tell("refine/climbs", "climbs", solve.climbs,
              solve.climbs == 0 ? ""
                                : words(solve.climbs, ", the refinement did not converge before; ",
                                        counted(solve.iterations, "iteration"), " in all"));
  report.add_unless_zero("refine/obstacle", "not climbed on", solve.obstacle);
}

void add_forward_error(Report& report, DenseResult const& result) {
  report.add("forward_error", "forward error", or_null(result.forward_error), unit::error,
             "the solution is known");
}

// The end of the section: the log-determinant, and whether the solution is one.
void add_rest(Report& report, DenseResult const& result, bool stagnated) {
  if (result.log_determinant) {
    auto const& estimate = *result.log_determinant;
    report.tell("log_determinant", "log det A",
                {{"value", estimate.value},
                 {"correction", estimate.correction},
                 {"standard_error", estimate.standard_error},
                 {"quadrature_error", estimate.quadrature_error},
                 {"rounding_error", estimate.rounding_error},
                 {"error", estimate.error()}},
                text("%.12g +- %.1e", estimate.value, estimate.error()));
  } else {
    report.only_json("log_determinant", nullptr);
  }
  if (result.exit() == Exit::NotConverged)
    report.only_screen("NOT CONVERGED", words("the errors are those reached",
                                              stagnated ? "; they no longer fell" : ""));
}

void add_factor(Report& report, SolveResult const& result) {
  auto const& factor = result.factor;
  double const full = 8.0 * static_cast<double>(factor.n) * static_cast<double>(factor.n);
  double const share = full > 0 ? 100 * static_cast<double>(factor.stored_bytes) / full : 0;
  auto const range = [](double low, double high) { return text("%.3g to %.3g", low, high); };
  report.section("Factorisation A = L L^T");
  report.add("layers", "layers", factor.layers.name(), unit::plain,
             "asked for: " + result.layers_asked);
  report.only_json("layers_asked", result.layers_asked);
  bool const first_held =
      factor.layers.name() == result.layers_asked || factor.rung == Rung::AsAsked;
  report.tell("layers_reason", "reason", result.layers_reason,
              first_held
                  ? result.layers_reason
                  : words("the first attempt's layers did not serve (", result.layers_reason, ")"));
  report.add("leaf", "leaf size", factor.leaf_size);
  auto const D = "D A D with D from " + range(factor.smallest_scaling, factor.largest_scaling);
  report.tell("scaling/equilibrated", "equilibration", factor.equilibrated,
              factor.equilibrated ? D : "none");
  report.only_json("scaling/smallest", factor.smallest_scaling);
  report.only_json("scaling/largest", factor.largest_scaling);
  report.tell("scaling/smallest_block", "block scales", factor.smallest_block_scale,
              range(factor.smallest_block_scale, factor.largest_block_scale));
  report.only_json("scaling/largest_block", factor.largest_block_scale);
  report.add("shift", "shift", factor.shift, "%.3g");
  report.tell("jitter", "jitter", factor.jitter,
              factor.jitter > 0
                  ? text("%.0e of the mean diagonal was added to the diagonal: x is the "
                         "solution of that system",
                         factor.jitter)
                  : "");
  auto const tries = factor.attempts.size();
  report.add("rung", "rung of the ladder", name_of(factor.rung), unit::plain,
             words("attempts: ", tries));
  report.only_json("attempts", Value::array());
  int number = 0;
  for (auto const& attempt : factor.attempts)
    report.tell("attempts/-", words("  attempt ", ++number),
                {{"rung", name_of(attempt.rung)},
                 {"layers", attempt.layers.name()},
                 {"shift", attempt.shift},
                 {"outcome", name_of(attempt.outcome)},
                 {"info", attempt.info},
                 {"seconds", attempt.seconds()}},
                words(attempt.layers.name(), ", shift ", attempt.shift, ": ", outcome_of(attempt),
                      text(", %.3f s", attempt.seconds())));
  report.add("bytes/factor", "bytes of the factor", factor.stored_bytes, unit::bytes,
             text("%.1f %% of 8 n^2", share));
  report.add("bytes/factor_peak", "  while factoring", factor.peak_bytes, unit::bytes);
  report.only_json("bytes/matrix", static_cast<std::uint64_t>(full));
  report.only_json("blocks", Value::array());
  for (auto const& block : factor.blocks)
    report.only_json("blocks/-", {{"row", block.row},
                                  {"col", block.col},
                                  {"rows", block.rows},
                                  {"cols", block.cols},
                                  {"precision", traits(block.precision).name},
                                  {"scale", block.scale}});
  add_breakdown(report, result);
}

// What the backward error means for X: that depends on the matrix.
void add_condition(Report& report, SolveResult const& result) {
  auto const& condition = result.factor.condition;
  bool const known = result.solve && condition.converged;
  report.tell("condition/estimate", "condition number kappa",
              condition.value > 0 ? Value(condition.value) : Value(nullptr),
              !known ? ""
                     : words(text("%.1e, estimated in the 1-norm", condition.value),
                             result.factor.equilibrated ? ", of D A D" : ""));
  if (result.solve && !known) report.only_screen("condition number kappa", "not known");
  report.only_json("condition/converged", condition.converged);
  report.only_json("condition/refined", condition.refined);
  report.only_json("condition/solves", condition.solves);
}

void add_solution(Report& report, SolveResult const& result) {
  report.section("Solution");
  report.only_json("refine/asked", result.refine_asked);
  if (!result.solve) {
    report.nulls({"backward_error", "forward_error", "expected_forward_error", "equilibrated_error",
                  "hpl_scaled_residual", "slate_error", "iterations", "log_determinant",
                  "refine/method", "refine/tolerance", "refine/stagnated", "refine/history",
                  "refine/climbs", "refine/obstacle"});
    return add_condition(report, result);
  }
  auto const& solve = *result.solve;
  add_refinement(report, result, solve);
  report.add("backward_error", "backward error", solve.backward_error, unit::error, "normwise");
  report.only_json("equilibrated_error", solve.refinement.equilibrated_error);
  add_forward_error(report, result);
  add_condition(report, result);
  auto const expected = expected_error(result);
  report.tell(
      "expected_forward_error", "digits to expect", expected.error,
      words(expected.digits,
            text("  (error up to about %.0e: condition times backward error)", expected.shown)));
  report.tell("slate_error", "SLATE error", solve.slate_error,
              text("%.2e  (limit %.2e)  ", solve.slate_error, dense::slate_threshold) +
                  (solve.slate_error <= dense::slate_threshold ? "PASSED" : "FAILED"));
  add_rest(report, result, solve.refinement.stagnated);
}

std::string rate_of(double flop_per_s) {
  if (!(flop_per_s > 0)) return "";
  return flop_per_s >= 1e12 ? text("%10.2f TF/s", flop_per_s / 1e12)
                            : text("%10.2f GF/s", flop_per_s / 1e9);
}

double per_second(std::int64_t flops, double seconds) {
  return seconds > 0 ? static_cast<double>(flops) / seconds : 0;
}

void add_time(Report& report, std::string const& key, std::string label, double seconds,
              std::string const& rate = "") {
  report.tell(key, std::move(label), seconds,
              seconds > 0 ? text(unit::seconds, seconds) + rate : "");  // else it was not done
}

// Rates by the models of core: of the last attempt's Cholesky, of the refined solve (`refinement_flops` for each
// iteration), and of both together as a user sees them, who asked for `potrf_flops` + `potrs_flops`.
void add_seconds(Report& report, SolveResult const& result) {
  auto const& wall = result.seconds;
  auto const& factor = result.factor;
  auto const n = result.problem.n, nrhs = result.problem.nrhs;
  auto const solve = result.solve.value_or(dense::SolveReport{});
  double const solve_rate = per_second(refinement_flops(n, nrhs) * solve.iterations, solve.seconds);
  double const both = wall.factor + wall.solve;
  double const both_rate =
      result.solve ? per_second(potrf_flops(n) + potrs_flops(n, nrhs), both) : 0;
  report.section(result.repeat > 1 ? words("Seconds (median of ", result.repeat, " runs)")
                                   : "Seconds");
  report.only_json("repeat", result.repeat);
  add_time(report, "seconds/read", result.problem.read_or_generate(), wall.read);
  add_time(report, "seconds/transfer", "transfer, known vector", wall.transfer);
  add_time(report, "seconds/factor", "factor", wall.factor);
  add_time(report, "seconds/factor_parts/analyse", "  analyse", factor.analyse_seconds);
  add_time(report, "seconds/factor_parts/load", "  load", factor.load_seconds);
  add_time(report, "seconds/factor_parts/cholesky", "  layered Cholesky", factor.factor_seconds,
           rate_of(factor.factor_flop_per_s) +
               (solve.climbs > 0 ? "  (these three: also of the climbs, in the solve)" : ""));
  add_time(report, "seconds/solve", "solve, refined", wall.solve, rate_of(solve_rate));
  add_time(report, "seconds/condition", "condition", wall.condition);
  add_time(report, "seconds/log_determinant", "log-determinant", wall.log_determinant);
  add_time(report, "", "factor + solve", both, rate_of(both_rate));
  add_time(report, "seconds/compare", "comparison", wall.compare);
  add_time(report, "seconds/total", "total", wall.total);
  if (!result.solve) return report.nulls({"tflops/factor", "tflops/solve", "tflops/whole"});
  report.only_json("tflops/factor", factor.factor_flop_per_s / 1e12);
  report.only_json("tflops/solve", solve_rate / 1e12);
  report.only_json("tflops/whole", both_rate / 1e12);
}

void add_comparison(Report& report, SolveResult const& result) {
  if (!result.comparison) return report.only_json("compare", nullptr);
  auto const& vendor = *result.comparison;
  auto const& wall = result.seconds;
  report.section("Comparison with " + vendor.library, "compare/");
  report.only_json("library", vendor.library);
  report.add_unless_zero("info", "broke down at minor", vendor.info);
  report.only_json("seconds/copy", vendor.copy_seconds);
  report.only_json("seconds/factor", vendor.factor_seconds);
  report.only_json("seconds/solve", vendor.solve_seconds);
  report.only_screen("", text("%37s %10s %10s", "vendor s", "Strata s", "ratio"));
  auto const add = [&](char const* key, char const* label, double theirs, double ours) {
    report.tell(key, label, ours > 0 ? Value(theirs / ours) : Value(nullptr),
                text("%10.4f %10.4f %9.2fx", theirs, ours, theirs / ours));
  };
  add("ratio/cholesky", "Cholesky alone", vendor.factor_seconds, result.factor.factor_seconds);
  add("ratio/factor", "factor, A kept", vendor.copy_seconds + vendor.factor_seconds, wall.factor);
  add("ratio/solve", "solve", vendor.solve_seconds, wall.solve);
  add("ratio/whole", "factor + solve", vendor.seconds(), wall.factor + wall.solve);
  report.tell("backward_error", "backward error", vendor.backward_error,
              text("%10.1e %10.1e", vendor.backward_error, result.solve->backward_error));
}

void add_hpl(Report& report, dense::SolveReport const& solve) {
  double const residual = solve.hpl_scaled_residual;
  report.section("");
  report.tell("hpl_scaled_residual", "", residual,
              text("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N) = %.6e ...... %s", residual,
                   residual < dense::hpl_threshold ? "PASSED" : "FAILED"));
}

void add_devices(Report& report, ooc::CholeskyReport const& factor) {
  report.only_json("devices", Value::array());
  auto const moved = [](std::uint64_t bytes, char const* where) {
    return in_bytes(static_cast<double>(bytes)) + where;
  };
  for (auto const& device : factor.devices)
    report.tell(
        "devices/-", words("device ", device.id),
        {{"id", device.id},
         {"pool_bytes", device.budget_bytes},
         {"bytes_in", device.bytes_in},
         {"bytes_out", device.bytes_out},
         {"bytes_peer", device.bytes_peer},
         {"hits", device.hits},
         {"misses", device.misses},
         {"evictions", device.evictions}},
        words(moved(device.budget_bytes, " for tiles; "), moved(device.bytes_in, " in, "),
              moved(device.bytes_out, " out, "),
              device.bytes_peer > 0 ? moved(device.bytes_peer, " from other devices, ") : "",
              device.hits, " hits, ", device.misses, " misses, ", device.evictions, " evictions"));
  report.only_json("bytes/in", factor.bytes_in());
  report.only_json("bytes/out", factor.bytes_out());
  report.only_json("bytes/peer", factor.bytes_peer());
}

void add_tile_factor(Report& report, OutOfCoreResult const& result) {
  auto const& factor = result.factor;
  report.add_unless_zero("bytes/scratch", "scratch file", result.problem.scratch_bytes,
                         unit::bytes);
  report.section("Factorisation A = L L^T in tiles");
  report.only_json("epsilon", result.rule.accuracy);
  report.only_json("precisions", allowed_precisions(result.rule));
  if (result.rule.layers.empty())
    report.only_json("layers", Value());
  else
    report.add("layers", "layers asked for", dense::LayerList(result.rule.layers).name());
  add_tiles(report, "",
            {factor.histogram, factor.tile_size, factor.rung, factor.attempts, result.map});
  bool const on_devices = result.storage == ooc::TileStorage::Devices;
  report.only_json("storage", name_of(result.storage));
  report.add("bytes/tiles", on_devices ? "in devices' memory" : "in host memory", result.tile_bytes,
             unit::bytes);
  report.add_unless_zero("no_room", "not on devices", result.no_room);
  report.only_json("nodes", Value::array());
  for (auto const& [node, bytes] : result.node_bytes)
    report.only_json("nodes/-", {{"node", node}, {"tile_bytes", bytes}});
  report.only_json("schedule/variant", name_of(factor.variant));
  report.only_json("schedule/streams", factor.streams);
  report.only_json("schedule/column_block", factor.column_block);
  report.only_json("schedule/first_column", factor.first_column);
  report.only_json("schedule/grid", Value{factor.grid_rows, factor.grid_cols});
  report.only_json("schedule/super_panel", factor.super_panel);
  report.only_json("schedule/transport", name_of(factor.transport));
  report.add_unless_zero("checkpoint", "checkpoint", result.checkpoint, unit::plain,
                         words(factor.first_column, " of ", factor.tiles, " columns were there"));
  add_devices(report, factor);
  report.only_json("ranks", result.ranks);
  report.only_json("bytes/sent", factor.bytes_sent);
  report.only_json("bytes/received", factor.bytes_received);
  if (result.ranks > 1)
    report.tell("bytes/room", "ranks", factor.room_bytes,
                words(result.ranks, " on a grid of ", factor.grid_rows, " x ", factor.grid_cols,
                      "; messages ", name_of(factor.transport), "; rank 0 sent ",
                      in_bytes(static_cast<double>(factor.bytes_sent)), ", got ",
                      in_bytes(static_cast<double>(factor.bytes_received)), ", has room for ",
                      in_bytes(static_cast<double>(factor.room_bytes)), " of others"));
  else
    report.only_json("bytes/room", factor.room_bytes);
  add_breakdown(report, result);
}

void add_tile_solution(Report& report, OutOfCoreResult const& result) {
  report.section("Solution");
  report.only_json("refine/asked", result.refine_asked);
  if (!result.solve)
    return report.nulls({"backward_error", "forward_error", "iterations", "log_determinant",
                         "refine/method", "refine/tolerance", "refine/stagnated", "refine/history",
                         "refine/climbs", "refine/obstacle"});
  auto const& solve = *result.solve;
  add_refinement(report, result, solve);
  report.tell(
      "backward_error", "backward error", solve.backward_error,
      text("%.2e  (normwise; tolerance %.2e)  ", solve.backward_error, solve.refinement.tolerance) +
          (solve.converged ? "PASSED" : "FAILED"));
  add_forward_error(report, result);
  add_rest(report, result, solve.refinement.stagnated);
}

void add_tile_seconds(Report& report, OutOfCoreResult const& result) {
  auto const& wall = result.seconds;
  report.section("Seconds");
  add_time(report, "seconds/read", result.problem.read_or_generate(), wall.read);
  add_time(report, "seconds/fill", "fill tiles", wall.fill);
  add_time(report, "seconds/factor", "factor", wall.factor,
           rate_of(result.factor.flop_per_s) + " in the last attempt");
  add_time(report, "seconds/solve", "solve, refined", wall.solve);
  add_time(report, "seconds/log_determinant", "log-determinant", wall.log_determinant);
  add_time(report, "seconds/total", "total", wall.total);
  report.only_json("tflops/factor", result.factor.flop_per_s / 1e12);
}

}  // namespace

Report report(SolveResult const& result) {
  Report report;
  add_problem(report, result, "strata.solve/1");
  report.add("problem/entries", "entries in the file", or_null(result.problem.entries));
  report.add("problem/condition", "condition number", or_null(result.problem.condition),
             "%.3g (prescribed)");
  add_factor(report, result);
  add_solution(report, result);
  add_seconds(report, result);
  add_comparison(report, result);
  if (result.solve) add_hpl(report, *result.solve);
  add_configuration(report);
  return report;
}

Report report(OutOfCoreResult const& result) {
  Report report;
  add_problem(report, result, "strata.solve_out_of_core/1");
  add_tile_factor(report, result);
  add_tile_solution(report, result);
  add_tile_seconds(report, result);
  add_configuration(report);
  return report;
}

}  // namespace strata::apps
