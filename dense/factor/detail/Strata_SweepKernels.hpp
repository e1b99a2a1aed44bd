// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_SWEEP_KERNELS_HPP
#define STRATA_DETAIL_SWEEP_KERNELS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

// Kernels of rank changes. Each row of [V L] has a thread, which keeps the row's K numbers of V.
namespace strata::dense::detail::sweep {

/// Columns of the rows of one leaf that lie in one block of a tree.
struct Piece {
  double* data;  ///< number in the leaf's first row and the piece's first column
  std::int64_t ld, begin, cols;
};

/// Where the rows of L lie.
struct Rows {
  Piece const* pieces;  ///< pieces of each leaf's rows, from left to right
  int const* first;     ///< the first piece of each leaf, and behind the last one their number
  std::int64_t leaf_size;

  /// The place of l_ij; the rest of row i in that piece is `ld` apart.
  KOKKOS_FUNCTION Piece const& piece(std::int64_t i, std::int64_t j) const {
    int p = first[i / leaf_size];
    while (j >= pieces[p].begin + pieces[p].cols) ++p;
    return pieces[p];
  }
};

/// Row i of V, or zeros beyond its k columns.
template <int K>
KOKKOS_INLINE_FUNCTION void read_row(double const* V, std::int64_t ld, int k, std::int64_t i,
                                     double (&z)[K]) {
#pragma unroll
  for (int j = 0; j < K; ++j) z[j] = j < k ? V[i + j * ld] : 0;
}

/// Two numbers that are loaded at once.
struct alignas(16) Pair {
  double first, second;
};

/// f(j, y_j) for all j < K. Where K is even, y is aligned as pairs are.
template <int K, class Function>
KOKKOS_INLINE_FUNCTION void for_each_of(double const* y, Function const& f) {
  if constexpr (K % 2 == 0) {
    auto const* const pairs = reinterpret_cast<Pair const*>(y);
#pragma unroll
    for (int j = 0; j < K; j += 2) {
      Pair const both = pairs[j / 2];
      f(j, both.first);
      f(j + 1, both.second);
    }
  } else {
#pragma unroll
    for (int j = 0; j < K; ++j) f(j, y[j]);
  }
}

/// sum_j y_j z_j, in four sums that do not wait for each other.
template <int K>
KOKKOS_INLINE_FUNCTION double dot(double const* y, double const (&z)[K]) {
  constexpr int parts = K < 4 ? K : 4;
  double sum[parts] = {};
  for_each_of<K>(y, [&](int j, double y_j) { sum[j % parts] += y_j * z[j]; });
  for (int part = 1; part < parts; ++part) sum[0] += sum[part];
  return sum[0];
}

/// (z, l) = (z, l) (I - t [y; 1] [y; 1]^T), and the sign of l is turned.
template <int K>
KOKKOS_INLINE_FUNCTION void reflect(double const* y, double t, double (&z)[K], double& l) {
  double const s = t * (dot(y, z) + l);
  for_each_of<K>(y, [&](int j, double y_j) { z[j] -= s * y_j; });
  l = s - l;
}

/// y and t of the reflection that brings (z, l), l > 0, to (0, r), and r.
template <int K>
KOKKOS_INLINE_FUNCTION double make_reflection(double const (&z)[K], double l, double* y,
                                              double& t) {
  constexpr int parts = K < 4 ? K : 4;
  double sums[parts] = {};
#pragma unroll
  for (int j = 0; j < K; ++j) sums[j % parts] += z[j] * z[j];
  double squares = l * l;
  for (double const part : sums) squares += part;
  double r = Kokkos::sqrt(squares);
  if (!(squares > 0x1p-900 && squares < 0x1p900)) {  // squares may have left the range
    double most = l;
    for (int j = 0; j < K; ++j) most = Kokkos::max(most, Kokkos::abs(z[j]));
    double sum = (l / most) * (l / most);
    for (int j = 0; j < K; ++j) sum += (z[j] / most) * (z[j] / most);
    r = most * Kokkos::sqrt(sum);
  }
  double const inverse = 1 / (l + r);
#pragma unroll
  for (int j = 0; j < K; ++j) y[j] = z[j] * inverse;
  t = 1 + l / r;
  return r;
}

/// The reflections of a panel of columns, from its diagonal block, whose L becomes L'. A team has a
/// thread for each row if they work together, else one for all.
template <int K, bool Together>
struct Reflections {
  static constexpr int most_columns = 128, threads = Together ? most_columns : 1;
  /// A reflection's numbers, which begin where pairs may.
  static constexpr int stride = K + 2;
  static constexpr std::size_t scratch_bytes = 2 * stride * sizeof(double);

  double const* V;  // of the panel's rows
  std::int64_t ldv;
  int k;
  double* L;  // the diagonal block
  std::int64_t ldl;
  int cols;
  double *y, *t;  // K and one for each column

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    if constexpr (Together)
      rows_together(team);
    else
      for (int i = 0; i < cols; ++i) row_alone(i);
  }

  KOKKOS_FUNCTION void row_alone(int i) const {
    double z[K];
    read_row(V, ldv, k, i, z);
    for (int c = 0; c < i; ++c) reflect(y + c * K, t[c], z, L[i + c * ldl]);
    L[i + i * ldl] = make_reflection(z, L[i + i * ldl], y + i * K, t[i]);
  }

  // Column after column. Its reflection is in one of two places, so that one barrier will do.
  template <class Member>
  KOKKOS_FUNCTION void rows_together(Member const& team) const {
    auto* const shared = static_cast<double*>(
        team.team_scratch(0).get_shmem_aligned(std::size_t{scratch_bytes}, alignof(Pair)));
    int const i = team.team_rank();
    double z[K] = {};
    if (i < cols) read_row(V, ldv, k, i, z);
    double l = i < cols ? L[i] : 0;
    for (int c = 0; c < cols; ++c) {
      double* const now = shared + (c % 2) * stride;
      double const next = c < i && i < cols ? L[i + (c + 1) * ldl] : 0;
      if (i == c) l = make_reflection(z, l, now, now[K]);
      team.team_barrier();
      for (int j = i; j < K; j += threads) y[c * K + j] = now[j];
      if (i == 0) t[c] = now[K];
      if (c < i && i < cols) reflect(now, now[K], z, l);
      if (c <= i && i < cols) L[i + c * ldl] = l;
      l = next;
    }
  }
};

/// The reflections of a panel on a row below it.
template <int K>
struct Reflect {
  Rows rows;
  double* V;
  std::int64_t ldv;
  int k;
  std::int64_t begin;
  int cols;
  double const *y, *t;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    constexpr int ahead = 8;
    Piece const& piece = rows.piece(i, begin);
    double* const L = piece.data + i % rows.leaf_size + (begin - piece.begin) * piece.ld;
    double z[K];
    read_row(V, ldv, k, i, z);
    int c = 0;
    for (; c + ahead <= cols; c += ahead) {
      double l[ahead];
#pragma unroll
      for (int a = 0; a < ahead; ++a) l[a] = L[(c + a) * piece.ld];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        reflect(y + (c + a) * K, t[c + a], z, l[a]);
        L[(c + a) * piece.ld] = l[a];
      }
    }
    for (; c < cols; ++c) reflect(y + c * K, t[c], z, L[c * piece.ld]);
#pragma unroll
    for (int j = 0; j < K; ++j)
      if (j < k) V[i + j * ldv] = z[j];
  }
};

/// A rotation.
struct alignas(16) Rotation {
  double cosine, sine;
};

/// The rotations of [C; P] to [C'; 0] from the last row of P on, K for each row. Several are made
/// at a time: column j turns a row while column j + 1 turns the row before it.
///
/// A team has `lanes` threads for each column if they work together, else one for all.
template <int K, bool Together>
struct Rotations {
  static constexpr int lanes = K < 8 ? K : 8, places = K * lanes, threads = Together ? places : 1;
  /// Rows on their way; and how many (column, lane) a thread has.
  static constexpr int slots = K + 1, owned = places / threads;
  static constexpr std::size_t scratch_bytes = slots * K * sizeof(double);

  double const *P, *C;  // n x k, and the upper triangle of a k x k matrix
  std::int64_t n, ldp, ldc;
  int k;
  Rotation* rotations;

  KOKKOS_FUNCTION double entry(int i, int j) const {
    return i < k && j < k ? C[i + j * ldc] : (i == j ? 1 : 0);
  }
  /// Column j of the row that comes `step` rows before the last one.
  KOKKOS_FUNCTION double row(std::int64_t step, int j) const {
    return step < n && j < k ? P[n - 1 - step + j * ldp] : 0;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto* const rows = static_cast<double*>(
        team.team_scratch(0).get_shmem_aligned(std::size_t{scratch_bytes}, sizeof(double)));
    int const rank = team.team_rank();
    double diagonal[owned], right[owned][K / lanes];  // of C
    for (int own = 0; own < owned; ++own) {
      int const j = (rank + own * threads) / lanes, lane = (rank + own * threads) % lanes;
      diagonal[own] = entry(j, j);
      for (int a = 0; a < K / lanes; ++a) right[own][a] = entry(j, lane + a * lanes);
    }
    for (int j = rank; j < K; j += threads) rows[j] = row(0, j);
    team.team_barrier();
    for (std::int64_t step = 0; step < n + K - 1; ++step) {
      double const next = rank < K ? row(step + 1, rank) : 0;  // on its way as columns turn
      for (int own = 0; own < owned; ++own) {
        int const j = (rank + own * threads) / lanes, lane = (rank + own * threads) % lanes;
        if (step >= j && step - j < n)
          turn(j, lane, step - j, rows + ((step - j) % slots) * K, diagonal[own], right[own]);
      }
      double* const entering = rows + ((step + 1) % slots) * K;
      if (rank < K) entering[rank] = next;
      for (int j = rank + threads; j < K; j += threads) entering[j] = row(step + 1, j);
      team.team_barrier();
    }
  }

  KOKKOS_INLINE_FUNCTION void turn(int j, int lane, std::int64_t from_last, double* p, double& d,
                                   double (&right)[K / lanes]) const {
    double cosine = 1, sine = 0;
    if (p[j] != 0) {  // no number is above 1
      double const r = Kokkos::sqrt(d * d + p[j] * p[j]);
      if (r > 0) cosine = d / r, sine = p[j] / r, d = r;
    }
#pragma unroll
    for (int a = 0; a < K / lanes; ++a) {
      int const m = lane + a * lanes;
      if (m <= j) continue;
      double const x = right[a], y = p[m];
      right[a] = cosine * x + sine * y;
      p[m] = cosine * y - sine * x;
    }
    if (lane == 0) rotations[(n - 1 - from_last) * K + j] = {cosine, sine};
  }
};

/// All rotations on a row of [0 L], from the diagonal to the left; the row from the last one on.
template <int K>
struct Rotate {
  Rows rows;
  std::int64_t n;
  Rotation const* rotations;

  KOKKOS_FUNCTION void operator()(std::int64_t from_last) const {
    constexpr int ahead = K > 16 ? 8 : 16;
    std::int64_t const i = n - 1 - from_last, leaf = i / rows.leaf_size;
    double z[K] = {};
    for (int p = rows.first[leaf + 1]; p-- > rows.first[leaf];) {
      Piece const piece = rows.pieces[p];
      double* const L = piece.data + i % rows.leaf_size;
      std::int64_t c = Kokkos::min(piece.cols, i + 1 - piece.begin);
      for (; c >= ahead; c -= ahead) {
        double l[ahead];
#pragma unroll
        for (int a = 0; a < ahead; ++a) l[a] = L[(c - 1 - a) * piece.ld];
#pragma unroll
        for (int a = 0; a < ahead; ++a) {
          turn(piece.begin + c - 1 - a, z, l[a]);
          L[(c - 1 - a) * piece.ld] = l[a];
        }
      }
      for (; c > 0; --c) turn(piece.begin + c - 1, z, L[(c - 1) * piece.ld]);
    }
  }

  KOKKOS_INLINE_FUNCTION void turn(std::int64_t column, double (&z)[K], double& l) const {
    Rotation const* const all = rotations + column * K;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      Rotation const by = all[j];
      double const x = z[j];
      z[j] = by.cosine * x + by.sine * l;
      l = by.cosine * l - by.sine * x;
    }
  }
};

}  // namespace strata::dense::detail::sweep

#endif
