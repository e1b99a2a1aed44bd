// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_BATCHED_HPP
#define STRATA_VENDOR_BATCHED_HPP

#include <core/Strata_MatrixRef.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>

namespace strata::vendor {

/// The vendor's routines for a batch, on one instance: cuSOLVER, rocSOLVER, or a loop over LAPACK.
///
/// Each member does the operation of the same name in `BatchedBlas` and returns true. It returns
/// false, with nothing done, if the build lacks the library. Shapes are already checked and no
/// extent is 0.
template <class ExecutionSpace>
class Batched {
 public:
  using Matrix = MatrixRef<typename ExecutionSpace::memory_space>;
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;
  using InfoView = Kokkos::View<std::int64_t*, typename ExecutionSpace::memory_space>;

  explicit Batched(ExecutionSpace const& exec);
  ~Batched();
  Batched(Batched&&) noexcept;

  bool potrf(Uplo uplo, Matrix const& A, Batch const& batch, InfoView const& info);
  /// On hosts, where `info` has numbers, B stays as it was for each system whose number is not 0.
  bool potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch,
             InfoView const& info);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

#endif
