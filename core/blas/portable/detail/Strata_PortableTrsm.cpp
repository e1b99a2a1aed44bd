// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// trsm by halves down to one team's diagonal block.
#include <core/blas/portable/detail/Strata_PortableBlas.hpp>
#include <core/blas/portable/detail/Strata_TrsmByHalves.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::detail {
namespace {

constexpr int triangle = 32;

/// Forward substitution T x = alpha b with a lower triangular block, for a strip of right-hand
/// sides per team.
///
/// Every case is this one: `lower(i, j)` is element (i, j) of op(A), transposed for Side::Right,
/// both indices reversed if that is upper triangular.
template <class T, class Memory>
struct SolveBlock {
  static constexpr int strip = 64, padded = strip + 1;
  static constexpr std::size_t scratch_bytes =
      (triangle * (triangle + 1) + triangle * padded) * sizeof(T);

  ConstMatrixRef<Memory> A;
  MatrixRef<Memory> B;
  T alpha;
  bool right, transpose, reverse, unit;
  std::int64_t count, strips;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const lower =
        static_cast<T*>(member.team_scratch(0).get_shmem(std::size_t{scratch_bytes}));
    T* const x = lower + triangle * (triangle + 1);
    load_triangle(member, lower);
    for (std::int64_t s = member.league_rank(); s < strips; s += member.league_size()) {
      std::int64_t const r0 = s * strip;
      int const width = static_cast<int>(count - r0 < strip ? count - r0 : strip);
      copy(member, r0, width, x, true);
      member.team_barrier();
      solve(member, width, lower, x);
      member.team_barrier();
      copy(member, r0, width, x, false);
      member.team_barrier();
    }
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void load_triangle(Member const& member, T* lower) const {
    int const order = static_cast<int>(A.rows);
    auto const* const a = static_cast<T const*>(A.data);
    std::int64_t const ld = A.ld;
    bool const flip = transpose, back = reverse, ones = unit;
    team_for(member, order * order, [=](int t) {
      int const i = t % order, j = t / order;
      if (i < j) return;
      std::int64_t const row = back ? order - 1 - i : i, col = back ? order - 1 - j : j;
      lower[i * (triangle + 1) + j] = i == j && ones ? T(1)
                                      : flip         ? a[col + row * ld]
                                                     : a[row + col * ld];
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void copy(Member const& member, std::int64_t r0, int width, T* x, bool in) const {
    int const order = static_cast<int>(A.rows);
    auto* const b = static_cast<T*>(B.data);
    std::int64_t const ld = B.ld;
    bool const rows = right, back = reverse;
    T const factor = alpha;
    team_for(member, order * width, [=](int t) {
      int const i = rows ? t / width : t % order, r = rows ? t % width : t / order;
      std::int64_t const at = back ? order - 1 - i : i;
      T& stored = rows ? b[r0 + r + at * ld] : b[at + (r0 + r) * ld];
      if (in)
        x[i * padded + r] = factor * stored;
      else
        stored = x[i * padded + r];
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void solve(Member const& member, int width, T const* lower, T* x) const {
    int const order = static_cast<int>(A.rows);
    team_for(member, width, [=](int r) {
      for (int i = 0; i < order; ++i) {
        T sum = x[i * padded + r];
        for (int j = 0; j < i; ++j) sum -= lower[i * (triangle + 1) + j] * x[j * padded + r];
        x[i * padded + r] = sum / lower[i * (triangle + 1) + i];
      }
    });
  }
};

template <class T, class Exec, class Memory>
void solve_block(Exec const& exec, Side side, Uplo uplo, Op op, Diag diag, double alpha,
                 ConstMatrixRef<Memory> const& A, MatrixRef<Memory> const& B) {
  using Kernel = SolveBlock<T, Memory>;
  bool const right = side == Side::Right, transpose = (op == Op::Trans) != right;
  bool const reverse = (uplo == Uplo::Upper) != transpose;
  std::int64_t const count = right ? B.rows : B.cols;
  std::int64_t const strips = (count + Kernel::strip - 1) / Kernel::strip;
  launch_teams("strata::core::trsm::solve_block", exec, strips, Kernel::scratch_bytes,
               Kernel{A, B, static_cast<T>(alpha), right, transpose, reverse, diag == Diag::Unit,
                      count, strips});
}

}  // namespace

template <class Exec>
bool PortableBlas<Exec>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha,
                              ConstMatrix const& A, Matrix const& B) {
  if (A.precision != B.precision || !is_arithmetic(A.precision) || A.scale) return false;
  auto const solve = [&](double factor, ConstMatrix const& A_block, Matrix const& B_block) {
    with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
      solve_block<T>(exec_, side, uplo, op, diag, factor, A_block, B_block);
    });
    return true;
  };
  auto const update = [&](Op op_a, Op op_b, ConstMatrix const& X, ConstMatrix const& Y, double beta,
                          Matrix const& C) { return gemm(op_a, op_b, -1, X, Y, beta, C); };
  return trsm_by_halves(side, uplo, op, alpha, A, B, triangle, solve, update);
}

#define STRATA_INSTANTIATE_TRSM(Space)                                                      \
  template bool PortableBlas<Space>::trsm(Side, Uplo, Op, Diag, double, ConstMatrix const&, \
                                          Matrix const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_TRSM)

}  // namespace strata::detail
