// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_INT8_HPP
#define STRATA_VENDOR_INT8_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>

namespace strata::vendor {

/// C_p = A_p B_p^T or C_p + A_p B_p^T for p < count, of bytes with signs, rows contiguous, into
/// column-major int32.
struct Int8Product {
  std::int8_t const *a, *b;                ///< m x k and n x k
  std::int32_t* c;                         ///< m x n
  std::int64_t m, n, k;                    ///< multiples of 16
  std::int64_t lda, ldb, ldc;              ///< distances of rows, rows and columns; multiples of 16
  std::int64_t plane_a, plane_b, plane_c;  ///< distances from one p to the next
  int count;
  bool accumulate;
};

/// Such products by a vendor's library on one instance: cublasLt or hipBLASLt.
template <class ExecutionSpace>
class Int8Gemm {
 public:
  explicit Int8Gemm(ExecutionSpace const& exec);
  ~Int8Gemm();
  Int8Gemm(Int8Gemm&&) noexcept;

  /// False, with nothing done, if there is no such library, or it has no algorithm for these
  /// extents.
  bool operator()(Int8Product const& product);

  /// The number of the instance's device; a host's is 0.
  int device() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata::vendor

#endif
