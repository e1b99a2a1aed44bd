// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What the C interface is to the process: statuses, threads, memory, forks, Kokkos.
#include <gtest/gtest.h>
#include <strata.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <c/StrataTest_Systems.hpp>
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
  for (int k = STRATA_SUCCESS; k <= STRATA_INTERNAL_ERROR; ++k)
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

// Run f() in a child; the text that it returns, or what became of the child.
template <class Function>
std::string in_child(Function const& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t const child = fork();
  if (child == 0) {
    std::string const text = f();
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "the child ended with status " + std::to_string(status);
}

TEST(CProcess, WorksInAForkOrSaysWhyNot) {
  System<double> const s('L', 90, 1);
  std::vector<double> B = s.B;
  std::int64_t info = 0;
  std::vector<double> A = s.A;
  ASSERT_EQ(strata_dposv('L', 90, 1, A.data(), s.ld, B.data(), s.ld, nullptr, &info),
            STRATA_SUCCESS);
  std::string const text = in_child([&]() -> std::string {
    std::vector<double> again = s.A, right = s.B;
    auto const status =
        strata_dposv('L', 90, 1, again.data(), s.ld, right.data(), s.ld, nullptr, &info);
    return status == STRATA_SUCCESS && s.backward_error(right) < 0x1p-46 ? "solved"
                                                                         : strata_message();
  });
  bool const serial = std::string(Kokkos::DefaultExecutionSpace::name()) == "Serial";
  EXPECT_TRUE(holds(text, serial ? "solved" : "was forked from"));
}

// More than 64-bit machines can address; nothing is read or written before it is asked for.
TEST(CProcess, SaysThatMemoryIsShort) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
#endif
  double a = 1, x = 5;
  double const b = 1;
  std::int64_t iter = 0, info = 0;
  EXPECT_EQ(
      strata_dsposv('L', 1, std::int64_t(1) << 46, &a, 1, &b, 1, &x, 1, nullptr, &iter, &info),
      STRATA_OUT_OF_MEMORY);
  EXPECT_TRUE(holds(strata_message(), "strata_dsposv: "));
  EXPECT_TRUE(holds(strata_message(), "strata::dense::solve"));  // what for
  EXPECT_EQ(a, 1);
  EXPECT_EQ(x, 5);
  EXPECT_EQ(strata_dsposv('L', 1, 1, &a, 1, &b, 1, &x, 1, nullptr, &iter, &info), STRATA_SUCCESS);
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
