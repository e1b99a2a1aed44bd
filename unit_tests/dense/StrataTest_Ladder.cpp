// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The rungs, entry by entry.
#include <dense/detail/Strata_Ladder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using strata::dense::detail::ladder;
using P = strata::Precision;

struct Entry {
  Rung rung;
  LayerList layers;
  double shift;
};

void expect_ladder(LayerList const& layers, double shift, std::vector<Entry> const& expected) {
  auto const steps = ladder(layers, shift);
  ASSERT_EQ(steps.size(), expected.size()) << layers.name() << ", shift " << shift;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    SCOPED_TRACE(layers.name() + ", shift " + std::to_string(shift) + ", entry " +
                 std::to_string(k));
    EXPECT_EQ(steps[k].rung, expected[k].rung);
    EXPECT_EQ(steps[k].layers.name(), expected[k].layers.name());
    EXPECT_EQ(steps[k].shift, expected[k].shift);
    EXPECT_EQ(steps[k].leaf_solve, LeafSolve::Automatic);
  }
}

constexpr double u16 = 0x1p-11, u32 = 0x1p-24;

// A shift is of the layers that were asked for: those above the first begin without one.
TEST(Ladder, HasEachShiftOfEachLayersAndFp64Last) {
  LayerList const low{P::fp16, P::fp32}, single{P::fp32}, wide{P::fp64};
  LayerList const promoted = low.promoted();
  for (double const shift : {0.0, 0.01}) {
    std::vector<Entry> expected{{Rung::AsAsked, low, shift}};
    for (double const c : {2., 8., 32., 128.})
      if (c * u16 > shift) expected.push_back({Rung::Shifted, low, c * u16});
    for (LayerList layers = promoted; !layers.is_fp64(); layers = layers.promoted())
      for (double const c : {0., 2., 8., 32., 128.})
        expected.push_back({Rung::HigherLayers, layers, c * u32});
    expected.push_back({Rung::Fp64, wide, 0});
    ASSERT_EQ(promoted.unit_roundoff(), u32);
    expect_ladder(low, shift, expected);
  }
  expect_ladder(single, 3 * u32,
                {{Rung::AsAsked, single, 3 * u32},
                 {Rung::Shifted, single, 8 * u32},
                 {Rung::Shifted, single, 32 * u32},
                 {Rung::Shifted, single, 128 * u32},
                 {Rung::Fp64, wide, 0}});
}

// Shifts above 1/2 are none; fp64 that was asked for is as asked.
TEST(Ladder, HasNoShiftAboveOneHalf) {
  LayerList const tiny{P::fp8_e4m3};
  auto const steps = ladder(tiny, 0);
  std::size_t of_the_first = 0;
  for (auto const& step : steps) {
    EXPECT_LE(step.shift, 0.5);
    of_the_first += step.layers == tiny;
  }
  EXPECT_EQ(of_the_first, 3u);  // u is 2^-4: none, 1/8 and 1/2
  EXPECT_EQ(steps[2].shift, 0.5);
  expect_ladder({P::fp64}, 0, {{Rung::AsAsked, {P::fp64}, 0}});
  expect_ladder({P::fp64}, 0.1, {{Rung::AsAsked, {P::fp64}, 0.1}, {Rung::Fp64, {P::fp64}, 0}});
}

// Patience ends sooner where an iteration is products with many columns.
TEST(Ladder, HasFewerIterationsForManyColumns) {
  using strata::dense::detail::iterations_for;
  EXPECT_EQ(iterations_for(1, 40), 40);
  EXPECT_EQ(iterations_for(128, 40), 40);
  EXPECT_EQ(iterations_for(256, 40), 20);
  EXPECT_EQ(iterations_for(1024, 163), 20);
  EXPECT_EQ(iterations_for(1024, 40), 8);
  EXPECT_EQ(iterations_for(1024, 5), 5);
}

}  // namespace
