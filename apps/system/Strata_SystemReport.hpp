// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SYSTEM_REPORT_HPP
#define STRATA_APPS_SYSTEM_REPORT_HPP

#include <apps/shared/Strata_Report.hpp>
#include <apps/system/Strata_SystemResult.hpp>

#include <initializer_list>
#include <string>

/// Rows of the table that reports on dense solves share.
namespace strata::apps {

/// The first section: the system.
void show_problem(Report& report, SystemResult const& result);
/// How X was refined.
void show_refinement(Report& report, SystemResult const& result, dense::SolveReport const& solve);
/// How far off X is, where it is known.
void show_forward_error(Report& report, SystemResult const& result);
/// The decimal digits to expect of X.
void show_digits(Report& report, ExpectedError const& expected);
/// "12.34 GF/s"; nothing for 0.
std::string rate_of(double flop_per_s);
/// A row of seconds, where there are any.
void show_time(Report& report, std::string label, double seconds, std::string const& rate = "");
/// The heading of the seconds of the median of `repeat` runs.
void begin_seconds(Report& report, int repeat);
/// Seconds of a vendor's routine and of what Strata does in its place.
struct ComparedSeconds {
  char const* label;
  double vendor, strata;
};
/// The table of seconds beside a vendor's.
void show_compared(Report& report, std::initializer_list<ComparedSeconds> rows);
/// The backward errors of both.
void show_compared_errors(Report& report, double vendor, double strata);
/// The line of HPL-MxP on its residual, as a section of its own.
void show_hpl(Report& report, dense::SolveReport const& solve);

}  // namespace strata::apps

#endif
