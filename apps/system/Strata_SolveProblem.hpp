// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_PROBLEM_HPP
#define STRATA_APPS_SOLVE_PROBLEM_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/system/Strata_SolveOptions.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace strata::apps {

/// What the report says of the system A X = B.
struct ProblemSummary {
  std::string source;  ///< the file, or how the matrix was made
  std::string format;  ///< format of the file, or "generated"
  std::string rhs;     ///< where B comes from
  std::int64_t n = 0, nrhs = 0;
  std::optional<std::int64_t> entries;  ///< listed in the file
  std::optional<double> condition;      ///< where it is prescribed
  std::size_t bytes_needed = 0;         ///< bytes of memory for the matrix and all that is computed
  std::uint64_t scratch_bytes = 0;      ///< bytes on disk, for text that is read by tiles

  char const* read_or_generate() const { return format == "generated" ? "generate" : "read"; }
};

/// A system to solve: B is given, or to be made from the known solution X.
struct Problem {
  ProblemSummary summary;
  HostMatrix A;  ///< empty where it is solved out of core: then there are `tiles`
  ooc::TileGenerator<Kokkos::DefaultExecutionSpace> tiles;
  std::shared_ptr<MatrixBlocks const> file;  ///< file of the tiles; not known to be symmetric
  HostMatrix B, X;
  bool knows_solution = false;
  std::vector<std::int64_t> order;  ///< row k stands for station order[k]; empty: rows are as given
};

/// Read or make the system.
///
/// Throws   Error of the readers and generators; UsageError if B does not fit A; MemoryError,
///          before the matrix is allocated, if the run needs more bytes than --max-memory or than
///          are available.
Problem set_up(SolveOptions const& options, Progress& progress);

/// What is wrong with right-hand sides of these extents for a matrix of order n, with the line that
/// mends it.
std::string misfit(std::string const& path, std::size_t rows, std::size_t cols, std::int64_t n);

/// Rows of the matrix in the user's files, of which row k is order[k], in the program's order;
/// empty: as they are.
HostMatrix in_order(HostMatrix const& B, std::vector<std::int64_t> const& order);

/// Columns of B: as in the file --rhs, 1 for measured values, else --nrhs.
std::int64_t right_hand_sides(SolveOptions const& options);

/// Where X is for the user to find, or how to keep it.
std::string place_of_solution(SolveOptions const& options, bool is_written);

/// Say what --output holds where the user gave a matrix, but no right-hand side.
void warn_of_invented_rhs(std::ostream& out, SolveOptions const& options);

/// Set `summary.bytes_needed` for its n and nrhs: on the machine, and where the matrix is copied to
/// a device, what is needed there in addition.
///
/// Throws   MemoryError with the bytes needed and allowed, if that is more than --max-memory or
///          than is available.
void require_memory(ProblemSummary& summary, SolveOptions const& options);

}  // namespace strata::apps

#endif
