// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_BATCH_OPERAND_HPP
#define STRATA_C_BATCH_OPERAND_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <core/memory/Strata_Buffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::c::detail {

/// A caller's batch where the device can work on it: itself, or a copy.
///
/// Only the part named of each matrix is ever read from or written to the caller's memory.
template <class T>
class BatchOperand {
 public:
  using Value = std::remove_const_t<T>;

  /// Memory   if `data` is not in the device's reach, the numbers without their padding on the
  ///          device.
  /// Throws   MemoryError with the bytes needed; VendorError.
  BatchOperand(Exec const& exec, T* data, BatchShape const& shape, Part part)
      : data_(data), shape_(shape) {
    if (shape.size() == 0 || in_reach(data)) return;
    copy_ = Buffer<Exec>(exec, "strata::c::batch", shape.size() * sizeof(T));
    vendor::copy(exec, vendor::Way::ToDevice, on_host(part), copy_.data());
  }

  /// Whether the device works on the caller's own memory.
  bool in_place() const { return copy_.size() == 0; }

  /// A(i, j, b).
  auto matrices() const {
    auto const size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
    bool const copied = !in_place();
    Kokkos::LayoutStride const layout(size(shape_.rows), 1, size(shape_.cols),
                                      size(copied ? shape_.rows : shape_.ld), size(shape_.count),
                                      size(copied ? shape_.rows * shape_.cols : shape_.stride));
    return Kokkos::View<T***, Kokkos::LayoutStride, Memory,
                        Kokkos::MemoryTraits<Kokkos::Unmanaged>>(first(), layout);
  }
  /// One number a system, of matrices of 1 x 1.
  Kokkos::View<Value*, Memory> numbers() const {
    return Kokkos::View<Value*, Memory>(const_cast<Value*>(first()),
                                        static_cast<std::size_t>(shape_.count));
  }

  /// The caller's matrices = the copies. Returns when they are.
  void write_back(Exec const& exec, Part part) const
    requires(!std::is_const_v<T>)
  {
    if (!in_place()) vendor::copy(exec, vendor::Way::ToHost, on_host(part), copy_.data());
  }

 private:
  T* first() const { return in_place() ? data_ : reinterpret_cast<T*>(copy_.data()); }
  HostMatrices on_host(Part part) const {
    return {reinterpret_cast<std::byte*>(const_cast<Value*>(data_)), sizeof(T), shape_, part};
  }

  T* data_;
  BatchShape shape_;
  Buffer<Exec> copy_;  // empty where the device works on the caller's memory
};

}  // namespace strata::c::detail

#endif
