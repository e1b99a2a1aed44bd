// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_KRYLOV_METHOD_HPP
#define STRATA_SPARSE_KRYLOV_METHOD_HPP

#include <core/Strata_Pimpl.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace strata::sparse {

template <class Exec>
class DistributedMatrix;
namespace detail {
template <class Exec>
struct ResidualNorms;
}  // namespace detail

/// A Krylov method for A x = b with its matrix, its preconditioner and its work vectors. It can be
/// moved, and not copied.
template <class Exec>
class KrylovMethod {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  /// Bytes of the basis and the work vectors.
  std::int64_t bytes() const { return work_->bytes(); }

  /// Solve A x = b from x as given; b and x in the matrix' order, as A.allocate makes them.
  /// With `norms` it is judged by them, too, and estimates its error.
  ///
  /// Sync     fences `exec` for the sums of each iteration.
  /// Throws   ShapeError for vectors of other lengths, on all ranks.
  KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                     Vector<double, MemorySpace> const& x,
                     detail::ResidualNorms<Exec> const* norms = nullptr) {
    return work_->solve(exec, b, x, norms);
  }

 protected:
  /// What a method does.
  struct Work {
    virtual ~Work() = default;
    /// Bytes of vectors that the method holds.
    virtual std::int64_t bytes() const = 0;
    /// Solves A x = b from x as given.
    virtual KrylovReport solve(Exec const& exec, Vector<double, MemorySpace> const& b,
                               Vector<double, MemorySpace> const& x,
                               detail::ResidualNorms<Exec> const* norms) = 0;
  };

  /// `name`: the method's, for messages.
  KrylovMethod(char const* name, std::unique_ptr<Work> work) : work_(name, std::move(work)) {}

 private:
  Pimpl<Work> work_;
};

}  // namespace strata::sparse

#endif
