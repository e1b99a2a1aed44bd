// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Allocations.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/Strata_MatrixRef.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/blas/basics/Strata_SetIdentity.hpp>
#include <core/instances/Strata_Lent.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using strata::Lent;

// Of each test another type, whose things it counts.
template <int test>
struct Costly {
  static inline std::atomic<int> made = 0, alive = 0;
  explicit Costly(int given = 0) : value(given) {
    if (given < 0) throw std::runtime_error("it can't be made");
    ++made;
    ++alive;
  }
  ~Costly() { --alive; }
  Costly(Costly const&) = delete;
  Costly& operator=(Costly const&) = delete;

  int value;
  std::atomic<int> users = 0;
};

TEST(Lent, IsMadeOnceForOwnersThatFollowOneAnother) {
  using Thing = Costly<0>;
  for (int k = 0; k < 3; ++k) {
    Lent<Thing> const first(0, 7), other(1, 8);
    EXPECT_EQ(first->value, 7);
    EXPECT_EQ((*other).value, 8);
  }
  EXPECT_EQ(Thing::made, 2);
  {
    Lent<Thing> const first(0, 7), second(0, 9);  // at once
    EXPECT_NE(&*first, &*second);
  }
  EXPECT_EQ(Thing::made, 3);
}

TEST(Lent, KeepsFewThatNobodyHas) {
  using Thing = Costly<1>;
  std::vector<std::unique_ptr<Lent<Thing>>> many;
  for (int k = 0; k < 7; ++k) many.push_back(std::make_unique<Lent<Thing>>(k / 6));
  EXPECT_EQ(Thing::alive, 7);
  many.clear();
  EXPECT_EQ(Thing::alive, static_cast<int>(Lent<Thing>::most) + 1);
}

TEST(Lent, IsGivenUpByAnException) {
  using Thing = Costly<2>;
  auto const fail = [] {
    Lent<Thing> const thing(0);
    throw std::logic_error("the work failed");
  };
  EXPECT_THROW(fail(), std::logic_error);
  EXPECT_EQ(Thing::alive, 0);
  EXPECT_THROW(Lent<Thing>(0, -1), std::runtime_error);
  {
    Lent<Thing> thing(0);
    thing.forsake();
  }
  EXPECT_EQ(Thing::alive, 0);
  {
    Lent<Thing> const thing(0);
  }
  EXPECT_EQ(Thing::alive, 1);
}

TEST(Lent, HasOneOwnerAtATime) {
  using Thing = Costly<3>;
  std::atomic<int> shared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&shared] {
      for (int k = 0; k < 500; ++k) {
        Lent<Thing> const thing(0);
        if (++thing->users > 1) ++shared;
        --thing->users;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_LE(Thing::alive, static_cast<int>(Lent<Thing>::most));
  EXPECT_GE(Thing::alive, 1);
}

// In a process of its own, which ends Kokkos.
void end_kokkos() {
  using Thing = Costly<4>;
  {
    Lent<Thing> const first(0);
    Lent<Thing> const second(1);
  }
  auto late = std::make_unique<Lent<Thing>>(0);
  Kokkos::finalize();
  bool const others_gone = Thing::alive == 1;
  late.reset();
  std::_Exit(others_gone && Thing::alive == 0 ? 7 : 1);
}

// Views and instances have to be gone then; what is given back later is not kept.
TEST(LentDeathTest, EndsWithKokkos) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_kokkos(), testing::ExitedWithCode(7), "");
}

template <class Space>
class LentOnTest : public testing::Test {};
TYPED_TEST_SUITE(LentOnTest, strata::test::Spaces, strata::test::SpaceNames);

// On a device the second call gets the instances, the handles and their workspaces that the first
// one left.
TYPED_TEST(LentOnTest, ASecondCallMakesNoneAnew) {
  using Exec = TypeParam;
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space>;
  using Info = typename strata::LeafBlas<Exec>::InfoView;
  std::vector<Exec> instances;
  strata::test::Allocations const allocations;
  for (int call = 0; call < 2; ++call) {
    if (call == 1) allocations.clear();
    auto const own = strata::own_instance(Exec());
    instances.push_back(*own);
    strata::LeafBlas<Exec> blas(*own, strata::BlasPath::Vendor);
    std::size_t const n = 40;
    Matrix const A(Kokkos::view_alloc(*own, "strata::test::lent::A"), n, n);
    Info const info(Kokkos::view_alloc(*own, "strata::test::lent::info"));
    std::int64_t found = -1;
    for (auto* one : {&blas, &blas.urgent()}) {
      strata::set_identity(*own, strata::matrix_ref(A));
      own->fence("strata::test::lent::filled");
      one->potrf(strata::Uplo::Lower, strata::matrix_ref(A), 0, info);
      Kokkos::deep_copy(one->exec(), found, info);
      one->exec().fence("strata::test::lent::factored");
      EXPECT_EQ(found, 0);
    }
  }
  auto const labels = allocations.labels();
  EXPECT_EQ(labels.count("strata::vendor::buffer"), 0);
  EXPECT_EQ(labels.count("strata::vendor::scalars"), 0);
  if (!strata::runs_on_host<Exec>) {
    EXPECT_TRUE(instances[0] == instances[1]);
  }
}

// Two at a time are two.
TYPED_TEST(LentOnTest, InstancesAreNotShared) {
  TypeParam const exec;
  auto const one = strata::own_instance(exec), other = strata::own_instance(exec);
  if (strata::runs_on_host<TypeParam>) return;
  EXPECT_FALSE(*one == *other);
  EXPECT_FALSE(*one == exec);
}

}  // namespace
