// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/detail/Strata_KernelsBlas.hpp>

#include <core/blas/vendor/Strata_KernelsVendor.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <KokkosBlas3_gemm.hpp>
#include <KokkosBlas3_trsm.hpp>

#include <limits>

namespace strata::detail {
namespace {

template <class Exec, class T>
using ColumnMajor =
    Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::Device<Exec, typename Exec::memory_space>,
                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Exec, class T, class Matrix>
auto view(Matrix const& A) {
  ColumnMajor<Exec, T> const whole(A.template as<T>(), A.ld, A.cols);
  return Kokkos::subview(whole, std::pair<std::int64_t, std::int64_t>(0, A.rows), Kokkos::ALL);
}

template <class Matrix>
bool has_small_indices(Matrix const& A) {
  return A.ld <= std::numeric_limits<int>::max() / std::max<std::int64_t>(1, A.cols);
}

/// One arithmetic type, no scale, 32-bit indices.
template <class... Matrix>
bool is_uniform(Precision precision, Matrix const&... operand) {
  return is_arithmetic(precision) &&
         ((operand.precision == precision && !operand.scale && has_small_indices(operand)) && ...);
}

/// Without a vendor library below it, Kokkos Kernels' trsm copies a device's matrices to the host.
template <class Exec>
constexpr bool has_trsm() {
  return runs_on_host<Exec> || vendor::kernels_call_device_blas;
}

}  // namespace

template <class Exec>
bool KernelsBlas<Exec>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                             ConstMatrix const& B, double beta, Matrix const& C) {
  if (!is_uniform(C.precision, A, B, C)) return false;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    KokkosBlas::gemm(exec_, op_a == Op::NoTrans ? "N" : "T", op_b == Op::NoTrans ? "N" : "T",
                     static_cast<T>(alpha), view<Exec, T const>(A), view<Exec, T const>(B),
                     static_cast<T>(beta), view<Exec, T>(C));
  });
  return true;
}

template <class Exec>
bool KernelsBlas<Exec>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha,
                             ConstMatrix const& A, Matrix const& B) {
  if (!has_trsm<Exec>() || !is_uniform(B.precision, A, B)) return false;
  with_arithmetic_type(B.precision, [&]<class T>(std::type_identity<T>) {
    KokkosBlas::trsm(exec_, side == Side::Left ? "L" : "R", uplo == Uplo::Lower ? "L" : "U",
                     op == Op::NoTrans ? "N" : "T", diag == Diag::Unit ? "U" : "N",
                     static_cast<T>(alpha), view<Exec, T const>(A), view<Exec, T>(B));
  });
  return true;
}

#define STRATA_INSTANTIATE_KERNELS(Space) template class KernelsBlas<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_KERNELS)

}  // namespace strata::detail
