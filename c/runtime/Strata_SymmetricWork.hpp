// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_SYMMETRIC_WORK_HPP
#define STRATA_C_SYMMETRIC_WORK_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>

#include <cstdint>
#include <utility>

namespace strata::c {

/// A factor of a symmetric matrix that need not be definite, and the caller's matrix, which it
/// reads.
struct SymmetricWork {
  using Factor = dense::SymmetricFactor<Exec>;

  /// Factors A on an instance. A is n x n and column-major, column j at data + j * ld; the triangle
  /// `uplo` is read. A is kept, and must not change.
  ///
  /// Throws   what `dense::symmetric_factor` and Operand throw.
  SymmetricWork(Instance own, Uplo uplo, std::int64_t n, double const* data, std::int64_t ld,
                dense::SymmetricOptions const& options)
      : instance(std::move(own)),
        exec(*instance),
        A(exec, data, n, n, ld, part_of(uplo)),
        factor(exec, as_lower(A, uplo), options) {}

  Instance instance;  // first: it outlives the rest
  Exec exec;
  Operand<double const> A;
  Factor factor;
};

}  // namespace strata::c

#endif
