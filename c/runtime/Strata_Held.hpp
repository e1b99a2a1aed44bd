// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_HELD_HPP
#define STRATA_C_HELD_HPP

#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <core/instances/Strata_AtKokkosEnd.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace strata::c {

/// Owns a C++ object with Views and instances for C or Python. They may give it up at any time,
/// even after Kokkos has ended, or in a forked child.
template <class Work>
class Held {
 public:
  /// Kokkos is there when the Work is made of the arguments.
  ///
  /// Throws   NotReady; what Work's constructor throws.
  template <class... Argument>
  explicit Held(Argument&&... arguments) : work_(make(std::forward<Argument>(arguments)...)) {}
  ~Held() {
    resting_.reset();  // what follows is work
    if (kokkos_is_usable()) {
      ConcurrentCall const call;
      work_.reset();
    } else {  // what is the process' that this was forked from can't be destroyed here
      [[maybe_unused]] Work* const left = work_.release();
    }
  }
  Held(Held const&) = delete;
  Held& operator=(Held const&) = delete;

  /// The object. The call must have its own Caller meanwhile.
  Work& work() const { return *work_; }

 private:
  template <class... Argument>
  static std::unique_ptr<Work> make(Argument&&... arguments) {
    ConcurrentCall const call;
    return std::make_unique<Work>(std::forward<Argument>(arguments)...);
  }

  User user_;                   // first: Kokkos outlives the rest
  std::unique_ptr<Work> work_;  // null once Kokkos was ended
  AtKokkosEnd at_end_{[this] { work_.reset(); }};
  std::optional<Resting> resting_{std::in_place};  // last: the work is made
};

/// A dense factor and the caller's matrix, which it reads.
struct DenseFactor {
  using Factor = dense::CholeskyFactor<Exec>;

  /// Factors A on an instance, in automatic layers if none are given. A is n x n and column-major,
  /// column j at data + j * ld; the triangle `uplo` is read. A is kept, and must not change.
  ///
  /// Throws   what `dense::cholesky` and Operand throw.
  DenseFactor(Instance own, Uplo uplo, std::int64_t n, double const* data, std::int64_t ld,
              std::optional<dense::LayerList> const& layers, dense::CholeskyOptions const& options)
      : instance(std::move(own)),
        exec(*instance),
        A(exec, data, n, n, ld, part_of(uplo)),
        factor(exec, as_lower(A, uplo), layers ? *layers : dense::automatic_layers<Exec>(n),
               options) {}

  /// The same on an instance of its own.
  DenseFactor(Uplo uplo, std::int64_t n, double const* data, std::int64_t ld,
              std::optional<dense::LayerList> const& layers, dense::CholeskyOptions const& options)
      : DenseFactor(new_instance(), uplo, n, data, ld, layers, options) {}

  /// Factor another matrix of the order. Throws as CholeskyFactor::refactor, and what Operand
  /// throws.
  void update(Uplo uplo, double const* data, std::int64_t ld) {
    auto const n = factor.report().n;
    A = Operand<double const>(exec, data, n, n, ld, part_of(uplo));
    factor.refactor(exec, as_lower(A, uplo));
  }

  Instance instance;  // first: it outlives the rest
  Exec exec;
  Operand<double const> A;
  Factor factor;
};

}  // namespace strata::c

#endif
