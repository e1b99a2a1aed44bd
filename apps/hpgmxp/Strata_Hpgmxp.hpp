// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_HPGMXP_HPP
#define STRATA_APPS_HPGMXP_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpFree.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

class Report;

/// What the user asked `strata hpgmxp` for.
struct HpgmxpRequest {
  sparse::HpgmxpOptions benchmark;
  std::vector<double> sizes;  ///< nx ny nz [seconds], as words without a name
  std::optional<std::int64_t> nx, ny, nz;
  std::optional<double> seconds;
  std::string input;  ///< path of an hpgmp.dat
  std::string ordering = "coloured", colouring = "greedy", values = "auto", basis = "auto";
  bool free = false;                ///< also solve without the benchmark's rules
  std::string json, report, trace;  ///< paths, empty: not wanted
};

/// Add the options of `strata hpgmxp` to its sub-command; parsing writes to `request`.
void add_hpgmxp_options(CLI::App& command, HpgmxpRequest& request);

/// The benchmark's options from the words, the input file and the defaults, in this order of
/// precedence.
///
/// A dimension that is not given is the one before it. Throws UsageError.
sparse::HpgmxpOptions resolved(HpgmxpRequest const& request);

/// Run the HPG-MxP benchmark and report it on rank 0: table, JSON, the public codes' report.
///
/// Result   NotConverged if the validation failed. An error that all ranks know of is reported by
///          rank 0.
/// Throws   UsageError and what the library throws, on one rank.
Exit hpgmxp(HpgmxpRequest const& request);

/// What was asked for and what came out.
struct HpgmxpOutcome {
  RunFacts run;  ///< facts for the public codes' report
  sparse::HpgmxpOptions options;
  sparse::HpgmxpResult result;
  std::int64_t estimated_bytes = 0;  ///< bytes that each rank is estimated to need
  double memory_bytes = 0;           ///< a rank's share of its host's or device's, the largest
  std::optional<sparse::HpgmxpFree> free;  ///< run without the rules, if it was asked for

  /// The conforming mixed solver's time to the validation's tolerance over the free one's.
  std::optional<double> free_speedup() const {
    if (!free || !result.validation || !(free->krylov.seconds > 0)) return std::nullopt;
    return result.validation->mixed.seconds / free->krylov.seconds;
  }
};

/// The rules of a conforming run that what ran leaves; empty if none.
std::vector<std::string> departures(HpgmxpOutcome const& outcome);

inline constexpr char const* orthogonalisation =
    "CGS2, the norm summed after it: k, k and 1 values over the ranks";
/// The solve and the rank to which the times of motifs belong, as both reports say it.
std::string breakdown_in_words(sparse::Breakdown const& breakdown);
std::string columns_in_words(sparse::ColumnForms const& columns);

/// As schema/hpgmxp.schema.json describes it.
Report report(HpgmxpOutcome const& outcome);
/// "Section::key=value" lines whose keys the public parse script understands, misspelt where it
/// wants them so.
std::string public_report(HpgmxpOutcome const& outcome);

struct NamedMotif {
  sparse::Motif motif;
  char const* name;
};
inline constexpr NamedMotif named_motifs[] = {
    {sparse::Motif::GaussSeidel, "gauss_seidel"}, {sparse::Motif::Multiply, "spmv"},
    {sparse::Motif::Restrict, "restrict"},        {sparse::Motif::Prolong, "prolong"},
    {sparse::Motif::Orthogonalise, "ortho"},      {sparse::Motif::Update, "update"}};

}  // namespace strata::apps

#endif
