// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/indefinite/detail/Strata_LayeredLdlt.hpp>

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t leaf = 64;   // columns that one team eliminates
constexpr std::int64_t tile = 256;  // order of a product that is made whole, both triangles

// L D L^T of a leaf by a team, column by column; the row of D L^T is kept above the diagonal.
template <class T>
struct EliminateLeaf {
  T* a;
  std::int64_t ld;
  int n;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (int k = 0; k < n; ++k) {
      T const inverse = T(1) / a[k + k * ld];
      team_for(team, n - k - 1, [&](int s) {
        int const i = k + 1 + s;
        a[k + i * ld] = a[i + k * ld];
        a[i + k * ld] *= inverse;
      });
      team.team_barrier();
      team_for(team, n - k - 1, [&](int s) {
        int const j = k + 1 + s;
        T const row = a[k + j * ld];
        T const* const column = a + k * ld;
        T* const target = a + j * ld;
        for (int i = j; i < n; ++i) target[i] -= column[i] * row;
      });
      team.team_barrier();
    }
  }
};

// A12 = W^T and A21 = W D^-1 where A21 holds W; by tiles, since one of them lies across.
template <class T>
struct DivideByPivots {
  static constexpr int side = 32;
  T *a21, *a12;
  T const* d;  // a diagonal
  std::int64_t rows, cols, ld, down, items;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t item = team.league_rank(); item < items; item += team.league_size())
      divide(team, item);
  }
  template <class Member>
  KOKKOS_FUNCTION void divide(Member const& team, std::int64_t item) const {
    std::int64_t const i0 = item % down * side, j0 = item / down * side;
    auto const height = static_cast<int>(Kokkos::min<std::int64_t>(side, rows - i0)),
               width = static_cast<int>(Kokkos::min<std::int64_t>(side, cols - j0));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, height * width), [&](int t) {
      std::int64_t const i = i0 + t % height, j = j0 + t / height;
      T const w = a21[i + j * ld];
      a12[j + i * ld] = w;
      a21[i + j * ld] = w / d[j * (ld + 1)];
    });
  }
};

template <class ExecutionSpace>
class Recursion {
 public:
  using Matrix = MatrixRef<typename ExecutionSpace::memory_space>;

  Recursion(LeafBlas<ExecutionSpace>& blas, LayerList const& layers)
      : blas_(blas), layers_(layers) {}

  void factor(Matrix const& A, std::size_t depth) {
    std::int64_t const n = A.rows;
    if (n <= leaf) return eliminate(A);
    std::int64_t const n1 = half(n), n2 = n - n1;
    Matrix const A11 = A.block(0, 0, n1, n1), A21 = A.block(n1, 0, n2, n1),
                 A12 = A.block(0, n1, n1, n2), A22 = A.block(n1, n1, n2, n2);
    factor(A11, depth + 1);
    blas_.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::Unit, 1, A11, A21);
    divide(A21, A12, A11);
    subtract(in_layer(A21, depth), in_layer(A12, depth), A22);
    factor(A22, depth + 1);
  }

 private:
  // A multiple of the leaf's order, so that products have no ragged edges.
  static std::int64_t half(std::int64_t n) { return std::max(leaf, n / 2 / leaf * leaf); }

  // The numbers as products of a layer's format take them.
  Matrix in_layer(Matrix const& A, std::size_t depth) const {
    Precision const layer = layers_.at_depth(depth);
    return storage(layer) == A.precision ? A.in_format(layer) : A;
  }

  void eliminate(Matrix const& A) {
    if (A.precision == Precision::fp64)
      launch_teams("strata::dense::ldlt::leaf", blas_.exec(), 1, 0,
                   EliminateLeaf<double>{A.template as<double>(), A.ld, static_cast<int>(A.rows)});
    else
      launch_teams("strata::dense::ldlt::leaf", blas_.exec(), 1, 0,
                   EliminateLeaf<float>{A.template as<float>(), A.ld, static_cast<int>(A.rows)});
  }

  void divide(Matrix const& A21, Matrix const& A12, Matrix const& A11) {
    A21.precision == Precision::fp64 ? divide_as<double>(A21, A12, A11)
                                     : divide_as<float>(A21, A12, A11);
  }
  template <class T>
  void divide_as(Matrix const& A21, Matrix const& A12, Matrix const& A11) {
    constexpr std::int64_t side = DivideByPivots<T>::side;
    std::int64_t const down = (A21.rows + side - 1) / side, across = (A21.cols + side - 1) / side;
    launch_teams("strata::dense::ldlt::divide", blas_.exec(), down * across, 0,
                 DivideByPivots<T>{A21.template as<T>(), A12.template as<T>(), A11.template as<T>(),
                                   A21.rows, A21.cols, A21.ld, down, down * across});
  }

  // C -= L W of the lower triangle, and of all of the diagonal's tiles.
  void subtract(Matrix const& L, Matrix const& W, Matrix const& C) {
    std::int64_t const n = C.rows, k = L.cols;
    if (n <= tile) return blas_.gemm(Op::NoTrans, Op::NoTrans, -1, L, W, 1, C);
    std::int64_t const n1 = half(n), n2 = n - n1;
    Matrix const L1 = L.block(0, 0, n1, k), L2 = L.block(n1, 0, n2, k);
    Matrix const W1 = W.block(0, 0, k, n1), W2 = W.block(0, n1, k, n2);
    subtract(L1, W1, C.block(0, 0, n1, n1));
    blas_.gemm(Op::NoTrans, Op::NoTrans, -1, L2, W1, 1, C.block(n1, 0, n2, n1));
    subtract(L2, W2, C.block(n1, n1, n2, n2));
  }

  LeafBlas<ExecutionSpace>& blas_;
  LayerList const& layers_;
};

template <class ExecutionSpace, class T>
double largest_above(ExecutionSpace const& exec, T const* a, std::int64_t n, std::int64_t ld) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::dense::ldlt::largest",
      Kokkos::TeamPolicy<ExecutionSpace>(exec, static_cast<int>(n), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Kokkos::TeamPolicy<ExecutionSpace>::member_type const& team,
                    double& found) {
        T const* const column = a + team.league_rank() * ld;
        T most = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, team.league_rank() + 1),
            [&](int i, T& m) {
              T const v = Kokkos::abs(column[i]);
              if (!(v <= m))
                m = v <= Kokkos::Experimental::finite_max_v<T>
                        ? v
                        : Kokkos::Experimental::infinity_v<T>;
            },
            Kokkos::Max<T>(most));
        if (most > found) found = static_cast<double>(most);
      },
      Kokkos::Max<double>(largest));
  return largest;
}

template <class T, class ExecutionSpace>
void divide_rows(ExecutionSpace const& exec, T const* m, std::int64_t ld, T* w, std::int64_t n,
                 std::int64_t cols, std::int64_t ldw) {
  for_each_element(
      "strata::dense::ldlt::pivots", exec, n, cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) { w[i + c * ldw] /= m[i * (ld + 1)]; });
}

}  // namespace

template <class ExecutionSpace>
void layered_ldlt(LeafBlas<ExecutionSpace>& blas, LayerList const& layers,
                  MatrixRef<typename ExecutionSpace::memory_space> const& M) {
  if (M.rows > 0) Recursion<ExecutionSpace>(blas, layers).factor(M, 0);
}

template <class ExecutionSpace>
double largest_reduced(ExecutionSpace const& exec,
                       ConstMatrixRef<typename ExecutionSpace::memory_space> const& M) {
  if (M.rows == 0) return 0;
  return M.precision == Precision::fp64 ? largest_above(exec, M.template as<double>(), M.rows, M.ld)
                                        : largest_above(exec, M.template as<float>(), M.rows, M.ld);
}

template <class ExecutionSpace>
void ldlt_solve(LeafBlas<ExecutionSpace>& blas,
                ConstMatrixRef<typename ExecutionSpace::memory_space> const& M,
                MatrixRef<typename ExecutionSpace::memory_space> const& W) {
  blas.trsm(Side::Left, Uplo::Lower, Op::NoTrans, Diag::Unit, 1, M, W);
  if (M.precision == Precision::fp64)
    divide_rows(blas.exec(), M.template as<double>(), M.ld, W.template as<double>(), W.rows, W.cols,
                W.ld);
  else
    divide_rows(blas.exec(), M.template as<float>(), M.ld, W.template as<float>(), W.rows, W.cols,
                W.ld);
  blas.trsm(Side::Left, Uplo::Lower, Op::Trans, Diag::Unit, 1, M, W);
}

#define STRATA_INSTANTIATE(Exec)                                                           \
  template void layered_ldlt(LeafBlas<Exec>&, LayerList const&,                            \
                             MatrixRef<Exec::memory_space> const&);                        \
  template double largest_reduced(Exec const&, ConstMatrixRef<Exec::memory_space> const&); \
  template void ldlt_solve(LeafBlas<Exec>&, ConstMatrixRef<Exec::memory_space> const&,     \
                           MatrixRef<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
