// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_ARRAYS_HPP
#define STRATA_PYTHON_ARRAYS_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <core/Strata_Errors.hpp>

#include <Kokkos_Core.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace strata::python::detail {

namespace nb = nanobind;

/// An array of fp64 in host memory: read (T is const), or written. Of one or two dimensions.
template <class T>
using Array = nb::ndarray<T, nb::device::cpu>;
using In = Array<double const>;
using Out = Array<double>;

/// The same where the library works, on its device or in host memory: a capsule of DLPack, say.
template <class T>
using ArrayAnywhere = nb::ndarray<T>;
using InAnywhere = ArrayAnywhere<double const>;
using OutAnywhere = ArrayAnywhere<double>;

/// An array as a column-major matrix in memory, or as the transpose of one.
template <class T>
struct Stored {
  T* data;
  std::int64_t rows, cols, ld;  ///< shape of what lies in memory
  bool transposed;

  std::int64_t size() const { return rows * cols; }
};

/// The array's numbers where they are; one of one dimension is a column. Nothing where no axis has
/// neighbours in memory: such arrays have to be copied.
template <class T, class... Where>
bool stored(nb::ndarray<T, Where...> const& array, Stored<T>& found) {
  std::int64_t const rows = static_cast<std::int64_t>(array.shape(0)),
                     cols = array.ndim() > 1 ? static_cast<std::int64_t>(array.shape(1)) : 1;
  std::int64_t const down = array.stride(0), right = array.ndim() > 1 ? array.stride(1) : rows;
  auto const fits = [](std::int64_t m, std::int64_t n, std::int64_t step, std::int64_t ld) {
    return (step == 1 || m <= 1) && (ld >= m || n <= 1);
  };
  auto const at_least = [](std::int64_t m, std::int64_t n, std::int64_t ld) {
    return n <= 1 || m * n == 0 ? (m > 1 ? m : 1) : ld;
  };
  bool const none = rows == 0 || cols == 0;
  if (none || fits(rows, cols, down, right))
    found = {array.data(), rows, cols, at_least(rows, cols, right), false};
  else if (fits(cols, rows, right, down))
    found = {array.data(), cols, rows, at_least(cols, rows, down), true};
  else
    return false;
  return true;
}

/// Throws   ShapeError where the array's numbers have to be copied first.
template <class T, class... Where>
Stored<T> require_stored(char const* name, nb::ndarray<T, Where...> const& array) {
  STRATA_REQUIRE(ShapeError, array.ndim() == 1 || array.ndim() == 2, name, " has ", array.ndim(),
                 " dimensions, must have 1 or 2");
  Stored<T> found{};
  STRATA_REQUIRE(ShapeError, stored(array, found), name,
                 " has no axis along which numbers are neighbours in memory");
  return found;
}

/// A vector of neighbours.
///
/// Throws   ShapeError.
template <class T>
std::span<T> require_vector(char const* name, Array<T> const& array) {
  STRATA_REQUIRE(ShapeError, array.ndim() == 1, name, " has ", array.ndim(),
                 " dimensions, must have 1");
  STRATA_REQUIRE(ShapeError, array.shape(0) <= 1 || array.stride(0) == 1, name,
                 " must be contiguous");
  return {array.data(), array.shape(0)};
}

/// Numbers that NumPy owns from here on, in rows where a shape is given.
template <std::size_t Dimensions = 1>
nb::ndarray<nb::numpy, double, nb::ndim<Dimensions>> as_array(
    std::span<double const> values, std::array<std::size_t, Dimensions> const& shape) {
  auto* const copy = new std::vector<double>(values.begin(), values.end());
  nb::capsule const owner(copy,
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::ndarray<nb::numpy, double, nb::ndim<Dimensions>>(copy->data(), Dimensions,
                                                              shape.data(), owner);
}
inline nb::ndarray<nb::numpy, double, nb::ndim<1>> as_array(std::span<double const> values) {
  return as_array<1>(values, {values.size()});
}

/// The array where the device works on it, as the matrix that the caller means.
template <class T>
class Columns {
 public:
  using View =
      Kokkos::View<T**, Kokkos::LayoutStride, c::Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Columns(c::Exec const& exec, Stored<T> const& from, c::Part part)
      : transposed_(from.transposed),
        operand_(exec, from.data, from.rows, from.cols, from.ld, part) {}

  View view() const {
    auto const a = operand_.matrix();
    auto const size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
    auto const layout = transposed_
                            ? Kokkos::LayoutStride(size(a.cols), size(a.ld), size(a.rows), 1)
                            : Kokkos::LayoutStride(size(a.rows), 1, size(a.cols), size(a.ld));
    return View(static_cast<T*>(a.data), layout);
  }
  void write_back(c::Exec const& exec) const { operand_.write_back(exec, c::Part::All); }

 private:
  bool transposed_;
  c::Operand<T> operand_;
};

}  // namespace strata::python::detail

#endif
