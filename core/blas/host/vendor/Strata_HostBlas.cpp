// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The vendor library of the host spaces: BLAS and LAPACK for fp32 and fp64, oneDNN for bf16 and
// fp16.
#include <core/Strata_Config.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/blas/basics/vendor/Strata_VendorBlas.hpp>
#include <core/blas/host/vendor/Strata_HostLapack.hpp>
#include <core/blas/host/vendor/Strata_HostOnednn.hpp>
#include <core/blas/host/vendor/Strata_ThreadControl.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

namespace strata::vendor {

template <class Exec>
struct Blas<Exec>::Impl {
  OnednnMatmul onednn;
};

template <class Exec>
Blas<Exec>::Blas(Exec const&) : impl_(std::make_unique<Impl>()) {}
template <class Exec>
Blas<Exec>::~Blas() = default;
template <class Exec>
Blas<Exec>::Blas(Blas&&) noexcept = default;

namespace {

using Matrix = MatrixRef<Kokkos::HostSpace>;
using ConstMatrix = ConstMatrixRef<Kokkos::HostSpace>;
using Region = Kokkos::Profiling::ScopedRegion;

double count(ConstMatrix const& A) {
  return static_cast<double>(A.rows) * static_cast<double>(A.cols);
}

double scale_of(ConstMatrix const& A) { return A.scale ? *A.scale : 1; }

// Calls f(T{}) if the build has LAPACK and all operands are of one arithmetic type T that can hold
// the factors.
template <class Function, class... Operand>
bool with_lapack([[maybe_unused]] Function const& f, [[maybe_unused]] double alpha,
                 [[maybe_unused]] double beta, [[maybe_unused]] ConstMatrix const& first,
                 [[maybe_unused]] Operand const&... other) {
#ifdef STRATA_ENABLE_TPL_LAPACK
  Precision const precision = first.precision;
  if (!is_arithmetic(precision) || ((other.precision != precision) || ...) ||
      !detail::is_representable(precision, alpha) || !detail::is_representable(precision, beta))
    return false;
  precision == Precision::fp64 ? f(double()) : f(float());
  return true;
#else
  return false;
#endif
}

}  // namespace

template <class Exec>
bool Blas<Exec>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                      double beta, Matrix const& C) {
  double const factor = alpha * scale_of(A) * scale_of(B);
  std::int64_t const inner = op_a == Op::NoTrans ? A.cols : A.rows;
  double const flops = 2 * count(C) * static_cast<double>(inner);
  double const numbers = count(A) + count(B) + count(C);
  if (!is_arithmetic(A.precision)) {
    if (!OnednnMatmul::has_instructions(A.precision) || !OnednnMatmul::has_threads() ||
        !detail::is_representable(Precision::fp32, factor) ||
        !detail::is_representable(Precision::fp32, beta))
      return false;
    Region const region("strata::core::gemm[onednn]");
    ProductThreads const threads(onednn_control(), flops, numbers);
    return impl_->onednn.gemm(op_a, op_b, factor, A, B, beta, C);
  }
  return with_lapack(
      [&]<class T>(T) {
        Region const region("strata::core::gemm[blas]");
        ProductThreads const threads(blas_control(), flops, numbers);
        T const a = static_cast<T>(factor), b = static_cast<T>(beta);
        char const trans_a = letter(op_a), trans_b = letter(op_b);
        BlasInt const k(inner);
        Lapack<T>::gemm(&trans_a, &trans_b, BlasInt(C.rows), BlasInt(C.cols), k, &a,
                        A.template as<T>(), BlasInt(A.ld), B.template as<T>(), BlasInt(B.ld), &b,
                        C.template as<T>(), BlasInt(C.ld));
      },
      factor, beta, C, A, B);
}

template <class Exec>
bool Blas<Exec>::gemm_batched(Op, Op, double, ConstMatrix const&, ConstMatrix const&, double,
                              Matrix const&, Batch const&) {
  return false;  // one after the other is as fast
}

template <class Exec>
bool Blas<Exec>::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                      Matrix const& C) {
  double const factor = alpha * scale_of(A) * scale_of(A);
  return with_lapack(
      [&]<class T>(T) {
        Region const region("strata::core::syrk[blas]");
        ProductThreads const threads(blas_control(), count(A) * static_cast<double>(C.rows),
                                     count(A) + count(C));
        T const a = static_cast<T>(factor), b = static_cast<T>(beta);
        char const triangle = letter(uplo), trans = letter(op);
        BlasInt const k(op == Op::NoTrans ? A.cols : A.rows);
        Lapack<T>::syrk(&triangle, &trans, BlasInt(C.rows), k, &a, A.template as<T>(),
                        BlasInt(A.ld), &b, C.template as<T>(), BlasInt(C.ld));
      },
      factor, beta, C, A);
}

template <class Exec>
bool Blas<Exec>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha, ConstMatrix const& A,
                      Matrix const& B) {
  if (A.scale && diag == Diag::Unit) return false;  // the scale isn't that of the whole triangle
  double const factor = alpha / scale_of(A);
  return with_lapack(
      [&]<class T>(T) {
        ProductThreads const threads(blas_control(), count(B) * static_cast<double>(A.rows),
                                     count(A) + count(B));
        T const a = static_cast<T>(factor);
        char const where = letter(side), triangle = letter(uplo), trans = letter(op),
                   unit = letter(diag);
        if (side == Side::Left && B.cols == 1 && a == 1) {  // trsm copies all of A for its kernel
          Region const region("strata::core::trsv[blas]");
          return Lapack<T>::trsv(&triangle, &trans, &unit, BlasInt(A.rows), A.template as<T>(),
                                 BlasInt(A.ld), B.template as<T>(), BlasInt(1));
        }
        Region const region("strata::core::trsm[blas]");
        Lapack<T>::trsm(&where, &triangle, &trans, &unit, BlasInt(B.rows), BlasInt(B.cols), &a,
                        A.template as<T>(), BlasInt(A.ld), B.template as<T>(), BlasInt(B.ld));
      },
      factor, 1, A, B);
}

template <class Exec>
bool Blas<Exec>::potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
  return with_lapack(
      [&]<class T>(T) {
        Region const region("strata::core::potrf[lapack]");
        // half of its flops: its columns wait for one another
        ProductThreads const threads(blas_control(), count(A) * static_cast<double>(A.rows) / 6,
                                     count(A));
        char const triangle = letter(uplo);
        int status = 0;
        Lapack<T>::potrf(&triangle, BlasInt(A.rows), A.template as<T>(), BlasInt(A.ld), &status);
        STRATA_REQUIRE(VendorError, status >= 0, "LAPACK: potrf: argument ", -status,
                       " is invalid");
        std::int64_t const order = first_breakdown(A.template as<T>(), A.rows, A.ld, status);
        if (info() == 0 && order > 0) info() = offset + order;
      },
      1, 1, A);
}

template <class Exec>
bool Blas<Exec>::symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                      double beta, Matrix const& C) {
  double const factor = alpha * scale_of(A) * scale_of(B);
  return with_lapack(
      [&]<class T>(T) {
        T const a = static_cast<T>(factor), b = static_cast<T>(beta);
        char const triangle = letter(uplo), left = 'L';
        T const *const A_data = A.template as<T>(), *const B_data = B.template as<T>();
        BlasInt const n(A.rows), lda(A.ld);
        ProductThreads const threads(blas_control(), 2 * count(A) * static_cast<double>(C.cols),
                                     count(A) + count(B) + count(C));
        if (C.cols == 1) {
          Region const region("strata::core::symv[blas]");
          Lapack<T>::symv(&triangle, n, &a, A_data, lda, B_data, BlasInt(1), &b, C.template as<T>(),
                          BlasInt(1));
        } else {
          Region const region("strata::core::symm[blas]");
          Lapack<T>::symm(&left, &triangle, n, BlasInt(C.cols), &a, A_data, lda, B_data,
                          BlasInt(B.ld), &b, C.template as<T>(), BlasInt(C.ld));
        }
      },
      factor, beta, C, A, B);
}

// Its factors are on the host already.
template <class Exec>
void Blas<Exec>::set_fixed_scales(Scales const&) {}

#define STRATA_INSTANTIATE_HOST_BLAS(Space) template class Blas<Space>;
STRATA_FOR_EACH_HOST_SPACE(STRATA_INSTANTIATE_HOST_BLAS)

}  // namespace strata::vendor
