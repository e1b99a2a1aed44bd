// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_FenceAtEnd.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

// An instance whose device may have failed.
struct Instance {
  bool has_failed = false;
  std::vector<std::string>* labels = nullptr;

  void fence(std::string const& label) const {
    labels->push_back(label);
    if (has_failed) throw std::runtime_error("an illegal memory access was encountered");
  }
};

struct Owner {
  Instance exec;
  ~Owner() { strata::detail::fence_at_end(exec, "strata::test::release"); }
};

TEST(FenceAtEnd, FencesAndDropsWhatADeviceThatFailedThrows) {
  std::vector<std::string> labels;
  for (bool const has_failed : {false, true}) Owner const owner{{has_failed, &labels}};
  EXPECT_EQ(labels, (std::vector<std::string>{"strata::test::release", "strata::test::release"}));
}

TEST(FenceAtEnd, LetsTheFirstExceptionThrough) {
  std::vector<std::string> labels;
  auto const fail = [&] {
    Owner const owner{{true, &labels}};
    throw std::logic_error("the first");
  };
  EXPECT_THROW(fail(), std::logic_error);
  EXPECT_EQ(labels.size(), 1U);
}

}  // namespace
