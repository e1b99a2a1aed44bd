// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_HPGMXP_DOCUMENT_HPP
#define STRATA_APPS_HPGMXP_DOCUMENT_HPP

#include <apps/hpgmxp/Strata_Hpgmxp.hpp>
#include <core/Strata_Fields.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpFields.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// What the document of `strata hpgmxp` tells beside what the library reports.
namespace strata::apps {

/// A part of the solver in one more solve than those that are rated.
struct MotifPart {
  std::string name;                           ///< Name of the part.
  double seconds = 0, waiting_seconds = 0;    ///< On the slowest rank.
  double most_waiting = 0, mean_waiting = 0;  ///< Over the ranks.
  double share = 0;                           ///< Share of all parts' time.
  /// Rates by the two counts of flops and by the model of bytes, and over a copy's.
  std::optional<double> gflops, gflops_reference, gb_per_s, fraction_of_copy;
};
/// The fields of its report.
constexpr auto fields_of(MotifPart const*) {
  using M = MotifPart;
  return std::tuple(
      Field("name", &M::name, "Name of the part."),
      Field("seconds", &M::seconds, "Time of the part on that rank.", {.unit = "s"}),
      Field("waiting_seconds", &M::waiting_seconds,
            "Time of these that the rank waits for others: for halos and sums.", {.unit = "s"}),
      Field("waiting_seconds_most", &M::most_waiting, "Longest time that any rank waits.",
            {.unit = "s"}),
      Field("waiting_seconds_mean", &M::mean_waiting, "Mean time over the ranks.", {.unit = "s"}),
      Field("share", &M::share, "Share of all parts' time.",
            {.schema = R"("type": "number", "minimum": 0, "maximum": 1)"}),
      Field("gflops", &M::gflops, "Rate by the count of the benchmark's paper, over all ranks.",
            {.unit = "Gflop/s", .absent = "the part took no time"}),
      Field("gflops_reference", &M::gflops_reference,
            "Rate by the count of the reference code, over all ranks.",
            {.unit = "Gflop/s", .absent = "the part took no time"}),
      Field("gb_per_s", &M::gb_per_s,
            "Rate of the bytes that the part reads and writes, by a model, over all ranks.",
            {.unit = "GB/s", .absent = "the part took no time"}),
      Field("fraction_of_copy", &M::fraction_of_copy,
            "Ratio of gb_per_s to a copy's on all ranks; above 1 where caches hold the data.",
            {.absent = "the part took no time"}));
}

/// Where the time of that solve went.
struct Motifs {
  sparse::Breakdown const* of;   ///< On the slowest rank.
  std::vector<MotifPart> parts;  ///< Parts of the solver.
};
/// The fields of its report.
constexpr auto fields_of(Motifs const*) {
  using M = Motifs;
  return std::tuple(Field("seconds", [](M const& m) { return m.of->seconds; },
                          "Time of that solve, on that rank.", {.unit = "s"}),
                    Field("iterations", [](M const& m) { return m.of->iterations; },
                          "Number of iterations of that solve.", {.schema = R"("minimum": 1)"}),
                    Field(
                        "rank", [](M const& m) { return m.of->rank; },
                        "Slowest rank: that computes longest, and so waits least."),
                    Field("parts", &M::parts, "Parts of the solver."));
}

/// A timed phase, with what takes the whole run to tell.
struct PhaseOfRun {
  sparse::HpgmxpResult const* result;  ///< The run.
  sparse::HpgmxpPhase const* phase;    ///< One of its phases.

  double gflops(sparse::FlopCount count) const {
    return result->flop_per_second(*phase, count) / 1e9;
  }
  std::optional<Motifs> motifs() const;
};
/// The fields of its report.
constexpr auto fields_of(PhaseOfRun const*) {
  using P = PhaseOfRun;
  return std::tuple(
      FieldsOf([](P const& p) -> sparse::HpgmxpPhase const& { return *p.phase; }),
      Field("gflops", [](P const& p) { return p.gflops(sparse::FlopCount::Ornl); },
            "Rate by the count of the benchmark's paper.",
            {.unit = "Gflop/s", .schema = R"("minimum": 0)"}),
      Field("gflops_reference", [](P const& p) { return p.gflops(sparse::FlopCount::Reference); },
            "Rate by the count of the reference code.",
            {.unit = "Gflop/s", .schema = R"("minimum": 0)"}),
      Field("motifs", &P::motifs, "Parts of one more solve after the timed ones.",
            {.absent = "a signal ended the run before"}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(PhaseOfRun const*) {
  return std::array{"values",     "vectors",          "basis",       "solves",
                    "iterations", "seconds",          "completed",   "ms_per_iteration",
                    "gflops",     "gflops_reference", "solver_bytes"};
}

/// The solve without rules, with what takes the whole run to tell.
struct FreeOfRun {
  sparse::HpgmxpFree free;        ///< The solve without rules.
  std::optional<double> speedup;  ///< See `HpgmxpOutcome::free_speedup`.
};
/// The fields of its report.
constexpr auto fields_of(FreeOfRun const*) {
  using F = FreeOfRun;
  return std::tuple(FieldsOf(&F::free), Field("speedup_over_conforming", &F::speedup,
                                              "Speed over the validation's mixed solve, by time.",
                                              {.absent = "no validation ran"}));
}

namespace detail {

/// A phase of the run that may not have run.
inline std::optional<PhaseOfRun> phase_of(HpgmxpOutcome const& outcome,
                                          std::optional<sparse::HpgmxpPhase> const& phase) {
  return phase ? std::optional(PhaseOfRun{&outcome.result, &*phase}) : std::nullopt;
}

}  // namespace detail

/// The benchmark's figure: flops of the mixed phase times the penalty; nothing if either did not
/// run.
std::optional<double> rating_gflops(HpgmxpOutcome const& outcome);

/// All that the document tells.
constexpr auto fields_of(HpgmxpOutcome const*) {
  using O = HpgmxpOutcome;
  return std::tuple(
      Field("schema", [](O const&) { return std::string("strata.hpgmxp/1"); },
            "Name and version of this schema.", {.schema = R"("const": "strata.hpgmxp/1")"}),
      Field(
          "run_type", [](O const& o) { return o.options.run; }, "Phases that were asked for."),
      Field("restart", [](O const& o) { return o.options.restart; },
            "Number of basis vectors of a cycle.", {.schema = R"("minimum": 1)"}),
      FieldGroup{"ordering", "Order of the rows, for Gauss-Seidel sweeps."},
      Field("method", [](O const& o) { return o.options.matrix.colouring; }, "Method of colouring.",
            {.key = "ordering/method"}),
      FieldsOf(&O::result),
      Field("free_colours", [](O const& o) { return o.options.matrix.free_colours; },
            "Number of colours whose rows may be swept while the halo travels.",
            {.key = "ordering/free_colours", .absent = "it was not asked for", .is_omitted = true}),
      Field("estimated_bytes", &O::estimated_bytes, "Memory that each rank needs at most.",
            {.unit = "byte", .schema = R"("minimum": 1)"}),
      Field("memory_bytes", &O::memory_bytes,
            "A rank's share of its host's or device's memory, the largest.",
            {.unit = "byte", .schema = R"("exclusiveMinimum": 0)"}),
      FieldGroup{"orthogonalisation", "Orthogonalisation of the Krylov basis."},
      Field("method", [](O const&) { return std::string("cgs2"); },
            "Method: classical Gram-Schmidt, twice.",
            {.key = "orthogonalisation/method", .schema = R"("const": "cgs2")"}),
      Field("norm", [](O const&) { return std::string("summed"); },
            "Norm of a basis vector: by a sum of its own over the ranks.",
            {.key = "orthogonalisation/norm", .schema = R"("const": "summed")"}),
      Field(
          "conforming", [](O const& o) { return departures(o).empty(); },
          "Whether the run keeps every rule of an official one."),
      Field("departures", &departures, "Rules that what ran leaves."),
      Field("mixed", [](O const& o) { return detail::phase_of(o, o.result.mixed); },
            "Timed phase of the mixed solver.", {.absent = "it was not run"}),
      Field("fp64", [](O const& o) { return detail::phase_of(o, o.result.fp64); },
            "Timed phase in fp64.", {.absent = "it was not run"}),
      Field("free",
            [](O const& o) {
              return o.free ? std::optional(FreeOfRun{*o.free, o.free_speedup()}) : std::nullopt;
            },
            "The same equations without the benchmark's rules.",
            {.absent = "--free was not asked for", .is_omitted = true}),
      Field("rating_gflops", &rating_gflops,
            "The benchmark's figure: Gflop/s of the mixed phase times the penalty.",
            {.unit = "Gflop/s",
             .absent = "a phase did not run",
             .schema = R"("minimum": 0)",
             .is_omitted = true}),
      Field("speedup", [](O const& o) { return o.result.speedup(); },
            "Speed of the mixed phase over fp64's, by time per iteration and penalty.",
            {.absent = "a phase did not run",
             .schema = R"("exclusiveMinimum": 0)",
             .is_omitted = true}));
}
/// Keys where the tables' order is not the document's.
constexpr auto key_order(HpgmxpOutcome const*) {
  return std::array{"schema",
                    "run_type",
                    "valid",
                    "ended",
                    "restart",
                    "problem",
                    "ordering",
                    "estimated_bytes",
                    "matrix_bytes",
                    "held_bytes",
                    "memory_bytes",
                    "columns",
                    "orthogonalisation",
                    "transport",
                    "set_up_seconds",
                    "copy_gb_per_s",
                    "conforming",
                    "departures"};
}

}  // namespace strata::apps

#endif
