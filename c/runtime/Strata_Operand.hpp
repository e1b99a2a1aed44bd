// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_OPERAND_HPP
#define STRATA_C_OPERAND_HPP

#include <c/runtime/Strata_HostMatrices.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <c/runtime/vendor/Strata_Pointer.hpp>
#include <c/runtime/vendor/Strata_Staging.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/memory/Strata_Buffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::c {

/// Whether the device can work on `data` where it is.
///
/// Throws   VendorError.
inline bool in_reach(void const* data) {
  return Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible ||
         vendor::is_device_pointer(data);
}

/// A caller's column-major matrix where the device can work on it: itself, or a copy.
///
/// Only the part named is ever read from or written to the caller's memory. Other threads may use
/// the rest, and the rows below in a padded matrix.
template <class T>
class Operand {
 public:
  /// Memory   a rows x cols copy, if `data` is not in the device's reach.
  /// Throws   MemoryError with the bytes needed; VendorError.
  Operand(Exec const& exec, T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
          Part part)
      : data_(data), shape_{rows, cols, ld} {
    if (shape_.size() == 0 || in_reach(data)) return;
    try {
      copy_ = Buffer<Exec>(exec, "strata::c::operand", shape_.size() * sizeof(T));
    } catch (MemoryError const& failure) {
      throw MemoryError(strata::detail::message("can't allocate ", rows, " x ", cols,
                                                " numbers of ", sizeof(T),
                                                " bytes on the device: ", failure.what()));
    }
    vendor::copy(exec, vendor::Way::ToDevice, on_host(part), copy_.data());
  }

  /// Whether `matrix` is the caller's own memory.
  bool in_place() const { return copy_.size() == 0; }

  MatrixRef<Memory, ConstLike<void, T>> matrix() const {
    if (in_place()) return {data_, shape_.rows, shape_.cols, shape_.ld, precision_of<T>};
    return {reinterpret_cast<T*>(copy_.data()), shape_.rows, shape_.cols, shape_.rows,
            precision_of<T>};
  }

  /// The caller's matrix = the copy. Returns when it is.
  void write_back(Exec const& exec, Part part) const {
    if (!in_place()) vendor::copy(exec, vendor::Way::ToHost, on_host(part), copy_.data());
  }

 private:
  HostMatrices on_host(Part part) const {
    auto* const bytes = reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(data_));
    return {bytes, sizeof(T), shape_, part};
  }

  T* data_;
  BatchShape shape_;
  Buffer<Exec> copy_;
};

/// The symmetric A of which the triangle `uplo` is read, with that triangle as the lower one.
inline auto as_lower(Operand<double const> const& A, Uplo uplo) {
  auto const a = A.matrix();
  auto const order = static_cast<std::size_t>(a.rows), ld = static_cast<std::size_t>(a.ld);
  bool const is_lower = uplo == Uplo::Lower;
  Kokkos::LayoutStride const layout(order, is_lower ? 1 : ld, order, is_lower ? ld : 1);
  return Kokkos::View<double const**, Kokkos::LayoutStride, Memory>(
      static_cast<double const*>(a.data), layout);
}

}  // namespace strata::c

#endif
