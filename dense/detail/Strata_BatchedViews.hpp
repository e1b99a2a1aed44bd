// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BATCHED_VIEWS_HPP
#define STRATA_BATCHED_VIEWS_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <dense/tree/detail/Strata_ColumnMajor.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::dense::detail {

/// The first of `count` matrices of one shape, each `stride` numbers after the one before.
template <class MemorySpace, class Data>
struct BatchedMatrices : ColumnMajor<MemorySpace, Data> {
  std::int64_t count = 0, stride = 0;

  /// The same as matrices that are only read.
  BatchedMatrices<MemorySpace, void const> read() const {
    return {{this->matrix, this->transposed}, count, stride};
  }
};

template <class First, class Second>
Batch both(First const& a, Second const& b) {
  return {.count = a.count, .stride_a = a.stride, .stride_b = b.stride};
}

template <class ExecutionSpace, class ViewType>
constexpr void require_numbers_of() {
  using Scalar = typename ViewType::non_const_value_type;
  static_assert(std::is_same_v<Scalar, double> || std::is_same_v<Scalar, float>,
                "a batch is a View of double or of float");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename ViewType::memory_space>::accessible,
      "the execution space cannot access the View's memory");
}

/// A(i, j, b) by columns, or by rows as the transposes.
template <class ExecutionSpace, class ViewType>
auto batched_matrices(char const* call, ViewType const& A) {
  static_assert(ViewType::rank() == 3, "a batch of matrices is a View of rank 3");
  require_numbers_of<ExecutionSpace, ViewType>();
  using Scalar = typename ViewType::value_type;
  using First = Kokkos::View<Scalar**, Kokkos::LayoutStride, typename ViewType::memory_space,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  STRATA_REQUIRE(ShapeError, A.extent(0) == A.extent(1), call, ": the matrices are ", A.extent(0),
                 " x ", A.extent(1), ", must be square");
  First const first(A.data(),
                    Kokkos::LayoutStride(A.extent(0), A.stride(0), A.extent(1), A.stride(1)));
  return BatchedMatrices<typename ExecutionSpace::memory_space, ConstLike<void, Scalar>>{
      column_major<ExecutionSpace>(first), static_cast<std::int64_t>(A.extent(2)),
      static_cast<std::int64_t>(A.stride(2))};
}

/// B(i, c, b), or B(i, b) for one column each.
template <class ExecutionSpace, class ViewType>
auto batched_vectors(char const* call, ViewType const& B, std::int64_t count) {
  constexpr auto rank = ViewType::rank();
  static_assert(rank == 2 || rank == 3, "a batch of right-hand sides is a View of rank 2 or 3");
  require_numbers_of<ExecutionSpace, ViewType>();
  using Scalar = typename ViewType::value_type;
  auto const rows = static_cast<std::int64_t>(B.extent(0)),
             given = static_cast<std::int64_t>(B.extent(rank - 1)),
             columns = rank == 3 ? static_cast<std::int64_t>(B.extent(1)) : 1,
             ld = columns > 1 ? static_cast<std::int64_t>(B.stride(1)) : rows;
  STRATA_REQUIRE(ShapeError, given == count, call, ": right-hand sides of ", given, " systems for ",
                 count, " matrices");
  STRATA_REQUIRE(ShapeError, B.stride(0) == 1 || rows <= 1, call,
                 ": the right-hand sides' rows are ", B.stride(0), " numbers apart, must be 1");
  BatchedMatrices<typename ExecutionSpace::memory_space, ConstLike<void, Scalar>> batch;
  batch.matrix = {B.data(), rows, columns, std::max<std::int64_t>(1, ld), precision_of<Scalar>};
  batch.count = count;
  batch.stride = static_cast<std::int64_t>(B.stride(rank - 1));
  return batch;
}

inline void require_numbers(char const* call, char const* what, std::size_t given,
                            std::int64_t count) {
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(given) == count, call, ": ", what, " has ",
                 given, " numbers for ", count, " systems");
}

template <class ExecutionSpace>
using ReadBatch = BatchedMatrices<typename ExecutionSpace::memory_space, void const>;
template <class ExecutionSpace>
using BatchResult = Kokkos::View<double*, typename ExecutionSpace::memory_space>;

/// result(b) = log det of the matrix that L is the factor of; NaN where info(b) is not 0. Enqueued.
template <class ExecutionSpace>
void sum_logarithms(ExecutionSpace const& exec, ReadBatch<ExecutionSpace> const& L,
                    Kokkos::View<std::int64_t*, typename ExecutionSpace::memory_space> const& info,
                    BatchResult<ExecutionSpace> const& result);
/// result(b) = the normwise backward error of X_b. Enqueued.
template <class ExecutionSpace>
void measure_errors(ExecutionSpace const& exec, Uplo uplo, ReadBatch<ExecutionSpace> const& A,
                    ReadBatch<ExecutionSpace> const& X, ReadBatch<ExecutionSpace> const& B,
                    BatchResult<ExecutionSpace> const& result);

}  // namespace strata::dense::detail

#endif
