// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_SCALARS_HPP
#define STRATA_DEVICE_SCALARS_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

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

/// Merge the vendor's status of the factorisation and the first pivot that is not positive and
/// finite into info, in one kernel of one team.
template <class T, class ExecutionSpace, class Status, class InfoView>
void merge_info(ExecutionSpace const& exec, std::int64_t n, T const* data, std::int64_t ld,
                std::int64_t offset, Status const* status, InfoView const& info) {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  launch_teams(
      "strata::vendor::potrf::info", exec, 1, 0, KOKKOS_LAMBDA(Member const& team) {
        std::int64_t least = n + 1;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n),
            [&](std::int64_t j, std::int64_t& order) {
              T const pivot = data[j * (ld + 1)];
              bool const good = pivot > T(0) && pivot <= Kokkos::Experimental::finite_max_v<T>;
              if (!good && j + 1 < order) order = j + 1;
            },
            Kokkos::Min<std::int64_t>(least));
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          std::int64_t order = least <= n ? least : 0;
          if (*status > 0 && (order == 0 || *status < order)) order = *status;
          if (info() == 0) info() = *status < 0 ? *status : (order > 0 ? offset + order : 0);
        });
      });
}

/// alpha and beta as a vendor call takes them: by pointers into one memory.
template <class T>
struct Scalars {
  T const* alpha;
  T const* beta;
  bool on_device;
};

/// Makes the `Scalars` of one call at a time, on the device if they hold the scale of an
/// operand.
///
/// The instance is in order: a slot is overwritten only after the call that reads it. What is of
/// fixed scales alone has a slot of its own, which is written once.
template <class ExecutionSpace>
class DeviceScalars {
 public:
  using Slot = Kokkos::View<double*, typename ExecutionSpace::memory_space>;
  using Scales = Kokkos::View<double const*, typename ExecutionSpace::memory_space>;

  static constexpr std::size_t most_kept = 255;

  static Slot allocate_slot(ExecutionSpace const& exec) {
    return allocate_zeros<Slot>(exec, "strata::vendor::scalars", 2 * (1 + most_kept));
  }
  DeviceScalars(ExecutionSpace const& exec, Slot slot) : exec_(exec), slot_(std::move(slot)) {}
  explicit DeviceScalars(ExecutionSpace const& exec) : DeviceScalars(exec, allocate_slot(exec)) {}

  /// These scales keep their values until the next call.
  void set_fixed_scales(Scales const& scales) {
    fixed_ = scales;
    kept_.clear();
  }

  /// (alpha a b / divisor, beta); a null scale is 1.
  template <class T>
  Scalars<T> product(double alpha, double const* a, double const* b, double beta,
                     double const* divisor = nullptr) {
    return a || b || divisor ? device<T>(alpha, a, b, divisor, beta) : host<T>(alpha, beta);
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
    bool const are_fixed = is_fixed(a) && is_fixed(b) && is_fixed(divisor) &&
                           std::isfinite(alpha) && std::isfinite(beta);
    Product const key(alpha, a, b, divisor, beta, sizeof(T));
    std::size_t place = 0;
    if (are_fixed) {
      if (auto const kept = kept_.find(key); kept != kept_.end()) return at<T>(kept->second);
      if (kept_.size() < most_kept) place = 1 + kept_.size();
    }
    Scalars<T> const scalars = at<T>(place);
    write_scalars(exec_, alpha, a, b, divisor, beta, const_cast<T*>(scalars.alpha));
    if (place > 0) kept_.emplace(key, place);
    return scalars;
  }
  template <class T>
  Scalars<T> at(std::size_t place) const {
    T const* const slot = reinterpret_cast<T const*>(slot_.data() + 2 * place);
    return {slot, slot + 1, true};
  }
  bool is_fixed(double const* scale) const {
    std::less<> const before;
    return scale == nullptr ||
           (!before(scale, fixed_.data()) && before(scale, fixed_.data() + fixed_.size()));
  }
  template <class T>
  Scalars<T> host(double alpha, double beta) {
    T* const slot = reinterpret_cast<T*>(host_);
    slot[0] = static_cast<T>(alpha);
    slot[1] = static_cast<T>(beta);
    return {slot, slot + 1, false};
  }

  ExecutionSpace exec_;
  Slot slot_;
  Scales fixed_;
  using Product =
      std::tuple<double, double const*, double const*, double const*, double, std::size_t>;
  std::map<Product, std::size_t> kept_;  // with the slots of fixed scales
  alignas(double) std::byte host_[2 * sizeof(double)];
};

/// Turns a vendor's POTRF status, in device memory, into `LeafBlas`'s info.
///
/// Result   if *info is 0: offset + the order of the first minor that the vendor or the factor's
///          diagonal shows not to be positive, NaN and infinity included; a negative status (the
///          vendor refused an argument) is kept as it is.
/// Sync     enqueued on the instance, one kernel.
template <class Status, class ExecutionSpace>
class PotrfStatus {
  using memory_space = typename ExecutionSpace::memory_space;

 public:
  explicit PotrfStatus(ExecutionSpace const& exec)
      : exec_(exec),
        status_(allocate_zeros<decltype(status_)>(exec, "strata::vendor::potrf::status")) {}

  Status* data() const { return status_.data(); }

  template <class T, class InfoView>
  void merge(MatrixRef<memory_space> const& A, std::int64_t offset, InfoView const& info) const {
    merge_info(exec_, A.rows, A.template as<T>(), A.ld, offset, data(), info);
  }

 private:
  ExecutionSpace exec_;
  Kokkos::View<Status, memory_space> status_;
};

}  // namespace strata::vendor

#endif
