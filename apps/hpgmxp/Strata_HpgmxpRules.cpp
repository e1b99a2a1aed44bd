// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/hpgmxp/Strata_HpgmxpReport.hpp>
#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <string>

namespace strata::apps {

namespace {

constexpr double official_seconds = 1800, least_share = 0.25;

// Standard validation: the paper's code has restart 30 and eight ranks, the reference restart 40 and four.
bool has_the_ranks_of_a_rule(sparse::HpgmxpValidation const& validation, int ranks, int restart) {
  return validation.ranks == std::min(8, ranks) ||
         (restart == 40 && validation.ranks == std::min(4, ranks));
}

}  // namespace

// The rules leave free: the order of rows and colours, formats of values, columns and vectors in the inner solver, and
// how messages travel and what runs beside them. Orthogonalisation is not an option here.
std::vector<std::string> departures(HpgmxpOutcome const& outcome) {
  auto const& [options, result, estimate, memory, free] = outcome;
  std::vector<std::string> rules;
  auto const unless = [&](bool kept, std::string const& rule) {
    if (!kept) rules.push_back(rule);
  };
  unless(options.restart == 30 || options.restart == 40, "the restart is neither 30 nor 40");
  unless(options.tolerance == 1e-9, "the tolerance of the validation is not 1e-9");
  unless(options.run == sparse::RunType::Benchmark, "not all phases are run");
  unless(options.beta == 0, text("beta is %g: the benchmark's matrix has 0", options.beta));
  if (result.validation && options.validation == sparse::ValidationType::Standard)
    unless(has_the_ranks_of_a_rule(*result.validation, result.ranks, options.restart),
           text("the validation ran on %d of %d ranks: a standard one takes eight, with restart 40 "
                "eight or four, or all if there are fewer",
                result.validation->ranks, result.ranks));
  double const seconds = result.mixed ? result.mixed->least_seconds : 0;
  unless(seconds >= official_seconds,
         text("the mixed phase ran for %.4g s: an official run has %g s or more", seconds,
              official_seconds));
  auto const held = static_cast<double>(result.held_bytes);
  unless(held >= least_share * memory,
         "a rank holds " + in_bytes(held) + " of its " + in_bytes(memory) +
             ": the problem is to take a quarter of the memory or more");
  for (auto const* const phase : {&result.mixed, &result.fp64})
    if (*phase)
      unless((*phase)->completed(),
             text("a timed solve broke off or down: %lld iterations in %lld solves of %lld",
                  static_cast<long long>((*phase)->iterations),
                  static_cast<long long>((*phase)->solves),
                  static_cast<long long>((*phase)->solve_iterations)));
  return rules;
}

std::string columns_in_words(sparse::ColumnForms const& columns) {
  return text(
      "shared by a slice's rows %.1f %%, 16 bits %.1f %%, 32 bits %.1f %%: %.3g bytes an entry",
      100 * columns.shared, 100 * columns.narrow, 100 * columns.wide, columns.bytes_per_entry);
}

}  // namespace strata::apps
