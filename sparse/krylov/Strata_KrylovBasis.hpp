// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_KRYLOV_BASIS_HPP
#define STRATA_SPARSE_KRYLOV_BASIS_HPP

#include <comm/Strata_Transport.hpp>
#include <core/Strata_Backends.hpp>
#include <core/Strata_Errors.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace strata::sparse {

/// Column k of the Hessenberg matrix: k entries and the one below.
struct HessenbergColumn {
  std::vector<double> h;  ///< entries 0 to k
  double beta = 0;        ///< the entry below them
};

namespace detail {
enum class Purpose;
}  // namespace detail

/// Orthonormal vectors in Scalar, spread over the ranks, orthogonalised by classical Gram-Schmidt,
/// twice.
///
/// Sums are made in fp64, rows in chunks that depend on their number alone, chunks in order: the
/// same bits from run to run. CGS2 reads the basis three times: the first update and the second
/// products share a pass, the second update and what makes a column of w the last one.
///
/// BasisNorm::Derived: w is scaled there by the norm of the vector between the updates less its
/// products with the basis (Pythagoras). So two sums over the ranks do. It is good to rounding
/// unless the first projection left little but what the basis lacks in orthogonality. Then q_k's
/// length is not 1, or beta and q_k are 0, and a solver must look at the residual.
/// BasisNorm::Summed: the last pass sums the squares of what it writes, in a third sum over the
/// ranks, and w keeps its length. Whatever reads a column multiplies by 1 over its length. The next
/// w, a linear map of that column, is divided by the length in its first update, so that lengths do
/// not pile up.
///
/// A basis may be stored narrower than the Scalar in which it is worked on, as multiples of 2^-15.
/// With Summed norms they are times a power of two for each column and rank. Then q_k is what was
/// stored.
/// Source   J. I. Aliaga et al., Compressed basis GMRES on high-performance GPUs, IJHPCA 37, 2023.
template <class Exec, class Scalar, class Stored = Scalar>
class KrylovBasis {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors
  /// Whether it is stored narrower than it is worked on.
  static constexpr bool is_narrow = !std::is_same_v<Scalar, Stored>;

  /// Room for `vectors` of `rows` entries. Throws MemoryError.
  KrylovBasis(Exec const& exec, Communicator const& comm, std::int64_t rows, int vectors,
              Link<Exec> const& link = {}, BasisNorm norm = BasisNorm::Derived);

  /// Bytes of the basis on this rank.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(Q_.extent(0) * sizeof(Stored) + w_.extent(0) * sizeof(Scalar));
  }

  /// Vector k, to be written before `orthogonalise` and read after: q_k, of Summed norms times its
  /// beta. Of a narrow basis all are in one array, which holds the latest.
  Vector<Scalar, MemorySpace> operator[](int k) const {
    if constexpr (is_narrow)
      return Vector<Scalar, MemorySpace>(w_.data(), rows_);
    else
      return Vector<Scalar, MemorySpace>(Q_.data() + k * stride_, rows_);
  }

  /// Vector 0 = alpha r, which is to have length 1. Enqueued on `exec`.
  void start(Exec const& exec, double alpha, Vector<double, MemorySpace> const& r);
  /// Make vector k orthogonal to those before it and scale it to length 1, as good as the norm is
  /// (above).
  ///
  /// Result   vector k as it was = Q h + beta q_k, to Stored's rounding, for `column` to tell; of
  ///          Summed norms vector k as it was over the beta of the call for k - 1, as if q_{k-1}
  ///          had been what it was made of. If beta is 0, q_k is 0.
  /// Sync     enqueued on `exec`; of several ranks, unless their messages are, fences it before
  ///          each all-reduce: of k and k + 1 values for Derived norms, of k, k and 1 for Summed.
  void orthogonalise(Exec const& exec, int k);
  /// The column that the last call, for k, made. Fences `exec`.
  HessenbergColumn column(Exec const& exec, int k) const;

  /// x = Q t, for the first vectors.
  void combine(Exec const& exec, std::vector<double> const& t,
               Vector<Scalar, MemorySpace> const& x);

 private:
  using Coefficients = Kokkos::View<double*, MemorySpace>;
  using HostCoefficients = Kokkos::View<double*, PinnedSpace>;  // kernels write there

  // w -= Q update, then what the purpose says; sums go to `result`.
  void pass(Exec const& exec, int k, double const* update, detail::Purpose purpose,
            std::int64_t result);
  void sum_chunks(Exec const& exec, int products, int count, double const* scales,
                  std::int64_t result);
  void sum_ranks(Exec const& exec, std::int64_t first, int count);
  void measure(Exec const& exec, int k);
  bool sums_on_host() const { return comm_.size() > 1 && !link_.messages; }

  // Positions among the coefficients: first products, second products, w'w or beta^2, and what w
  // was multiplied by.
  std::int64_t second() const { return vectors_; }
  std::int64_t square() const { return 2 * std::int64_t{vectors_}; }
  std::int64_t factor() const { return square() + 1; }

  Communicator comm_;
  Link<Exec> link_;
  BasisNorm norm_;
  std::int64_t rows_, stride_, chunk_, chunks_;
  int vectors_;
  Kokkos::View<Stored*, MemorySpace> Q_;
  Vector<Scalar, MemorySpace> w_;  // of a narrow basis
  Coefficients partial_, coefficients_;
  Coefficients
      scales_;  // q_k over its unit and what is stored; behind them 1 / beta of the latest column
  HostCoefficients host_;
};

namespace detail {

/// y = alpha x, rounded to y's type.
template <class Exec, class From, class To>
void scale(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
           Vector<To, typename Exec::memory_space> const& y, std::int64_t rows);

/// y += alpha x, in y's type.
template <class Exec, class From, class To>
void add(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
         Vector<To, typename Exec::memory_space> const& y, std::int64_t rows);

}  // namespace detail

}  // namespace strata::sparse

#endif
