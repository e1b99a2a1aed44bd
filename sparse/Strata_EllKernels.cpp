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

/// Consecutive rows of one slice, and where their entries are.
template <int Rows>
struct RowBlock {
  std::int64_t row, first, stride;
  int width, count;

  template <class Matrix>
  KOKKOS_FUNCTION RowBlock(Matrix const& A, RowRange range, std::int64_t item) {
    if constexpr (Rows == 1) {
      row = range.begin + item;
      count = 1;
    } else {
      std::int64_t const begin = (range.begin / Rows + item) * Rows, end = begin + Rows;
      row = begin > range.begin ? begin : range.begin;
      count = static_cast<int>((end < range.end ? end : range.end) - row);
    }
    auto const place = A.row(row);
    first = place.first;
    stride = place.stride;
    width = place.width;
  }

  static std::int64_t items(RowRange range) {
    if (range.size() <= 0) return 0;
    return (range.end - 1) / Rows - range.begin / Rows + 1;
  }

  /// step(r, column, value) for each entry of each row + r, a row's entries in order.
  template <class Matrix, class Step>
  KOKKOS_FUNCTION void for_each_entry(Matrix const& A, Step const& step) const {
    auto const* KOKKOS_RESTRICT columns = A.columns();
    auto const* KOKKOS_RESTRICT values = A.values();
    std::int64_t at = first;
    for (int k = 0; k < width; ++k, at += stride) {
      if (Rows == 1 || count == Rows) {
        for (int r = 0; r < Rows; ++r) step(r, columns[at + r], values[at + r]);
      } else {
        for (int r = 0; r < count; ++r) step(r, columns[at + r], values[at + r]);
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
    RowBlock<Rows> const block(A, range, item);
    Scalar sum[Rows];
    for (int r = 0; r < block.count; ++r) sum[r] = Subtract ? b[block.row + r] : Scalar(0);
    block.for_each_entry(A, [&](int r, std::int64_t column, auto value) {
      Scalar const term = static_cast<Scalar>(value) * x[column];
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
    RowBlock<1> const block(A, RowRange{fine, fine + 1}, 0);
    Scalar sum = b[fine];
    block.for_each_entry(A, [&](int, std::int64_t column, auto value) {
      sum -= static_cast<Scalar>(value) * x[column];
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
    RowBlock<Rows> const block(A, range, item);
    Scalar sum[Rows], diagonal[Rows];
    for (int r = 0; r < block.count; ++r) {
      sum[r] = rhs[block.row + r];
      diagonal[r] = 0;
    }
    block.for_each_entry(A, [&](int r, std::int64_t column, auto stored) {
      Scalar const value = static_cast<Scalar>(stored);
      if (column == block.row + r)
        diagonal[r] += value;
      else if (Initial == Guess::Given || column < range.begin)
        sum[r] -= value * x[column];
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

template <class Exec, class Value, class Index, class Scalar>
void multiply(Exec const& exec, EllMatrix<Value, Index, typename Exec::memory_space> const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& y, RowRange range) {
  using Matrix = EllMatrix<Value, Index, typename Exec::memory_space>;
  launch("strata::sparse::multiply", exec, range,
         Multiply<item_rows<Exec>, Matrix, Scalar, false>{A, range, nullptr, x.data(), y.data()});
}

template <class Exec, class Value, class Index, class Scalar>
void residual(Exec const& exec, EllMatrix<Value, Index, typename Exec::memory_space> const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& r, RowRange range) {
  using Matrix = EllMatrix<Value, Index, typename Exec::memory_space>;
  launch("strata::sparse::residual", exec, range,
         Multiply<item_rows<Exec>, Matrix, Scalar, true>{A, range, b.data(), x.data(), r.data()});
}

template <class Exec, class Value, class Index, class Scalar>
void restrict_residual(
    Exec const& exec, EllMatrix<Value, Index, typename Exec::memory_space> const& A,
    ConstVector<std::int32_t, typename Exec::memory_space> const& injection,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
    Vector<Scalar, typename Exec::memory_space> const& coarse, RowRange range) {
  using Matrix = EllMatrix<Value, Index, typename Exec::memory_space>;
  using Injection = ConstVector<std::int32_t, typename Exec::memory_space>;
  if (range.size() <= 0) return;
  Kokkos::parallel_for(
      "strata::sparse::restrict_residual",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, range.size()),
      RestrictResidual<Matrix, Injection, Scalar>{A, injection, range, b.data(), x.data(),
                                                  coarse.data()});
}

template <class Exec, class Value, class Index, class Scalar>
void relax(Exec const& exec, EllMatrix<Value, Index, typename Exec::memory_space> const& A,
           std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
           Vector<Scalar, typename Exec::memory_space> const& x, RowRange range, Guess guess) {
  using Matrix = EllMatrix<Value, Index, typename Exec::memory_space>;
  constexpr int rows = item_rows<Exec>;
  if (guess == Guess::Zero)
    launch("strata::sparse::relax::zero_guess", exec, range,
           Relax<rows, Matrix, Scalar, Guess::Zero>{A, range, r.data(), x.data()});
  else
    launch("strata::sparse::relax", exec, range,
           Relax<rows, Matrix, Scalar, Guess::Given>{A, range, r.data(), x.data()});
}

template <class Exec, class Value, class Index>
bool is_exact_in(Exec const& exec, EllMatrix<Value, Index, typename Exec::memory_space> const& A,
                 Precision precision) {
  return with_type(precision, [&]<class To>(std::type_identity<To>) {
    return count_inexact<To>(exec, A.stored(), A.values()) == 0;
  });
}

#define STRATA_INSTANTIATE_ELL_SCALAR(Space, Value, Scalar)                                        \
  template void multiply(Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&, \
                         ConstVector<Scalar, Space::memory_space> const&,                          \
                         Vector<Scalar, Space::memory_space> const&, RowRange);                    \
  template void residual(Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&, \
                         ConstVector<Scalar, Space::memory_space> const&,                          \
                         ConstVector<Scalar, Space::memory_space> const&,                          \
                         Vector<Scalar, Space::memory_space> const&, RowRange);                    \
  template void restrict_residual(Space const&,                                                    \
                                  EllMatrix<Value, std::int32_t, Space::memory_space> const&,      \
                                  ConstVector<std::int32_t, Space::memory_space> const&,           \
                                  ConstVector<Scalar, Space::memory_space> const&,                 \
                                  ConstVector<Scalar, Space::memory_space> const&,                 \
                                  Vector<Scalar, Space::memory_space> const&, RowRange);           \
  template void relax(Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&,    \
                      ConstVector<Scalar, Space::memory_space> const&,                             \
                      Vector<Scalar, Space::memory_space> const&, RowRange, Guess);
#define STRATA_INSTANTIATE_ELL_VALUE(Space, Value)  \
  STRATA_INSTANTIATE_ELL_SCALAR(Space, Value, fp64) \
  STRATA_INSTANTIATE_ELL_SCALAR(Space, Value, fp32) \
  template bool is_exact_in(                        \
      Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&, Precision);
#define STRATA_INSTANTIATE_ELL(Space)       \
  STRATA_INSTANTIATE_ELL_VALUE(Space, fp64) \
  STRATA_INSTANTIATE_ELL_VALUE(Space, fp32) \
  STRATA_INSTANTIATE_ELL_VALUE(Space, bf16) \
  STRATA_INSTANTIATE_ELL_VALUE(Space, fp16)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_ELL)

}  // namespace strata::sparse
