// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many small systems of one order in one call.
#include <c/detail/Strata_BatchOperand.hpp>
#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/detail/Strata_Workbench.hpp>
#include <c/strata.h>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;

namespace {

// One caller's array of matrices, and where in the list of arguments it is: after it come its
// leading dimension and its stride.
template <class T>
struct Argument {
  char const* name;
  T* data;
  BatchShape shape;
  int position;
};

template <class T>
void require_batch(Argument<T> const& a) {
  BatchShape const& s = a.shape;
  bool const any = s.count > 0;
  require_matrix(a.name, a.data, s.rows, any ? s.cols : 0, s.ld, sizeof(T), a.position,
                 a.position + 1);
  if (s.count < 2) return;
  require_argument(s.stride >= s.span(), a.position + 2, "the stride of ", a.name, " is ", s.stride,
                   ", must be at least ", s.span(), ": its matrices overlap");
  std::int64_t const most =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T));
  require_argument(s.stride <= (most - s.span()) / (s.count - 1), a.position + 2, a.name, " of ",
                   s.count, " matrices ", s.stride,
                   " numbers apart is larger than memory can be addressed");
}

// One number a system.
template <class T>
void require_numbers(char const* name, T const* data, std::int64_t count, int position) {
  require_argument(data != nullptr || count == 0, position, name, " is a null pointer");
}
BatchShape numbers_of(std::int64_t count) { return {1, 1, 1, 1, count}; }

// Run f(), which writes to the caller's systems if they are `in_place`: on hosts only when it has
// all its memory.
template <class Function>
void overwrite_systems(bool in_place, Function const& f) {
  bool writes = in_place;
  overwrite(writes, [&] {
    try {
      f();
    } catch (strata::MemoryError const&) {
      if (Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible) writes = false;
      throw;
    }
  });
}

// The numbers of `info` as the host reads them. Their memory is there before a system is
// overwritten.
class HostInfo {
 public:
  using Numbers = Kokkos::View<std::int64_t*, Memory>;

  explicit HostInfo(Numbers const& info) : info_(info) {
    bool const copies = !Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
    host_ = copies ? strata::allocate_on_host<Host>("strata::c::batch::info", info.extent(0))
                   : Host(info.data(), info.extent(0));
  }

  // What they say of the whole batch. Fences.
  Outcome outcome(Exec const& exec) const {
    Kokkos::deep_copy(exec, host_, info_);  // of itself: nothing
    exec.fence("strata::c::batch: the numbers of info are here");
    std::size_t failed = 0, first = 0;
    for (std::size_t b = host_.extent(0); b-- > 0;)
      if (host_(b) != 0) ++failed, first = b;
    if (failed == 0) return {};
    return {STRATA_NOT_POSITIVE_DEFINITE,
            strata::detail::message(failed, " of ", host_.extent(0),
                                    " systems are not positive definite, or hold a NaN: in system ",
                                    first, ", counted from 0, the leading minor of order ",
                                    host_(first), " is not positive")};
  }

 private:
  using Host = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;

  Numbers info_;
  Host host_;
};

template <class T>
strata_status potrf(char const* name, char uplo, Argument<T> const& A, std::int64_t* info) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_triangle(uplo);
    std::int64_t const count = A.shape.count;
    require_order("n", A.shape.rows, 2);
    require_order("count", count, 6);
    require_batch(A);
    require_numbers("info", info, count, 7);
    if (count == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    BatchOperand<T> const a(exec, A.data, A.shape, part_of(triangle));
    BatchOperand<std::int64_t> const orders(exec, info, numbers_of(count), Part::None);
    HostInfo const host_info(orders.numbers());
    overwrite_systems(a.in_place(),
                      [&] { bench.batch().factor(triangle, a.matrices(), orders.numbers()); });
    Outcome outcome;
    overwrite(true, [&] {
      a.write_back(exec, part_of(triangle));
      orders.write_back(exec, Part::All);
      outcome = host_info.outcome(exec);
    });
    return outcome;
  });
}

// The arguments that potrs and posv share.
template <class T, class S>
Uplo require_systems(char uplo, Argument<T> const& A, Argument<S> const& B) {
  Uplo const triangle = require_triangle(uplo);
  require_order("n", A.shape.rows, 2);
  require_order("nrhs", B.shape.cols, 3);
  require_order("count", A.shape.count, 10);
  require_batch(A);
  require_batch(B);
  return triangle;
}

template <class T>
strata_status potrs(char const* name, char uplo, Argument<T const> const& A, Argument<T> const& B) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_systems(uplo, A, B);
    if (B.shape.count == 0 || B.shape.rows == 0 || B.shape.cols == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    BatchOperand<T const> const a(exec, A.data, A.shape, part_of(triangle));
    BatchOperand<T> const b(exec, B.data, B.shape, Part::All);
    overwrite_systems(b.in_place(),
                      [&] { bench.batch().solve(triangle, a.matrices(), b.matrices()); });
    overwrite(true, [&] {
      b.write_back(exec, Part::All);
      exec.fence("strata::c::potrs_batched: B is written");
    });
    return {};
  });
}

template <class T>
strata_status posv(char const* name, char uplo, Argument<T> const& A, Argument<T> const& B,
                   std::int64_t* info) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_systems(uplo, A, B);
    std::int64_t const count = A.shape.count;
    require_numbers("info", info, count, 11);
    if (count == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    BatchOperand<T> const a(exec, A.data, A.shape, part_of(triangle));
    BatchOperand<T> const b(exec, B.data, B.shape, Part::All);
    BatchOperand<std::int64_t> const orders(exec, info, numbers_of(count), Part::None);
    HostInfo const host_info(orders.numbers());
    overwrite_systems(a.in_place() || (B.shape.size() > 0 && b.in_place()), [&] {
      bench.batch().factor_and_solve(triangle, a.matrices(), b.matrices(), orders.numbers());
    });
    Outcome outcome;
    overwrite(true, [&] {
      a.write_back(exec, part_of(triangle));
      b.write_back(exec, Part::All);
      orders.write_back(exec, Part::All);
      outcome = host_info.outcome(exec);
    });
    return outcome;
  });
}

template <class T>
strata_status log_determinants(char const* name, char uplo, Argument<T const> const& L,
                               std::int64_t const* info, double* result) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_triangle(uplo);
    std::int64_t const count = L.shape.count;
    require_order("n", L.shape.rows, 2);
    require_order("count", count, 6);
    require_batch(L);
    require_numbers("info", info, count, 7);
    require_numbers("log_determinants", result, count, 8);
    if (count == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    BatchOperand<T const> const l(exec, L.data, L.shape, part_of(triangle));
    BatchOperand<std::int64_t const> const orders(exec, info, numbers_of(count), Part::All);
    BatchOperand<double> const sums(exec, result, numbers_of(count), Part::None);
    bench.batch().log_determinants(l.matrices(), orders.numbers(), sums.numbers());
    sums.write_back(exec, Part::All);
    exec.fence("strata::c::log_determinants_batched: the result is written");
    return {};
  });
}

template <class T>
strata_status backward_errors(char const* name, char uplo, Argument<T const> const& A,
                              Argument<T const> const& X, Argument<T const> const& B,
                              double* result) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_triangle(uplo);
    std::int64_t const count = A.shape.count;
    require_order("n", A.shape.rows, 2);
    require_order("nrhs", X.shape.cols, 3);
    require_order("count", count, 13);
    require_batch(A);
    require_batch(X);
    require_batch(B);
    require_numbers("errors", result, count, 14);
    if (count == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    BatchOperand<T const> const a(exec, A.data, A.shape, part_of(triangle));
    BatchOperand<T const> const x(exec, X.data, X.shape, Part::All);
    BatchOperand<T const> const b(exec, B.data, B.shape, Part::All);
    BatchOperand<double> const errors(exec, result, numbers_of(count), Part::None);
    bench.batch().backward_errors(triangle, a.matrices(), x.matrices(), b.matrices(),
                                  errors.numbers());
    errors.write_back(exec, Part::All);
    exec.fence("strata::c::backward_errors_batched: the errors are written");
    return {};
  });
}

}  // namespace

strata_status strata_dpotrf_batched(char uplo, int64_t n, double* A, int64_t lda, int64_t stride_a,
                                    int64_t count, int64_t* info) {
  return potrf<double>("strata_dpotrf_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 3},
                       info);
}
strata_status strata_dpotrs_batched(char uplo, int64_t n, int64_t nrhs, double const* A,
                                    int64_t lda, int64_t stride_a, double* B, int64_t ldb,
                                    int64_t stride_b, int64_t count) {
  return potrs<double>("strata_dpotrs_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 4},
                       {"B", B, {n, nrhs, ldb, stride_b, count}, 7});
}
strata_status strata_dposv_batched(char uplo, int64_t n, int64_t nrhs, double* A, int64_t lda,
                                   int64_t stride_a, double* B, int64_t ldb, int64_t stride_b,
                                   int64_t count, int64_t* info) {
  return posv<double>("strata_dposv_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 4},
                      {"B", B, {n, nrhs, ldb, stride_b, count}, 7}, info);
}
strata_status strata_dlog_determinants_batched(char uplo, int64_t n, double const* L, int64_t ldl,
                                               int64_t stride_l, int64_t count, int64_t const* info,
                                               double* log_determinants) {
  return ::log_determinants<double>("strata_dlog_determinants_batched", uplo,
                                    {"L", L, {n, n, ldl, stride_l, count}, 3}, info,
                                    log_determinants);
}
strata_status strata_dbackward_errors_batched(char uplo, int64_t n, int64_t nrhs, double const* A,
                                              int64_t lda, int64_t stride_a, double const* X,
                                              int64_t ldx, int64_t stride_x, double const* B,
                                              int64_t ldb, int64_t stride_b, int64_t count,
                                              double* errors) {
  return backward_errors<double>("strata_dbackward_errors_batched", uplo,
                                 {"A", A, {n, n, lda, stride_a, count}, 4},
                                 {"X", X, {n, nrhs, ldx, stride_x, count}, 7},
                                 {"B", B, {n, nrhs, ldb, stride_b, count}, 10}, errors);
}
strata_status strata_spotrf_batched(char uplo, int64_t n, float* A, int64_t lda, int64_t stride_a,
                                    int64_t count, int64_t* info) {
  return potrf<float>("strata_spotrf_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 3},
                      info);
}
strata_status strata_spotrs_batched(char uplo, int64_t n, int64_t nrhs, float const* A, int64_t lda,
                                    int64_t stride_a, float* B, int64_t ldb, int64_t stride_b,
                                    int64_t count) {
  return potrs<float>("strata_spotrs_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 4},
                      {"B", B, {n, nrhs, ldb, stride_b, count}, 7});
}
strata_status strata_sposv_batched(char uplo, int64_t n, int64_t nrhs, float* A, int64_t lda,
                                   int64_t stride_a, float* B, int64_t ldb, int64_t stride_b,
                                   int64_t count, int64_t* info) {
  return posv<float>("strata_sposv_batched", uplo, {"A", A, {n, n, lda, stride_a, count}, 4},
                     {"B", B, {n, nrhs, ldb, stride_b, count}, 7}, info);
}
strata_status strata_slog_determinants_batched(char uplo, int64_t n, float const* L, int64_t ldl,
                                               int64_t stride_l, int64_t count, int64_t const* info,
                                               double* log_determinants) {
  return ::log_determinants<float>("strata_slog_determinants_batched", uplo,
                                   {"L", L, {n, n, ldl, stride_l, count}, 3}, info,
                                   log_determinants);
}
strata_status strata_sbackward_errors_batched(char uplo, int64_t n, int64_t nrhs, float const* A,
                                              int64_t lda, int64_t stride_a, float const* X,
                                              int64_t ldx, int64_t stride_x, float const* B,
                                              int64_t ldb, int64_t stride_b, int64_t count,
                                              double* errors) {
  return backward_errors<float>("strata_sbackward_errors_batched", uplo,
                                {"A", A, {n, n, lda, stride_a, count}, 4},
                                {"X", X, {n, nrhs, ldx, stride_x, count}, 7},
                                {"B", B, {n, nrhs, ldb, stride_b, count}, 10}, errors);
}
