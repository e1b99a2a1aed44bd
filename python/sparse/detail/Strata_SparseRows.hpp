// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_SPARSE_ROWS_HPP
#define STRATA_PYTHON_SPARSE_ROWS_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <python/detail/Strata_Worked.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace strata::python::detail {

/// Numbers of any type, on the device that Strata works on or in host memory.
using Numbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;

/// A matrix as a caller has it, which is made for the solver where that works, beside an older one
/// if there is one.
struct Rows {
  using Matrix = sparse::DistributedMatrix<c::Exec>;
  std::int64_t rows, entries;
  std::function<Matrix(c::Exec const&, Matrix const* old)> matrix;
};

/// The rows of a matrix in CSR, or the columns of one in CSC, in host memory. `line` and `place`
/// are their names.
///
/// Throws   ShapeError, ValueError naming what is wrong.
sparse::HostRows checked(Numbers const& begin, Numbers const& column, Numbers const& value,
                         std::string const& line, std::string const& place);

/// CSR in host memory; with a queue on the device, whose stream waits for the arrays, and then the
/// host has counts alone. Rows on the device are looked at when the matrix is made.
///
/// Throws   ShapeError, ValueError naming what is wrong.
Rows given(std::shared_ptr<Queue> const& queue, Numbers const& begin, Numbers const& column,
           Numbers const& value);

}  // namespace strata::python::detail

#endif
