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

double forward_error(ConstHostMatrix const& X, ConstHostMatrix const& known) {
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

HostMatrix in_order(HostMatrix const& B, std::vector<std::int64_t> const& order) {
  if (order.empty()) return B;
  HostMatrix permuted("strata::solve::B", B.extent(0), B.extent(1));
  for (std::size_t j = 0; j < B.extent(1); ++j)
    for (std::size_t k = 0; k < order.size(); ++k)
      permuted(k, j) = B(static_cast<std::size_t>(order[k]), j);
  return permuted;
}

void take_solution(Exec const& exec, Problem const& problem, DeviceMatrix const& X,
                   DenseResult& result) {
  HostMatrix host(Kokkos::view_alloc(Kokkos::WithoutInitializing, X.label()), X.extent(0),
                  X.extent(1));
  Kokkos::deep_copy(exec, host, X);
  exec.fence("strata::solve::copied_to_host");
  if (problem.knows_solution) result.forward_error = forward_error(host, problem.X);
  std::vector<std::int64_t> place(problem.order.size());  // of each row of the files
  for (std::size_t k = 0; k < place.size(); ++k)
    place[static_cast<std::size_t>(problem.order[k])] = static_cast<std::int64_t>(k);
  result.X = in_order(host, place);
}

}  // namespace strata::apps
