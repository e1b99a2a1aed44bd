// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/system/Strata_SystemResult.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace strata::apps {

namespace {

// To one digit, as it is printed.
double rounded_up(double x) {
  if (!(x > 0)) return x;
  double const power = std::pow(10, std::floor(std::log10(x)));
  return std::min(1.0, std::ceil(x / power * (1 - 1e-12)) * power);
}

}  // namespace

ExpectedError expected_error(dense::SolveReport const& solve,
                             dense::ConditionEstimate const& condition) {
  double const error = dense::forward_error(solve.refinement, condition), shown = rounded_up(error);
  return {error, shown, static_cast<int>(std::floor(dense::digits(shown) + 1e-9))};
}

dense::RefinementOptions watched(SolveOptions const& options, std::int64_t n, Progress& progress) {
  auto refinement = options.refinement;
  double const tolerance = std::sqrt(static_cast<double>(n)) * 0x1p-52;
  refinement.on_step =
      falls_to(refinement.tolerance > 0 ? refinement.tolerance : tolerance, progress);
  return refinement;
}

DeviceMatrix on_device(Kokkos::DefaultExecutionSpace const& exec, HostMatrix const& host) {
  DeviceMatrix const copy = Kokkos::create_mirror_view_and_copy(
      Kokkos::view_alloc(exec, Kokkos::DefaultExecutionSpace::memory_space()),
      host);  // host itself where it is accessible
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

void take_solution(Kokkos::DefaultExecutionSpace const& exec, Problem const& problem,
                   DeviceMatrix const& X, SystemResult& result) {
  HostMatrix host(Kokkos::view_alloc(Kokkos::WithoutInitializing, X.label()), X.extent(0),
                  X.extent(1));
  Kokkos::deep_copy(exec, host, X);
  exec.fence("strata::solve::copied_to_host");
  if (problem.knows_solution) result.forward_error = forward_error(host, problem.X);
  std::vector<std::int64_t> row_of(problem.order.size());  // of each row of the files
  for (std::size_t k = 0; k < row_of.size(); ++k)
    row_of[static_cast<std::size_t>(problem.order[k])] = static_cast<std::int64_t>(k);
  result.X = in_order(host, row_of);
}

}  // namespace strata::apps
