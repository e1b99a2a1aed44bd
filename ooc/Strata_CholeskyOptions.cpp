// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_CholeskyOptions.hpp>

namespace strata::ooc {

namespace {

template <auto member>
std::uint64_t sum_of(std::vector<DeviceReport> const& devices) {
  std::uint64_t sum = 0;
  for (DeviceReport const& device : devices) sum += device.*member;
  return sum;
}

}  // namespace

std::uint64_t CholeskyReport::bytes_in() const { return sum_of<&DeviceReport::bytes_in>(devices); }
std::uint64_t CholeskyReport::bytes_out() const {
  return sum_of<&DeviceReport::bytes_out>(devices);
}
std::uint64_t CholeskyReport::bytes_peer() const {
  return sum_of<&DeviceReport::bytes_peer>(devices);
}

}  // namespace strata::ooc
