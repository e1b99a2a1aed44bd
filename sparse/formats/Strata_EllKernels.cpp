// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_HostSlices.hpp>
#include <sparse/formats/detail/Strata_RowBlock.hpp>

namespace strata::sparse {
namespace {

using namespace detail;

/// Sums of the rows of a block: + A x, or - A x.
template <int Rows, class Scalar, bool Subtract>
struct Products {
  static constexpr bool is_lower = false, is_cleared = false;
  Scalar sum[Rows];

  KOKKOS_FUNCTION void add(int r, std::int32_t, Scalar value, Scalar x) {
    sum[r] += Subtract ? -(value * x) : value * x;
  }
};

/// y = A x, or y = b - A x.
template <int Rows, class Matrix, class Scalar, bool Subtract>
struct Multiply {
  using Bounds = Crowded<Scalar>;
  Matrix A;
  RowRange range;
  Scalar const* b;
  Scalar const* x;
  Scalar* y;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    RowBlock<Rows> const block(range, item);
    if (block.count <= 0) return;
    Products<Rows, Scalar, Subtract> products;
    for (int r = 0; r < block.size(); ++r)
      products.sum[r] = Subtract ? b[block.row + r] : Scalar(0);
    block.for_each_entry(A, x, products);
    for (int r = 0; r < block.size(); ++r) y[block.row + r] = products.sum[r];
  }
};

/// The same of vectors that go abreast: y_i = A x_i, or b_i - A x_i.
template <class Matrix, class Numbers, bool Subtract>
struct MultiplyAbreast {
  using Scalar = LaneOf<Numbers>;
  using Value = typename Matrix::Value;
  using Bounds = Crowded<double>;
  Matrix A;
  RowRange range;
  Numbers const* b;
  Numbers const* x;
  Numbers* y;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const row = range.begin + item;
    if (row < range.end) take<1>(row);
  }
  /// Rows of one slice.
  template <int Rows>
  KOKKOS_FORCEINLINE_FUNCTION void take(std::int64_t row) const {
    std::int64_t const lane = row % Matrix::slice_rows;
    EllSlice const& slice = A.slice(row / Matrix::slice_rows);
    std::int64_t const first = slice.columns + lane;
    auto const* const values = A.values() + slice.values + lane;
    auto const width = static_cast<int>(slice.width);
    switch (static_cast<Columns>(slice.kind)) {
      case Columns::Shared:
        return add<Rows, 1, 0>(row, values, width, x + row, A.numbers() + slice.columns);
      case Columns::Narrow:
        return add<Rows, Matrix::slice_rows, 1>(row, values, width, x + slice.base,
                                                A.narrow() + first);
      case Columns::Wide:
        return add<Rows, Matrix::slice_rows, 1>(row, values, width, x, A.numbers() + first);
    }
  }
  /// Asks for the part of the next slice's values that stands where `count` rows stand in theirs:
  /// rows of a slice take lines of memory far from each other, which nothing else foresees.
  STRATA_INLINE void ask_for_next(std::int64_t row, std::int64_t count) const {
#ifdef __GNUC__
    constexpr std::int64_t slice_rows = Matrix::slice_rows, line = 64;
    std::int64_t const next = row / slice_rows + 1;
    if (next * slice_rows >= range.end) return;
    EllSlice const& slice = A.slice(next);
    auto const* const first = reinterpret_cast<char const*>(A.values() + slice.values);
    std::int64_t const bytes = std::int64_t(slice.width) * std::int64_t(sizeof(Value)),
                       begin = row % slice_rows * bytes / line * line;
    for (std::int64_t at = begin; at < begin + count * bytes; at += line)
      __builtin_prefetch(first + at);
#endif
  }
  /// `Stride` from a slot's column to the next one's; `Next` from a row's to the next row's, 0
  /// where columns are distances that rows share.
  template <int Rows, int Stride, int Next, class Column>
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t row, Value const* KOKKOS_RESTRICT values,
                                       int width, Numbers const* KOKKOS_RESTRICT from,
                                       Column const* KOKKOS_RESTRICT column) const {
    Numbers sum[Rows];
    for (int r = 0; r < Rows; ++r) sum[r] = Subtract ? b[row + r] : Numbers(Scalar(0));
    for (int k = 0; k < width; ++k)
      for (int r = 0; r < Rows; ++r) {
        auto const a = widened<Scalar>(values[k * Matrix::slice_rows + r]);
        auto const& factors = from[column[k * Stride + r * Next] + (Next == 0 ? r : 0)];
        for (int j = 0; j < Numbers::count; ++j)
          sum[r].of[j] += Subtract ? -(a * factors.of[j]) : a * factors.of[j];
      }
    for (int r = 0; r < Rows; ++r) y[row + r] = sum[r];
  }
};

template <class Exec, class Kernel>
void launch_abreast(char const* label, Exec const& exec, Kernel const& kernel) {
  if constexpr (sizeof(typename Kernel::Value) < sizeof(fp32)) {
    throw ValueError("vectors go abreast with matrices in fp64 or fp32, not in fewer bits");
  } else if constexpr (runs_on_host<Exec>) {
    launch_slices(label, exec, kernel);
  } else {
    launch_items(label, exec, kernel.range.size(), kernel);
  }
}

template <class Matrix, class Scalar>
struct RestrictResidual {
  using Bounds = Crowded<Scalar>;
  Matrix A;
  Injection<typename Matrix::MemorySpace> injection;
  RowRange range;
  Scalar const* b;
  Scalar const* x;
  Scalar* coarse;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const position = range.begin + item;
    if (position >= range.end) return;
    std::int64_t const c = injection.coarse_row(position), fine = injection.fine_row(c);
    Products<1, Scalar, true> products{{b[fine]}};
    RowBlock<1>(fine).for_each_entry(A, x, products);
    coarse[c] = products.sum[0];
  }
};

// Whether `value` is another number in this precision, or not finite.
KOKKOS_INLINE_FUNCTION bool is_inexact(double value, Precision precision) {
  double rounded = value;
  with_stored_type(precision, static_cast<void const*>(nullptr), [&](auto const* number) {
    using To = std::remove_cvref_t<decltype(*number)>;
    rounded = static_cast<double>(static_cast<To>(value));
  });
  return !(rounded == value && value - value == 0);
}

template <class Exec, class Value>
std::int64_t count_inexact(Exec const& exec, Precision precision, std::int64_t positions,
                           Value const* values) {
  std::int64_t inexact = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::is_exact_in", detail::RowPolicy<Exec>(exec, 0, positions),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& sum) {
        sum += is_inexact(static_cast<double>(values[k]), precision);
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
  require_entries("sparse::multiply", "x", x, A.cols());
  require_entries("sparse::multiply", "y", y, range.end);
  if constexpr (is_abreast<Scalar>)
    launch_abreast("strata::sparse::multiply", exec,
                   MultiplyAbreast<Matrix, Scalar, false>{A, range, nullptr, x.data(), y.data()});
  else
    launch("strata::sparse::multiply", exec, range,
           Multiply<item_rows<Exec>, Matrix, Scalar, false>{A, range, nullptr, x.data(), y.data()});
}

template <class Exec, class Matrix, class Scalar>
void residual(Exec const& exec, Matrix const& A,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
              std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
              Vector<Scalar, typename Exec::memory_space> const& r, RowRange range) {
  require_entries("sparse::residual", "b", b, range.end);
  require_entries("sparse::residual", "x", x, A.cols());
  require_entries("sparse::residual", "r", r, range.end);
  if constexpr (is_abreast<Scalar>)
    launch_abreast("strata::sparse::residual", exec,
                   MultiplyAbreast<Matrix, Scalar, true>{A, range, b.data(), x.data(), r.data()});
  else
    launch("strata::sparse::residual", exec, range,
           Multiply<item_rows<Exec>, Matrix, Scalar, true>{A, range, b.data(), x.data(), r.data()});
}

template <class Exec, class Matrix, class Scalar>
void restrict_residual(
    Exec const& exec, Matrix const& A, Injection<typename Exec::memory_space> const& injection,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& b,
    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& x,
    Vector<Scalar, typename Exec::memory_space> const& coarse, RowRange range) {
  require_entries("sparse::restrict_residual", "b", b, A.rows());
  require_entries("sparse::restrict_residual", "x", x, A.cols());
  require_entries("sparse::restrict_residual", "coarse", coarse, injection.rows());
  launch_items(
      "strata::sparse::restrict_residual", exec, range.size(),
      RestrictResidual<Matrix, Scalar>{A, injection, range, b.data(), x.data(), coarse.data()});
}

template <class Exec, class Matrix>
bool is_exact_in(Exec const& exec, Matrix const& A, Precision precision) {
  return count_inexact(exec, precision, A.stored(), A.values()) == 0;
}

#define STRATA_INSTANTIATE_PRODUCTS(Space, Matrix, Scalar)                      \
  template void multiply(Space const&, Matrix const&,                           \
                         ConstVector<Scalar, Space::memory_space> const&,       \
                         Vector<Scalar, Space::memory_space> const&, RowRange); \
  template void residual(Space const&, Matrix const&,                           \
                         ConstVector<Scalar, Space::memory_space> const&,       \
                         ConstVector<Scalar, Space::memory_space> const&,       \
                         Vector<Scalar, Space::memory_space> const&, RowRange);
#define STRATA_INSTANTIATE_KERNELS(Space, Matrix, Scalar)                          \
  STRATA_INSTANTIATE_PRODUCTS(Space, Matrix, Scalar)                               \
  template void restrict_residual(Space const&, Matrix const&,                     \
                                  Injection<Space::memory_space> const&,           \
                                  ConstVector<Scalar, Space::memory_space> const&, \
                                  ConstVector<Scalar, Space::memory_space> const&, \
                                  Vector<Scalar, Space::memory_space> const&, RowRange);
#define STRATA_INSTANTIATE_SCALARS(Space, Matrix) \
  STRATA_INSTANTIATE_KERNELS(Space, Matrix, fp64) \
  STRATA_INSTANTIATE_KERNELS(Space, Matrix, fp32) \
  template bool is_exact_in(Space const&, Matrix const&, Precision);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_FOR_EACH_STORED_MATRIX)

#define STRATA_INSTANTIATE_ABREAST(Space, Value)                                                  \
  STRATA_INSTANTIATE_PRODUCTS(Space, detail::StoredAs<Value>::Compressed<Space>, Abreast<double>) \
  STRATA_INSTANTIATE_PRODUCTS(Space, detail::StoredAs<Value>::Compressed<Space>, Abreast<float>)
#define STRATA_FOR_EACH_ABREAST(Space)    \
  STRATA_INSTANTIATE_ABREAST(Space, fp64) \
  STRATA_INSTANTIATE_ABREAST(Space, fp32) \
  STRATA_INSTANTIATE_ABREAST(Space, bf16) \
  STRATA_INSTANTIATE_ABREAST(Space, fp16) \
  STRATA_INSTANTIATE_ABREAST(Space, fp8_e4m3)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_FOR_EACH_ABREAST)

}  // namespace strata::sparse
