// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_SolveVectors.hpp>

#include <algorithm>
#include <cmath>

namespace strata::apps {

namespace {
using Exec = Kokkos::DefaultExecutionSpace;
}

DeviceMatrix on_device(Exec const& exec, HostMatrix const& host) {
  DeviceMatrix const copy = Kokkos::create_mirror_view_and_copy(
      Kokkos::view_alloc(exec, Exec::memory_space()), host);  // host itself where it is accessible
  exec.fence("strata::solve::copied_to_device");
  return copy;
}

HostMatrix on_host(Exec const& exec, DeviceMatrix const& device) {
  HostMatrix copy(Kokkos::view_alloc(Kokkos::WithoutInitializing, device.label()), device.extent(0),
                  device.extent(1));
  Kokkos::deep_copy(exec, copy, device);
  exec.fence("strata::solve::copied_to_host");
  return copy;
}

double forward_error(HostMatrix const& X, HostMatrix const& known) {
  double worst = 0;
  for (std::size_t j = 0; j < X.extent(1); ++j) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < X.extent(0); ++i) {
      double const d = std::abs(X(i, j) - known(i, j));
      difference = d > difference || std::isnan(d) ? d : difference;
      size = std::max(size, std::abs(known(i, j)));
    }
    double const error = size > 0 ? difference / size : difference;
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

HostMatrix in_users_order(HostMatrix const& X, std::vector<std::int64_t> const& order) {
  if (order.empty()) return X;
  HostMatrix const result("strata::solve::X", X.extent(0), X.extent(1));
  for (std::size_t j = 0; j < X.extent(1); ++j)
    for (std::size_t k = 0; k < order.size(); ++k)
      result(static_cast<std::size_t>(order[k]), j) = X(k, j);
  return result;
}

}  // namespace strata::apps
