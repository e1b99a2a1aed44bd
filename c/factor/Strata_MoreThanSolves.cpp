// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The handle beyond solves: whitening and sampling, the inverse, changes of the matrix.
#include <c/factor/detail/Strata_FactorHandle.hpp>

#include <span>
#include <string>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Info;

namespace {

/// f(work) with the handle's factor, if there is one.
template <class Function>
strata_status call_with(char const* function, strata_factor* factor, Function&& f) {
  return call(function, [&]() -> Outcome {
    require(factor != nullptr, "factor is a null pointer");
    Caller const caller;
    Work& work = factor->work();
    if (!work.factor.info().ok()) return no_factor(work);
    return f(work, factor->order());
  });
}

/// Throws   ValueError, with what to do about it, if the factor is not one of fp64's accuracy.
void require_precise(Work const& work) {
  auto const& report = work.factor.report();
  require(report.layers.is_as_fp64() && report.shift == 0,
          strata::detail::message("the factor is in ", report.layers.name(),
                                  ": strata_factor_promote makes one in fp64")
              .c_str());
}

/// X = f(B), B and X of m columns.
template <class Function>
strata_status to_columns(char const* function, strata_factor* factor, std::int64_t m,
                         double const* B, std::int64_t ldb, double* X, std::int64_t ldx,
                         Function&& f) {
  return call_with(function, factor, [&](Work& work, std::int64_t n) -> Outcome {
    require_argument(m >= 0, 2, "m is ", m, ", must be >= 0");
    require_matrix("B", B, n, m, ldb, sizeof(double), 3, 4);
    require_matrix("X", X, n, m, ldx, sizeof(double), 5, 6);
    require_precise(work);
    Operand<double> const right(work.exec, const_cast<double*>(B), n, m, ldb, Part::All);
    Operand<double> const result(work.exec, X, n, m, ldx, Part::None);
    require_apart_from_A(work, result.matrix());
    with_checked_options([&] { f(work, columns(right), columns(result)); });
    result.write_back(work.exec, Part::All);
    work.exec.fence("strata::c: X is written");
    return {};
  });
}

/// f(work, V) changes the matrix.
template <class Function>
strata_status change_by(char const* function, strata_factor* factor, char const* name,
                        std::int64_t more_rows, std::int64_t k, double const* V, std::int64_t ldv,
                        Function&& f) {
  return call_with(function, factor, [&](Work& work, std::int64_t n) -> Outcome {
    require_argument(k >= 0, 2, "the number of columns is ", k, ", must be >= 0");
    require_matrix(name, V, n + more_rows, k, ldv, sizeof(double), 3, 4);
    require_precise(work);
    Operand<double> const given(work.exec, const_cast<double*>(V), n + more_rows, k, ldv,
                                Part::All);
    Info const found = with_checked_options([&] { return f(work, columns(given)); });
    if (found.ok()) return {};
    return {STRATA_NOT_POSITIVE_DEFINITE,
            strata::detail::message("the leading minor of order ", found.order(),
                                    " of the changed matrix is not positive; the factor is what "
                                    "it was")};
  });
}

void tell(double error, double* to) {
  if (to != nullptr) *to = error;
}

}  // namespace

strata_status strata_factor_promote(strata_factor* factor) {
  return call_with("strata_factor_promote", factor, [](Work& work, std::int64_t) -> Outcome {
    if (!work.factor.promote(work.exec).ok()) return no_factor(work);
    return {};
  });
}

strata_status strata_whiten(strata_factor* factor, int64_t m, double const* B, int64_t ldb,
                            double* X, int64_t ldx) {
  return to_columns(
      "strata_whiten", factor, m, B, ldb, X, ldx,
      [](Work& work, Columns const& b, Columns const& x) { work.factor.whiten(work.exec, b, x); });
}

strata_status strata_whiten_transposed(strata_factor* factor, int64_t m, double const* B,
                                       int64_t ldb, double* X, int64_t ldx) {
  return to_columns("strata_whiten_transposed", factor, m, B, ldb, X, ldx,
                    [](Work& work, Columns const& b, Columns const& x) {
                      work.factor.whiten_transposed(work.exec, b, x);
                    });
}

strata_status strata_sample(strata_factor* factor, int64_t m, double const* Z, int64_t ldz,
                            double* X, int64_t ldx) {
  return to_columns(
      "strata_sample", factor, m, Z, ldz, X, ldx,
      [](Work& work, Columns const& z, Columns const& x) { work.factor.sample(work.exec, z, x); });
}

strata_status strata_whitening_error(strata_factor* factor, double* error) {
  return call_with("strata_whitening_error", factor, [&](Work& work, std::int64_t) -> Outcome {
    require(error != nullptr, "error is a null pointer");
    require_precise(work);
    *error = work.factor.whitening_error(work.exec);
    return {};
  });
}

strata_status strata_inverse_diagonal(strata_factor* factor, double* x, double* error) {
  return call_with("strata_inverse_diagonal", factor, [&](Work& work, std::int64_t n) -> Outcome {
    require_matrix("x", x, n, 1, n > 1 ? n : 1, sizeof(double), 2, 2);
    require_precise(work);
    Operand<double> const result(work.exec, x, n, 1, n > 1 ? n : 1, Part::None);
    require_apart_from_A(work, result.matrix());
    auto const column = Kokkos::subview(columns(result), Kokkos::ALL, 0);
    tell(work.factor.inverse_diagonal(work.exec, column), error);
    result.write_back(work.exec, Part::All);
    work.exec.fence("strata::c: x is written");
    return {};
  });
}

strata_status strata_inverse(strata_factor* factor, double* X, int64_t ldx, double* error) {
  return call_with("strata_inverse", factor, [&](Work& work, std::int64_t n) -> Outcome {
    require_matrix("X", X, n, n, ldx, sizeof(double), 2, 3);
    require_precise(work);
    Operand<double> const result(work.exec, X, n, n, ldx, Part::None);
    require_apart_from_A(work, result.matrix());
    tell(work.factor.inverse(work.exec, columns(result)), error);
    result.write_back(work.exec, Part::All);
    work.exec.fence("strata::c: X is written");
    return {};
  });
}

strata_status strata_inverse_entries(strata_factor* factor, int64_t count, int64_t const* rows,
                                     int64_t const* cols, double* values, double* error) {
  return call_with("strata_inverse_entries", factor, [&](Work& work, std::int64_t) -> Outcome {
    require_argument(count >= 0, 2, "count is ", count, ", must be >= 0");
    require(count == 0 || (rows != nullptr && cols != nullptr && values != nullptr),
            "a null pointer for rows, cols or values");
    require_precise(work);
    auto const size = static_cast<std::size_t>(count);
    tell(work.factor.inverse_entries(work.exec, {rows, size}, {cols, size}, {values, size}), error);
    return {};
  });
}

strata_status strata_quadratic_form(strata_factor* factor, int64_t k, double const* B, int64_t ldb,
                                    double* Q, int64_t ldq, double* error) {
  return call_with("strata_quadratic_form", factor, [&](Work& work, std::int64_t n) -> Outcome {
    require_argument(k >= 0, 2, "k is ", k, ", must be >= 0");
    require_matrix("B", B, n, k, ldb, sizeof(double), 3, 4);
    require_matrix("Q", Q, k, k, ldq, sizeof(double), 5, 6);
    require_precise(work);
    Operand<double> const right(work.exec, const_cast<double*>(B), n, k, ldb, Part::All);
    Operand<double> const result(work.exec, Q, k, k, ldq, Part::None);
    require_apart_from_A(work, result.matrix());
    tell(with_checked_options([&] {
           return work.factor.quadratic_form(work.exec, columns(right), columns(result));
         }),
         error);
    result.write_back(work.exec, Part::All);
    work.exec.fence("strata::c: Q is written");
    return {};
  });
}

strata_status strata_rank_update(strata_factor* factor, int64_t k, double const* V, int64_t ldv) {
  return change_by("strata_rank_update", factor, "V", 0, k, V, ldv,
                   [](Work& work, Columns const& v) {
                     work.factor.rank_update(work.exec, v);
                     return Info::success();
                   });
}

strata_status strata_rank_downdate(strata_factor* factor, int64_t k, double const* V, int64_t ldv) {
  return change_by(
      "strata_rank_downdate", factor, "V", 0, k, V, ldv,
      [](Work& work, Columns const& v) { return work.factor.rank_downdate(work.exec, v); });
}

strata_status strata_append(strata_factor* factor, int64_t m, double const* B, int64_t ldb) {
  return change_by("strata_append", factor, "B", m, m, B, ldb,
                   [](Work& work, Columns const& b) { return work.factor.append(work.exec, b); });
}

strata_status strata_remove(strata_factor* factor, int64_t k, int64_t const* rows) {
  return call_with("strata_remove", factor, [&](Work& work, std::int64_t) -> Outcome {
    require_argument(k >= 0, 2, "the number of rows is ", k, ", must be >= 0");
    require(k == 0 || rows != nullptr, "rows is a null pointer");
    require_precise(work);
    work.factor.remove(work.exec, {rows, static_cast<std::size_t>(k)});
    return {};
  });
}
