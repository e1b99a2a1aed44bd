// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_OPERAND_HPP
#define STRATA_C_OPERAND_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <c/runtime/vendor/Strata_Pointer.hpp>
#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata::c {

/// The elements of a matrix that are copied to or from the device.
enum class Part { None, All, Lower, Upper };

inline Part part_of(Uplo uplo) { return uplo == Uplo::Lower ? Part::Lower : Part::Upper; }

/// The rows [first, end) of a part in column j of a matrix of `rows` rows.
struct RowsOfColumn {
  std::int64_t first, end;

  RowsOfColumn(Part part, std::int64_t rows, std::int64_t j)
      : first(part == Part::Lower ? std::min(j, rows) : 0),
        end(part == Part::Upper ? std::min(j + 1, rows) : rows) {}
  std::size_t count() const { return static_cast<std::size_t>(end - first); }
};

/// Whether the device can work on `data` where it is.
///
/// Throws   VendorError.
inline bool in_reach(void const* data) {
  return Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible ||
         vendor::is_device_pointer(data);
}

/// A caller's column-major matrix where the device can work on it: itself, or a copy.
///
/// Only the part named is ever read from or written to the caller's memory: other threads may use
/// the rest of it, and the rows below it in a padded matrix.
template <class T>
class Operand {
 public:
  using Value = std::remove_const_t<T>;

  /// Memory   a rows x cols copy, if `data` is not in the device's reach.
  /// Throws   MemoryError with the bytes needed; VendorError.
  Operand(Exec const& exec, T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
          Part part)
      : data_(data), rows_(rows), cols_(cols), ld_(ld) {
    if (rows == 0 || cols == 0 || in_reach(data)) return;
    try {
      copy_ = Copy(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::c::operand"),
                   static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
    } catch (std::exception const& failure) {
      throw MemoryError(strata::detail::message("can't allocate ", rows, " x ", cols,
                                                " numbers of ", sizeof(T),
                                                " bytes on the device: ", failure.what()));
    }
    for_columns(part, [&](HostColumn const& host, DeviceColumn const& device) {
      Kokkos::deep_copy(exec, device, host);
    });
  }

  /// Whether `matrix` is the caller's own memory.
  bool in_place() const { return copy_.size() == 0; }

  MatrixRef<Memory, ConstLike<void, T>> matrix() const {
    if (copy_.size() > 0) return {copy_.data(), rows_, cols_, rows_, precision_of<T>};
    return {data_, rows_, cols_, ld_, precision_of<T>};
  }

  /// The caller's matrix = the copy; enqueued.
  void write_back(Exec const& exec, Part part) const {
    for_columns(part, [&](HostColumn const& host, DeviceColumn const& device) {
      Kokkos::deep_copy(exec, host, device);
    });
  }

 private:
  using Copy = Kokkos::View<Value**, Kokkos::LayoutLeft, Memory>;
  template <class Space>
  using Column = Kokkos::View<Value*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using HostColumn = Column<Kokkos::HostSpace>;
  using DeviceColumn = Column<Memory>;

  template <class Function>
  void for_columns(Part part, Function const& f) const {
    if (copy_.size() == 0 || part == Part::None) return;
    for (std::int64_t j = 0; j < cols_; ++j) {
      RowsOfColumn const rows(part, rows_, j);
      f(HostColumn(const_cast<Value*>(data_) + rows.first + j * ld_, rows.count()),
        DeviceColumn(copy_.data() + rows.first + j * rows_, rows.count()));
    }
  }

  T* data_;
  std::int64_t rows_, cols_, ld_;
  Copy copy_;
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
