// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/matrix/detail/Strata_RowBlock.hpp>

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

#define STRATA_INSTANTIATE_KERNELS(Space, Matrix, Scalar)                          \
  template void multiply(Space const&, Matrix const&,                              \
                         ConstVector<Scalar, Space::memory_space> const&,          \
                         Vector<Scalar, Space::memory_space> const&, RowRange);    \
  template void residual(Space const&, Matrix const&,                              \
                         ConstVector<Scalar, Space::memory_space> const&,          \
                         ConstVector<Scalar, Space::memory_space> const&,          \
                         Vector<Scalar, Space::memory_space> const&, RowRange);    \
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

}  // namespace strata::sparse
