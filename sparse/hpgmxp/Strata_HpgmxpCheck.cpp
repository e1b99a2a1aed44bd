// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace strata::sparse {

namespace {

constexpr std::int64_t size_step = 8, least_size = 16;

std::string legal_sizes_near(std::int64_t n) {
  std::int64_t const below = n / size_step * size_step, above = below + size_step;
  if (below < least_size) return strata::detail::message(least_size);
  return strata::detail::message(below, " or ", above);
}

}  // namespace

std::array<int, 3> grid_of(HpgmxpOptions const& options, int ranks) {
  return options.grid == std::array<int, 3>{0, 0, 0} ? process_grid(ranks) : options.grid;
}

void check(HpgmxpOptions const& options, int ranks) {
  std::pair<char const*, std::int64_t> const sizes[] = {
      {"nx", options.nx}, {"ny", options.ny}, {"nz", options.nz}};
  for (auto const& [name, n] : sizes)
    STRATA_REQUIRE(ShapeError, n >= least_size && n % size_step == 0, name, " = ", n,
                   ": four grid levels need a multiple of ", size_step, ", at least ", least_size,
                   "; the nearest is ", legal_sizes_near(n));
  double const rows = static_cast<double>(options.nx) * static_cast<double>(options.ny) *
                      static_cast<double>(options.nz);
  STRATA_REQUIRE(ShapeError, rows < 0x1p31 * 0.9, options.nx, " x ", options.ny, " x ", options.nz,
                 " points on a rank: 32-bit row numbers end at 2^31");
  auto const grid = grid_of(options, ranks);
  auto const [least, most] = std::minmax({grid[0], grid[1], grid[2]});
  STRATA_REQUIRE(ValueError, least >= 1 && std::int64_t(grid[0]) * grid[1] * grid[2] == ranks,
                 "process grid ", grid[0], " x ", grid[1], " x ", grid[2], " for ", ranks,
                 " ranks");
  STRATA_REQUIRE(ValueError, 8 * least >= most, "process grid ", grid[0], " x ", grid[1], " x ",
                 grid[2], ": the benchmark allows a ratio of 1 to 8; take another number of ranks");
  STRATA_REQUIRE(ValueError, std::abs(options.beta) <= 1, "beta = ", options.beta,
                 ": must be within -1 and 1");
  STRATA_REQUIRE(ValueError, options.restart >= 1 && options.restart <= timed_iterations,
                 "restart = ", options.restart, ": must be 1 to ", timed_iterations);
  STRATA_REQUIRE(ValueError, options.seconds >= 0 && std::isfinite(options.seconds), "run time of ",
                 options.seconds, " s");
  STRATA_REQUIRE(
      ValueError,
      !options.basis || *options.basis == Precision::fp32 || *options.basis == Precision::fp16,
      "basis in ", traits(*options.basis).name, ": must be fp32 or fp16");
  STRATA_REQUIRE(ValueError, options.tolerance > 0 && options.tolerance < 1,
                 "tolerance = ", options.tolerance);
  STRATA_REQUIRE(ValueError, options.traced_iterations >= 0,
                 "iterations to trace: ", options.traced_iterations);
  STRATA_REQUIRE(ValueError, options.traced_iterations == 0 || options.run != RunType::Validation,
                 "a trace is of a timed phase, and a validation alone has none");
}

std::int64_t estimate_bytes(HpgmxpOptions const& options, int ranks) {
  double const rows = static_cast<double>(options.nx) * static_cast<double>(options.ny) *
                      static_cast<double>(options.nz);
  double const coarser = 1 + 1.0 / 8 + 1.0 / 64 + 1.0 / 512, entries = 27 * rows;
  double const narrow = options.values ? static_cast<double>(traits(*options.values).bytes) : 4;
  double const order = 8 + 2 * 4.0 / 8, vectors = 3 * 8 + 2 * 8 / 8.0;
  double const basis = (has_fp64(options.run) || has_validation(options.run))
                           ? (options.restart + 3) * 8.0
                           : (options.restart + 3) * 4.0;
  // Assembly holds a level's rows in two orders and the keys of a sort.
  double const assembly = 2 * 12 * entries + 40 * rows;
  double const solve =
      coarser * ((12 + narrow) * entries + order * rows) + (vectors + basis) * rows;
  double const validation = options.validation == ValidationType::Standard &&
                                    has_validation(options.run) && options.validation_ranks < ranks
                                ? coarser * (12 + narrow) * entries
                                : 0;
  double const copy = 2 * 8 * 0x1p24;
  return static_cast<std::int64_t>(std::max(std::max(assembly, solve) + validation, copy));
}

}  // namespace strata::sparse
