// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A dense factor beyond solves: whitening and sampling, the inverse, changes of the matrix.
#include <c/runtime/Strata_Held.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <python/dense/detail/Strata_KeptFactor.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using detail::InAnywhere, detail::OutAnywhere, detail::Kept, detail::Stored, detail::KeptFactor;
using Shared = std::shared_ptr<KeptFactor>;
using Vector = Kokkos::View<double*, c::Memory>;
using Rows = std::vector<std::int64_t>;

double flops(std::int64_t n, std::int64_t columns, double each) {
  return each * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(columns);
}

bool promote(Shared const& factor) {
  return detail::work_with(factor, flops(factor->order(), factor->order(), 1.0 / 3),
                           [](c::DenseFactor& work) {
                             (void)work.factor.promote(work.exec);
                             return KeptFactor::require_definite(work);
                           });
}

// X = work of B, and of the factor.
template <class Function>
bool to_columns(Shared const& factor, InAnywhere const& B, OutAnywhere const& X, Function f) {
  auto const b = detail::require_stored("b", B);
  auto const x = detail::require_stored("out", X);
  return detail::work_with(factor, flops(1, b.size(), static_cast<double>(factor->order())),
                           [kept = Kept(B, X), b, x, f](c::DenseFactor& work) {
                             detail::Columns<double const> const right(work.exec, b, c::Part::All);
                             detail::Columns<double> const result(work.exec, x, c::Part::None);
                             f(work, right.view(), result.view());
                             result.write_back(work.exec);
                             work.exec.fence("strata::python: the columns are written");
                             return true;
                           });
}

bool whiten(Shared const& factor, InAnywhere const& B, OutAnywhere const& X) {
  return to_columns(factor, B, X, [](c::DenseFactor& work, auto const& b, auto const& x) {
    work.factor.whiten(work.exec, b, x);
  });
}
bool whiten_transposed(Shared const& factor, InAnywhere const& B, OutAnywhere const& X) {
  return to_columns(factor, B, X, [](c::DenseFactor& work, auto const& b, auto const& x) {
    work.factor.whiten_transposed(work.exec, b, x);
  });
}
bool sample(Shared const& factor, InAnywhere const& Z, OutAnywhere const& X) {
  return to_columns(factor, Z, X, [](c::DenseFactor& work, auto const& z, auto const& x) {
    work.factor.sample(work.exec, z, x);
  });
}

double whitening_error(Shared const& factor) {
  return detail::work_with(factor, flops(factor->order(), 50, 2), [](c::DenseFactor& work) {
    return work.factor.whitening_error(work.exec);
  });
}

double inverse(Shared const& factor, OutAnywhere const& X, double tolerance, bool with_error) {
  auto const x = detail::require_stored("out", X);
  return detail::work_with(factor, flops(x.rows, x.rows, 2.0 / 3),
                           [kept = Kept(X), x, tolerance, with_error](c::DenseFactor& work) {
                             detail::Columns<double> const result(work.exec, x, c::Part::None);
                             double const error = work.factor.inverse(
                                 work.exec, result.view(), tolerance,
                                 with_error ? dense::Measure::Error : dense::Measure::Nothing);
                             result.write_back(work.exec);
                             work.exec.fence("strata::python: the inverse is written");
                             return error;
                           });
}

// The numbers of a View on the device are written to an array.
void to_host(c::DenseFactor const& work, Vector const& numbers, Stored<double> const& x) {
  Kokkos::deep_copy(
      work.exec,
      Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(x.data, numbers.size()),
      numbers);
  work.exec.fence("strata::python: the numbers are written");
}

double inverse_diagonal(Shared const& factor, detail::Out const& X) {
  auto const x = detail::require_stored("x", X);
  return detail::work_with(
      factor, flops(x.size(), x.size(), 1.0 / 3), [kept = Kept(X), x](c::DenseFactor& work) {
        Vector const found("strata::python::inverse_diagonal", static_cast<std::size_t>(x.size()));
        double const error = work.factor.inverse_diagonal(work.exec, found);
        to_host(work, found, x);
        return error;
      });
}

double inverse_entries(Shared const& factor, Rows const& rows, Rows const& cols,
                       detail::Out const& X) {
  auto const x = detail::require_stored("x", X);
  return detail::work_with(factor, flops(factor->order(), factor->order(), 1),
                           [kept = Kept(X), rows, cols, x](c::DenseFactor& work) {
                             return work.factor.inverse_entries(
                                 work.exec, rows, cols,
                                 {x.data, static_cast<std::size_t>(x.size())});
                           });
}

double quadratic_form(Shared const& factor, InAnywhere const& B, detail::Out const& Q) {
  auto const b = detail::require_stored("b", B);
  auto const q = detail::require_stored("q", Q);
  bool const diagonal_alone = Q.ndim() == 1;
  return detail::work_with(
      factor, flops(1, b.size(), static_cast<double>(factor->order())),
      [kept = Kept(B, Q), b, q, diagonal_alone](c::DenseFactor& work) {
        detail::Columns<double const> const right(work.exec, b, c::Part::All);
        if (diagonal_alone) {
          Vector const found("strata::python::quadratic_form", static_cast<std::size_t>(q.size()));
          double const error = work.factor.quadratic_form(work.exec, right.view(), found);
          to_host(work, found, q);
          return error;
        }
        detail::Columns<double> const result(work.exec, q, c::Part::None);
        double const error = work.factor.quadratic_form(work.exec, right.view(), result.view());
        result.write_back(work.exec);
        work.exec.fence("strata::python: the quadratic form is written");
        return error;
      });
}

// f(work, columns) changes the matrix, or finds that what it would become has a minor that is not
// positive.
template <class Function>
bool change_by(Shared const& factor, InAnywhere const& V, char const* what, Function f) {
  auto const v = detail::require_stored("V", V);
  return detail::work_with(
      factor, flops(1, v.size(), 4.0 * static_cast<double>(factor->order())),
      [kept = Kept(V), v, what, f, factor](c::DenseFactor& work) {
        detail::Columns<double const> const columns(work.exec, v, c::Part::All);
        Info const found = f(work, columns.view());
        factor->set_order(work.factor.report().n);
        if (!found.ok())
          throw NotPositiveDefinite(
              found.order(), strata::detail::message(
                                 what, " is not positive definite: its leading minor of order ",
                                 found.order(), " is not positive; the factor is what it was"));
        return true;
      });
}

bool rank_update(Shared const& factor, InAnywhere const& V) {
  return change_by(factor, V, "A + V V^T", [](c::DenseFactor& work, auto const& v) {
    work.factor.rank_update(work.exec, v);
    return Info::success();
  });
}
bool rank_downdate(Shared const& factor, InAnywhere const& V) {
  return change_by(factor, V, "A - V V^T", [](c::DenseFactor& work, auto const& v) {
    return work.factor.rank_downdate(work.exec, v);
  });
}
bool append(Shared const& factor, InAnywhere const& columns) {
  return change_by(
      factor, columns, "A with these columns",
      [](c::DenseFactor& work, auto const& b) { return work.factor.append(work.exec, b); });
}
bool remove(Shared const& factor, Rows const& rows) {
  return detail::work_with(factor,
                           flops(factor->order(), static_cast<std::int64_t>(rows.size()), 4),
                           [factor, rows](c::DenseFactor& work) {
                             work.factor.remove(work.exec, rows);
                             factor->set_order(work.factor.report().n);
                             return true;
                           });
}

// The caller makes the other triangle of this one.
bool matrix(Shared const& factor, detail::Out const& A) {
  auto const a = detail::require_stored("A", A);
  return detail::work_with(factor, detail::no_flops, [kept = Kept(A), a](c::DenseFactor& work) {
    auto const from = work.factor.matrix();
    STRATA_REQUIRE(
        ShapeError,
        !a.transposed && static_cast<std::size_t>(a.rows) == from.extent(0) && a.rows == a.cols,
        "A must be ", from.extent(0), " x ", from.extent(0), ", in Fortran order");
    detail::Columns<double> const result(work.exec, a, c::Part::None);
    Kokkos::deep_copy(work.exec, result.view(), from);
    result.write_back(work.exec);
    work.exec.fence("strata::python: A is written");
    return true;
  });
}

}  // namespace

void bind_more_than_solves(nb::class_<KeptFactor>& factor) {
  factor.def("promote", &promote)
      .def("whiten", &whiten, "b"_a.noconvert(), "out"_a.noconvert())
      .def("whiten_transposed", &whiten_transposed, "b"_a.noconvert(), "out"_a.noconvert())
      .def("sample", &sample, "z"_a.noconvert(), "out"_a.noconvert())
      .def("whitening_error", &whitening_error)
      .def("inverse", &inverse, "out"_a.noconvert(), "tolerance"_a, "with_error"_a)
      .def("inverse_diagonal", &inverse_diagonal, "x"_a.noconvert())
      .def("inverse_entries", &inverse_entries, "rows"_a, "cols"_a, "x"_a.noconvert())
      .def("quadratic_form", &quadratic_form, "b"_a.noconvert(), "q"_a.noconvert())
      .def("rank_update", &rank_update, "V"_a.noconvert())
      .def("rank_downdate", &rank_downdate, "V"_a.noconvert())
      .def("append", &append, "columns"_a.noconvert())
      .def("remove", &remove, "rows"_a)
      .def("matrix", &matrix, "A"_a.noconvert());
}

}  // namespace strata::python
