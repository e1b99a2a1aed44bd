// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_BLAS_IMPL_HPP
#define STRATA_VENDOR_BLAS_IMPL_HPP

#include <core/blas/basics/vendor/Strata_VendorBlas.hpp>

// `Blas` by its `Impl`. A backend's source file specialises `Impl`, then instantiates `Blas`.
namespace strata::vendor {

/// What `Impl` derives from in a build without the vendor's library: it has no operation.
template <class ExecutionSpace>
struct NoLibrary {
  explicit NoLibrary(ExecutionSpace const&) {}
  bool gemm(auto const&...) { return false; }
  bool syrk(auto const&...) { return false; }
  bool trsm(auto const&...) { return false; }
  bool potrf(auto const&...) { return false; }
  bool symm(auto const&...) { return false; }
};

template <class ExecutionSpace>
Blas<ExecutionSpace>::Blas(ExecutionSpace const& exec) : impl_(std::make_unique<Impl>(exec)) {}
template <class ExecutionSpace>
Blas<ExecutionSpace>::~Blas() = default;
template <class ExecutionSpace>
Blas<ExecutionSpace>::Blas(Blas&&) noexcept = default;

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                                ConstMatrix const& B, double beta, Matrix const& C) {
  return impl_->gemm(op_a, op_b, alpha, A, B, beta, C);
}

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::gemm_batched(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                                        ConstMatrix const& B, double beta, Matrix const& C,
                                        Batch const& batch) {
  if constexpr (requires { impl_->gemm_batched(op_a, op_b, alpha, A, B, beta, C, batch); })
    return impl_->gemm_batched(op_a, op_b, alpha, A, B, beta, C, batch);
  else
    return false;
}

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                                Matrix const& C) {
  return impl_->syrk(uplo, op, alpha, A, beta, C);
}

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha,
                                ConstMatrix const& A, Matrix const& B) {
  return impl_->trsm(side, uplo, op, diag, alpha, A, B);
}

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::potrf(Uplo uplo, Matrix const& A, std::int64_t offset,
                                 InfoView const& info) {
  return impl_->potrf(uplo, A, offset, info);
}

template <class ExecutionSpace>
bool Blas<ExecutionSpace>::symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                                double beta, Matrix const& C) {
  return impl_->symm(uplo, alpha, A, B, beta, C);
}

template <class ExecutionSpace>
void Blas<ExecutionSpace>::set_fixed_scales(Scales const& scales) {
  if constexpr (requires { impl_->set_fixed_scales(scales); }) impl_->set_fixed_scales(scales);
}

}  // namespace strata::vendor

#endif
