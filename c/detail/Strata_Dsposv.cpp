// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/detail/Strata_Dsposv.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::c::detail {

Range range_of(Exec const& exec, Uplo uplo, ConstMatrixRef<Memory> const& A) {
  double const* const a = A.as<double>();
  std::int64_t const n = A.rows, ld = A.ld;
  bool const lower = uplo == Uplo::Lower;
  int worst = 0;
  Kokkos::parallel_reduce(
      "strata::c::dsposv::range",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t j, int& found) {
        constexpr double largest = 0x1.fffffep127;  // of fp32
        auto const scale = [&](std::int64_t i) {
          double const d = a[i + i * ld];
          return d > 0 && Kokkos::isfinite(d) ? Kokkos::sqrt(d) : 1.0;
        };
        double const scale_j = scale(j);
        for (std::int64_t i = lower ? j : 0; i < (lower ? n : j + 1); ++i) {
          double const value = a[i + j * ld];
          bool const fits = !(Kokkos::abs(value) / scale(i) / scale_j > largest);
          int const kind = !fits ? 2 : value != value ? 1 : 0;
          found = kind > found ? kind : found;
        }
      },
      Kokkos::Max<int>(worst));
  exec.fence("strata::c::dsposv: read the range");
  return worst == 2 ? Range::Overflows : worst == 1 ? Range::NaN : Range::Fits;
}

}  // namespace strata::c::detail
