// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_HostVectors.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;

int of_16() { return 16; }
STRATA_VECTORS_OF_32 int of_32() { return 32; }
STRATA_VECTORS_OF_64 int of_64() { return 64; }

TEST(HostVectors, AreTheWidestOfTheProcessorButNoWiderThanAskedFor) {
  int const widest = host_vector_bytes();
  EXPECT_TRUE(widest == 16 || widest == 32 || widest == 64) << widest;
  EXPECT_EQ(host_vector_bytes(128), widest);
  EXPECT_EQ(host_vector_bytes(63), widest == 64 ? 32 : widest);
  EXPECT_EQ(host_vector_bytes(31), 16);
  EXPECT_EQ(host_vector_bytes(0), 16);
  EXPECT_EQ(of_vectors(widest, of_16, of_32, of_64)(), widest);
}

TEST(HostVectors, EachLengthHasItsFunction) {
  EXPECT_EQ(of_vectors(16, of_16, of_32, of_64), &of_16);
  EXPECT_EQ(of_vectors(32, of_16, of_32, of_64), &of_32);
  EXPECT_EQ(of_vectors(64, of_16, of_32, of_64), &of_64);
}

}  // namespace
