// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
#include <sparse/Strata_EllKernels.hpp>
#include <string>

namespace strata::sparse {
namespace {

using strata::detail::runs_on_host;

/// The rows that one work item takes: one on a device, where neighbouring threads take neighbouring
/// rows; on a host those of one slice, so that its inner loops are contiguous.
template <class Exec>
inline constexpr int item_rows = runs_on_host<Exec> ? 32 : 1;

/// Consecutive rows of one slice. Items are counted from the slice in which the range begins, so that
/// a warp takes a slice; those before the range are empty.
template <int Rows>
struct RowBlock {
  static constexpr int slice_rows = 32;
  std::int64_t row;
  int count;

  KOKKOS_FUNCTION explicit RowBlock(std::int64_t only_row) : row(only_row), count(1) {}
  KOKKOS_FUNCTION RowBlock(RowRange range, std::int64_t item) {
    std::int64_t const begin = range.begin / slice_rows * slice_rows + item * Rows,
                       end = begin + Rows < range.end ? begin + Rows : range.end;
    row = begin > range.begin ? begin : range.begin;
    count = static_cast<int>(end - row);
  }
  static std::int64_t items(RowRange range) {
    if (range.size() <= 0) return 0;
    return (range.end - range.begin / slice_rows * slice_rows + Rows - 1) / Rows;
  }

  /// step(r, column, value) for each entry of each row + r, a row's entries in order; value(), its
  /// stored value, is read only if it is called.
  template <class Value, class Index, class Space, class Step>
  KOKKOS_FUNCTION void for_each_entry(EllMatrix<Value, Index, Space> const& A,
                                      Step const& step) const {
    auto const place = A.row(row);
    Index const* KOKKOS_RESTRICT columns = A.columns() + place.first;
    for_each_slot(
        place.width, A.values() + place.first, place.stride,
        [&](int k, int r) { return columns[k * place.stride + r]; }, step);
  }
  template <class Value, class Space, class Step>
  KOKKOS_FUNCTION void for_each_entry(CompressedMatrix<Value, Space> const& A,
                                      Step const& step) const {
    CompressedSlice const slice = A.slice(row / slice_rows);
    std::int64_t const lane = row % slice_rows;
    auto const width = static_cast<int>(slice.width);
    Value const* const values = A.values() + slice.values + lane;
    auto const first = static_cast<std::int32_t>(row);
    switch (static_cast<Columns>(slice.kind)) {
      case Columns::Shared: {
        std::int32_t const* KOKKOS_RESTRICT distances = A.numbers() + slice.columns;
        return for_each_slot(
            width, values, slice_rows, [&](int k, int r) { return first + r + distances[k]; },
            step);
      }
      case Columns::Narrow: {
        std::uint16_t const* KOKKOS_RESTRICT narrow = A.narrow() + slice.columns + lane;
        return for_each_slot(
            width, values, slice_rows,
            [&](int k, int r) { return slice.base + narrow[k * slice_rows + r]; }, step);
      }
      case Columns::Wide: {
        std::int32_t const* KOKKOS_RESTRICT columns = A.numbers() + slice.columns + lane;
        return for_each_slot(
            width, values, slice_rows, [&](int k, int r) { return columns[k * slice_rows + r]; },
            step);
      }
    }
  }

 private:
  template <class Value, class Column, class Step>
  KOKKOS_FUNCTION void for_each_slot(int width, Value const* KOKKOS_RESTRICT values,
                                     std::int64_t stride, Column const& column,
                                     Step const& step) const {
    if constexpr (Rows == 1) {
#pragma unroll 9
      for (int k = 0; k < width; ++k) step(0, column(k, 0), [&] { return values[k * stride]; });
    } else {
      for (int k = 0; k < width; ++k) {
        auto const entry = [&](int r) {
          step(r, column(k, r), [&] { return values[k * stride + r]; });
        };
        if (count == Rows) {
          for (int r = 0; r < Rows; ++r) entry(r);
        } else {
          for (int r = 0; r < count; ++r) entry(r);
        }
      }
    }
  }
};

template <class Exec, class Kernel>
void launch(std::string const& label, Exec const& exec, RowRange range, Kernel const& kernel) {
  std::int64_t const items = RowBlock<item_rows<Exec>>::items(range);
  if (items == 0) return;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, items), kernel);
}

/// y = A x, or y = b - A x.
template <int Rows, class Matrix, class Scalar, bool Subtract>
struct Multiply {
  Matrix A;
  RowRange range;
  Scalar const* b;
  Scalar const* x;
  Scalar* y;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    RowBlock<Rows> const block(range, item);
    if (block.count <= 0) return;
    Scalar sum[Rows];
    for (int r = 0; r < block.count; ++r) sum[r] = Subtract ? b[block.row + r] : Scalar(0);
    block.for_each_entry(A, [&](int r, auto column, auto const& value) {
      Scalar const term = static_cast<Scalar>(value()) * x[column];
      sum[r] += Subtract ? -term : term;
    });
    for (int r = 0; r < block.count; ++r) y[block.row + r] = sum[r];
  }
};

template <class Matrix, class Injection, class Scalar>
struct RestrictResidual {
  Matrix A;
  Injection injection;
  RowRange range;
  Scalar const* b;
  Scalar const* x;
  Scalar* coarse;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const c = range.begin + item, fine = injection(c);
    RowBlock<1> const block(fine);
    Scalar sum = b[fine];
    block.for_each_entry(A, [&](int, auto column, auto const& value) {
      sum -= static_cast<Scalar>(value()) * x[column];
    });
    coarse[c] = sum;
  }
};

template <int Rows, class Matrix, class Scalar, Guess Initial>
struct Relax {
  Matrix A;
  RowRange range;
  Scalar const* rhs;
  Scalar* x;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    RowBlock<Rows> const block(range, item);
    if (block.count <= 0) return;
    Scalar sum[Rows], diagonal[Rows];
    for (int r = 0; r < block.count; ++r) {
      sum[r] = rhs[block.row + r];
      diagonal[r] = 0;
    }
    block.for_each_entry(A, [&](int r, auto column, auto const& value) {
      if (column == block.row + r)
        diagonal[r] += static_cast<Scalar>(value());
      else if (Initial == Guess::Given || column < range.begin)
        sum[r] -= static_cast<Scalar>(value()) * x[column];
    });
    for (int r = 0; r < block.count; ++r) x[block.row + r] = sum[r] / diagonal[r];
  }
};

template <class To>
struct CountInexact {
  template <class Value>
  KOKKOS_FUNCTION static std::int64_t count(Value stored) {
    double const value = static_cast<double>(stored),
                 rounded = static_cast<double>(static_cast<To>(value));
    return !(rounded == value && value - value == 0);
  }
};

template <class To, class Exec, class Value>
std::int64_t count_inexact(Exec const& exec, std::int64_t places, Value const* values) {
  std::int64_t inexact = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::is_exact_in",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, places),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& sum) {
        sum += CountInexact<To>::count(values[k]);
      },
      inexact);
  exec.fence("strata::sparse::is_exact_in::count");
  return inexact;
}

}  // namespace

template <class Exec, class Matrix, class Scalar>
void multiply(Exec const& exec, Matrix const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& y, RowRange range) {
  launch("strata::sparse::multiply", exec, range,
         Multiply<item_rows<Exec>, Matrix, Scalar, false>{A, range, nullptr, x.data(), y.data()});
}

template <class Exec, class Matrix, class Scalar>
void residual(Exec const& exec, Matrix const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& r, RowRange range) {
  launch("strata::sparse::residual", exec, range,
         Multiply<item_rows<Exec>, Matrix, Scalar, true>{A, range, b.data(), x.data(), r.data()});
}

template <class Exec, class Matrix, class Scalar>
void restrict_residual(
    Exec const& exec, Matrix const& A,
    ConstVector<std::int32_t, typename Exec::memory_space> const& injection,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
    Vector<Scalar, typename Exec::memory_space> const& coarse, RowRange range) {
  using Injection = ConstVector<std::int32_t, typename Exec::memory_space>;
  if (range.size() <= 0) return;
  Kokkos::parallel_for(
      "strata::sparse::restrict_residual",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, range.size()),
      RestrictResidual<Matrix, Injection, Scalar>{A, injection, range, b.data(), x.data(),
                                                  coarse.data()});
}

template <class Exec, class Matrix, class Scalar>
void relax(Exec const& exec, Matrix const& A,
           std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
           Vector<Scalar, typename Exec::memory_space> const& x, RowRange range, Guess guess) {
  constexpr int rows = item_rows<Exec>;
  if (guess == Guess::Zero)
    launch("strata::sparse::relax::zero_guess", exec, range,
           Relax<rows, Matrix, Scalar, Guess::Zero>{A, range, r.data(), x.data()});
  else
    launch("strata::sparse::relax", exec, range,
           Relax<rows, Matrix, Scalar, Guess::Given>{A, range, r.data(), x.data()});
}

template <class Exec, class Matrix>
bool is_exact_in(Exec const& exec, Matrix const& A, Precision precision) {
  return with_type(precision, [&]<class To>(std::type_identity<To>) {
    return count_inexact<To>(exec, A.stored(), A.values()) == 0;
  });
}

#define STRATA_INSTANTIATE_KERNELS(Space, Matrix, Scalar)                                \
  template void multiply(Space const&, Matrix const&,                                    \
                         ConstVector<Scalar, Space::memory_space> const&,                \
                         Vector<Scalar, Space::memory_space> const&, RowRange);          \
  template void residual(Space const&, Matrix const&,                                    \
                         ConstVector<Scalar, Space::memory_space> const&,                \
                         ConstVector<Scalar, Space::memory_space> const&,                \
                         Vector<Scalar, Space::memory_space> const&, RowRange);          \
  template void restrict_residual(Space const&, Matrix const&,                           \
                                  ConstVector<std::int32_t, Space::memory_space> const&, \
                                  ConstVector<Scalar, Space::memory_space> const&,       \
                                  ConstVector<Scalar, Space::memory_space> const&,       \
                                  Vector<Scalar, Space::memory_space> const&, RowRange); \
  template void relax(Space const&, Matrix const&,                                       \
                      ConstVector<Scalar, Space::memory_space> const&,                   \
                      Vector<Scalar, Space::memory_space> const&, RowRange, Guess);
#define STRATA_INSTANTIATE_MATRIX(Space, Matrix)  \
  STRATA_INSTANTIATE_KERNELS(Space, Matrix, fp64) \
  STRATA_INSTANTIATE_KERNELS(Space, Matrix, fp32) \
  template bool is_exact_in(Space const&, Matrix const&, Precision);
// A type's name without a comma.
template <class Value>
struct Stored {
  template <class Space>
  using Ell = EllMatrix<Value, std::int32_t, typename Space::memory_space>;
  template <class Space>
  using Compressed = CompressedMatrix<Value, typename Space::memory_space>;
};
#define STRATA_INSTANTIATE_VALUE(Space, Value)                \
  STRATA_INSTANTIATE_MATRIX(Space, Stored<Value>::Ell<Space>) \
  STRATA_INSTANTIATE_MATRIX(Space, Stored<Value>::Compressed<Space>)
#define STRATA_INSTANTIATE_ELL(Space)   \
  STRATA_INSTANTIATE_VALUE(Space, fp64) \
  STRATA_INSTANTIATE_VALUE(Space, fp32) \
  STRATA_INSTANTIATE_VALUE(Space, bf16) \
  STRATA_INSTANTIATE_VALUE(Space, fp16)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_ELL)

}  // namespace strata::sparse
