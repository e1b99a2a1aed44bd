// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_SCALARS_HPP
#define STRATA_DEVICE_SCALARS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

// The scalars that vendor calls take from, and leave in, device memory.
namespace strata::vendor {

/// slot = (alpha a b / divisor, beta) in the type T; a null pointer means 1.
template <class T, class ExecutionSpace>
void write_scalars(ExecutionSpace const& exec, double alpha, double const* a, double const* b,
                   double const* divisor, double beta, T* slot) {
  Kokkos::parallel_for(
      "strata::vendor::scalars", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
      KOKKOS_LAMBDA(int) {
        double const product = alpha * (a ? *a : 1.0) * (b ? *b : 1.0);
        slot[0] = static_cast<T>(product / (divisor ? *divisor : 1.0));
        slot[1] = static_cast<T>(beta);
      });
}

/// first = the least order j whose pivot diag(j) is not positive and finite, or a huge number.
template <class T, class ExecutionSpace, class FirstView>
void find_bad_pivot(ExecutionSpace const& exec, std::int64_t n, T const* data, std::int64_t ld,
                    FirstView const& first) {
  Kokkos::parallel_reduce(
      "strata::vendor::potrf::diagonal",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t& least) {
        T const pivot = data[j * (ld + 1)];
        bool const good = pivot > T(0) && pivot <= Kokkos::Experimental::finite_max_v<T>;
        if (!good && j + 1 < least) least = j + 1;
      },
      Kokkos::Min<std::int64_t, typename FirstView::memory_space>(first));
}

/// Merge the vendor's status of the factorisation and the first bad pivot into info.
template <class ExecutionSpace, class Status, class FirstView, class InfoView>
void merge_info(ExecutionSpace const& exec, std::int64_t n, std::int64_t offset,
                Status const* status, FirstView const& first, InfoView const& info) {
  Kokkos::parallel_for(
      "strata::vendor::potrf::info", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
      KOKKOS_LAMBDA(int) {
        std::int64_t order = first() <= n ? first() : 0;
        if (*status > 0 && (order == 0 || *status < order)) order = *status;
        if (info() == 0) info() = *status < 0 ? *status : (order > 0 ? offset + order : 0);
      });
}

/// alpha and beta as a vendor call takes them: by pointers into one memory.
template <class T>
struct Scalars {
  T const* alpha;
  T const* beta;
  bool on_device;
};

/// Makes the `Scalars` of one call at a time, on the device if a scale of an operand is part of
/// them.
///
/// The instance is in order: a slot is overwritten only after the call that reads it.
template <class ExecutionSpace>
class DeviceScalars {
 public:
  explicit DeviceScalars(ExecutionSpace const& exec)
      : exec_(exec), slot_(allocate_zeros<decltype(slot_)>(exec, "strata::vendor::scalars", 2)) {}

  /// (alpha a b, beta); a null scale is 1.
  template <class T>
  Scalars<T> product(double alpha, double const* a, double const* b, double beta) {
    return a || b ? device<T>(alpha, a, b, nullptr, beta) : host<T>(alpha, beta);
  }
  /// (alpha / divisor, 0)
  template <class T>
  Scalars<T> quotient(double alpha, double const* divisor) {
    return divisor ? device<T>(alpha, nullptr, nullptr, divisor, 0) : host<T>(alpha, 0);
  }

 private:
  template <class T>
  Scalars<T> device(double alpha, double const* a, double const* b, double const* divisor,
                    double beta) {
    T* const slot = reinterpret_cast<T*>(slot_.data());
    write_scalars(exec_, alpha, a, b, divisor, beta, slot);
    return {slot, slot + 1, true};
  }
  template <class T>
  Scalars<T> host(double alpha, double beta) {
    T* const slot = reinterpret_cast<T*>(host_);
    slot[0] = static_cast<T>(alpha);
    slot[1] = static_cast<T>(beta);
    return {slot, slot + 1, false};
  }

  ExecutionSpace exec_;
  Kokkos::View<double*, typename ExecutionSpace::memory_space> slot_;
  alignas(double) std::byte host_[2 * sizeof(double)];
};

/// Turns a vendor's POTRF status, in device memory, into `LeafBlas`'s info.
///
/// Result   if *info is 0: offset + the order of the first minor that the vendor or the factor's
///          diagonal shows not to be positive, NaN and infinity included; a negative status (the
///          vendor refused an argument) is kept as it is.
/// Sync     enqueued on the instance, two kernels.
template <class Status, class ExecutionSpace>
class PotrfStatus {
  using memory_space = typename ExecutionSpace::memory_space;

 public:
  explicit PotrfStatus(ExecutionSpace const& exec)
      : exec_(exec),
        status_(allocate_zeros<decltype(status_)>(exec, "strata::vendor::potrf::status")),
        first_(allocate_zeros<decltype(first_)>(exec, "strata::vendor::potrf::first")) {}

  Status* data() const { return status_.data(); }

  template <class T, class InfoView>
  void merge(MatrixRef<memory_space> const& A, std::int64_t offset, InfoView const& info) const {
    find_bad_pivot(exec_, A.rows, A.template as<T>(), A.ld, first_);
    merge_info(exec_, A.rows, offset, data(), first_, info);
  }

 private:
  ExecutionSpace exec_;
  Kokkos::View<Status, memory_space> status_;
  Kokkos::View<std::int64_t, memory_space> first_;
};

}  // namespace strata::vendor

#endif
