// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <core/Strata_Random.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <ooc/Strata_Divergence.hpp>
#include <string>
#include <vector>

namespace strata::ooc {

namespace {

template <class Exec>
using BlockOf = typename CovarianceFactor<Exec>::Block;

template <class Exec>
BlockOf<Exec> block(Exec const& exec, std::int64_t n, std::int64_t columns, char const* label) {
  return BlockOf<Exec>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, std::string(label)), n,
                       columns);
}

// The bits of the numbers are alternately -1 and +1.
KOKKOS_INLINE_FUNCTION double rademacher(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return random_bits(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)) >> 63 == 0
             ? -1.0
             : 1.0;
}

// sum_j of the diagonal of Y = M^-1 S_0 E, E the columns first ... of the identity.
template <class Exec>
double exact_trace(Exec const& exec, CovarianceFactor<Exec>& factor) {
  std::int64_t const n = factor.order(), width = std::min<std::int64_t>(n, 256);
  auto const E = block(exec, n, width, "strata::ooc::divergence::E"),
             Y = block(exec, n, width, "strata::ooc::divergence::Y");
  using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  double trace = 0;
  for (std::int64_t first = 0; first < n; first += width) {
    std::int64_t const columns = std::min(width, n - first);
    auto const E_now = Kokkos::subview(E, Kokkos::ALL, std::pair(std::int64_t{0}, columns)),
               Y_now = Kokkos::subview(Y, Kokkos::ALL, std::pair(std::int64_t{0}, columns));
    Kokkos::parallel_for(
        "strata::ooc::divergence::identity", Policy(exec, {0, 0}, {n, columns}),
        KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { E_now(i, j) = i == first + j ? 1 : 0; });
    factor.apply(exec, E_now, Y_now);
    factor.precondition(exec, Y_now);
    double sum = 0;
    Kokkos::parallel_reduce(
        "strata::ooc::divergence::trace", Kokkos::RangePolicy<Exec>(exec, 0, columns),
        KOKKOS_LAMBDA(std::int64_t j, double& s) { s += Y_now(first + j, j); }, sum);
    trace += sum;
  }
  return trace;
}

// z' M^-1 S_0 z for each probe z.
template <class Exec>
std::vector<double> probe_forms(Exec const& exec, CovarianceFactor<Exec>& factor,
                                DivergenceOptions const& options) {
  std::int64_t const n = factor.order();
  auto const Z = block(exec, n, options.probes, "strata::ooc::divergence::Z"),
             Y = block(exec, n, options.probes, "strata::ooc::divergence::Y");
  std::uint64_t const seed = options.seed;
  using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::ooc::divergence::probes", Policy(exec, {0, 0}, {n, options.probes}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { Z(i, j) = rademacher(seed, i, j); });
  factor.apply(exec, Z, Y);
  factor.precondition(exec, Y);
  std::vector<double> forms(static_cast<std::size_t>(options.probes));
  for (int j = 0; j < options.probes; ++j)
    Kokkos::parallel_reduce(
        "strata::ooc::divergence::form",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
        KOKKOS_LAMBDA(std::int64_t i, double& s) { s += Z(i, j) * Y(i, j); },
        forms[static_cast<std::size_t>(j)]);
  return forms;
}

}  // namespace

template <class Exec>
Divergence divergence(Exec const& exec, CovarianceFactor<Exec>& factor, double log_det_exact,
                      DivergenceOptions const& options) {
  Kokkos::Profiling::ScopedRegion const region("strata::ooc::divergence");
  STRATA_REQUIRE(ValueError, options.probes >= 2 && options.exact_up_to >= 0,
                 "divergence: probes is ", options.probes, " and exact_up_to ", options.exact_up_to,
                 ", must be at least 2 and 0");
  auto const n = static_cast<double>(factor.order());
  double const difference = factor.factor_log_determinant() - log_det_exact;
  Divergence result{.log_det_half = difference / 2};
  if (factor.order() <= options.exact_up_to) {
    result.full = (exact_trace(exec, factor) - n + difference) / 2;
    return result;
  }
  auto const forms = probe_forms(exec, factor, options);
  double const count = options.probes;
  double mean = 0, squares = 0;
  for (double const form : forms) mean += form / count;
  for (double const form : forms) squares += (form - mean) * (form - mean);
  result.full = (mean - n + difference) / 2;
  result.standard_error = std::sqrt(squares / (count - 1) / count) / 2;
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                                     \
  template Divergence divergence<Exec>(Exec const&, CovarianceFactor<Exec>&, double, \
                                       DivergenceOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
