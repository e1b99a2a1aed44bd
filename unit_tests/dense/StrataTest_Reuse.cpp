// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a factor that is used again allocates, waits for and launches, and that nothing of the last
// matrix is left in it.
#include "StrataTest_Allocations.hpp"
#include "StrataTest_Dense.hpp"
#include "StrataTest_FailingAllocations.hpp"
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using P = strata::Precision;

template <class Space>
class ReuseOn : public testing::Test {};
TYPED_TEST_SUITE(ReuseOn, Spaces, SpaceNames);

// While it lives, what Kokkos allocates, launches and waits for.
class Counts {
 public:
  Counts() : saved_(Kokkos::Tools::Experimental::get_callbacks()) {
    clear();
    using namespace Kokkos::Tools::Experimental;
    auto const kernel = [](char const* name, std::uint32_t, std::uint64_t*) {
      launched.insert(name);
    };
    set_begin_parallel_for_callback(kernel);
    set_begin_parallel_reduce_callback(kernel);
    set_begin_fence_callback([](char const* name, std::uint32_t, std::uint64_t*) {
      if (std::string(name).find("Profile Tool Fence") == std::string::npos) fenced.insert(name);
    });
  }
  ~Counts() { Kokkos::Tools::Experimental::set_callbacks(saved_); }
  Counts(Counts const&) = delete;
  Counts& operator=(Counts const&) = delete;

  static void clear() {
    Allocations::clear();
    launched.clear(), fenced.clear();
  }
  /// For the reader of a test that fails, and of its XML.
  static void record(std::string const& what) {
    testing::Test::RecordProperty(what + "_allocations",
                                  static_cast<int>(Allocations::labels().size()));
    testing::Test::RecordProperty(what + "_kernels", static_cast<int>(launched.size()));
    testing::Test::RecordProperty(what + "_fences", static_cast<int>(fenced.size()));
  }
  // Of Strata's own: what Kokkos calls its own differs by backend.
  static std::size_t strata_fences() {
    return static_cast<std::size_t>(std::count_if(
        fenced.begin(), fenced.end(), [](auto const& name) { return name.starts_with("strata"); }));
  }

  inline static std::multiset<std::string> launched, fenced;

 private:
  Kokkos::Tools::Experimental::EventSet saved_;
  Allocations allocations_;
};

std::multiset<std::string> const none;

HostMatrix random_geometric(std::int64_t n, std::uint64_t seed) {
  GeneratorOptions options;
  options.condition = 1e4;
  options.seed = seed;
  return generate(MatrixKind::Geometric, n, options);
}

TYPED_TEST(ReuseOn, ASecondSolveAllocatesNothingAndGivesTheSameBits) {
  TypeParam const exec;
  for (auto const& [n, layers] :
       {std::pair(256, LayerList{P::fp64}), std::pair(200, LayerList{P::fp32})}) {
    auto const A = on_device<TypeParam>(random_geometric(n, 1));
    auto const B = on_device<TypeParam>(random_matrix(n, 1, 3)),
               X = on_device<TypeParam>(random_matrix(n, 1, 4)),
               Y = on_device<TypeParam>(random_matrix(n, 1, 5));
    auto factor = cholesky(exec, A, layers);
    Counts const counts;
    EXPECT_TRUE(factor.solve(exec, B, X).converged);
    Counts::record(layers.name() + "_first_solve");
    Counts::clear();
    EXPECT_TRUE(factor.solve(exec, B, Y).converged);
    Counts::record(layers.name() + "_second_solve");
    if (layers.is_fp64()) {
      EXPECT_EQ(Allocations::labels(), none);
      // On a GPU both substitutions may be two kernels of Strata's, and a product two, where a
      // vendor's are not counted.
      EXPECT_LE(Counts::launched.size(), strata::runs_on_host<TypeParam> ? 4U : 8U);
      EXPECT_EQ(Counts::strata_fences(), 1U);
      if (strata::runs_on_host<TypeParam>) {
        EXPECT_EQ(Counts::fenced.size(), 1U);  // Kokkos' too
      }
    }
    EXPECT_EQ(largest_difference(on_host(X), on_host(Y)), 0);
  }
}

// A small order is quick to factor and to solve with, beside which memory is not quick to come and
// to go.
TYPED_TEST(ReuseOn, AFactorAndASolveOfASmallOrderAllocateLittle) {
  TypeParam const exec;
  for (auto const& [layers, most] :
       {std::pair(LayerList{P::fp64}, 4U), std::pair(LayerList{P::fp32}, 5U)}) {
    if (!strata::runs_on_host<TypeParam> && !layers.is_fp64()) continue;  // with an inverse
    auto const A = on_device<TypeParam>(random_geometric(48, 1));
    auto const B = on_device<TypeParam>(random_matrix(48, 1, 3)),
               X = on_device<TypeParam>(random_matrix(48, 1, 4));
    Counts const counts;
    auto factor = cholesky(exec, A, layers);
    EXPECT_TRUE(factor.solve(exec, B, X, {.refine = Refine::Classical}).converged);
    Counts::record(layers.name() + "_factor_and_solve");
    std::multiset<std::string>
        own;  // a device's libraries, and Kokkos, have some more, for the first
    for (auto const& label : Allocations::labels())
      if (label.starts_with("strata::") && !label.starts_with("strata::vendor::"))
        own.insert(label);
    bool const has_pinned = own.erase("strata::dense::refine::vectors_on_host") > 0;
    EXPECT_EQ(has_pinned, !strata::runs_on_host<TypeParam>);
    EXPECT_LE(own.size(), most) << testing::PrintToString(own);
  }
}

// Each needs more of one kind than the other: columns, or vectors beside those of a refinement.
TYPED_TEST(ReuseOn, ASolveAndAConditionByTurnsAllocateTheirVectorsOnce) {
  std::int64_t const n = 96;
  TypeParam const exec;
  GeneratorOptions hard;
  hard.condition = 1e7;  // of which fp32 alone can't tell
  auto const A = on_device<TypeParam>(generate(MatrixKind::Geometric, n, hard));
  auto const B = on_device<TypeParam>(random_matrix(n, 1, 3)),
             X = on_device<TypeParam>(random_matrix(n, 1, 4));
  auto factor = cholesky(exec, A, {P::fp32});
  Counts const counts;
  for (std::size_t const expected : {2U, 0U}) {
    Counts::clear();
    EXPECT_TRUE(factor.solve(exec, B, X).converged);
    EXPECT_TRUE(factor.condition(exec).refined);
    EXPECT_EQ(Allocations::labels().count("strata::dense::refine::vectors"), expected);
  }
  EXPECT_TRUE(factor.report().layers == LayerList{P::fp32});
}

// Where there is no memory for more columns, the vectors of fewer stay.
TYPED_TEST(ReuseOn, MoreColumnsThanThereIsMemoryForLeaveWhatThereIs) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(random_geometric(48, 1));
  auto const B = on_device<TypeParam>(random_matrix(48, 1, 3)),
             X = on_device<TypeParam>(random_matrix(48, 1, 4)),
             many = on_device<TypeParam>(random_matrix(48, 5, 5));
  auto factor = cholesky(exec, A, {P::fp64});
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  {
    FailingAllocations const failing("strata::dense::refine::vectors", [] { return true; });
    EXPECT_TRUE(throws_with<MemoryError>("strata::dense::refine::vectors: can't allocate",
                                         [&] { (void)factor.solve(exec, many, many); }));
  }
  Counts const counts;
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
  EXPECT_EQ(Allocations::labels(), none);
  EXPECT_TRUE(factor.solve(exec, many, many).converged);
  EXPECT_GT(Allocations::labels().size(), 0U);
}

// However many leaves there are: their sums are read at once, and the error bar takes no more than
// its vectors.
TYPED_TEST(ReuseOn, ALogDeterminantWaitsTwice) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(random_geometric(192, 1));
  CholeskyOptions options;
  options.leaf_size = 32;
  auto factor = cholesky(exec, A, {P::fp64}, options);
  Counts const counts;
  double const value = factor.log_determinant(exec).value;
  Counts::record("log_determinant");
  EXPECT_EQ(Counts::strata_fences(), 2U);
  for (auto const& label : Counts::fenced)
    EXPECT_EQ(label.find("result being value"), std::string::npos) << label;
  std::multiset<std::string> own;
  for (auto const& label : Allocations::labels())
    if (label.starts_with("strata::dense::")) own.insert(label);
  std::string const prefix = "strata::dense::log_determinant::";
  EXPECT_EQ(own, (std::multiset<std::string>{prefix + "V", prefix + "host_products",
                                             prefix + "products", prefix + "sums"}));
  EXPECT_EQ(factor.log_determinant(exec).value, value);
}

TYPED_TEST(ReuseOn, ASecondFactorisationAllocatesNothing) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(random_geometric(256, 1));
  Counts const counts;
  auto factor = cholesky(exec, A, {P::fp64});
  Counts::record("first_factor");
  Counts::clear();
  factor.refactor(exec, A);
  Counts::record("second_factor");
  EXPECT_EQ(Allocations::labels(), none);
  // Each block is loaded by a kernel, and a host looks at the pivots between leaves.
  std::int64_t const leaf = automatic_leaf_size<TypeParam>(256, {P::fp64});
  auto const leaves = static_cast<std::size_t>((256 + leaf - 1) / leaf);
  EXPECT_LE(Counts::launched.size(), 4 + 2 * leaves);
  EXPECT_LE(Counts::strata_fences(), 1 + leaves);
}

template <class Space, class View>
HostMatrix factor_of(Space const& exec, CholeskyFactor<Space> const& factor, View const& like) {
  auto const L = on_device<Space>(on_host(like));
  Kokkos::deep_copy(L, 0);
  factor.copy_factor(exec, matrix_ref(L));
  exec.fence();
  return on_host(L);
}

TYPED_TEST(ReuseOn, RefactorIsCholeskyOfTheOtherMatrix) {
  TypeParam const exec;
  for (char const* const layers : {"fp64", "fp32", "fp16,fp32", "fp8_e4m3,fp16"}) {
    LayerList const list = LayerList::parse(layers);
    std::int64_t const n = 130;
    auto const A = on_device<TypeParam>(random_geometric(n, 1)),
               other = on_device<TypeParam>(random_geometric(n, 2));
    auto const B = on_device<TypeParam>(random_matrix(n, 2, 3)),
               X = on_device<TypeParam>(random_matrix(n, 2, 4)),
               Y = on_device<TypeParam>(random_matrix(n, 2, 5));
    CholeskyOptions const options{.leaf_size = 32};
    auto factor = cholesky(exec, A, list, options);
    EXPECT_TRUE(factor.solve(exec, B, X).converged);
    factor.refactor(exec, other);
    auto fresh = cholesky(exec, other, list, options);
    EXPECT_EQ(factor.report().layers, fresh.report().layers);
    EXPECT_EQ(factor.report().attempts.size(), fresh.report().attempts.size());
    EXPECT_EQ(largest_difference(factor_of(exec, factor, A), factor_of(exec, fresh, A)), 0)
        << layers;
    EXPECT_TRUE(factor.solve(exec, B, X).converged);
    EXPECT_TRUE(fresh.solve(exec, B, Y).converged);
    EXPECT_EQ(largest_difference(on_host(X), on_host(Y)), 0) << layers;
  }
}

TYPED_TEST(ReuseOn, RefactorSaysWhatIsWrongAndGoesOnWithTheNextMatrix) {
  TypeParam const exec;
  auto const A = on_device<TypeParam>(random_geometric(64, 1));
  auto broken = random_geometric(64, 1), indefinite = random_geometric(64, 1);
  broken(9, 7) = broken(7, 9) = std::numeric_limits<double>::quiet_NaN();
  indefinite(5, 5) = -1;
  auto const B = on_device<TypeParam>(random_matrix(64, 1, 3)),
             X = on_device<TypeParam>(random_matrix(64, 1, 4));
  auto factor = cholesky(exec, A, {P::fp32});
  EXPECT_TRUE(throws_with<ShapeError>("refactor: A is 63 x 63, the factor of order 64", [&] {
    factor.refactor(exec, on_device<TypeParam>(random_geometric(63, 1)));
  }));
  EXPECT_TRUE(factor.solve(exec, B, X).converged);  // with the factor that there was
  EXPECT_TRUE(throws_with<ValueError>("cholesky: A(9, 7) is not finite", [&] {
    factor.refactor(exec, on_device<TypeParam>(broken));
  }));
  EXPECT_TRUE(throws_with<ValueError>("solve: there is no factor; `refactor` refused the matrix",
                                      [&] { (void)factor.solve(exec, B, X); }));
  factor.refactor(exec, on_device<TypeParam>(indefinite));
  EXPECT_EQ(factor.info().order(), 6);
  EXPECT_TRUE(throws_with<ValueError>("solve: there is no factor; the leading minor of order 6",
                                      [&] { (void)factor.solve(exec, B, X); }));
  factor.refactor(exec, A);
  EXPECT_TRUE(factor.info().ok());
  EXPECT_TRUE(factor.solve(exec, B, X).converged);
}

// More columns than before, fewer, and as many as are not kept.
TYPED_TEST(ReuseOn, SolvesWithAnyNumberOfColumnsInTurn) {
  TypeParam const exec;
  std::int64_t const n = 100;
  auto const host = random_geometric(n, 1);
  auto const A = on_device<TypeParam>(host);
  auto factor = cholesky(exec, A, {P::fp16, P::fp32}, {.leaf_size = 32});
  for (auto const refine : {Refine::Cg, Refine::Gmres, Refine::Cg})
    for (std::int64_t const columns : {1, 5, 40, 2}) {
      auto const B = on_device<TypeParam>(random_matrix(n, columns, 3)),
                 X = on_device<TypeParam>(random_matrix(n, columns, 4)),
                 Y = on_device<TypeParam>(random_matrix(n, columns, 5));
      EXPECT_TRUE(factor.solve(exec, B, X, {.refine = refine}).converged);
      auto fresh = cholesky(exec, A, {P::fp16, P::fp32}, {.leaf_size = 32});
      EXPECT_TRUE(fresh.solve(exec, B, Y, {.refine = refine}).converged);
      EXPECT_EQ(largest_difference(on_host(X), on_host(Y)), 0) << columns;
    }
}

TYPED_TEST(ReuseOn, AutomaticChoiceHasItsReason) {
  EXPECT_TRUE(automatic_choice<TypeParam>(10).layers.is_fp64());
  EXPECT_TRUE(automatic_choice<TypeParam>(10).reason.starts_with("fp64: below n = "));
  auto const large = automatic_choice<TypeParam>(100'000);
  EXPECT_FALSE(large.layers.is_fp64());
  EXPECT_TRUE(large.reason.starts_with("layers: from n = "));
  EXPECT_NE(large.reason.find(" refinement costs"), std::string::npos);
  auto const wide = automatic_choice<TypeParam>(100'000, 100'000);
  EXPECT_TRUE(wide.layers.is_fp64());
  EXPECT_NE(wide.reason.find("right-hand sides refinement costs more"), std::string::npos);
}

// On Hopper layers pay for up to n / 64 columns from n = 28672 on, and for n / 256 below.
TYPED_TEST(ReuseOn, AutomaticChoiceKnowsTheColumns) {
  bool const on_hopper = leaf_architecture<TypeParam>() == "sm_90";
  for (std::int64_t const n : {16384, 28671, 28672, 65536}) {
    std::int64_t const divisor =
        strata::runs_on_host<TypeParam> || (on_hopper && n >= 28672) ? 64 : 256;
    auto const most = automatic_choice<TypeParam>(n, n / divisor),
               more = automatic_choice<TypeParam>(n, n / divisor + 1);
    EXPECT_FALSE(most.layers.is_fp64()) << n << ": " << most.reason;
    EXPECT_TRUE(more.layers.is_fp64()) << n << ": " << more.reason;
    EXPECT_NE(more.reason.find("n / " + std::to_string(divisor) + " "), std::string::npos);
    if (on_hopper && divisor == 64) {
      EXPECT_EQ(*most.layers.begin(), P::fp16_split);
      EXPECT_EQ(*automatic_choice<TypeParam>(n, n / 256).layers.begin(), P::fp16);
    }
  }
}

}  // namespace
