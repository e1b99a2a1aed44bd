// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/indefinite/vendor/Strata_VendorSytrf.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <limits>
#include <vector>

extern "C" void dsytrf_(char const*, int const*, double*, int const*, int*, double*, int const*,
                        int*);

namespace strata::dense::vendor {

#ifdef STRATA_ENABLE_TPL_LAPACK

template <class Exec>
bool sytrf(Exec const& exec, MatrixRef<typename Exec::memory_space> const& M,
           Kokkos::View<std::int64_t*, typename Exec::memory_space> const& pivots,
           std::int64_t& info) {
  STRATA_REQUIRE(ValueError, M.ld <= std::numeric_limits<int>::max(),
                 "LAPACK: a leading dimension of ", M.ld, " exceeds ",
                 std::numeric_limits<int>::max());
  Kokkos::Profiling::ScopedRegion const region("strata::dense::sytrf[lapack]");
  exec.fence("strata::dense::sytrf: the matrix is there");
  int const n = static_cast<int>(M.rows), ld = static_cast<int>(M.ld), ask = -1;
  std::vector<int> order(static_cast<std::size_t>(n));
  double best = 0;
  int status = 0;
  dsytrf_("L", &n, M.template as<double>(), &ld, order.data(), &best, &ask, &status);
  int const room = std::max(1, static_cast<int>(best));
  std::vector<double> work(static_cast<std::size_t>(room));
  dsytrf_("L", &n, M.template as<double>(), &ld, order.data(), work.data(), &room, &status);
  STRATA_REQUIRE(VendorError, status >= 0, "LAPACK: sytrf: argument ", -status);
  std::copy(order.begin(), order.end(), pivots.data());
  info = status;
  return true;
}

#else

template <class Exec>
bool sytrf(Exec const&, MatrixRef<typename Exec::memory_space> const&,
           Kokkos::View<std::int64_t*, typename Exec::memory_space> const&, std::int64_t&) {
  return false;
}

#endif

#define STRATA_INSTANTIATE(Exec)                                         \
  template bool sytrf(Exec const&, MatrixRef<Exec::memory_space> const&, \
                      Kokkos::View<std::int64_t*, Exec::memory_space> const&, std::int64_t&);
STRATA_FOR_EACH_HOST_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::vendor
