// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <python/sparse/detail/Strata_SparseRows.hpp>

#include <c/runtime/Strata_CallersCsr.hpp>
#include <core/Strata_Errors.hpp>
#include <python/detail/Strata_Work.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace strata::python::detail {

using c::Exec;
using sparse::HostRows;

namespace {

void require_on_host(char const* name, Numbers const& array) {
  STRATA_REQUIRE(ValueError, array.device_type() == nb::device::cpu::value, name,
                 " must be in host memory");
}

// The integers of an array of 32 or 64 bits.
std::vector<std::int64_t> integers(char const* name, Numbers const& array) {
  require_on_host(name, array);
  auto const copy = [&](auto const* first) {
    return std::vector<std::int64_t>(first, first + array.size());
  };
  if (array.dtype() == nb::dtype<std::int32_t>())
    return copy(static_cast<std::int32_t const*>(array.data()));
  STRATA_REQUIRE(ValueError, array.dtype() == nb::dtype<std::int64_t>(), name,
                 " must be of int32 or int64");
  return copy(static_cast<std::int64_t const*>(array.data()));
}

// The numbers of an array of fp32 or fp64.
std::vector<double> reals(char const* name, Numbers const& array) {
  require_on_host(name, array);
  auto const copy = [&](auto const* first) {
    return std::vector<double>(first, first + array.size());
  };
  if (array.dtype() == nb::dtype<float>()) return copy(static_cast<float const*>(array.data()));
  STRATA_REQUIRE(ValueError, array.dtype() == nb::dtype<double>(), name,
                 " must be of float32 or float64");
  return copy(static_cast<double const*>(array.data()));
}

}  // namespace

HostRows checked(Numbers const& begin, Numbers const& column, Numbers const& value,
                 std::string const& line, std::string const& place) {
  HostRows found;
  found.begin = integers("indptr", begin);
  found.column = integers("indices", column);
  found.value = reals("data", value);
  auto const& values = found.value;
  auto const n = found.rows(), entries = static_cast<std::int64_t>(values.size());
  STRATA_REQUIRE(ShapeError,
                 n >= 0 && found.begin.front() == 0 && found.begin.back() == entries &&
                     found.entries() == entries,
                 "A has ", found.begin.size(), " ", line, " pointers, the last ",
                 found.begin.empty() ? 0 : found.begin.back(), ", ", found.entries(), " ", place,
                 "s and ", entries, " values, which do not fit");
  for (std::int64_t i = 0; i < n; ++i) {
    auto const first = found.begin[static_cast<std::size_t>(i)],
               end = found.begin[static_cast<std::size_t>(i) + 1];
    STRATA_REQUIRE(ShapeError, first <= end && end <= entries, "A: ", line, " ", i, " is from ",
                   first, " to ", end, " of ", entries, " entries");
    for (auto k = first; k < end; ++k) {
      auto const j = found.column[static_cast<std::size_t>(k)];
      STRATA_REQUIRE(ShapeError, j >= 0 && j < n, "A: ", line, " ", i, " has a ", place, " ", j,
                     ", there are ", n);
      double const entry = values[static_cast<std::size_t>(k)];
      STRATA_REQUIRE(ValueError, std::isfinite(entry), "A: ", line, " ", i, " has ", entry, " in ",
                     place, " ", j, ", must be finite");
    }
  }
  return found;
}

namespace {

Rows host_rows(Numbers const& begin, Numbers const& column, Numbers const& value) {
  auto const A = std::make_shared<HostRows>(checked(begin, column, value, "row", "column"));
  return {A->rows(), A->entries(), [A](Exec const& exec, Rows::Matrix const* old) {
            return old ? make_matrix(exec, *old, *A) : make_matrix(exec, Communicator(), *A);
          }};
}

// CSR where the device works on it, or copied there: the host has counts alone. Its rows are looked
// at when the matrix is made.
template <class Index>
Rows device_rows(Numbers const& begin, Numbers const& column, Numbers const& value) {
  auto const n = static_cast<std::int64_t>(begin.size()) - 1,
             entries = static_cast<std::int64_t>(value.size());
  return {n, entries,
          [=, kept = Kept(begin, column, value)](Exec const& exec, Rows::Matrix const* old) {
            c::CsrPattern<Index> const pattern(exec, n, static_cast<Index const*>(begin.data()),
                                               static_cast<Index const*>(column.data()), false);
            STRATA_REQUIRE(ShapeError, pattern.entries == entries, "A: the last of the row ",
                           "pointers is ", pattern.entries, ", there are ", entries, " values");
            auto const first = pattern.first(exec);
            STRATA_REQUIRE(ShapeError, first == 0, "A: the first of the row pointers is ", first,
                           ", must be 0");
            return c::matrix_of(exec, Communicator(), pattern,
                                static_cast<double const*>(value.data()), old);
          }};
}
Rows device_rows(Numbers const& begin, Numbers const& column, Numbers const& value) {
  STRATA_REQUIRE(ShapeError, begin.size() > 0 && column.size() == value.size(), "A has ",
                 begin.size(), " row pointers, ", column.size(), " columns and ", value.size(),
                 " values, which do not fit");
  STRATA_REQUIRE(ValueError, value.dtype() == nb::dtype<double>(), "data must be of float64");
  if (begin.dtype() == nb::dtype<std::int32_t>() && column.dtype() == begin.dtype())
    return device_rows<std::int32_t>(begin, column, value);
  STRATA_REQUIRE(ValueError,
                 begin.dtype() == nb::dtype<std::int64_t>() && column.dtype() == begin.dtype(),
                 "indptr and indices must both be of int32, or of int64");
  return device_rows<std::int64_t>(begin, column, value);
}

}  // namespace

Rows given(std::shared_ptr<Queue> const& queue, Numbers const& begin, Numbers const& column,
           Numbers const& value) {
  return queue ? device_rows(begin, column, value) : host_rows(begin, column, value);
}

}  // namespace strata::python::detail
