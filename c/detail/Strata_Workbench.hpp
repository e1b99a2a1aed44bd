// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_WORKBENCH_HPP
#define STRATA_C_WORKBENCH_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/instances/Strata_Lent.hpp>
#include <dense/Strata_BatchedCholesky.hpp>

#include <memory>

namespace strata::c::detail {

/// An instance and its operations, `Lent` to one call. On a device a stream, a vendor's handles and
/// their workspace cost more than a small matrix does.
class Workbench {
 public:
  /// One that was left, or a new one.
  ///
  /// Throws   MemoryError, VendorError.
  Workbench();
  ~Workbench();
  Workbench(Workbench const&) = delete;
  Workbench& operator=(Workbench const&) = delete;

  Exec const& exec() const;
  LeafBlas<Exec>& blas() const;
  dense::BatchedCholesky<Exec>& batch() const;

 private:
  struct Parts;
  std::unique_ptr<Lent<Parts>> parts_;
};

}  // namespace strata::c::detail

#endif
