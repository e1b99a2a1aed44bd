// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The Fisher information of a covariance that several ranks hold, beside the same that one rank
// finds by itself.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_RandomSquares.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <geostat/Strata_FisherInformation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using strata::test::FailingAllocations;
using strata::test::RandomSquares;
using strata::test::test_ranks;
using strata::test::throws_with;

template <class Exec>
class FisherRanks : public testing::Test {};
TYPED_TEST_SUITE(FisherRanks, strata::test::Spaces, strata::test::SpaceNames);

constexpr MaternCovariance model{1, 0.1, 0.7, 0.05};

CovarianceFactorOptions shared(double accuracy, std::int64_t tile_size) {
  CovarianceFactorOptions options{ooc::PrecisionRule{accuracy}};
  options.tile_size = tile_size;
  options.devices = ooc::make_devices(1, std::size_t{1} << 24);
  options.storage = ooc::TileStorage::Host;
  options.comm = std::make_shared<Communicator const>(test_ranks());
  return options;
}

bool on_last() { return test_ranks().rank() == test_ranks().size() - 1; }
// How the text of what a rank has thrown begins.
std::string text_from(int rank) {
  return test_ranks().size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}
std::string from_last() { return text_from(test_ranks().size() - 1); }

// Of all ranks what rank 0 finds by itself, which costs as much as they do together.
template <class Exec>
FisherInformation of_rank_0(Locations const& at, CovarianceFactorOptions options,
                            FisherOptions const& how) {
  FisherInformation found;
  std::vector<double> numbers(17);
  if (test_ranks().rank() == 0) {
    options.comm = nullptr;
    options.grid = {0, 0};
    Exec const exec;
    CovarianceFactor<Exec> factor(exec, model, at, options);
    found = fisher_information(exec, factor, how);
    for (std::size_t k = 0; k < 16; ++k) numbers[k] = found.of[k / 4][k % 4];
    numbers[16] = found.backward_error;
  }
  test_ranks().broadcast(numbers, 0);
  for (std::size_t k = 0; k < 16; ++k) found.of[k / 4][k % 4] = numbers[k];
  found.backward_error = numbers[16];
  return found;
}

template <class Exec>
void has_the_bits_of_one_rank(std::int64_t n, CovarianceFactorOptions const& options,
                              FisherOptions const& how = {}) {
  SCOPED_TRACE(testing::Message() << n << " in tiles of " << options.tile_size);
  Exec const exec;
  Locations const at = synthetic_locations(n);
  CovarianceFactor<Exec> factor(exec, model, at, options);
  auto const mine = fisher_information(exec, factor, how),
             alone = of_rank_0<Exec>(at, options, how);
  EXPECT_EQ(mine.info, 0);
  EXPECT_TRUE(mine.solve_converged);
  EXPECT_EQ(mine.backward_error, alone.backward_error);
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t k = 0; k < 4; ++k) {
      if (how.wanted[j] && how.wanted[k])
        EXPECT_EQ(mine.of[j][k], alone.of[j][k]) << j << " " << k;
      else
        EXPECT_TRUE(std::isnan(mine.of[j][k])) << j << " " << k;
    }
}

// Three blocks of columns, of six squares; tiles of both sizes, of which the larger are fewer than
// ranks.
TYPED_TEST(FisherRanks, HasTheBitsOfOneRank) {
  has_the_bits_of_one_rank<TypeParam>(1030, shared(0, 128));
  has_the_bits_of_one_rank<TypeParam>(530, shared(0, 300), {.wanted = {true, true, false, true}});
  has_the_bits_of_one_rank<TypeParam>(40, shared(0, 16), {.wanted = {false, false, true, false}});
}

TYPED_TEST(FisherRanks, HasTheBitsOfOneRankWithLowTiles) {
  has_the_bits_of_one_rank<TypeParam>(530, shared(1e-4, 64));
}

TYPED_TEST(FisherRanks, HasTheBitsOfOneRankOnAnyGrid) {
  auto options = shared(0, 32);
  options.grid = {1, test_ranks().size()};
  has_the_bits_of_one_rank<TypeParam>(150, options);
}

// More ranks than squares, and fewer.
TYPED_TEST(FisherRanks, KeepSquaresWithTheBitsOfOneRank) {
  auto const ranks = test_ranks();
  for (std::int64_t const n : {1, 5, 9, 50}) {
    RandomSquares const some(n, 2);
    EXPECT_EQ(some.traces<TypeParam>(4, &ranks), some.traces<TypeParam>(4, nullptr)) << n;
  }
}

TEST(FisherRanksNeed, LessMemoryTheMoreTheyAre) {
  std::array<bool, 4> const range = {true, true, false, true};
  constexpr std::size_t square = 8 * 512 * 512;
  // Of 20 blocks one rank keeps 11 x 10 squares at most, six of them 19.
  EXPECT_EQ(fisher_bytes_needed(20 * 512, range), 110 * square);
  EXPECT_EQ(fisher_bytes_needed(20 * 512, range, 2), 55 * square);
  EXPECT_EQ(fisher_bytes_needed(20 * 512, range, 6), 19 * square);
  EXPECT_EQ(fisher_bytes_needed(20 * 512, {true, true, true, true}, 6), 2 * 19 * square);
  EXPECT_EQ(fisher_bytes_needed(20 * 512, range, 1000), 10 * square);  // 2048 n
  EXPECT_EQ(fisher_bytes_needed(100, range, 6), 80000u);
}

// --- what goes wrong ---

TYPED_TEST(FisherRanks, ThrowTogetherWhatOneThrows) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, model, synthetic_locations(100), shared(0, 16));
  int const ranks = test_ranks().size();
  std::string const each = ranks == 1 ? "" : " on each of " + std::to_string(ranks) + " ranks";
  EXPECT_TRUE(throws_with<MemoryError>(
      from_last() + "fisher_information: 160000 bytes are needed for 100 observations" + each +
          ", max_bytes is 159999",
      [&] {
        (void)fisher_information(exec, factor,
                                 {.max_bytes = on_last() ? std::size_t{159999} : 160000});
      }));
  bool const last = on_last();  // asked here: all ranks make the communicator
  for (char const* const label : {"kept", "columns", "sums", "host"}) {
    std::string const name = std::string("strata::geostat::fisher_information::") + label;
    FailingAllocations const failing(name, [&] { return last; });
    EXPECT_TRUE(throws_with<MemoryError>(from_last(), [&] {
      (void)fisher_information(exec, factor);
    })) << label;
    EXPECT_EQ(failing.failed(), last) << label;
  }
  EXPECT_TRUE(throws_with<IoError>(from_last() + "the log is full", [&] {
    (void)fisher_information(exec, factor, {.on_progress = [&](double) {
                               if (last) throw IoError("the log is full");
                             }});
  }));
  EXPECT_EQ(fisher_information(exec, factor).info, 0);  // and the factor is as it was
}

// A kernel's launch fails between the solves.
class FailingKernel {
 public:
  explicit FailingKernel(std::string label) : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    label_ = std::move(label);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](char const* name, std::uint32_t, std::uint64_t*) {
          if (std::string_view(name).find(label_) != std::string_view::npos)
            throw std::runtime_error("the device is lost");
        });
  }
  ~FailingKernel() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  FailingKernel(FailingKernel const&) = delete;
  FailingKernel& operator=(FailingKernel const&) = delete;

 private:
  inline static std::string label_;
  Kokkos::Tools::Experimental::EventSet saved_;
};

TYPED_TEST(FisherRanks, ThrowTogetherWhereAKernelOfOneFails) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, model, synthetic_locations(100), shared(0, 16));
  auto const fails_on = [&](int rank, std::string const& label) {
    FailingKernel const failing(test_ranks().rank() == rank ? "fisher_information::" + label
                                                            : "none");
    EXPECT_TRUE(throws_with<std::exception>(text_from(rank) + "the device is lost", [&] {
      (void)fisher_information(exec, factor);
    })) << label;
  };
  for (char const* const label : {"derivatives", "by_sigma2", "products"})
    fails_on(test_ranks().size() - 1, label);
  fails_on(0, "transpose");  // which has the one square
  EXPECT_EQ(fisher_information(exec, factor).info, 0);
}

TYPED_TEST(FisherRanks, SayTogetherThatItIsNotPositiveDefinite) {
  TypeParam const exec;
  CovarianceFactor<TypeParam> factor(exec, {1, 50, 4.5, 0}, synthetic_locations(100),
                                     shared(0, 16));
  auto const found = fisher_information(exec, factor);
  EXPECT_EQ(found.info, factor.info().order());
  EXPECT_GT(found.info, 0);
  EXPECT_TRUE(std::isnan(found.of[0][0]));
}

}  // namespace
