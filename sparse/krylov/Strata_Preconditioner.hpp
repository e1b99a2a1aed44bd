// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_PRECONDITIONER_HPP
#define STRATA_SPARSE_PRECONDITIONER_HPP

#include <sparse/formats/Strata_EllMatrix.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace strata::sparse {

/// Something with apply(exec, r, z): z = M^-1 r, enqueued on `exec`, vectors in the matrix' order;
/// r is not written, z needs no values but room for the halo. Collective.
template <class T, class Exec, class Scalar>
concept Preconditions =
    requires(T const& M, Exec const& exec, Vector<Scalar, typename Exec::memory_space> const& v) {
      M.apply(exec, v, v);
    };

/// Any preconditioner in Scalar. A copy refers to the same one.
template <class Exec, class Scalar>
class Preconditioner {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors
  /// What it is applied to.
  using Vec = Vector<Scalar, MemorySpace>;

  /// None: z = r.
  Preconditioner() = default;
  /// Any object that preconditions.
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, Preconditioner> &&
             Preconditions<std::remove_cvref_t<T>, Exec, Scalar>)
  Preconditioner(T&& M)  // implicit, as std::function's
      : any_(std::make_shared<Holder<std::remove_cvref_t<T>>>(std::forward<T>(M))) {}

  /// Whether `apply` does nothing but enqueue the same work on `exec` every time, messages
  /// included: what T's is_enqueued() says, no without it.
  bool is_enqueued() const { return !any_ || any_->is_enqueued(); }
  /// z = M^-1 r.
  void apply(Exec const& exec, Vec const& r, Vec const& z) const {
    if (any_) return any_->apply(exec, r, z);
    auto const rows = std::pair<std::size_t, std::size_t>(
        0, r.extent(0) < z.extent(0) ? r.extent(0) : z.extent(0));
    Kokkos::deep_copy(exec, Kokkos::subview(z, rows), Kokkos::subview(r, rows));
  }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual void apply(Exec const&, Vec const&, Vec const&) const = 0;
    virtual bool is_enqueued() const = 0;
  };
  template <class T>
  struct Holder final : Any {
    template <class U>
    explicit Holder(U&& value) : M(std::forward<U>(value)) {}
    void apply(Exec const& exec, Vec const& r, Vec const& z) const override { M.apply(exec, r, z); }
    bool is_enqueued() const override {
      if constexpr (requires { M.is_enqueued(); }) return M.is_enqueued();
      return false;
    }
    T M;
  };
  std::shared_ptr<Any const> any_;
};

}  // namespace strata::sparse

#endif
