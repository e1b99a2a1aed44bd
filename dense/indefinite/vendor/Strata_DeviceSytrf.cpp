// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <dense/indefinite/vendor/Strata_VendorSytrf.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <limits>

#if defined(KOKKOS_ENABLE_CUDA) && defined(STRATA_ENABLE_TPL_CUSOLVER)
#include <cusolverDn.h>
#endif

namespace strata::dense::vendor {

using Exec = strata::runtime::Exec;

#if defined(KOKKOS_ENABLE_CUDA) && defined(STRATA_ENABLE_TPL_CUSOLVER)

namespace {

void check(cusolverStatus_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == CUSOLVER_STATUS_SUCCESS, "cuSOLVER: ", call, ": status ",
                 static_cast<int>(status));
}

// A handle on the instance's stream, until the work has ended.
struct Solver {
  explicit Solver(Exec const& exec) {
    check(cusolverDnCreate(&handle), "cusolverDnCreate");
    check(cusolverDnSetStream(handle, exec.cuda_stream()), "cusolverDnSetStream");
  }
  ~Solver() { (void)cusolverDnDestroy(handle); }
  Solver(Solver const&) = delete;
  Solver& operator=(Solver const&) = delete;

  cusolverDnHandle_t handle = nullptr;
};

using Ints = Kokkos::View<int*, Exec::memory_space>;

void widen(Exec const& exec, Ints const& order,
           Kokkos::View<std::int64_t*, Exec::memory_space> const& pivots) {
  Kokkos::parallel_for(
      "strata::dense::sytrf::pivots",
      Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(pivots.extent(0))),
      KOKKOS_LAMBDA(int i) { pivots(i) = order(i); });
}

}  // namespace

template <>
bool sytrf<Exec>(Exec const& exec, MatrixRef<Exec::memory_space> const& M,
                 Kokkos::View<std::int64_t*, Exec::memory_space> const& pivots,
                 std::int64_t& info) {
  STRATA_REQUIRE(ValueError, M.ld <= std::numeric_limits<int>::max(),
                 "cuSOLVER: a leading dimension of ", M.ld, " exceeds ",
                 std::numeric_limits<int>::max());
  Kokkos::Profiling::ScopedRegion const region("strata::dense::sytrf[cusolver]");
  strata::runtime::select(exec);
  Solver const solver(exec);
  int const n = static_cast<int>(M.rows), ld = static_cast<int>(M.ld);
  int room = 0;
  check(cusolverDnDsytrf_bufferSize(solver.handle, n, M.as<double>(), ld, &room),
        "cusolverDnDsytrf_bufferSize");
  auto const work = strata::allocate<Kokkos::View<double*, Exec::memory_space>>(
      exec, "strata::dense::sytrf::work", room);
  auto const order = strata::allocate<Ints>(exec, "strata::dense::sytrf::order", n + 1);
  check(cusolverDnDsytrf(solver.handle, CUBLAS_FILL_MODE_LOWER, n, M.as<double>(), ld, order.data(),
                         work.data(), room, order.data() + n),
        "cusolverDnDsytrf");
  widen(exec, order, pivots);
  int status = 0;
  Kokkos::deep_copy(exec, Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&status),
                    Kokkos::subview(order, n));
  exec.fence("strata::dense::sytrf: read the status");
  STRATA_REQUIRE(VendorError, status >= 0, "cuSOLVER: sytrf: argument ", -status);
  info = status;
  return true;
}

#else

template <>
bool sytrf<Exec>(Exec const&, MatrixRef<Exec::memory_space> const&,
                 Kokkos::View<std::int64_t*, Exec::memory_space> const&, std::int64_t&) {
  return false;
}

#endif

}  // namespace strata::dense::vendor
