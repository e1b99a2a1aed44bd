// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

std::vector<LevelSize> cube_levels(std::int64_t n) {
  std::vector<LevelSize> levels;
  for (int l = 0; l < 4; ++l, n /= 2)
    levels.push_back({n * n * n, (3 * n - 2) * (3 * n - 2) * (3 * n - 2)});
  return levels;
}

// What the public codes print for 8 solves of 11 cycles, and per application at 320^3.
TEST(HpgmxpModel, CountsAsThePublicCodes) {
  auto const flops = cycle_flops(cube_levels(16), 30, FlopCount::Ornl);
  double const cycles = 8 * 11;
  EXPECT_NEAR(cycles * flops[Motif::Orthogonalise], 1.37331e9, 1e4);
  EXPECT_NEAR(cycles * flops[Motif::Multiply], 5.31065e8, 1e3);
  EXPECT_NEAR(
      cycles * (flops[Motif::Orthogonalise] + flops[Motif::Multiply] + flops[Motif::Update]),
      1.92852e9, 1e4);
  EXPECT_NEAR(multigrid_flops(cube_levels(320), FlopCount::Ornl).total(), 3.262e9, 1e6);
  EXPECT_NEAR(multigrid_flops(cube_levels(320), FlopCount::Reference).total(), 6.021e9, 1e6);
}

TEST(HpgmxpModel, BytesOfARowAtSize) {
  auto const levels = cube_levels(320);
  double const n = static_cast<double>(levels[0].rows), iterations = 30;
  auto const per_row = [&](StorageBytes const& storage) {
    return cycle_bytes(levels, 30, storage).total() / n / iterations;
  };
  double const wide = per_row({8, 4, 8, 8, 8}), single = per_row({4, 4, 4, 4, 8}),
               half = per_row({2, 4, 4, 4, 8}), half_basis = per_row({2, 4, 4, 2, 8});
  // An independent model's numbers with three passes over the basis.
  EXPECT_NEAR(wide, 1637 - 142, 30);
  EXPECT_NEAR(single, 909, 20);
  EXPECT_NEAR(half, 752, 20);
  EXPECT_NEAR(half - half_basis, 3 * 31.0 - 2,
              3);  // half of the columns' bytes, less what is written twice
}

TEST(Hpgmxp, RefusesIllegalSizesWithTheNearestLegal) {
  auto const refused = [](auto change, char const* text, int ranks = 1) {
    HpgmxpOptions options;
    change(options);
    return throws_with<Error>(text, [&] { check(options, ranks); });
  };
  EXPECT_TRUE(refused([](auto& o) { o.basis = Precision::bf16; }, "basis in bf16: must be fp32"));
  EXPECT_TRUE(refused([](auto& o) { o.nx = 50; }, "the nearest is 48 or 56"));
  EXPECT_TRUE(
      refused([](auto& o) { o.ny = 7; },
              "ny = 7: four grid levels need a multiple of 8, at least 16; the nearest is 16"));
  EXPECT_TRUE(refused([](auto& o) { o.nz = -8; }, "nz = -8"));
  EXPECT_TRUE(refused([](auto& o) { o.nx = o.ny = o.nz = 1280; }, "2^31"));
  EXPECT_TRUE(refused([](auto& o) { o.grid = {2, 1, 1}; }, "process grid 2 x 1 x 1 for 1 ranks"));
  EXPECT_TRUE(refused([](auto&) {}, "ratio of 1 to 8", 11));
  EXPECT_TRUE(refused([](auto& o) { o.beta = 2; }, "beta = 2"));
  EXPECT_TRUE(refused([](auto& o) { o.restart = 0; }, "restart = 0"));
  EXPECT_TRUE(refused([](auto& o) { o.seconds = -1; }, "run time of -1"));
  EXPECT_TRUE(refused([](auto& o) { o.traced_iterations = -1; }, "iterations to trace: -1"));
  EXPECT_TRUE(refused(
      [](auto& o) {
        o.traced_iterations = 1;
        o.run = RunType::Validation;
      },
      "a trace is of a timed phase"));
  EXPECT_NO_THROW(check(HpgmxpOptions{}, 8));
}

TEST(Hpgmxp, EstimatesMoreThanTheMatrices) {
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 320;
  double const rows = 320.0 * 320 * 320;
  EXPECT_GT(static_cast<double>(estimate_bytes(options, 1)), 750 * rows);
  EXPECT_LT(static_cast<double>(estimate_bytes(options, 1)), 1250 * rows);
}

template <class Exec>
void expect_run(std::optional<Precision> basis) {
  auto const comm = test_ranks();
  if (comm.size() > 4) GTEST_SKIP() << "more ranks than a test machine has cores: minutes";
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.seconds = 0;
  options.validation_ranks = 3;
  options.matrix.colouring = ColouringMethod::Greedy;
  options.basis = basis;
  int phases = 0;
  options.progress = [&](std::string const&) { ++phases; };
  std::vector<double> residuals;
  options.on_validation_residual = [&](double residual) { residuals.push_back(residual); };
  std::vector<double> left;
  options.on_time_left = [&](double seconds) { left.push_back(seconds); };
  auto const result = run_hpgmxp(Exec(), comm, options);
  EXPECT_GE(phases, 5);
  EXPECT_EQ(result.colours, 8);
  ASSERT_EQ(result.levels.size(), 4u);
  EXPECT_EQ(result.levels[3].rows, 8 * comm.size());
  if (comm.rank() < 3) {
    ASSERT_TRUE(result.validation);
    EXPECT_TRUE(result.validation->passed());
    EXPECT_EQ(result.validation->ranks, std::min(3, comm.size()));
    EXPECT_LE(result.validation->penalty(), 1);
    auto const in_all = result.validation->fp64.iterations + result.validation->mixed.iterations;
    EXPECT_EQ(static_cast<std::int64_t>(residuals.size()), in_all);
    EXPECT_LE(residuals.back(), result.validation->tolerance);
  }
  ASSERT_TRUE(result.mixed && result.fp64);
  // Told of each iteration of the two warm-ups, which are as the solves, and before each of these.
  auto const warm_up = static_cast<std::size_t>(result.mixed->iterations);
  ASSERT_EQ(left.size(), warm_up + static_cast<std::size_t>(result.fp64->iterations) + 2);
  for (double const seconds : left) EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0);
  EXPECT_GT(left[warm_up], 0);
  EXPECT_EQ(result.fp64->values, Precision::fp64);
  EXPECT_EQ(result.mixed->scalars, Precision::fp32);
  EXPECT_EQ(result.mixed->basis, basis.value_or(Precision::fp32));
  EXPECT_LE(result.mixed->iterations, 330);
  for (auto const& phase : std::array{result.mixed, result.fp64})
    for (auto const motif : {Motif::Multiply, Motif::GaussSeidel, Motif::Restrict, Motif::Prolong,
                             Motif::Orthogonalise, Motif::Update})
      EXPECT_GT(phase->breakdown->slowest.seconds[motif], 0) << static_cast<int>(motif);
  EXPECT_EQ(Recorder::current(), nullptr);
  EXPECT_GT(result.flop_per_second(*result.mixed, FlopCount::Ornl), 0);
  EXPECT_LT(result.flop_per_second(*result.mixed, FlopCount::Ornl),
            result.flop_per_second(*result.mixed, FlopCount::Reference));
  EXPECT_GT(result.copy_bytes_per_second, 0);
  EXPECT_TRUE(result.speedup().has_value());
}

TEST(Hpgmxp, MotifSecondsAreThoseOfTheRegions) {
  Recorder::Clock::time_point const zero;
  auto const span = [&](std::string const& name, int seconds) {
    return RecordedSpan{"work", name, zero, zero + std::chrono::seconds(seconds)};
  };
  std::string const matrix = "strata::sparse::DistributedMatrix::";
  auto const seconds =
      motif_times(
          {span(matrix + "multiply", 1), span(matrix + "residual", 2),
           span(matrix + "gauss_seidel, from zero", 4), span(matrix + "gauss_seidel", 8),
           span("interior, block 3", 8), span("strata::sparse::GeometricMultigrid::level 1", 16),
           span("strata::sparse::add", 32), span("strata::sparse::KrylovBasis::combine", 64)})
          .seconds;
  EXPECT_EQ(seconds[Motif::Multiply], 3);
  EXPECT_EQ(seconds[Motif::GaussSeidel], 12);
  EXPECT_EQ(seconds[Motif::Update], 96);
  EXPECT_EQ(seconds.total(), 111);
}

// A wait belongs to the motif that it lies in, whichever was told first; one outside of them to
// none.
TEST(Hpgmxp, WaitingIsThatWithinAMotif) {
  Recorder::Clock::time_point const zero;
  auto const span = [&](std::string const& name, int from, int to) {
    return RecordedSpan{"work", name, zero + std::chrono::seconds(from),
                        zero + std::chrono::seconds(to)};
  };
  std::string const matrix = "strata::sparse::DistributedMatrix::";
  auto const times = motif_times({span(waiting_span, 12, 16), span(matrix + "multiply", 0, 10),
                                  span(waiting_span, 1, 2), span(waiting_span, 8, 10),
                                  span("strata::sparse::KrylovBasis::orthogonalise", 11, 20),
                                  span(waiting_span, 20, 24), span(matrix + "residual", 30, 31)});
  EXPECT_EQ(times.seconds[Motif::Multiply], 11);
  EXPECT_EQ(times.waiting[Motif::Multiply], 3);
  EXPECT_EQ(times.seconds[Motif::Orthogonalise], 9);
  EXPECT_EQ(times.waiting[Motif::Orthogonalise], 4);
  EXPECT_EQ(times.waiting.total(), 7);
}

// Of ranks that take equally long the one that waits least is the slowest.
TEST(Hpgmxp, TheSlowestRankIsTheOneThatComputesLongest) {
  auto const comm = test_ranks();
  int const last = comm.size() - 1;
  MotifTimes own;
  own.seconds[Motif::Multiply] = 5;
  own.seconds[Motif::Restrict] = 100;
  own.waiting[Motif::Multiply] = 4 - comm.rank();
  auto const found = breakdown_of(comm, own, 110 + comm.rank(), 30);
  EXPECT_EQ(found.rank, last);
  EXPECT_EQ(found.slowest.waiting[Motif::Multiply], 4 - last);
  EXPECT_EQ(found.slowest.seconds.total(), 105);
  EXPECT_EQ(found.most_waiting[Motif::Multiply], 4);
  EXPECT_DOUBLE_EQ(found.mean_waiting[Motif::Multiply], 4 - last / 2.0);
  EXPECT_EQ(found.seconds, 110 + last);
  EXPECT_EQ(found.iterations, 30);
}

TEST(Hpgmxp, IsInvalidIfATimedSolveBreaksOff) {
  HpgmxpResult result;
  result.mixed.emplace();
  result.mixed->solves = 2;
  result.mixed->solve_iterations = 330;
  result.mixed->iterations = 660;
  EXPECT_TRUE(result.mixed->completed());
  EXPECT_TRUE(result.passed());
  result.mixed->iterations = 500;
  EXPECT_FALSE(result.mixed->completed());
  EXPECT_FALSE(result.passed());
  result.mixed->iterations = 660;
  result.mixed->is_finite = false;
  EXPECT_FALSE(result.passed());
}

// By hand: no reward for a mixed solver that needs fewer.
TEST(Hpgmxp, ThePenaltyIsAtMostOne) {
  HpgmxpValidation validation;
  auto const penalty = [&](std::int64_t fp64, std::int64_t mixed) {
    validation.fp64.iterations = fp64;
    validation.mixed.iterations = mixed;
    return validation.penalty();
  };
  EXPECT_EQ(penalty(20, 10), 1);
  EXPECT_EQ(penalty(10, 10), 1);
  EXPECT_EQ(penalty(10, 20), 0.5);
  EXPECT_EQ(penalty(10, 11), 10.0 / 11);
  EXPECT_EQ(penalty(5, 0), 1);
}

HpgmxpPhase phase_of_fp32() {
  HpgmxpPhase phase{};
  phase.values = phase.scalars = phase.basis = Precision::fp32;
  return phase;
}

// A solve that breaks down spoils its phase, whatever comes after it and however many iterations it
// took.
TEST(Hpgmxp, APhaseCountsItsSolves) {
  HpgmxpPhase phase = phase_of_fp32();
  phase.solve_iterations = 300;
  KrylovReport report;
  report.iterations = 300;
  report.cycles = 10;
  report.seconds = 0.25;
  report.status = KrylovStatus::IterationLimit;
  phase.count(report);
  EXPECT_TRUE(phase.completed());
  report.status = KrylovStatus::Breakdown;
  phase.count(report);
  EXPECT_FALSE(phase.completed());
  report.status = KrylovStatus::IterationLimit;
  phase.count(report);
  EXPECT_FALSE(phase.is_finite || phase.completed());
  EXPECT_EQ(phase.solves, 3);
  EXPECT_EQ(phase.iterations, 900);
  EXPECT_EQ(phase.cycles, 30);
  EXPECT_EQ(phase.seconds, 0.75);
  EXPECT_NEAR(phase.ms_per_iteration(), 750.0 / 900, 1e-15);
}

// By hand: flops of the cycles that were done by the seconds, and times an iteration with the
// penalty.
TEST(Hpgmxp, RatesAndSpeedUpsAreThoseOfTheTimes) {
  HpgmxpResult result;
  result.levels = cube_levels(16);
  HpgmxpPhase phase = phase_of_fp32();
  phase.cycle_iterations = 30;
  phase.iterations = 660;
  phase.seconds = 2;
  for (auto const count : {FlopCount::Ornl, FlopCount::Reference})
    EXPECT_DOUBLE_EQ(result.flop_per_second(phase, count),
                     cycle_flops(result.levels, 30, count).total() * 22 / 2);
  EXPECT_FALSE(result.speedup());
  result.mixed = result.fp64 = phase;
  result.fp64->seconds = 6;
  EXPECT_DOUBLE_EQ(result.speedup().value(), 3);
  auto& validation = result.validation.emplace();
  validation.fp64.iterations = 10;
  validation.mixed.iterations = 20;
  EXPECT_DOUBLE_EQ(result.speedup().value(), 1.5);
  validation.mixed.status = validation.fp64.status = KrylovStatus::Converged;
  EXPECT_TRUE(validation.passed());
  validation.fp64.status = KrylovStatus::Breakdown;
  EXPECT_FALSE(validation.passed());
  validation.fp64.status = KrylovStatus::IterationLimit;
  validation.mixed.status = KrylovStatus::IterationLimit;
  EXPECT_FALSE(validation.passed());
}

/// However fast the solve that warms up was.
template <class Exec>
void expect_timed_for(double seconds) {
  auto const comm = test_ranks();
  if (comm.size() > 4) GTEST_SKIP() << "more ranks than a test machine has cores: minutes";
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.run = RunType::StandaloneMixed;
  options.seconds = seconds;
  auto const result = run_hpgmxp(Exec(), comm, options);
  EXPECT_GE(result.mixed->least_seconds, seconds);
  // Of the slowest rank and of the fastest, on all ranks alike; clocks of two ranks never agree to
  // the last bit.
  double const both[] = {result.mixed->seconds, result.mixed->least_seconds};
  for (double const of_all : both) {
    EXPECT_EQ(comm.max(of_all), of_all);
    EXPECT_EQ(-comm.max(-of_all), of_all);
  }
  if (comm.size() > 1)
    EXPECT_GT(result.mixed->seconds, result.mixed->least_seconds);
  else
    EXPECT_EQ(result.mixed->seconds, result.mixed->least_seconds);
  EXPECT_EQ(result.mixed->iterations, 330 * result.mixed->solves);
  EXPECT_EQ(comm.max(static_cast<double>(result.mixed->solves)), result.mixed->solves);
  EXPECT_GT(result.held_bytes, result.matrix_bytes);
  EXPECT_NEAR(result.columns.shared + result.columns.narrow + result.columns.wide, 1, 1e-12);
}

template <class Exec>
void expect_fullscale_takes_what_fp64_reached() {
  auto const comm = test_ranks();
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.run = RunType::Validation;
  options.validation = ValidationType::FullScale;
  options.max_iterations = 5;
  auto const result = run_hpgmxp(Exec(), comm, options);
  ASSERT_TRUE(result.validation);
  EXPECT_EQ(result.validation->ranks, comm.size());
  EXPECT_EQ(result.validation->fp64.iterations, 5);
  EXPECT_EQ(result.validation->tolerance, result.validation->fp64.relative_residual);
  EXPECT_LE(result.validation->mixed.relative_residual, result.validation->tolerance);
  EXPECT_FALSE(result.mixed || result.fp64);
}

// One rank is asked to end in the third timed solve of an hour: this one ends, and what is done by
// then is the result.
template <class Exec>
void expect_cut() {
  auto const comm = test_ranks();
  if (comm.size() > 4) GTEST_SKIP() << "more ranks than a test machine has cores: minutes";
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.seconds = 3600;
  bool asked = false;
  options.progress = [&](std::string const& phase) {
    asked = asked || (comm.rank() == comm.size() - 1 && phase.starts_with("mixed, solve 3,"));
  };
  options.ends = [&] { return asked; };
  auto const result = run_hpgmxp(Exec(), comm, options);
  EXPECT_TRUE(result.is_cut);
  EXPECT_TRUE(result.validation && result.validation->passed());
  ASSERT_TRUE(result.mixed);
  EXPECT_EQ(result.mixed->solves, 3);
  EXPECT_TRUE(result.mixed->completed());
  EXPECT_FALSE(result.mixed->breakdown);
  EXPECT_FALSE(result.fp64);
  EXPECT_GT(result.held_bytes, result.matrix_bytes);
}

// In the validation there is nothing to keep.
template <class Exec>
void expect_ended_in_the_validation() {
  auto const comm = test_ranks();
  HpgmxpOptions options;
  options.nx = options.ny = options.nz = 16;
  options.run = RunType::Validation;
  options.validation_ranks = 2;
  options.restart = 4;
  options.tolerance = 1e-14;  // more iterations than lie between two questions
  options.ends = [&] { return comm.rank() == 0; };
  EXPECT_TRUE(throws_with<Error>("the validation was ended after 32 iterations",
                                 [&] { (void)run_hpgmxp(Exec(), comm, options); }));
}

template <class Space>
struct HpgmxpRun : testing::Test {};
TYPED_TEST_SUITE(HpgmxpRun, Spaces, SpaceNames);
TYPED_TEST(HpgmxpRun, EndsBetweenTimedSolvesWhereARankIsAskedTo) { expect_cut<TypeParam>(); }
TYPED_TEST(HpgmxpRun, EndsInTheValidationWithAnErrorOfAll) {
  expect_ended_in_the_validation<TypeParam>();
}
TYPED_TEST(HpgmxpRun, ValidatesAndTimesBothSolvers) {
  expect_run<TypeParam>(std::nullopt);
  expect_run<TypeParam>(Precision::fp16);
}
TYPED_TEST(HpgmxpRun, TimesSolvesUntilTheTimeIsOver) { expect_timed_for<TypeParam>(0.4); }
TYPED_TEST(HpgmxpRun, FullScaleTakesWhatFp64Reached) {
  expect_fullscale_takes_what_fp64_reached<TypeParam>();
}

}  // namespace
