// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRACE_HPP
#define STRATA_TRACE_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace strata {

/// What was recorded in a process, or by a rank.
struct TracedProcess {
  std::string name;                 ///< name that the viewer shows
  std::vector<RecordedSpan> spans;  ///< spans of a Recorder
};

/// Writes spans as Chrome's trace-event JSON, for Perfetto or chrome://tracing. Times are in
/// microseconds since the first of all spans. Process k has the number k, and its tracks have their
/// names.
///
/// Result   spans are complete events ("X"), by track and then outer before inner; bytes that
///          are not UTF-8 are replaced.
/// Source   Trace Event Format, the Chromium project, 2016.
void write_trace(std::ostream& out, std::vector<TracedProcess> const& processes);
/// The same to a file.
///
/// Throws   IoError with the path and the reason; an existing file is then as it was.
void write_trace(std::string const& path, std::vector<TracedProcess> const& processes);

}  // namespace strata

#endif
