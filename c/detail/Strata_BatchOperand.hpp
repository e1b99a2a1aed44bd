// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_BATCH_OPERAND_HPP
#define STRATA_C_BATCH_OPERAND_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::c::detail {

/// `count` column-major matrices of one shape, each `stride` numbers after the one before.
struct BatchShape {
  std::int64_t rows, cols, ld, stride, count;

  /// Numbers from the first of a matrix to its last.
  std::int64_t span() const { return rows > 0 && cols > 0 ? (cols - 1) * ld + rows : 0; }
  std::size_t size() const { return static_cast<std::size_t>(rows * cols * count); }
};

/// A caller's batch where the device can work on it: itself, or a copy, which crosses in one piece as small matrices are
/// many.
///
/// Only the part named of each matrix is ever read from or written to the caller's memory.
template <class T>
class BatchOperand {
 public:
  using Value = std::remove_const_t<T>;

  /// Memory   if `data` is not in the device's reach, the numbers without their padding on the device and once more on
  ///          the host.
  /// Throws   MemoryError with the bytes needed; VendorError.
  BatchOperand(Exec const& exec, T* data, BatchShape const& shape, Part part)
      : data_(data), shape_(shape) {
    if (shape.size() == 0 || in_reach(data)) return;
    copy_ = allocate<Copy>(exec, "strata::c::batch", shape.size());
    staged_ = allocate_on_host<Staged>("strata::c::batch::staged", shape.size());
    if (part == Part::None) return;
    for_columns(part, [](Value* mine, T* theirs, std::size_t n) { std::copy_n(theirs, n, mine); });
    Kokkos::deep_copy(exec, copy_, staged_);
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

  /// The caller's matrices = the copies. Fences.
  void write_back(Exec const& exec, Part part) const
    requires(!std::is_const_v<T>)
  {
    if (in_place()) return;
    Kokkos::deep_copy(exec, staged_, copy_);
    exec.fence("strata::c::batch: the copy is back");
    for_columns(part, [](Value* mine, T* theirs, std::size_t n) { std::copy_n(mine, n, theirs); });
  }

 private:
  using Copy = Kokkos::View<Value*, Memory>;
  using Staged = Kokkos::View<Value*, Kokkos::HostSpace>;

  T* first() const { return in_place() ? data_ : copy_.data(); }

  template <class Function>
  void for_columns(Part part, Function const& f) const {
    Value* mine = staged_.data();
    for (std::int64_t b = 0; b < shape_.count; ++b)
      for (std::int64_t j = 0; j < shape_.cols; ++j, mine += shape_.rows) {
        RowsOfColumn const rows(part, shape_.rows, j);
        f(mine + rows.first, data_ + b * shape_.stride + j * shape_.ld + rows.first, rows.count());
      }
  }

  T* data_;
  BatchShape shape_;
  Copy copy_;      // empty where the device works on the caller's memory
  Staged staged_;  // the same on the host
};

}  // namespace strata::c::detail

#endif
