// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The threads of a host's products: how many, of at most how many, and that the library has its own
// number afterwards.
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/blas/host/vendor/Strata_ThreadControl.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace strata;
using strata::test::throws_with;
using vendor::ProductThreads;
using vendor::ThreadControl;

constexpr double small = 1e6, large = 1e12;  // flops

// A library with a number for the process, and one with a number for each thread.
int of_process = 8;
thread_local int of_thread = 8;
int get_of_process() { return of_process; }
int get_of_thread() { return of_thread; }
int exchange_of_process(int threads) { return std::exchange(of_process, threads); }
int exchange_of_thread(int threads) { return std::exchange(of_thread, threads); }

class BlasThreadsTest : public testing::TestWithParam<ThreadControl::Scope> {
 protected:
  void SetUp() override { of_process = of_thread = 8; }
  bool is_process() const { return GetParam() == ThreadControl::Scope::Process; }
  void give(int threads) { (is_process() ? of_process : of_thread) = threads; }
  int within(double flops, double numbers = 0) {
    ProductThreads const product(control, flops, numbers);
    return control.most();
  }
  ThreadControl control{"fake",
                        GetParam(),
                        is_process() ? get_of_process : get_of_thread,
                        is_process() ? exchange_of_process : exchange_of_thread,
                        {}};
};
INSTANTIATE_TEST_SUITE_P(OfEach, BlasThreadsTest,
                         testing::Values(ThreadControl::Scope::Thread,
                                         ThreadControl::Scope::Process),
                         [](auto const& info) {
                           return info.param == ThreadControl::Scope::Thread ? "Thread" : "Process";
                         });

TEST_P(BlasThreadsTest, AreAsManyAsTheWorkPaysFor) {
  EXPECT_EQ(within(0), 1);
  EXPECT_EQ(within(small), 1);
  EXPECT_EQ(within(2 * 200. * 200 * 200), 1);
  EXPECT_EQ(within(2 * 256. * 256 * 256), 2);
  EXPECT_EQ(within(2 * 384. * 384 * 384), 6);
  EXPECT_EQ(within(2 * 512. * 512 * 512), 8);
  EXPECT_EQ(within(large), 8);
  EXPECT_EQ(within(std::numeric_limits<double>::infinity()), 8);
  EXPECT_EQ(within(2 * 2048. * 2048, 2048. * 2048), 4);  // waits for its numbers
  EXPECT_EQ(control.most(), 8);
}

TEST_P(BlasThreadsTest, AreNeverMoreThanTheLibraryWasGiven) {
  for (int const given : {1, 2, 5}) {
    give(given);
    EXPECT_EQ(within(large), given);
    BlasThreads const wider(6);
    EXPECT_EQ(within(large), given);
    EXPECT_EQ(control.most(), given);
  }
}

TEST_P(BlasThreadsTest, NestAndEnd) {
  constexpr int none = std::numeric_limits<int>::max();
  EXPECT_EQ(BlasThreads::most(), none);
  {
    BlasThreads const four(4);
    EXPECT_EQ(within(large), 4);
    {
      BlasThreads const one(1);
      EXPECT_EQ(within(large), 1);
      BlasThreads const wider(6);
      EXPECT_EQ(within(large), 1);
    }
    EXPECT_EQ(within(large), 4);
    std::thread([&] {
      EXPECT_EQ(BlasThreads::most(), none);
      EXPECT_EQ(within(large), 8);
    }).join();
  }
  EXPECT_EQ(BlasThreads::most(), none);
  EXPECT_EQ(within(large), 8);
}

TEST_P(BlasThreadsTest, RefuseNone) {
  for (int const most : {0, -3})
    EXPECT_TRUE(throws_with<ValueError>(
        "BLAS: at most " + std::to_string(most) + " threads, must be at least 1",
        [&] { BlasThreads const threads(most); }));
  EXPECT_EQ(within(large), 8);
}

// The number of a process is the last product's while there are any, and then what it was before
// the first.
TEST(BlasThreads, OfAProcessAreRestoredByItsLastProduct) {
  of_process = 8;
  ThreadControl control("fake", ThreadControl::Scope::Process, get_of_process, exchange_of_process,
                        {});
  std::optional<ProductThreads> first(std::in_place, control, large, 0);
  std::optional<ProductThreads> second(std::in_place, control, small, 0);
  EXPECT_EQ(of_process, 1);
  std::optional<ProductThreads> third(std::in_place, control, large, 0);
  EXPECT_EQ(of_process, 8);  // never more than before the first, but as many
  third.reset();
  first.reset();
  second.reset();
  EXPECT_EQ(of_process, 8);
}

TEST(BlasThreads, AreLeftToALibraryThatCannotBeTold) {
  ThreadControl unknown;
  ProductThreads const product(unknown, large, 0);
  EXPECT_EQ(unknown.most(), 1);
  EXPECT_EQ(unknown.kind, "unknown");
}

TEST(BlasThreads, AreSaidToWaitOnTheCoresOfOpenMPWhereTheyDo) {
  BlasThreading const own{"pthreads", 2, ""};
  EXPECT_EQ(advice_on_waiting(own, 2, ""),
            "these and OpenMP's wait busily on the same cores: "
            "link OpenBLAS for OpenMP, or set OMP_WAIT_POLICY=passive");
  EXPECT_NE(advice_on_waiting(own, 2, "active"), "");
  for (char const* const passive : {"passive", "PASSIVE"})
    EXPECT_EQ(advice_on_waiting(own, 2, passive), "");
  EXPECT_EQ(advice_on_waiting(own, 1, ""), "");
  EXPECT_EQ(advice_on_waiting({"pthreads", 1, "OPENBLAS_NUM_THREADS"}, 2, ""), "");
  for (char const* const other : {"OpenMP", "oneMKL", "none", "unknown"})
    EXPECT_EQ(advice_on_waiting({other, 2, ""}, 2, ""), "");
}

TEST(BlasThreads, OfTheLinkedLibraryAreWhatTheyWereAfterProducts) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  int const before = blas_threading().most;
  EXPECT_GE(before, 1);
  Exec const exec;
  LeafBlas<Exec> blas(exec);
  constexpr int n = 64;
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> A("strata::test::A", n, n),
      C("strata::test::C", n, n);
  Kokkos::deep_copy(A, 1);
  for (int const most : {1, 2}) {
    BlasThreads const threads(most);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, matrix_ref(A), matrix_ref(A), 0, matrix_ref(C));
    EXPECT_EQ(C(n - 1, n - 1), n);
    EXPECT_EQ(blas_threading().most, before);
  }
}

}  // namespace
