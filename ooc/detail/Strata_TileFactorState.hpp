// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_DETAIL_TILE_FACTOR_STATE_HPP
#define STRATA_OOC_DETAIL_TILE_FACTOR_STATE_HPP

#include <core/Strata_StepLadder.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_MapLadder.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::ooc {

/// What a factor in tiles consists of: the rungs, and the matrix in the tiles of the one that held.
template <class ExecutionSpace>
struct TileFactor<ExecutionSpace>::State final : dense::SpdFactor<ExecutionSpace> {
  using Vector = Kokkos::View<double const*, typename ExecutionSpace::memory_space>;

  /// Takes the matrix over if it does not throw.
  State(DeviceTeam<ExecutionSpace> const& given, TileMatrix<ExecutionSpace>&& filled,
        CholeskyOptions const& choices);

  // --- the ladder (Strata_Cholesky.cpp) ---

  /// Factor on the next rung that holds; false if none does. An exception leaves the rung that
  /// held, whose factor `need_factor` makes again.
  bool climb();
  /// Climbs from the factor that there is.
  bool climb(dense::Climb how) override {
    report.attempts.back().outcome = dense::outcome_of(how);
    if (how == dense::Climb::ToTheTop) ladder.go_to(ladder.steps().size() - 1);
    return name_bad_alloc("cholesky", [&] { return climb(); });
  }
  void end_ladder() override { ladder.end(); }
  bool at_the_top() const override { return ladder.at_the_top(); }
  /// An iteration passes twice over the tiles and once over the generator, about as long as a
  /// factorisation takes for a thousand columns.
  dense::Patience patience() const override { return {40 + static_cast<int>(report.n / 1000)}; }
  /// Factors on one rung. Returns what the report says of the attempt.
  Info attempt(std::size_t number);
  /// Makes the rung that is tried again without what its norms foretold of moduli.
  void take_all_moduli();
  /// Refuses, or makes the factor again that was given up for a rung which then had no memory.
  void need_factor(char const* function);
  void need_factor(char const* function, std::size_t rows);

  // --- the solve (Strata_TileFactor.cpp) ---

  std::int64_t order() const override { return report.n; }
  Vector scaling() const override { return matrix.device_scaling(); }
  dense::RefinementOperators<ExecutionSpace> operators(ExecutionSpace const& exec) override;

  DeviceTeam<ExecutionSpace> team, solving;  // that factors, that solves
  CholeskyOptions options;
  StepLadder<detail::LadderStep> ladder;  // whose `held` is the step whose factor there is, or was
  bool factored = false;                  // the tiles hold it
  bool outgrown = false;                  // the last attempt, for the moduli that tiles had
  double fill_seconds = 0;                // of the last attempt
  Info info = Info::success();
  CholeskyReport report;
  TileMatrix<ExecutionSpace> matrix;
};

}  // namespace strata::ooc

#endif
