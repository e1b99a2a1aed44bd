// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_KEPT_FACTOR_HPP
#define STRATA_PYTHON_KEPT_FACTOR_HPP

#include <c/runtime/Strata_Held.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace strata::python::detail {

/// The triangle of the array that is read, as a triangle of the matrix in memory.
inline Uplo uplo_of(Stored<double const> const& A, bool lower) {
  return lower != A.transposed ? Uplo::Lower : Uplo::Upper;
}

/// A dense factor, and the array that it reads.
class KeptFactor : public Worked<c::DenseFactor> {
 public:
  KeptFactor(c::Instance const& instance, Kept A, Stored<double const> const& stored, bool lower,
             std::string const& layers, dense::CholeskyOptions const& options)
      : Worked(std::in_place, instance, uplo_of(stored, lower), stored.rows, stored.data, stored.ld,
               layers == "auto" ? std::nullopt : std::optional(dense::LayerList::parse(layers)),
               options),
        A_(std::move(A)),
        order_(stored.rows) {
    require_definite(made());
  }

  std::int64_t order() const { return order_; }
  /// The order, once it has changed in the turn of a call.
  void set_order(std::int64_t n) { order_ = n; }
  /// From now on A is read, in the turn of the call; the caller has the array before.
  void exchange(Kept& A) { std::swap(A_, A); }

  static bool require_definite(c::DenseFactor const& work) {
    auto const info = work.factor.info();
    if (!info.ok())
      throw NotPositiveDefinite(info.order(), describe(work.factor.report().breakdown));
    return true;
  }

 private:
  Kept A_;  // alive as long as it is read
  std::atomic<std::int64_t> order_;
};

}  // namespace strata::python::detail

#endif
