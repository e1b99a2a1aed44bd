// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What the C interface is to the process: statuses, threads, memory, forks, Kokkos.
#include <c/StrataTest_Systems.hpp>

#include <Kokkos_Core.hpp>

#include <StrataTest_Child.hpp>
#include <gtest/gtest.h>
#include <strata.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

TEST(CStatus, EachHasAName) {
  EXPECT_STREQ(strata_status_name(STRATA_SUCCESS), "success");
  EXPECT_STREQ(strata_status_name(STRATA_NOT_READY), "not ready");
  for (int k = STRATA_SUCCESS; k <= STRATA_SINGULAR; ++k)
    EXPECT_STRNE(strata_status_name(k), "unknown status");
  EXPECT_STREQ(strata_status_name(99), "unknown status");
}

TEST(CStatus, KeepsTheMessageOfALibraryAboveForItsThread) {
  EXPECT_EQ(strata_report_status(STRATA_VENDOR_ERROR, "the moon is down"), STRATA_VENDOR_ERROR);
  std::string other;
  std::thread([&other] { other = strata_message(); }).join();
  EXPECT_STREQ(strata_message(), "the moon is down");
  EXPECT_EQ(other, "success");
  EXPECT_EQ(strata_report_status(STRATA_NOT_READY, nullptr), STRATA_NOT_READY);
  EXPECT_STREQ(strata_message(), "not ready");
}

TEST(CStatus, CutsOffALongMessage) {
  std::string const text(5000, 'x');
  EXPECT_EQ(strata_report_status(STRATA_VENDOR_ERROR, text.c_str()), STRATA_VENDOR_ERROR);
  EXPECT_EQ(strata_message(), std::string(2044, 'x') + "...");
  EXPECT_EQ(strata_report_status(STRATA_SUCCESS, strata_message()), STRATA_SUCCESS);
  EXPECT_EQ(std::string(strata_message()).size(), 2047u);
}

TEST(CStatus, NamesTheVersionAndTheConfiguration) {
  int parts[3] = {};
  EXPECT_EQ(std::sscanf(strata_version(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]), 3);
  EXPECT_TRUE(holds(strata_configuration(), std::string("Strata ") + strata_version()));
  EXPECT_TRUE(holds(strata_configuration(), "Kokkos "));
}

// The test program has started Kokkos; so Strata does not end it.
TEST(CLife, LeavesACallersKokkosAlone) {
  EXPECT_EQ(strata_initialize(), STRATA_SUCCESS);
  EXPECT_EQ(strata_finalize(), STRATA_SUCCESS);
  EXPECT_TRUE(Kokkos::is_initialized());
  EXPECT_FALSE(Kokkos::is_finalized());
}

TEST(CLife, IsNotEndedUnderAFactor) {
  double const one = 1;
  strata_factor* factor = nullptr;
  ASSERT_EQ(strata_cholesky('L', 1, &one, 1, nullptr, &factor), STRATA_SUCCESS);
  EXPECT_EQ(strata_finalize(), STRATA_NOT_READY);
  EXPECT_TRUE(holds(strata_message(), "1 factors or calls are alive; destroy them first"));
  strata_factor_destroy(factor);
  EXPECT_EQ(strata_finalize(), STRATA_SUCCESS);
}

// A different system on each thread, many times, all at once.
TEST(CThreads, MayCallAtOnce) {
  constexpr int threads = 4, rounds = 5;
  std::array<double, threads> errors{};
  std::array<std::string, threads> failures;
  auto const work = [&](int t) {
    for (int r = 0; r < rounds; ++r) {
      System<double> const s(t % 2 == 0 ? 'L' : 'U', 150 + 17 * t, 2);
      std::vector<double> X(s.B.size(), s.nan), A = s.A, B = s.B;
      std::int64_t iter = 0, info = 0;
      strata_options options{};
      options.struct_size = sizeof options;
      options.layers = "fp16,fp32";
      if (strata_dsposv(s.uplo, s.n, 2, A.data(), s.ld, s.B.data(), s.ld, X.data(), s.ld, &options,
                        &iter, &info) != STRATA_SUCCESS ||
          strata_dposv(s.uplo, s.n, 2, A.data(), s.ld, B.data(), s.ld, nullptr, &info) !=
              STRATA_SUCCESS)
        failures[t] = strata_message();
      errors[t] = std::max({errors[t], s.backward_error(X), s.backward_error(B)});
      if (strata_dpotrf('x', t, nullptr, 1, nullptr, &info) != STRATA_INVALID_ARGUMENT ||
          info != -1)
        failures[t] = "a wrong argument was not refused";
    }
  };
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) pool.emplace_back(work, t);
  for (auto& thread : pool) thread.join();
  for (int t = 0; t < threads; ++t) {
    EXPECT_EQ(failures[t], "");
    EXPECT_LE(errors[t], 0x1p-46) << t;
  }
}

// Small matrices, where all but the arithmetic is most of the work: each thread's own factor,
// solves and statuses.
TEST(CThreads, MayBeSixteenWithSmallMatrices) {
  constexpr int threads = 16, rounds = 40;
  std::array<int, threads> wrong{};
  auto const work = [&](int t) {
    for (int r = 0; r < rounds; ++r) {
      System<double> const s(t % 2 == 0 ? 'L' : 'U', 1 + (5 * t + r) % 33, 1);
      std::vector<double> X(s.B.size(), s.nan), A = s.A, B = s.B;
      std::int64_t info = -1;
      strata_factor* factor = nullptr;
      double value = 0;
      wrong[t] += strata_dposv(s.uplo, s.n, 1, A.data(), s.ld, B.data(), s.ld, nullptr, &info) !=
                      STRATA_SUCCESS ||
                  !(s.backward_error(B) <= 0x1p-46);
      A = s.A, B = s.B;
      wrong[t] += strata_dposv_batched(s.uplo, s.n, 1, A.data(), s.ld, 0, B.data(), s.ld, 0, 1,
                                       &info) != STRATA_SUCCESS ||
                  !(s.backward_error(B) <= 0x1p-46);
      wrong[t] +=
          strata_cholesky(s.uplo, s.n, s.A.data(), s.ld, nullptr, &factor) != STRATA_SUCCESS ||
          strata_solve(factor, 1, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr) !=
              STRATA_SUCCESS ||
          strata_log_determinant(factor, &value, nullptr) != STRATA_SUCCESS ||
          !(s.backward_error(X) <= 0x1p-46);
      strata_factor_destroy(factor);
      wrong[t] +=
          strata_dpotrf('L', -t - 1, nullptr, 1, nullptr, &info) != STRATA_INVALID_ARGUMENT ||
          !holds(strata_message(), "n is " + std::to_string(-t - 1));
    }
  };
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) pool.emplace_back(work, t);
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(wrong, (std::array<int, threads>{}));
}

// A factor, its parent's or its own, in a child: products of bf16 have started oneDNN's threads in
// the parent.
TEST(CProcess, WorksInAForkOrSaysWhyNot) {
  System<double> const s('L', 900, 1);
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = "bf16,fp32";
  strata_factor* factor = nullptr;
  auto const work = [&](bool own) -> std::string {
    std::vector<double> X(s.B.size(), s.nan);
    strata_factor* made = nullptr;
    if (own && strata_cholesky('L', s.n, s.A.data(), s.ld, &options, &made) != STRATA_SUCCESS)
      return strata_message();
    auto const status =
        strata_solve(own ? made : factor, 1, s.B.data(), s.ld, X.data(), s.ld, nullptr, nullptr);
    std::string const text =
        status == STRATA_SUCCESS && s.backward_error(X) < 0x1p-46 ? "solved" : strata_message();
    strata_factor_destroy(own ? made : factor);
    return text;
  };
  ASSERT_EQ(strata_cholesky('L', s.n, s.A.data(), s.ld, &options, &factor), STRATA_SUCCESS);
  EXPECT_EQ(work(true), "solved");
  bool const serial = std::string(Kokkos::DefaultExecutionSpace::name()) == "Serial";
  std::string const expected = serial ? "solved" : "was forked from";
  for (bool const own : {false, true})
    EXPECT_TRUE(holds(in_child([&] { return work(own); }), expected)) << own;
  EXPECT_EQ(work(false), "solved");
}

// More than 64-bit machines can address; nothing is read or written before it is asked for.
TEST(CProcess, SaysThatMemoryIsShort) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
#endif
  std::int64_t const columns = std::int64_t(1) << 46;
  double numbers[] = {1, 1, 5};  // A, B and X, which begins after B ends
  double *const a = numbers, *const b = numbers + 1, *x = numbers + 2;
  auto* const after_b = reinterpret_cast<double*>(reinterpret_cast<std::uintptr_t>(b) +
                                                  sizeof(double) * std::uintptr_t(columns));
  std::int64_t iter = 0, info = 0;
  strata_options options{};
  options.struct_size = sizeof options;
  options.layers = "fp32";
  EXPECT_EQ(strata_dsposv('L', 1, columns, a, 1, b, 1, after_b, 1, &options, &iter, &info),
            STRATA_OUT_OF_MEMORY);
  EXPECT_TRUE(holds(strata_message(), "strata_dsposv: "));
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible;
  EXPECT_TRUE(holds(strata_message(),
                    on_host ? "strata::dense::refine::" : "strata::c::operand"));  // what for
  EXPECT_EQ(*a, 1);
  EXPECT_EQ(strata_dsposv('L', 1, 1, a, 1, b, 1, x, 1, nullptr, &iter, &info), STRATA_SUCCESS);
}

// xSDK's M6.
TEST(CProcess, LeavesNoStateBehind) {
  std::string const locale = std::setlocale(LC_ALL, nullptr);
  int const rounding = std::fegetround(), traps = fegetexcept();
  std::array<struct sigaction, 32> before{}, after{};
  for (int k = 1; k < 32; ++k) sigaction(k, nullptr, &before[k]);
  System<double> s('L', 120, 1);
  std::int64_t info = 0, iter = 0;
  std::vector<double> X(s.B.size());
  ASSERT_EQ(strata_dsposv('L', s.n, 1, s.A.data(), s.ld, s.B.data(), s.ld, X.data(), s.ld, nullptr,
                          &iter, &info),
            STRATA_SUCCESS);
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale);
  EXPECT_EQ(std::fegetround(), rounding);
  EXPECT_EQ(fegetexcept(), traps);
  for (int k = 1; k < 32; ++k) {
    sigaction(k, nullptr, &after[k]);
    EXPECT_EQ(before[k].sa_handler, after[k].sa_handler) << "signal " << k;
  }
}

TEST(CProcess, KnowsTheHostsMemory) {
  int const here = 0;
  EXPECT_EQ(strata_is_device_pointer(&here), 0);
  EXPECT_EQ(strata_is_device_pointer(nullptr), 0);
}

// Where there is a GPU, pointers to its memory are used as they are, also mixed with the host's.
TEST(CProcess, TakesTheDevicesMemoryAsItIs) {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
  Exec const exec;
  System<double> const s('L', 130, 2);
  auto const on_device = [&](std::vector<double> const& from) {
    Kokkos::View<double*, Memory> const to(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::test::c::device"),
        from.size());
    Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
        view(from.data(), from.size());
    Kokkos::deep_copy(exec, to, view);
    return to;
  };
  auto const A = on_device(s.A), B = on_device(s.B);
  exec.fence("strata::test::c::copied");
  EXPECT_EQ(strata_is_device_pointer(A.data()), on_host ? 0 : 1);
  std::int64_t info = -9;
  ASSERT_EQ(strata_dpotrf('L', 130, A.data(), s.ld, nullptr, &info), STRATA_SUCCESS)
      << strata_message();
  std::vector<double> F(s.A.size()), X = s.B;
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const to(
      F.data(), F.size());
  Kokkos::deep_copy(exec, to, A);
  exec.fence("strata::test::c::read");
  EXPECT_LE(s.factor_error(F), 0x1p-48);
  EXPECT_TRUE(s.rest_is_untouched(F, true));
  ASSERT_EQ(strata_dpotrs('L', 130, 2, A.data(), s.ld, X.data(), s.ld, &info), STRATA_SUCCESS);
  EXPECT_LE(s.backward_error(X), 0x1p-46);
  EXPECT_TRUE(s.rest_is_untouched(X, false));
}

}  // namespace
}  // namespace strata::test
