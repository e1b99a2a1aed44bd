// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// potrf by halves down to one team's diagonal block.
#include <core/blas/portable/detail/Strata_PortableBlas.hpp>
#include <core/blas/portable/detail/Strata_TrsmByHalves.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::detail {
namespace {

constexpr int block = 32;

/// One team factors a diagonal block: right-looking, a(i, j) is element (i, j) of L in either
/// triangle.
template <class T, class Matrix, class InfoView>
struct FactorBlock {
  static constexpr int padded = block + 1;
  static constexpr std::size_t scratch_bytes = block * padded * sizeof(T);

  Matrix A;
  bool upper;
  std::int64_t offset;
  InfoView info;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const a = static_cast<T*>(member.team_scratch(0).get_shmem(std::size_t{scratch_bytes}));
    int const order = static_cast<int>(A.rows);
    copy(member, a, true);
    member.team_barrier();
    for (int j = 0; j < order; ++j) {
      T const pivot = a[j + j * padded];
      bool const good = pivot > 0 && pivot <= Kokkos::Experimental::finite_max_v<T>;
      if (!good) {
        Kokkos::single(Kokkos::PerTeam(member), [&]() {
          if (info() == 0) info() = offset + j + 1;
        });
        break;
      }
      // l_jj = sqrt(a_jj);  l_ij = a_ij / l_jj;  a_ik -= l_ij l_kj
      T const root = Kokkos::sqrt(pivot);
      int const below = order - j - 1;
      member.team_barrier();
      team_for(member, below + 1, [=](int i) {
        a[j + i + j * padded] = i == 0 ? root : a[j + i + j * padded] / root;
      });
      member.team_barrier();
      team_for(member, below * below, [=](int t) {
        int const i = j + 1 + t % below, k = j + 1 + t / below;
        if (i >= k) a[i + k * padded] -= a[i + j * padded] * a[k + j * padded];
      });
      member.team_barrier();
    }
    member.team_barrier();
    copy(member, a, false);
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void copy(Member const& member, T* tile, bool in) const {
    int const order = static_cast<int>(A.rows);
    auto* const stored = static_cast<T*>(A.data);
    std::int64_t const ld = A.ld;
    bool const flip = upper;
    team_for(member, order * order, [=](int t) {
      int const row = t % order, col = t / order;
      if (flip ? row > col : row < col) return;
      T& inside = flip ? tile[col + row * padded] : tile[row + col * padded];
      T& outside = stored[row + col * ld];
      if (in)
        inside = outside;
      else
        outside = inside;
    });
  }
};

}  // namespace

template <class Exec>
bool PortableBlas<Exec>::potrf(Uplo uplo, Matrix const& A, std::int64_t offset,
                               InfoView const& info) {
  if (!is_arithmetic(A.precision)) return false;
  std::int64_t const n = A.rows;
  if (n <= block) {
    with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
      using Kernel = FactorBlock<T, Matrix, InfoView>;
      launch_teams("strata::core::potrf::factor_block", exec_, 1, Kernel::scratch_bytes,
                   Kernel{A, uplo == Uplo::Upper, offset, info});
    });
    return true;
  }
  // A11 = L11 L11^T;  L21 = A21 L11^-T;  A22 -= L21 L21^T;  A22 = L22 L22^T
  std::int64_t const n1 = half_of(n, block), n2 = n - n1;
  Matrix const A11 = A.block(0, 0, n1, n1), A22 = A.block(n1, n1, n2, n2);
  potrf(uplo, A11, offset, info);
  if (uplo == Uplo::Lower) {
    Matrix const A21 = A.block(n1, 0, n2, n1);
    trsm(Side::Right, uplo, Op::Trans, Diag::NonUnit, 1, A11, A21);
    syrk(uplo, Op::NoTrans, -1, A21, 1, A22);
  } else {
    Matrix const A12 = A.block(0, n1, n1, n2);
    trsm(Side::Left, uplo, Op::Trans, Diag::NonUnit, 1, A11, A12);
    syrk(uplo, Op::Trans, -1, A12, 1, A22);
  }
  return potrf(uplo, A22, offset + n1, info);
}

#define STRATA_INSTANTIATE_POTRF(Space) \
  template bool PortableBlas<Space>::potrf(Uplo, Matrix const&, std::int64_t, InfoView const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_POTRF)

}  // namespace strata::detail
