// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Config.hpp>
#include <core/blas/basics/vendor/Strata_VendorBatched.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#if defined(STRATA_ENABLE_TPL_CUSOLVER) || defined(STRATA_ENABLE_TPL_ROCSOLVER)
#define STRATA_HAS_BATCHED
#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>
#ifdef KOKKOS_ENABLE_HIP
#include <rocsolver/rocsolver.h>
#endif
#endif

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <limits>
#include <type_traits>

namespace strata::vendor {

namespace {
using runtime::Exec;
using Memory = Exec::memory_space;
}  // namespace

#ifdef STRATA_HAS_BATCHED

/// info(b) = the vendor's status, or the first pivot that let NaN or Inf pass. Enqueued.
template <class T, class Status>
void judge_batch(Exec const& exec, MatrixRef<Memory> const& A, Batch const& batch,
                 Status const* status, Kokkos::View<std::int64_t*, Memory> const& info) {
  T const* const a = A.as<T>();
  std::int64_t const n = A.rows, ld = A.ld, stride = batch.stride_a;
  Kokkos::parallel_for(
      "strata::core::batched::potrf::info",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, batch.count),
      KOKKOS_LAMBDA(std::int64_t b) {
        std::int64_t order = static_cast<std::int64_t>(status[b]);
        std::int64_t const done = order > 0 ? order - 1 : n;
        for (std::int64_t j = 0; j < done; ++j) {
          T const pivot = a[b * stride + j * (ld + 1)];
          bool const good = pivot > T(0) && pivot <= Kokkos::Experimental::finite_max_v<T>;
          if (!good) {
            order = j + 1;
            break;
          }
        }
        info(b) = order;
      });
}

#ifdef KOKKOS_ENABLE_CUDA

/// pointers[b] = first + b stride. Enqueued.
template <class T>
void write_pointers(Exec const& exec, T* first, std::int64_t stride, std::int64_t count,
                    T** pointers) {
  Kokkos::parallel_for(
      "strata::core::batched::pointers",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t b) { pointers[b] = first + b * stride; });
}

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto potrf = cusolverDnDpotrfBatched;
  static constexpr auto potrs = cusolverDnDpotrsBatched;
};
template <>
struct Routines<float> {
  static constexpr auto potrf = cusolverDnSpotrfBatched;
  static constexpr auto potrs = cusolverDnSpotrsBatched;
};

// Pointers to the matrices, to the right-hand sides, and one more number a system.
template <class T>
struct Tables {
  T **a, **b;
  int* status;
};

// An extent as the library takes it.
int native(char const* what, std::int64_t extent) {
  STRATA_REQUIRE(ValueError, extent <= std::numeric_limits<int>::max(), "cuSOLVER: ", what, " of ",
                 extent, " exceeds ", std::numeric_limits<int>::max());
  return static_cast<int>(extent);
}

}  // namespace

template <>
struct Batched<Exec>::Impl {
  explicit Impl(Exec const& space)
      : exec(runtime::select(space)), room(space), handle("cusolverDnCreate") {
    check(cusolverDnSetStream(handle, runtime::stream_of(exec)), "cusolverDnSetStream");
  }

  template <class T>
  Tables<T> tables(std::int64_t count) {
    auto const n = static_cast<std::size_t>(count);
    auto** const pointers = static_cast<T**>(room.reserve(n * (2 * sizeof(T*) + sizeof(int))));
    return {pointers, pointers + n, reinterpret_cast<int*>(pointers + 2 * n)};
  }

  template <class T>
  void potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info) {
    auto const table = tables<T>(batch.count);
    write_pointers(exec, A.as<T>(), batch.stride_a, batch.count, table.a);
    check(Routines<T>::potrf(handle, vendor::native(uplo), native("an order", A.rows), table.a,
                             native("a leading dimension", A.ld), table.status,
                             native("a batch", batch.count)),
          "cusolverDn?potrfBatched");
    judge_batch<T>(exec, A, batch, table.status, info);
  }

  // The library takes one column at a time.
  template <class T>
  void potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch) {
    auto const table = tables<T>(batch.count);
    write_pointers(exec, const_cast<T*>(A.as<T>()), batch.stride_a, batch.count, table.a);
    for (std::int64_t c = 0; c < B.cols; ++c) {
      write_pointers(exec, B.as<T>() + c * B.ld, batch.stride_b, batch.count, table.b);
      check(Routines<T>::potrs(handle, vendor::native(uplo), native("an order", A.rows), 1, table.a,
                               native("a leading dimension", A.ld), table.b,
                               native("a leading dimension", B.ld), table.status,
                               native("a batch", batch.count)),
            "cusolverDn?potrsBatched");
    }
  }

  Exec exec;
  DeviceBuffer<Exec> room;
  Handle<cusolverDnHandle_t, cusolverDnCreate, cusolverDnDestroy> handle;
};

#else

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto potrf = rocsolver_dpotrf_strided_batched_64;
  static constexpr auto potrs = rocsolver_dpotrs_strided_batched_64;
};
template <>
struct Routines<float> {
  static constexpr auto potrf = rocsolver_spotrf_strided_batched_64;
  static constexpr auto potrs = rocsolver_spotrs_strided_batched_64;
};

}  // namespace

template <>
struct Batched<Exec>::Impl {
  explicit Impl(Exec const& space) : exec(space), room(space), handle(space) {}

  template <class T>
  void potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info) {
    auto* const status = static_cast<std::int64_t*>(
        room.reserve(static_cast<std::size_t>(batch.count) * sizeof(std::int64_t)));
    check(Routines<T>::potrf(handle, native(uplo), A.rows, A.as<T>(), A.ld, batch.stride_a, status,
                             batch.count),
          "rocsolver_?potrf_strided_batched_64");
    judge_batch<T>(exec, A, batch, status, info);
  }

  template <class T>
  void potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch) {
    check(Routines<T>::potrs(handle, native(uplo), A.rows, B.cols, const_cast<T*>(A.as<T>()), A.ld,
                             batch.stride_a, B.as<T>(), B.ld, batch.stride_b, batch.count),
          "rocsolver_?potrs_strided_batched_64");
  }

  Exec exec;
  DeviceBuffer<Exec> room;
  BlasHandle handle;
};

#endif

template <>
bool Batched<Exec>::potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info) {
  Kokkos::Profiling::ScopedRegion const region(STRATA_CUDA_OR_HIP(
      "strata::core::batched::potrf[cusolver]", "strata::core::batched::potrf[rocsolver]"));
  runtime::select(impl_->exec);
  with_arithmetic_type(
      A.precision, [&]<class T>(std::type_identity<T>) { impl_->potrf<T>(uplo, A, batch, info); });
  return true;
}

template <>
bool Batched<Exec>::potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch,
                          InfoView const&) {
  Kokkos::Profiling::ScopedRegion const region(STRATA_CUDA_OR_HIP(
      "strata::core::batched::potrs[cusolver]", "strata::core::batched::potrs[rocsolver]"));
  runtime::select(impl_->exec);
  with_arithmetic_type(A.precision,
                       [&]<class T>(std::type_identity<T>) { impl_->potrs<T>(uplo, A, B, batch); });
  return true;
}

#else

template <>
struct Batched<Exec>::Impl {
  explicit Impl(Exec const&) {}
};
template <>
bool Batched<Exec>::potrf(Uplo, Matrix const&, Batch const&, InfoView const&) {
  return false;
}
template <>
bool Batched<Exec>::potrs(Uplo, ConstMatrix const&, Matrix const&, Batch const&, InfoView const&) {
  return false;
}

#endif

template <class ExecutionSpace>
Batched<ExecutionSpace>::Batched(ExecutionSpace const& exec)
    : impl_(std::make_unique<Impl>(exec)) {}
template <class ExecutionSpace>
Batched<ExecutionSpace>::~Batched() = default;
template <class ExecutionSpace>
Batched<ExecutionSpace>::Batched(Batched&&) noexcept = default;

template class Batched<Exec>;

}  // namespace strata::vendor
