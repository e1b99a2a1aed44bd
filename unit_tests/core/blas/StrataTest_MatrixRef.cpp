// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_LeafBlas.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using namespace strata;
using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Blas = LeafBlas<Exec>;
using View = Kokkos::View<double**, Kokkos::LayoutLeft, Memory>;
using ConstView = Kokkos::View<double const**, Kokkos::LayoutLeft, Memory>;
using Matrix = decltype(matrix_ref(View()));
using ConstMatrix = decltype(matrix_ref(ConstView()));

static_assert(std::is_same_v<Matrix, MatrixRef<Memory>>);
static_assert(std::is_same_v<ConstMatrix, ConstMatrixRef<Memory>>);
static_assert(std::is_convertible_v<Matrix, ConstMatrix>);
static_assert(!std::is_convertible_v<ConstMatrix, Matrix>);
static_assert(!std::is_constructible_v<Matrix, ConstMatrix>);
static_assert(std::is_same_v<decltype(ConstMatrix().as<double>()), double const*>);

// Each operation with A as its input and C as its result.
template <class A, class C>
concept Gemm = requires(Blas& blas, A a, C c) { blas.gemm({}, {}, 1, a, a, 0, c); };
template <class A, class C>
concept Batched = requires(Blas& blas, A a, C c) { blas.gemm({}, {}, 1, a, a, 0, c, Batch()); };
template <class A, class C>
concept Syrk = requires(Blas& blas, A a, C c) { blas.syrk({}, {}, 1, a, 0, c); };
template <class A, class C>
concept Symm = requires(Blas& blas, A a, C c) { blas.symm({}, 1, a, a, 0, c); };
template <class A, class C>
concept Trsm = requires(Blas& blas, A a, C c) { blas.trsm({}, {}, {}, {}, 1, a, c); };
template <class A, class C>
concept Convert = requires(Blas& blas, A a, C c) { blas.convert({}, a, c); };
template <class C>
concept Potrf = requires(Blas& blas, C c, Blas::InfoView info) { blas.potrf({}, c, 0, info); };
template <class A, class C>
concept Invert =
    requires(Blas& blas, A a, C c, Blas::InfoView i) { blas.potrf_invert(a, c, 0, i); };

template <class A, class C>
constexpr bool all =
    Gemm<A, C> && Batched<A, C> && Syrk<A, C> && Symm<A, C> && Trsm<A, C> && Convert<A, C>;
template <class A, class C>
constexpr bool any =
    Gemm<A, C> || Batched<A, C> || Syrk<A, C> || Symm<A, C> || Trsm<A, C> || Convert<A, C>;

static_assert(all<ConstMatrix, Matrix> && all<Matrix, Matrix> && Potrf<Matrix>);
static_assert(Invert<Matrix, Matrix>);
static_assert(!any<Matrix, ConstMatrix> && !any<ConstMatrix, ConstMatrix> && !Potrf<ConstMatrix>);
static_assert(!Invert<ConstMatrix, Matrix> && !Invert<Matrix, ConstMatrix>);

TEST(MatrixRef, OfConstNumbersIsTheSameMatrix) {
  View const A("strata::test::A", 5, 4);
  double const scale = 2;
  Matrix scaled = matrix_ref(A);
  scaled.scale = &scale;
  ConstMatrix const a = scaled, view = matrix_ref(ConstView(A));
  EXPECT_EQ(a.data, A.data());
  EXPECT_EQ(view.data, A.data());
  EXPECT_EQ(a.scale, &scale);
  EXPECT_EQ(a.without_scale().scale, nullptr);
  ConstMatrix const block = a.block(2, 1, 3, 2), next = view.shifted(3);
  EXPECT_EQ(block.as<double>(), A.data() + 2 + 5);
  EXPECT_EQ(block.rows, 3);
  EXPECT_EQ(block.cols, 2);
  EXPECT_EQ(block.ld, 5);
  EXPECT_EQ(block.scale, &scale);
  EXPECT_EQ(next.as<double>(), A.data() + 3);
  EXPECT_EQ(next.rows, 5);
}

}  // namespace
