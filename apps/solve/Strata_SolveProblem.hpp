// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_PROBLEM_HPP
#define STRATA_APPS_SOLVE_PROBLEM_HPP

#include <apps/shared/Strata_Progress.hpp>
#include <apps/solve/Strata_SolveOptions.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <ooc/Strata_TileMatrix.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

/// What the report says of the system A X = B.
struct ProblemSummary {
  std::string source;  ///< the file, or how the matrix was made
  std::string format;  ///< of the file, or "generated"
  std::string rhs;     ///< where B comes from
  std::int64_t n = 0, nrhs = 0;
  std::optional<std::int64_t> entries;  ///< listed in the file
  std::optional<double> condition;      ///< where it is prescribed
  std::size_t bytes_needed = 0;         ///< of memory, for the matrix and all that is computed
  std::uint64_t scratch_bytes = 0;      ///< on disk, for a text file that is read by tiles
};

/// A system to solve: B is given, or to be made from the known solution X.
struct Problem {
  ProblemSummary summary;
  HostMatrix A;  ///< empty where it is solved out of core: then there are `tiles`
  ooc::TileGenerator<Kokkos::DefaultExecutionSpace> tiles;
  HostMatrix B, X;
  bool knows_solution = false;
  std::vector<std::int64_t> order;  ///< row k stands for station order[k]; empty: rows are as given
};

/// "Matrix Market, coordinate real symmetric", ...
std::string format_of(MatrixMarketHeader const& header);

/// Read or make the system.
///
/// Throws   Error of the readers and generators; UsageError if B does not fit A; MemoryError, before the
///          matrix is allocated, if the run needs more bytes than --max-memory or than are available.
Problem set_up(SolveOptions const& options, Progress& progress);

}  // namespace strata::apps

#endif
