// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_FIELDS_HPP
#define STRATA_APPS_SOLVE_FIELDS_HPP

#include <apps/shared/Strata_Tiles.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <apps/system/Strata_SystemFields.hpp>
#include <core/Strata_Fields.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <ooc/Strata_OocFields.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// What the documents of `strata solve` tell of a dense matrix beside what the library reports.
namespace strata::apps {

/// What is told of a dense solve, in memory and in tiles.
constexpr auto fields_of(DenseResult const*) {
  using R = DenseResult;
  return std::tuple(
      Field("status", [](R const& r) { return std::string(status_name(r.exit())); },
            "How the run ended.",
            {.schema = R"("enum": ["solved", "not_positive_definite", "not_converged"])"}),
      Field("info", &R::info, "0, or the order of the first leading minor that is not positive."),
      FieldsOf([](R const& r) -> SystemResult const& { return r; }),
      Field("log_determinant", &R::log_determinant, "Log-determinant of A.",
            {.absent = "it was not asked for"}));
}

/// The vendor's library beside Strata.
struct Compared {
  Comparison vendor;      ///< What the vendor's library did.
  SolveResult const* of;  ///< What Strata did.

  /// Their seconds over ours; nothing where we took none.
  static std::optional<double> ratio(double theirs, double ours) {
    return ours > 0 ? std::optional(theirs / ours) : std::nullopt;
  }
};
/// The fields of its report.
constexpr auto fields_of(Compared const*) {
  using C = Compared;
  return std::tuple(
      Field(
          "library", [](C const& c) { return c.vendor.library; }, "Routines of the library."),
      Field(
          "info", [](C const& c) { return c.vendor.info; },
          "0, or the order of the minor that was not positive."),
      FieldGroup{"seconds", "Where the library's time went."},
      Field("copy_seconds", [](C const& c) { return c.vendor.copy_seconds; }, "Time to copy A.",
            {.key = "seconds/copy", .unit = "s"}),
      Field("factor_seconds", [](C const& c) { return c.vendor.factor_seconds; },
            "Time of the factorisation.", {.key = "seconds/factor", .unit = "s"}),
      Field("solve_seconds", [](C const& c) { return c.vendor.solve_seconds; },
            "Time of the solve.", {.key = "seconds/solve", .unit = "s"}),
      FieldGroup{"ratio", "Seconds of the library over Strata's."},
      Field(
          "cholesky",
          [](C const& c) { return C::ratio(c.vendor.factor_seconds, c.of->factor.factor_seconds); },
          "Ratio of the factorisations alone.",
          {.key = "ratio/cholesky", .schema = R"("minimum": 0)"}),
      Field("factor",
            [](C const& c) {
              return C::ratio(c.vendor.copy_seconds + c.vendor.factor_seconds,
                              c.of->seconds.factor);
            },
            "Ratio with the copy of A and Strata's checks.",
            {.key = "ratio/factor", .schema = R"("minimum": 0)"}),
      Field("solve",
            [](C const& c) { return C::ratio(c.vendor.solve_seconds, c.of->seconds.solve); },
            "Ratio of the solves alone.", {.key = "ratio/solve", .schema = R"("minimum": 0)"}),
      Field("whole",
            [](C const& c) {
              return C::ratio(c.vendor.seconds(), c.of->seconds.factor + c.of->seconds.solve);
            },
            "Ratio of factorisation and solve.",
            {.key = "ratio/whole", .schema = R"("minimum": 0)"}),
      Field("backward_error", [](C const& c) { return c.vendor.backward_error; },
            "Backward error of the library's solution.", {.schema = R"("minimum": 0)"}));
}

/// What a solve in memory tells of rates, by the models of core.
struct Rates {
  double solve = 0;  ///< Flop/s of the refined solve, `refinement_flops` for each iteration.
  double whole = 0;  ///< Flop/s of all that was asked for, `potrf_flops` + `potrs_flops`.
};
Rates rates_of(SolveResult const& result);

inline std::optional<double> in_tera(SolveResult const& result, double flop_per_s) {
  return result.solve ? std::optional(flop_per_s / 1e12) : std::nullopt;
}
/// About how large the error of X may be; nothing without a solve.
std::optional<double> expected_forward_error(SolveResult const& result);

/// All that the document of a solve in memory tells.
constexpr auto fields_of(SolveResult const*) {
  using R = SolveResult;
  return std::tuple(
      Field("schema", [](R const&) { return std::string("strata.solve/1"); },
            "Name and version of this schema.", {.schema = R"("const": "strata.solve/1")"}),
      FieldsOf([](R const& r) -> DenseResult const& { return r; }),
      Field("entries", [](R const& r) { return r.problem.entries; },
            "Number of entries that a Matrix Market file lists.",
            {.key = "problem/entries", .absent = "there is no such file"}),
      Field("condition", [](R const& r) { return r.problem.condition; },
            "Condition number in the 2-norm.",
            {.key = "problem/condition", .absent = "it is not prescribed"}),
      FieldsOf(&R::factor),
      Field("layers_asked", &R::layers_asked, "List of precisions that was asked for.",
            {.schema = dense::detail::layers_schema}),
      Field("layers_reason", &R::layers_reason, "Why these layers were tried first."),
      FieldsOf(&R::solve, "there is no factor"),
      Field("expected_forward_error", &expected_forward_error,
            "About the largest error that the condition and the backward error of the equilibrated "
            "system leave, at most 1.",
            {.absent = "there is no factor", .schema = R"("minimum": 0)"}),
      Field("repeat", &R::repeat, "Number of runs; the one of median time is reported.",
            {.schema = R"("minimum": 1)"}),
      FieldsOf(&R::seconds, "", " fill "), FieldGroup{"tflops", "Rates."},
      Field("factor", [](R const& r) { return in_tera(r, r.factor.factor_flop_per_s); },
            "Rate of the last attempt's Cholesky, by n^3/3 flops.",
            {.key = "tflops/factor", .unit = "Tflop/s", .absent = "there is no factor"}),
      Field("solve", [](R const& r) { return in_tera(r, rates_of(r).solve); },
            "Rate of the solve, by 4 n^2 flops for each iteration and column.",
            {.key = "tflops/solve", .unit = "Tflop/s", .absent = "there is no factor"}),
      Field("whole", [](R const& r) { return in_tera(r, rates_of(r).whole); },
            "Rate of factorisation and solve, by n^3/3 + 2 n^2 nrhs flops.",
            {.key = "tflops/whole", .unit = "Tflop/s", .absent = "there is no factor"}),
      Field("compare",
            [](R const& r) {
              return r.comparison ? std::optional(Compared{*r.comparison, &r}) : std::nullopt;
            },
            "The same system by the vendor's library in fp64.",
            {.absent = "it was not asked for"}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(SolveResult const*) {
  return std::array{"schema",
                    "status",
                    "info",
                    "problem",
                    "n",
                    "nrhs",
                    "bytes",
                    "layers",
                    "layers_asked",
                    "layers_reason",
                    "leaf_size",
                    "leaf",
                    "scaling",
                    "shift",
                    "jitter",
                    "rung",
                    "attempts",
                    "blocks",
                    "refine",
                    "iterations",
                    "backward_error",
                    "equilibrated_error",
                    "forward_error",
                    "condition",
                    "expected_forward_error",
                    "slate_error",
                    "log_determinant",
                    "repeat",
                    "seconds/read",
                    "seconds/transfer",
                    "seconds/factor",
                    "tflops",
                    "compare"};
}

/// Memory of tiles on a NUMA node.
struct NodeBytes {
  int node = 0;                ///< Its number.
  std::size_t tile_bytes = 0;  ///< Bytes of tiles.
};
/// The fields of its report.
constexpr auto fields_of(NodeBytes const*) {
  using N = NodeBytes;
  return std::tuple(
      Field("node", &N::node, "Number of the node."),
      Field("tile_bytes", &N::tile_bytes, "Memory of tiles on it.", {.unit = "byte"}));
}
std::vector<NodeBytes> nodes_of(OutOfCoreResult const& result);

/// All that the document of a solve in tiles tells.
constexpr auto fields_of(OutOfCoreResult const*) {
  using R = OutOfCoreResult;
  return std::tuple(
      Field("schema", [](R const&) { return std::string("strata.solve_out_of_core/1"); },
            "Name and version of this schema.",
            {.schema = R"("const": "strata.solve_out_of_core/1")"}),
      FieldsOf([](R const& r) -> DenseResult const& { return r; }),
      Field("scratch_bytes", [](R const& r) { return r.problem.scratch_bytes; },
            "Size of the scratch file.", {.key = "bytes/scratch", .unit = "byte"}),
      Field("epsilon", [](R const& r) { return r.rule.accuracy; },
            "Accuracy that was asked for; 0: fp64, or layers.", {.schema = R"("minimum": 0)"}),
      Field(
          "precisions", [](R const& r) { return allowed_precisions(r.rule); },
          "Precisions that a tile may have.",
          {.schema =
               R"("minItems": 1, "items": {"type": "string", "pattern": "^(fp64|int8x[0-9]+|fp32|fp16_split|fp16|fp8_e4m3)$"})"}),
      Field("layers",
            [](R const& r) -> std::optional<std::string> {
              if (r.rule.layers.empty()) return std::nullopt;
              return dense::LayerList(r.rule.layers).name();
            },
            "Layers that were asked for, from the outermost block of tiles on.",
            {.absent = "none were", .schema = dense::detail::layers_schema}),
      FieldsOf(&R::factor),
      Field("map", [](R const& r) { return lines_of(r.map); }, map_sentence,
            {.schema = map_schema}),
      Field("storage", &R::storage, "Whose memory the tiles are in.",
            {.schema = R"("enum": ["host", "devices"])"}),
      Field("tile_bytes", &R::tile_bytes, "Memory of the tiles.",
            {.key = "bytes/tiles", .unit = "byte"}),
      Field("no_room", &R::no_room,
            "Why devices do not hold the tiles that were to; empty: they do, or were not to."),
      Field("nodes", &nodes_of, "NUMA nodes of the host memory that tiles are in."),
      Field("checkpoint", &R::checkpoint, "Folder that finished columns are kept in; empty: none."),
      Field("ranks", &R::ranks, "Number of ranks; devices and bytes are rank 0's.",
            {.schema = R"("minimum": 1)"}),
      FieldsOf(&R::solve, "there is no factor",
               " equilibrated_error slate_error hpl_scaled_residual "),
      FieldsOf(&R::seconds, "", " transfer condition compare "), FieldGroup{"tflops", "Rate."},
      Field("tflops", [](R const& r) { return r.factor.flop_per_s / 1e12; },
            "Rate of the last attempt's factorisation, by n^3/3 flops.",
            {.key = "tflops/factor", .unit = "Tflop/s", .schema = R"("minimum": 0)"}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(OutOfCoreResult const*) {
  return std::array{"schema",     "status",         "info",          "problem",         "n",
                    "nrhs",       "bytes/needed",   "bytes/scratch", "bytes/tiles",     "epsilon",
                    "precisions", "layers",         "tiles",         "tile_size",       "map",
                    "rung",       "attempts",       "storage",       "no_room",         "nodes",
                    "schedule",   "checkpoint",     "devices",       "ranks",           "refine",
                    "iterations", "backward_error", "forward_error", "log_determinant", "seconds",
                    "tflops"};
}

}  // namespace strata::apps

#endif
