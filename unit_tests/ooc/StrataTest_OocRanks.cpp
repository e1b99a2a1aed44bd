// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in tiles that several ranks hold, beside the same one that each rank holds by itself.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_RankTiles.hpp"
#include <dense/tree/Strata_Layers.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <gtest/gtest.h>
#include <perf/ooc/Strata_SimulateRanks.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocRanks : public testing::Test {};
TYPED_TEST_SUITE(OocRanks, Spaces, SpaceNames);

PrecisionRule rule_of(double accuracy, std::vector<Precision> precisions) {
  PrecisionRule rule{accuracy};
  rule.precisions = std::move(precisions);
  return rule;
}

std::vector<MaternCase> cases() {
  return {{0, 8, 0.1, {}},
          {1, 8, 0.1, {}},
          {15, 8, 0.1, {}},  // two tile rows
          {61, 8, 0.1, {}},
          {200, 16, 0.02627, PrecisionRule{1e-5}},
          {100, 8, 0.05, rule_of(1e-6, {Precision::fp64, Precision::fp16_split, Precision::fp16})},
          {61, 8, 0.1, rule_of(1e-6, {Precision::fp64, Precision::fp32})},
          {100, 8, 0.05, layered("fp8_e4m3,fp16x2,fp32")},
          {200, 16, 0.1, layered("fp16x2,fp32")}};
}

TYPED_TEST(OocRanks, FillTheTilesOfOneRank) {
  for (auto const& c : cases()) {
    auto const whole = make<TypeParam>(c, nullptr);
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
      auto const mine = make<TypeParam>(c, all_ranks(), layout);
      expect_same_matrix(mine, whole);
      Communicator const comm = test_ranks();
      double bytes = static_cast<double>(mine.report().bytes);
      comm.sum({&bytes, 1});
      if (mine.super_panel() == 0 || !whole.map().is_mixed()) {
        EXPECT_EQ(bytes, static_cast<double>(whole.report().bytes));
      } else {  // sums of low tiles have room for fp32
        EXPECT_GE(bytes, static_cast<double>(whole.report().bytes));
        EXPECT_LE(bytes, static_cast<double>(TileMatrix<TypeParam>::bytes_needed(c.n, c.tile)));
      }
    }
  }
}

TYPED_TEST(OocRanks, RefuseAGridThatIsNotTheirs) {
  int const ranks = test_ranks().size();
  MaternCase const c{61, 8, 0.1, {}};
  auto const run = [&](Layout const& layout) {
    return [=] { (void)make<TypeParam>(c, all_ranks(), layout); };
  };
  std::string const there = " ranks, there are " + std::to_string(ranks);
  EXPECT_TRUE(throws_with<ValueError>("a grid of " + std::to_string(ranks + 1) + " x 1" + there,
                                      run({{ranks + 1, 1}, -1})));
  EXPECT_TRUE(throws_with<ValueError>("a grid of -1 x " + std::to_string(-ranks) + there,
                                      run({{-1, -ranks}, -1})));
  EXPECT_TRUE(
      throws_with<ValueError>("super-panels of -2 columns on a grid", run({{ranks, 1}, -2})));
  if (ranks > 1) {
    EXPECT_TRUE(throws_with<ValueError>(
        "super-panels of 0 columns on a grid of 1 x " + std::to_string(ranks),
        run({{1, ranks}, 0})));
  }
  CholeskyOptions options;
  options.column_block = 2;
  EXPECT_TRUE(throws_with<ValueError>(
      "cholesky: blocks of 2 columns for a matrix in super-panels of 3", [&] {
        (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, all_ranks(), {{0, 0}, 3}),
                       options);
      }));
}

// What the order says that is sent, and no more than its room; on paper as well.
void expect_messages_of(RankOrder const& order, MaternCase const& c, PrecisionMap const& map,
                        CholeskyReport const& report, bool counts_out) {
  int const rank = test_ranks().rank();
  auto const messages = messages_of(order, rank);
  EXPECT_EQ(report.bytes_sent, bytes_of(messages.sends, c.n, c.tile, map));
  EXPECT_EQ(report.bytes_received, bytes_of(messages.receives, c.n, c.tile, map));
  auto const simulated = study::simulate(order, c.n, c.tile, map, Rates{});
  auto const& mine = simulated.ranks[static_cast<std::size_t>(rank)];
  EXPECT_EQ(report.bytes_sent, mine.bytes_sent);
  EXPECT_EQ(report.bytes_received, mine.bytes_received);
  if (counts_out) {
    EXPECT_EQ(report.bytes_out(), mine.bytes_out);
  }
  EXPECT_LE(report.room_bytes, static_cast<std::size_t>(room_of(order, rank)) *
                                   ooc::tile_bytes(Precision::fp64, c.tile, c.tile));
}

template <class Exec>
void factors_to_the_same_bits(CholeskyOptions options, int devices, bool is_tight) {
  for (auto const& c : cases()) {
    auto const whole = cholesky(devices_of<Exec>(1), make<Exec>(c, nullptr));
    ASSERT_TRUE(whole.info().ok());
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
      auto matrix = make<Exec>(c, all_ranks(), layout);
      auto const super_panel = matrix.super_panel();
      if (super_panel > 0 && options.column_block > 1) continue;
      std::size_t const least =
          smallest_budget_bytes(c.n, c.tile, matrix.map(), std::max(1, options.streams));
      auto const factor =
          cholesky(devices_of<Exec>(devices, is_tight ? least : std::size_t{1} << 26),
                   std::move(matrix), options);
      ASSERT_TRUE(factor.info().ok());
      expect_same_matrix(factor.matrix(), whole.matrix());
      EXPECT_EQ(factor.log_determinant(), whole.log_determinant());
      auto const& report = factor.report();
      EXPECT_EQ(report.operand_excess, whole.report().operand_excess);
      RankGrid const grid{report.grid_rows, report.grid_cols};
      EXPECT_EQ(grid.ranks(), test_ranks().size());
      if (c.n == 0) continue;
      RankOrder const order{report.tiles,   grid,        devices,
                            report.streams, super_panel, report.column_block};
      bool const comes_home_once = super_panel == 0 || !is_tight;
      expect_messages_of(order, c, whole.matrix().map(), report,
                         options.variant == Variant::V4 && comes_home_once);
    }
  }
}
TYPED_TEST(OocRanks, FactorToTheBitsOfOneRank) {
  factors_to_the_same_bits<TypeParam>({}, 1, false);
}
TYPED_TEST(OocRanks, FactorToTheBitsOfOneRankOnManyDevicesAndStreams) {
  CholeskyOptions options;
  options.streams = 2;
  factors_to_the_same_bits<TypeParam>(options, 2, true);
  options.streams = 3;
  factors_to_the_same_bits<TypeParam>(options, 2, false);
}
TYPED_TEST(OocRanks, FactorToTheBitsOfOneRankWithAnyVariant) {
  for (Variant const variant :
       {Variant::Sync, Variant::Async, Variant::V1, Variant::V2, Variant::V3}) {
    CholeskyOptions options;
    options.streams = variant == Variant::Sync ? 1 : 2;
    options.variant = variant;
    factors_to_the_same_bits<TypeParam>(options, 1, true);
  }
}
TYPED_TEST(OocRanks, FactorToTheBitsOfOneRankInBlocksOfColumns) {
  CholeskyOptions options;
  options.streams = 3;
  for (std::int64_t const block : {std::int64_t{3}, std::numeric_limits<std::int64_t>::max()}) {
    options.column_block = block;
    factors_to_the_same_bits<TypeParam>(options, 1, false);
  }
  options.column_block = 3;
  options.variant = Variant::Sync;
  options.streams = 1;
  factors_to_the_same_bits<TypeParam>(options, 1, true);
}

// Each visit's sum of integers is rounded once, and visits go by super-panels.
template <class Exec>
void factors_by_integers(bool is_tight) {
  for (double const range : {0.1, 0.01}) {
    MaternCase const c{100, 8, range, rule_of(0, {Precision::int8x14})};
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(name_of(layout));
      auto matrix = make<Exec>(c, all_ranks(), layout);
      ASSERT_EQ(matrix.map().moduli(), 14);
      auto const whole =
          cholesky(devices_of<Exec>(1), make<Exec>(c, nullptr, {{1, 1}, matrix.super_panel()}));
      ASSERT_EQ(whole.matrix().super_panel(), matrix.super_panel());
      CholeskyOptions options;
      options.streams = 2;
      std::size_t const least = smallest_budget_bytes(c.n, c.tile, matrix.map(), options.streams);
      auto const factor = cholesky(devices_of<Exec>(2, is_tight ? least : std::size_t{1} << 26),
                                   std::move(matrix), options);
      ASSERT_TRUE(factor.info().ok() && whole.info().ok());
      expect_same_matrix(factor.matrix(), whole.matrix());
      EXPECT_EQ(factor.log_determinant(), whole.log_determinant());
    }
  }
}
TYPED_TEST(OocRanks, FactorByIntegersToTheBitsOfOneRankWithTheirSuperPanels) {
  for (bool const is_tight : {false, true}) factors_by_integers<TypeParam>(is_tight);
}

/// Where two lists of numbers differ in a bit.
testing::AssertionResult same_numbers(std::vector<double> const& some,
                                      std::vector<double> const& others) {
  if (some.size() != others.size()) return testing::AssertionFailure() << "sizes differ";
  std::size_t differ = 0, first = 0;
  for (std::size_t i = some.size(); i-- > 0;)
    if (std::memcmp(&some[i], &others[i], sizeof(double)) != 0) {
      first = i;
      ++differ;
    }
  if (differ == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << differ << " of " << some.size() << " differ, the first is number " << first << ": "
         << some[first] << " and " << others[first] << ", by " << some[first] - others[first];
}

template <class Exec>
void solves_to_the_same_bits(MaternCase const& c, Layout const& layout) {
  using Block = typename TileFactor<Exec>::Block;
  Exec const exec;
  auto whole = cholesky(devices_of<Exec>(1), make<Exec>(c, nullptr));
  int const devices = test_ranks().size() == 1 ? 1 : 2;  // whose sums have an order of their own
  auto factor = cholesky(devices_of<Exec>(devices), make<Exec>(c, all_ranks(), layout));
  HostMatrix const B("strata::test::B", static_cast<std::size_t>(c.n), 3);
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t i = 0; i < B.extent(0); ++i)
      B(i, j) = std::sin(static_cast<double>(1 + i * 3 + j));
  auto const on_host = [](auto const& V) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
  };
  auto const run = [&](TileFactor<Exec>& with, auto const& step) {
    Block const V("strata::test::V", B.extent(0), 3);
    Kokkos::deep_copy(V, B);
    step(with, V);
    auto const copy = on_host(V);
    return std::vector<double>(copy.data(), copy.data() + copy.size());
  };
  expect_same_matrix(factor.matrix(), whole.matrix());
  auto const expect_same = [&](char const* name, auto const& step) {
    EXPECT_TRUE(same_numbers(run(factor, step), run(whole, step))) << name;
  };
  expect_same("forwards",
              [&](auto& with, Block const& V) { with.half_solve(exec, Op::NoTrans, V); });
  expect_same("backwards",
              [&](auto& with, Block const& V) { with.half_solve(exec, Op::Trans, V); });
  expect_same("from a row on", [&](auto& with, Block const& V) {
    std::pair const above(std::int64_t{0}, c.n / 2);
    Kokkos::deep_copy(Kokkos::subview(V, above, Kokkos::ALL), 0.0);
    with.half_solve(exec, Op::NoTrans, V, c.n / 2);
    with.half_solve(exec, Op::Trans, V, c.n / 2);
    Kokkos::deep_copy(Kokkos::subview(V, above, Kokkos::ALL), 0.0);
  });
  expect_same("product", [&](auto& with, Block const& V) {
    Block const X("strata::test::X", V.extent(0), V.extent(1));
    Kokkos::deep_copy(X, V);
    with.apply(exec, X, V);
  });
  expect_same("solve", [&](auto& with, Block const& V) {
    auto const report = with.solve(exec, V, V);
    EXPECT_TRUE(report.converged);
  });
  if (c.n < 2) return;
  auto const mine = factor.log_determinant(exec, dense::LogDeterminantOptions{});
  auto const theirs = whole.log_determinant(exec, dense::LogDeterminantOptions{});
  EXPECT_EQ(mine.value, theirs.value);
  EXPECT_EQ(mine.rounding_error, theirs.rounding_error);
  EXPECT_EQ(factor.rounding_error(exec), whole.rounding_error(exec));
}
TYPED_TEST(OocRanks, SolveToTheBitsOfOneRank) {
  for (auto const& c : cases())
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
      solves_to_the_same_bits<TypeParam>(c, layout);
    }
}

// Together the ranks of a column evaluate no more than one rank does. They evaluate the diagonal
// for the scales, all tiles for the norms, rounded tiles once more, and all tiles for a product.
TYPED_TEST(OocRanks, EvaluateEachTileOnce) {
  using Block = typename TileFactor<TypeParam>::Block;
  TypeParam const exec;
  constexpr std::int64_t n = 130, tile_size = 8, tiles = 17, all = tiles * (tiles + 1) / 2;
  std::atomic<int> evaluations = 0;
  auto const good = dominant_tiles<TypeParam>(n, 3);
  TileGenerator<TypeParam> const counted = [&](TypeParam const& on, std::int64_t row,
                                               std::int64_t col, TileView<TypeParam> const& tile) {
    ++evaluations;
    good(on, row, col, tile);
  };
  auto const evaluations_of = [&](auto const& call) {
    evaluations = 0;
    call();
    double sum = evaluations;
    test_ranks().sum({&sum, 1});
    return static_cast<std::int64_t>(sum);
  };
  for (double const accuracy : {0.0, 1e-4}) {
    auto const make_tiles = [&](std::shared_ptr<Communicator const> comm) {
      TileMatrixOptions options;
      options.rule.accuracy = accuracy;
      if (comm) options.grid = {comm->size(), 1};
      options.comm = std::move(comm);
      return TileMatrix<TypeParam>::generate(exec, n, tile_size, counted, options);
    };
    std::optional<TileMatrix<TypeParam>> matrix;
    EXPECT_EQ(evaluations_of([&] { matrix.emplace(make_tiles(all_ranks())); }),
              tiles + (accuracy > 0 ? 2 : 1) * all);
    auto const mine = cholesky(devices_of<TypeParam>(1), std::move(*matrix)),
               whole = cholesky(devices_of<TypeParam>(1), make_tiles(nullptr));
    for (std::size_t const cols : {1, 3}) {
      Block const X("strata::test::X", n, cols), Y("strata::test::Y", n, cols),
          expected("strata::test::expected", n, cols);
      Kokkos::deep_copy(X, 0.7);
      whole.apply(exec, X, expected);
      EXPECT_EQ(evaluations_of([&] { mine.apply(exec, X, Y); }), all);
      auto const numbers = [](Block const& V) {
        auto const copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
        return std::vector<double>(copy.data(), copy.data() + copy.size());
      };
      EXPECT_TRUE(same_numbers(numbers(Y), numbers(expected))) << cols;
    }
  }
}

// Where no budget is given a device has memory for the tiles of its rank and what others send at a
// time, not for all.
TYPED_TEST(OocRanks, TakeNoMemoryForTilesThatTheyDoNotNeed) {
  MaternCase const c{400, 8, 0.1, {}};
  int const rank = test_ranks().rank();
  for (Layout const& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    auto matrix = make<TypeParam>(c, all_ranks(), layout);
    CholeskyOptions options;
    options.streams = 2;
    auto const factor = cholesky(devices_of<TypeParam>(1), std::move(matrix), options);
    auto const& report = factor.report();
    RankGrid const grid{report.grid_rows, report.grid_cols};
    RankOrder const order{report.tiles, grid, 1, 2, report.super_panel, report.column_block};
    std::int64_t own = 0;
    for (std::int64_t j = 0; j < report.tiles; ++j)
      for (std::int64_t i = j; i < report.tiles; ++i) own += order.owner(i, j) == rank;
    auto const tiles = static_cast<std::size_t>(own + room_of(order, rank)) + 2 * 3;
    EXPECT_LE(report.devices.front().budget_bytes,
              tiles * ooc::tile_bytes(Precision::fp64, c.tile, c.tile));
  }
}

// The memory that others' tiles arrive in stays with the matrix, over the rungs of a ladder and
// over matrices.
TYPED_TEST(OocRanks, KeepTheMemoryForTilesOfOthers) {
  MaternCase const c{192, 16, 0.3, PrecisionRule{1e-2}, 3.5};
  DeviceTeam<TypeParam> const team(devices_of<TypeParam>(1));
  for (Layout const& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    auto const of_others = [](Allocations const& allocations) {
      return allocations.labels().count("strata::ooc::tile_matrix::others");
    };
    auto matrix = make<TypeParam>(c, all_ranks(), layout);
    Allocations const first;
    auto factor = cholesky(team, std::move(matrix));
    EXPECT_GT(factor.report().attempts.size(), 1u);
    // It grows where the ladder makes tiles wider.
    if (factor.report().room_bytes > 0) {
      EXPECT_GE(of_others(first), 1U);
      EXPECT_LE(of_others(first), factor.report().attempts.size());
    } else {
      EXPECT_EQ(of_others(first), 0U);
    }
    matrix = std::move(factor).take();
    TileMatrixOptions options(c.rule);
    options.comm = all_ranks();
    options.grid = layout.grid;
    options.super_panel = layout.super_panel;
    auto const field =
        matern_tiles(TypeParam(), MaternCovariance{1, c.range, c.nu, 0}, synthetic_locations(c.n));
    matrix.refill(TypeParam(), field, options);
    Allocations const second;
    factor = cholesky(team, std::move(matrix));
    EXPECT_EQ(of_others(second), 0U);
  }
}

// A smooth field in coarse tiles, which break down until they are in fp64.
TYPED_TEST(OocRanks, ClimbTheLadderTogether) {
  MaternCase const c{192, 16, 0.3, PrecisionRule{1e-2}, 3.5};
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
  for (Layout const& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    auto const factor = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, all_ranks(), layout));
    ASSERT_EQ(factor.info().ok(), whole.info().ok());
    ASSERT_EQ(factor.report().attempts.size(), whole.report().attempts.size());
    EXPECT_GT(factor.report().attempts.size(), 1u);
    for (std::size_t a = 0; a < factor.report().attempts.size(); ++a)
      EXPECT_EQ(factor.report().attempts[a].info, whole.report().attempts[a].info);
    if (factor.info().ok()) expect_same_matrix(factor.matrix(), whole.matrix());
  }
}

// --- what goes wrong ---

template <class Exec>
TileMatrix<Exec> of_view(HostMatrix const& A, std::int64_t tile,
                         std::shared_ptr<Communicator const> comm, Layout const& layout = {}) {
  TileMatrixOptions options;
  options.comm = std::move(comm);
  options.grid = layout.grid;
  options.super_panel = layout.super_panel;
  return TileMatrix<Exec>::from_view(Exec(), on_space<Exec>(A), tile, options);
}

TYPED_TEST(OocRanks, ReportTheSameMinorWhereverItIs) {
  for (std::int64_t const bad : {0, 7, 8, 30, 40, 49}) {
    SCOPED_TRACE(bad);
    auto const A = matern_matrix(50, 0.1);
    A(static_cast<std::size_t>(bad), static_cast<std::size_t>(bad)) = -0.5;
    auto const whole = cholesky(devices_of<TypeParam>(1), of_view<TypeParam>(A, 8, nullptr));
    for (Layout const& layout : layouts()) {
      SCOPED_TRACE(name_of(layout));
      auto const factor =
          cholesky(devices_of<TypeParam>(1), of_view<TypeParam>(A, 8, all_ranks(), layout));
      EXPECT_FALSE(factor.info().ok());
      EXPECT_EQ(factor.info().order(), whole.info().order());
    }
  }
}

// Rows that are scaled, so that D is not 1.
TYPED_TEST(OocRanks, FillTilesOfAViewThatIsScaled) {
  auto const A = matern_matrix(61, 0.1, 4);
  for (Layout const& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    auto const mine = of_view<TypeParam>(A, 8, all_ranks(), layout);
    EXPECT_GT(mine.device_scaling().extent(0), 0u);
    expect_same_matrix(mine, of_view<TypeParam>(A, 8, nullptr));
  }
}

TYPED_TEST(OocRanks, ThrowWhatASourceThrowsOnOne) {
  auto const comm = all_ranks();
  int const last = std::min(comm->size(), 7) - 1;  // that has tiles
  TileMatrixOptions options;
  options.comm = comm;
  auto const fill = [&](PrecisionRule const& rule, int calls) {
    auto const good = dominant_tiles<TypeParam>(50, 3);
    auto const count = std::make_shared<int>(0);
    options.rule = rule;
    (void)TileMatrix<TypeParam>::generate(
        TypeParam(), 50, 8,
        [=](TypeParam const& exec, std::int64_t row, std::int64_t col,
            TileView<TypeParam> const& tile) {
          if (comm->rank() == last && ++*count == calls) throw IoError("the file is gone");
          good(exec, row, col, tile);
        },
        options);
  };
  for (int const calls : {1, 4}) {
    EXPECT_TRUE(throws_with<IoError>(from(*comm, last) + "the file is gone",
                                     [&] { fill(PrecisionRule{}, calls); }));
    EXPECT_TRUE(throws_with<IoError>(from(*comm, last) + "the file is gone",
                                     [&] { fill(PrecisionRule{1e-6}, calls); }));
  }
}

TYPED_TEST(OocRanks, RefuseANumberThatIsNotFinite) {
  auto const comm = all_ranks();
  TileMatrixOptions options;
  options.comm = comm;
  for (double const bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    auto const A = matern_matrix(30, 0.1);
    A(20, 20) = bad;
    EXPECT_TRUE(throws_with<ValueError>(
        from(*comm, 0) + "tile matrix: the tile of rows 17 to 24 and columns 17 to 24 holds",
        [&] { (void)of_view<TypeParam>(A, 8, comm); }));
  }
}

template <class Exec, class Thrown>
void throws_together(Thrown const& thrown, std::string const& text, Layout const& layout) {
  SCOPED_TRACE(name_of(layout));
  auto const comm = all_ranks();
  Layout const where = of_ranks(comm->size(), layout);
  for (int rank = 0; rank < comm->size(); ++rank) {
    for (std::int64_t const col : {0, 2, 6}) {
      SCOPED_TRACE(std::to_string(rank) + " in column " + std::to_string(col));
      CholeskyOptions options;
      options.streams = 2;
      bool has_tile = false;
      for (std::int64_t row = col; row < 7; ++row) has_tile |= owner_in(where, 7, row, col) == rank;
      options.on_task = [&, rank](Task const& task) {
        if (comm->rank() == rank && task.col == col) thrown();
      };
      MaternCase const c{56, 8, 0.1, {}};
      auto const run = [&] {
        (void)cholesky(devices_of<Exec>(1), make<Exec>(c, comm, layout), options);
      };
      if (has_tile) {
        EXPECT_TRUE(throws_with<Error>(from(*comm, rank) + text, run));
      } else {
        run();
      }
    }
  }
  // and nothing is left behind
  auto const factor = cholesky(devices_of<Exec>(1), make<Exec>({56, 8, 0.1, {}}, comm, layout));
  EXPECT_TRUE(factor.info().ok());
}
TYPED_TEST(OocRanks, ThrowWhatAStreamThrowsOnOne) {
  for (Layout const& layout : layouts())
    throws_together<TypeParam>([] { throw IoError("a cable was pulled"); }, "a cable was pulled",
                               layout);
}

TYPED_TEST(OocRanks, ThrowWhereOneHasNoMemory) {
  auto const comm = all_ranks();
  int const last = std::min(comm->size(), 7) - 1;  // that has tiles
  auto const least = smallest_budget_bytes(50, 8, PrecisionMap(7), 1);
  CholeskyOptions options;
  options.streams = 1;
  EXPECT_TRUE(throws_with<MemoryError>(
      from(*comm, last) + "cholesky: device 0 has a budget of " + std::to_string(least - 1), [&] {
        (void)cholesky(devices_of<TypeParam>(1, comm->rank() == last ? least - 1 : least),
                       make<TypeParam>({50, 8, 0.1, {}}, comm), options);
      }));
  options.on_task = [&](Task const& /*task*/) {
    if (comm->rank() == last) throw std::bad_alloc();
  };
  EXPECT_ANY_THROW(
      (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>({50, 8, 0.1, {}}, comm), options));
}

}  // namespace
