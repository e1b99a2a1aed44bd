// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Memory that can't be had and kernels that fail, wherever that is: an error with its cause, all
// threads ended, and objects that work or refuse in words.
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace {

// Of this program's `new`, those of at least so many bytes are counted: labels and nodes, which a
// system that has nothing left still has, are not.
[[maybe_unused]] constexpr std::size_t smallest_counted = 128;
std::atomic<std::int64_t> news_left{0};  // until one fails; 0: none will

// One of several threads takes the last and leaves 0, whoever comes at the same time.
[[maybe_unused]] bool is_the_last_new() {
  std::int64_t left = news_left;
  while (left > 0)
    if (news_left.compare_exchange_weak(left, left - 1)) return left == 1;
  return false;
}

}  // namespace

// On devices, for which a compiler may take this too, nobody calls it. Not inlined, as those below.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  KOKKOS_IF_ON_HOST((if (bytes >= smallest_counted && is_the_last_new()) throw std::bad_alloc();
                     void* const memory = std::malloc(bytes > 0 ? bytes : 1);
                     if (memory == nullptr) throw std::bad_alloc(); return memory;))
  KOKKOS_IF_ON_DEVICE(((void)bytes; return nullptr;))
}
// Sorts that go without do not tell: these do not fail, and are here since sanitizers have their
// own.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return std::malloc(bytes > 0 ? bytes : 1);
}
// Not inlined: GCC sees no std::malloc in a `new` that it calls, and warns of this std::free.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::geostat;
using namespace strata::test;

template <class Exec>
class OocFaults : public testing::Test {};
TYPED_TEST_SUITE(OocFaults, Spaces, SpaceNames);

constexpr std::int64_t order = 64, tile = 16;

// What is done, and what it gives where nothing fails.
template <class Exec>
class Run {
 public:
  using Block = typename TileFactor<Exec>::Block;

  Run(int devices, PrecisionRule const& rule, Variant variant, double nu = 0.5,
      TileStorage storage = TileStorage::Host)
      : team_(devices_of<Exec>(devices)),
        options_(rule),
        generator_(
            matern_tiles(exec_, MaternCovariance{1, 0.3, nu, 0}, synthetic_locations(order))),
        B_(on_space<Exec>(known_solution(order, 2, 3))),
        X_("strata::test::X", order, 2) {
    options_.anywhere = true;
    options_.storage = storage;
    options_.devices = team_.devices();
    cholesky_.variant = variant;
    cholesky_.streams = 2;
    generate();
    factor();
    factor_bits_ = stored_matrix(factor_->matrix());
    rung_ = factor_->report().rung;
    solve();
    Kokkos::deep_copy(x_bits_, X_);
    forget();
  }

  void generate() {
    matrix_.emplace(TileMatrix<Exec>::generate(exec_, order, tile, generator_, options_));
  }
  void factor() { factor_.emplace(cholesky(team_, std::move(*matrix_), cholesky_)); }
  void solve() {
    EXPECT_TRUE(factor_->solve(exec_, B_, X_).converged);
    log_determinant_ = factor_->log_determinant(exec_, few_).value;
  }
  // By a team that has nothing; `goes_on` takes it as a failure has left it.
  void all() {
    team_.release();
    generate();
    factor();
    solve();
  }
  // What is there works, or refuses in words, and can be filled again.
  void goes_on() {
    if (!matrix_) generate();
    if (!factor_) {
      if (!matrix_->is_filled()) {
        EXPECT_TRUE(throws_with<ValueError>("fill it again", [&] { factor(); }));
        matrix_->refill(exec_, generator_, options_);
      }
      factor();
    }
    ASSERT_TRUE(factor_->info().ok());
    EXPECT_TRUE(same_bits(stored_matrix(factor_->matrix()), factor_bits_));
    EXPECT_EQ(factor_->report().rung, rung_);
    solve();
    HostMatrix const x("strata::test::x", order, 2);
    Kokkos::deep_copy(x, X_);
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < order; ++i) ASSERT_EQ(x(i, c), x_bits_(i, c));
    forget();
  }
  void forget() {
    matrix_.reset();
    factor_.reset();
  }
  Rung rung() const { return rung_; }

 private:
  Exec exec_;
  DeviceTeam<Exec> team_;
  TileMatrixOptions options_;
  CholeskyOptions cholesky_;
  dense::LogDeterminantOptions few_{.probes = 2, .steps = 3};
  TileGenerator<Exec> generator_;
  Block B_, X_;
  std::optional<TileMatrix<Exec>> matrix_;
  std::optional<TileFactor<Exec>> factor_;
  HostMatrix factor_bits_, x_bits_{"strata::test::x", order, 2};
  double log_determinant_ = 0;
  Rung rung_ = Rung::AsAsked;
};

// The k-th allocation of Kokkos fails, for every k.
template <class Exec>
void survives_failing_allocations(Run<Exec>& run) {
  auto const count = fail_each_allocation([&](FailingAllocations& failing) {
    try {
      run.all();
    } catch (MemoryError const& error) {
      EXPECT_TRUE(failing.failed());
      EXPECT_NE(std::string(error.what()).find("made to fail"), std::string::npos) << error.what();
    }
    failing.relent();
    run.goes_on();
  });
  EXPECT_GT(count, 20);
}

TYPED_TEST(OocFaults, AnyAllocationMayFailOnOneDevice) {
  Run<TypeParam> run(1, {}, Variant::V4);
  survives_failing_allocations(run);
}
TYPED_TEST(OocFaults, AnyAllocationMayFailOnSeveralDevices) {
  Run<TypeParam> run(2, PrecisionRule{1e-5}, Variant::Async);
  survives_failing_allocations(run);
}
TYPED_TEST(OocFaults, AnyAllocationMayFailInAClimb) {
  Run<TypeParam> run(2, PrecisionRule{1e-2}, Variant::V3, 2.5);
  EXPECT_NE(run.rung(), Rung::AsAsked);
  survives_failing_allocations(run);
}

// Of tiles in the devices' memory; those that may go to the host have the same bits there.
TYPED_TEST(OocFaults, AnyAllocationMayFailWhereDevicesHoldTheTiles) {
  for (TileStorage const storage : {TileStorage::Devices, TileStorage::Automatic}) {
    SCOPED_TRACE(name_of(storage));
    Run<TypeParam> run(2, PrecisionRule{1e-5}, Variant::V4, 0.5, storage);
    survives_failing_allocations(run);
  }
}
TYPED_TEST(OocFaults, AnyAllocationMayFailInAClimbOnDevices) {
  Run<TypeParam> run(2, PrecisionRule{1e-2}, Variant::V4, 2.5, TileStorage::Automatic);
  EXPECT_NE(run.rung(), Rung::AsAsked);
  survives_failing_allocations(run);
}

// While it lives, no tool listens: it takes its memory from this program's `new`, in destructors of
// Views too, which must not throw.
class WithoutTools {
 public:
  WithoutTools() { Kokkos::Tools::Experimental::pause_tools(); }
  ~WithoutTools() { Kokkos::Tools::Experimental::resume_tools(); }
  WithoutTools(WithoutTools const&) = delete;
  WithoutTools& operator=(WithoutTools const&) = delete;
};

// So does any of a size of the host's own.
TYPED_TEST(OocFaults, AnyHostAllocationMayFail) {
  if (!std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>)
    GTEST_SKIP() << "a device's libraries take theirs from this program, too";
  WithoutTools const quiet;
  for (auto const& [devices, storage] :
       {std::pair(1, TileStorage::Host), std::pair(2, TileStorage::Host),
        std::pair(2, TileStorage::Devices)}) {
    Run<TypeParam> run(devices, PrecisionRule{1e-5}, Variant::V4, 0.5, storage);
    std::int64_t count = 0;
    for (bool failed = true; failed; count += failed) {
      std::string error;
      news_left = count + 1;
      try {
        run.all();
      } catch (MemoryError const& memory) {
        error = memory.what();
      }
      failed = news_left.exchange(0) == 0;
      // What reads how much memory is free does without a buffer, and takes all for free.
      EXPECT_TRUE(failed || error.empty()) << "allocation " << count << ": " << error;
      run.goes_on();
    }
    EXPECT_GT(count, 20);
  }
}

// While it lives, the k-th kernel does not start, as where a device reports an error.
class FailingKernels {
 public:
  explicit FailingKernels(std::int64_t k) : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    left_ = k;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](char const* name, std::uint32_t, std::uint64_t*) {
          if (!std::string_view(name).starts_with("strata::")) return;
          if (--left_ == 0) throw VendorError(std::string("made to fail: ") + name);
        });
  }
  ~FailingKernels() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  FailingKernels(FailingKernels const&) = delete;
  FailingKernels& operator=(FailingKernels const&) = delete;
  bool failed() const { return left_ <= 0; }
  void relent() { left_ = std::int64_t(1) << 60; }

 private:
  inline static std::atomic<std::int64_t> left_ = 0;
  Kokkos::Tools::Experimental::EventSet saved_;
};

// The k-th kernel fails: all threads end, with its error.
template <class Exec>
void survives_failing_kernels(TileStorage storage) {
  Run<Exec> run(3, PrecisionRule{1e-5}, Variant::V4, 0.5, storage);
  std::int64_t count = 0;
  for (bool failed = true; failed; count += failed) {
    FailingKernels failing(count + 1);
    bool caught = false;
    try {
      run.all();
    } catch (VendorError const& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 22), "made to fail: strata::");
      caught = true;
    }
    failed = failing.failed();
    EXPECT_EQ(caught, failed);
    failing.relent();
    run.goes_on();
    if (failed) count += count / 20;  // all of the first ones, then some
  }
  EXPECT_GT(count, 100);
}
TYPED_TEST(OocFaults, AnyKernelMayFail) {
  for (TileStorage const storage : {TileStorage::Host, TileStorage::Devices}) {
    SCOPED_TRACE(name_of(storage));
    survives_failing_kernels<TypeParam>(storage);
  }
}

}  // namespace
