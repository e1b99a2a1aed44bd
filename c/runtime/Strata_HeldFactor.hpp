// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_HELD_FACTOR_HPP
#define STRATA_C_HELD_FACTOR_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace strata::c {

/// A dense factor in the hands of another language, which may let go of it at any time: before or after Kokkos has
/// ended, and in a child that was forked.
class HeldFactor {
 public:
  using Factor = dense::CholeskyFactor<Exec>;

  /// What of it lives as long as Kokkos does.
  struct Work {
    /// The triangle of A that is read, as the lower one.
    Factor::MatrixView lower(Uplo uplo) const {
      auto const a = A.matrix();
      auto const order = static_cast<std::size_t>(a.rows), ld = static_cast<std::size_t>(a.ld);
      bool const is_lower = uplo == Uplo::Lower;
      Kokkos::LayoutStride const layout(order, is_lower ? 1 : ld, order, is_lower ? ld : 1);
      return Factor::MatrixView(static_cast<double const*>(a.data), layout);
    }

    Exec exec;
    Operand<double const> A;
    Factor factor;

    Work(Uplo uplo, std::int64_t n, double const* data, std::int64_t ld,
         std::optional<dense::LayerList> const& layers, dense::CholeskyOptions const& options)
        : exec(new_instance()),
          A(exec, data, n, n, ld, part_of(uplo)),
          factor(exec, lower(uplo), layers ? *layers : dense::automatic_layers<Exec>(n), options) {}
  };

  /// Factor A, in automatic layers if none are given, of which the triangle `uplo` is read: n x n, column-major, column j at data + j * ld. It is kept, and
  /// must not change.
  ///
  /// Throws   NotReady; what `dense::cholesky` and Operand throw.
  HeldFactor(Uplo uplo, std::int64_t n, double const* data, std::int64_t ld,
             std::optional<dense::LayerList> const& layers, dense::CholeskyOptions const& options)
      : work_(std::make_unique<Work>(uplo, n, data, ld, layers, options)) {}
  ~HeldFactor() {
    // What is the process' that this was forked from can't be destroyed here.
    [[maybe_unused]] Work* const left = kokkos_is_usable() ? nullptr : work_.release();
  }
  HeldFactor(HeldFactor const&) = delete;
  HeldFactor& operator=(HeldFactor const&) = delete;

  /// To be called while there is a User of the call's own.
  Work& work() const { return *work_; }

 private:
  User user_;                   // first: Kokkos outlives the rest
  std::unique_ptr<Work> work_;  // null once Kokkos was ended
  AtKokkosEnd at_end_{[this] { work_.reset(); }};
};

}  // namespace strata::c

#endif
