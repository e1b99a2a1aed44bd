// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A limit on address space: what is left, and how many threads may call the BLAS. A buffer that the
// limit does not leave is refused, instead of waited for.
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/info/Strata_Version.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace {

using namespace strata;
using strata::test::throws_with;

constexpr std::size_t mebibyte = std::size_t{1} << 20, gibibyte = 1024 * mebibyte;

// Leaves this process so many bytes of address space until its end.
class Limited {
 public:
  explicit Limited(std::size_t left) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + left;
    is_set_ = setrlimit(RLIMIT_AS, &now) == 0;
  }
  ~Limited() { setrlimit(RLIMIT_AS, &before_); }
  Limited(Limited const&) = delete;
  Limited& operator=(Limited const&) = delete;
  bool is_set() const { return is_set_; }

 private:
  rlimit before_{};
  bool is_set_ = false;
};

bool is_free() { return !address_space_left(); }
bool has_openblas() { return dlsym(RTLD_DEFAULT, "blas_memory_alloc") != nullptr; }

TEST(BlasBuffers, WithoutALimitNothingIsTaken) {
  if (!is_free()) GTEST_SKIP() << "address space is limited here";
  EXPECT_EQ(blas_threads_that_fit(1000), 1000);
  EXPECT_EQ(blas_buffer_bytes(1000), 0u);
  EXPECT_NO_THROW(reserve_blas_buffers(100000));  // 12 TiB
}

TEST(BlasBuffers, ALimitCountsAsMemory) {
  if (!is_free()) GTEST_SKIP() << "address space is limited here";
  std::size_t const before = available_memory_bytes();
  std::size_t const left = before / 2;
  Limited const limited(left);
  ASSERT_TRUE(limited.is_set());
  ASSERT_TRUE(address_space_left());
  EXPECT_LE(*address_space_left(), left);
  EXPECT_GT(*address_space_left(), left - 16 * mebibyte);
  EXPECT_LE(available_memory_bytes(), left);
  EXPECT_GE(available_memory_bytes(), left / 4 * 3 - 16 * mebibyte);
}

TEST(BlasBuffers, AQuarterIsForThreads) {
  if (!is_free()) GTEST_SKIP() << "address space is limited here";
  Limited const limited(8 * gibibyte);
  int const fit = blas_threads_that_fit(1000);
  EXPECT_GE(fit, 10);  // 200 MiB each, and what is there already
  EXPECT_LT(fit, 100);
  EXPECT_EQ(blas_threads_that_fit(3), 3);
  EXPECT_LE(blas_buffer_bytes(fit), 2 * gibibyte);
  Limited const narrow(mebibyte);
  EXPECT_GE(blas_threads_that_fit(1000), 1);
}

TEST(BlasBuffers, WhatIsNotLeftIsRefused) {
  if (!is_free()) GTEST_SKIP() << "address space is limited here";
  if (!has_openblas()) GTEST_SKIP() << "another BLAS";
  {
    Limited const limited(gibibyte);
    EXPECT_TRUE(throws_with<MemoryError>(
        "the BLAS takes 134217728 bytes of address space for each thread that calls it, here 500",
        [] { reserve_blas_buffers(500); }));
  }
  // What it had by then, it keeps: so many threads need nothing more, however little is left.
  Limited const limited(64 * mebibyte);
  EXPECT_NO_THROW(reserve_blas_buffers(5));
  EXPECT_EQ(blas_buffer_bytes(5), 0u);
  EXPECT_THROW(reserve_blas_buffers(500), MemoryError);
}

}  // namespace
