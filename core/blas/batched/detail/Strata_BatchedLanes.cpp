// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/batched/detail/Strata_BatchedLanes.hpp>

#include <core/kokkos_ext/Strata_HostVectors.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace strata::detail {
namespace {

constexpr int block = 4;            // order of a tile of L
constexpr std::int64_t panel = 64;  // columns whose tiles the first cache holds
constexpr std::int64_t copied = 8;  // order of the tiles that are copied

constexpr std::int64_t padded(std::int64_t n) { return (n + block - 1) / block * block; }
// L by rows, the inverse of its diagonal, and `block` right-hand sides.
constexpr std::int64_t room_vectors(std::int64_t n) {
  std::int64_t const m = padded(n);
  return m * (m + 1) / 2 + m + block * m;
}

/// The systems that are in the lanes of vectors of `bytes` at a time.
template <class T, int bytes>
struct Lanes {
  static constexpr int count = bytes / static_cast<int>(sizeof(T));
  // A tile's rows at a time: what the registers of the instruction set hold beside a row of L.
  static constexpr int rows = bytes == 64 ? 4 : 2;
  using Order = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  typedef T Vector __attribute__((vector_size(bytes), may_alias));
  typedef Order Orders __attribute__((vector_size(bytes), may_alias));

  BatchedSystems<T> const& s;
  std::int64_t first;  // system of lane 0
  Vector* L;           // row i of L begins at element i (i + 1) / 2
  Vector* inverse;     // 1 / diag(L)
  Vector* Y;           // right-hand sides, each by rows
  Orders orders;       // of the first bad pivots; 0

  STRATA_INLINE Lanes(BatchedSystems<T> const& systems, std::int64_t first_system, T* room)
      : s(systems),
        first(first_system),
        L(reinterpret_cast<Vector*>(room)),
        inverse(L + order() * (order() + 1) / 2),
        Y(inverse + order()),
        orders{} {}

  STRATA_INLINE std::int64_t order() const { return padded(s.n); }
  STRATA_INLINE Vector* row(std::int64_t i) const { return L + i * (i + 1) / 2; }
  // Lanes behind the last system hold it again, and are not stored.
  STRATA_INLINE std::int64_t system(int lane) const { return std::min(first + lane, s.count - 1); }
  STRATA_INLINE int used() const {
    return static_cast<int>(std::min<std::int64_t>(count, s.count - first));
  }

  // L to or from the lanes, by tiles that the cache holds while the lanes take turns.
  template <bool in>
  STRATA_INLINE void copy_triangle() const {
    int const lanes = in ? count : used();
    bool const by_rows = s.column_stride == 1;
    for (std::int64_t i = 0; i < s.n; i += copied)
      for (std::int64_t j = 0; j <= i; j += copied)
        for (int lane = 0; lane < lanes; ++lane) {
          T* const a = s.triangle(system(lane)) + i * s.row_stride + j * s.column_stride;
          if (i + copied > s.n)
            copy_tile<in>(a, s.row_stride, s.column_stride, lane, i, j);
          else if (by_rows)
            copy_full_tile<in>(a, s.row_stride, 1, lane, i, j);
          else
            copy_full_tile<in>(a, 1, s.column_stride, lane, i, j);
        }
  }
  template <bool in>
  STRATA_INLINE static void move(T& outside, T& inside) {
    if constexpr (in)
      inside = outside;
    else
      outside = inside;
  }
  template <bool in>
  STRATA_INLINE void copy_tile(T* a, std::int64_t row_stride, std::int64_t column_stride, int lane,
                               std::int64_t i, std::int64_t j) const {
    for (std::int64_t p = 0; p < s.n - i; ++p) {
      T* const l = reinterpret_cast<T*>(row(i + p) + j) + lane;
      std::int64_t const columns = std::min(copied, i + p + 1 - j);
      for (std::int64_t q = 0; q < columns; ++q)
        move<in>(a[p * row_stride + q * column_stride], l[q * count]);
    }
  }
  // The same with trip counts that the compiler knows.
  template <bool in>
  STRATA_INLINE void copy_full_tile(T* a, std::int64_t row_stride, std::int64_t column_stride,
                                    int lane, std::int64_t i, std::int64_t j) const {
    T* l[copied];
    for (std::int64_t p = 0; p < copied; ++p) l[p] = reinterpret_cast<T*>(row(i + p) + j) + lane;
    if (i == j) {
      for (std::int64_t q = 0; q < copied; ++q)
        for (std::int64_t p = q; p < copied; ++p)
          move<in>(a[p * row_stride + q * column_stride], l[p][q * count]);
    } else {
      for (std::int64_t q = 0; q < copied; ++q)
        for (std::int64_t p = 0; p < copied; ++p)
          move<in>(a[p * row_stride + q * column_stride], l[p][q * count]);
    }
  }
  STRATA_INLINE void load_triangle() const {
    copy_triangle<true>();
    for (std::int64_t i = s.n; i < order(); ++i)
      for (std::int64_t j = 0; j <= i; ++j) row(i)[j] = Vector{} + T(i == j);
    if (s.info != nullptr) return;
    for (std::int64_t i = 0; i < order(); ++i) inverse[i] = T(1) / row(i)[i];
  }

  // Sums are made on their own, for their terms may be lost beside a large diagonal.
  // sum = x_j - x(k0:k1) L(j:, k0:k1)^T for columns j to j + block of `m` rows x
  template <int m>
  STRATA_INLINE void reduce(Vector* const (&x)[m], std::int64_t j, std::int64_t k0, std::int64_t k1,
                            Vector (&sum)[m][block]) const {
    Vector const* l[block];
    for (int b = 0; b < block; ++b) l[b] = row(j + b);
    for (int a = 0; a < m; ++a)
      for (int b = 0; b < block; ++b) sum[a][b] = Vector{};
    for (std::int64_t k = k0; k < k1; ++k)
      for (int a = 0; a < m; ++a)
        for (int b = 0; b < block; ++b) sum[a][b] += x[a][k] * l[b][k];
    for (int a = 0; a < m; ++a)
      for (int b = 0; b < block; ++b) sum[a][b] = x[a][j + b] - sum[a][b];
  }
  template <int m>
  STRATA_INLINE static void store(Vector const (&sum)[m][block], Vector* const (&x)[m],
                                  std::int64_t j) {
    for (int a = 0; a < m; ++a)
      for (int b = 0; b < block; ++b) x[a][j + b] = sum[a][b];
  }
  template <int m>
  STRATA_INLINE void update_tile(Vector* const (&x)[m], std::int64_t j, std::int64_t k0) const {
    Vector sum[m][block];
    reduce(x, j, k0, k0 + panel, sum);
    store(sum, x, j);
  }
  // x_j = (x_j - x(k0:j) L(j:, k0:j)^T) L_jj^-T
  template <int m>
  STRATA_INLINE void solve_tile(Vector* const (&x)[m], std::int64_t j, std::int64_t k0) const {
    Vector sum[m][block];
    reduce(x, j, k0, j, sum);
    for (int b = 0; b < block; ++b) {
      for (int p = 0; p < b; ++p) {
        Vector const l_bp = row(j + b)[j + p];
        for (int a = 0; a < m; ++a) sum[a][b] -= sum[a][p] * l_bp;
      }
      Vector const reciprocal = inverse[j + b];
      for (int a = 0; a < m; ++a) sum[a][b] *= reciprocal;
    }
    store(sum, x, j);
  }

  // The tile at (j, j): L_jj L_jj^T = A_jj - L(j:, :j) L(j:, :j)^T.
  STRATA_INLINE void factor_tile(std::int64_t j) {
    Vector* l[block];
    Vector sum[block][block];
    for (int a = 0; a < block; ++a) l[a] = row(j + a);
    for (int a = 0; a < block; ++a)
      for (int b = 0; b <= a; ++b) sum[a][b] = Vector{};
    for (std::int64_t k = 0; k < j; ++k)
      for (int a = 0; a < block; ++a)
        for (int b = 0; b <= a; ++b) sum[a][b] += l[a][k] * l[b][k];
    for (int a = 0; a < block; ++a)
      for (int b = 0; b <= a; ++b) sum[a][b] = l[a][j + b] - sum[a][b];
    for (int b = 0; b < block; ++b) {
      judge(sum[b][b], j + b);
      take_root(sum[b][b]);
      Vector const reciprocal = T(1) / sum[b][b];
      inverse[j + b] = reciprocal;
      for (int a = b + 1; a < block; ++a) {
        sum[a][b] *= reciprocal;
        for (int p = b + 1; p <= a; ++p) sum[a][p] -= sum[a][b] * sum[p][b];
      }
    }
    for (int a = 0; a < block; ++a)
      for (int b = 0; b <= a; ++b) l[a][j + b] = sum[a][b];
  }
  STRATA_INLINE void judge(Vector const& pivot, std::int64_t j) {
    Orders const good = (pivot > T(0)) & (pivot <= std::numeric_limits<T>::max());
    Orders const first_bad = ~good & (orders == Order(0));
    orders |= first_bad & static_cast<Order>(j + 1);
  }
  STRATA_INLINE static void take_root(Vector& x) {
    T values[count];
    std::memcpy(values, &x, sizeof x);
    for (int lane = 0; lane < count; ++lane) values[lane] = std::sqrt(values[lane]);
    std::memcpy(&x, values, sizeof x);
  }

  // f(x, j) for the tiles of rows i, `rows` at a time, whose first columns are j = j0, ..., j1 -
  // block
  template <class Function>
  STRATA_INLINE void for_tiles(std::int64_t i, std::int64_t j0, std::int64_t j1,
                               Function const& f) const {
    for (std::int64_t j = j0; j < j1; j += block)
      for (int a = 0; a < block; a += rows) {
        Vector* x[rows];
        for (int r = 0; r < rows; ++r) x[r] = row(i + a + r);
        f(x, j);
      }
  }
  // Works by panels of `panel` columns. Each is updated with the panels before it, and then
  // factored by rows of tiles.
  STRATA_INLINE void factor() {
    std::int64_t const n = order();
    for (std::int64_t j0 = 0; j0 < n; j0 += panel) {
      std::int64_t const j1 = std::min(j0 + panel, n);
      for (std::int64_t k0 = 0; k0 < j0; k0 += panel)
        for (std::int64_t i = j0; i < n; i += block)
          for_tiles(i, j0, std::min(i, j1),
                    [&](auto const& x, std::int64_t j)
                        STRATA_INLINE_LAMBDA { update_tile(x, j, k0); });
      for (std::int64_t i = j0; i < n; i += block) {
        for_tiles(i, j0, std::min(i, j1), [&](auto const& x, std::int64_t j) STRATA_INLINE_LAMBDA {
          solve_tile(x, j, j0);
        });
        if (i < j1) factor_tile(i);
      }
    }
  }

  // L Y = B, L^T X = Y for columns c to c + m of B; Y^T has the rows that L would have below its
  // last.
  template <int m>
  STRATA_INLINE void solve(std::int64_t c) const {
    Vector* y[m];
    for (int a = 0; a < m; ++a) y[a] = Y + a * order();
    copy_right_hand_sides<true>(y, c);
    for (std::int64_t j = 0; j < order(); j += block) solve_tile(y, j, 0);
    for (std::int64_t j = order() - block; j >= 0; j -= block) solve_transposed(y, j);
    copy_right_hand_sides<false>(y, c);
  }
  // X_j = L_jj^-T (Y_j - L(j:, j)^T X(j:))
  template <int m>
  STRATA_INLINE void solve_transposed(Vector* const (&y)[m], std::int64_t j) const {
    Vector sum[m][block];
    for (int a = 0; a < m; ++a)
      for (int b = 0; b < block; ++b) sum[a][b] = Vector{};
    for (std::int64_t i = j + block; i < order(); ++i)
      for (int a = 0; a < m; ++a)
        for (int b = 0; b < block; ++b) sum[a][b] += y[a][i] * row(i)[j + b];
    for (int a = 0; a < m; ++a)
      for (int b = 0; b < block; ++b) sum[a][b] = y[a][j + b] - sum[a][b];
    for (int b = block - 1; b >= 0; --b) {
      for (int p = b + 1; p < block; ++p) {
        Vector const l_pb = row(j + p)[j + b];
        for (int a = 0; a < m; ++a) sum[a][b] -= sum[a][p] * l_pb;
      }
      Vector const reciprocal = inverse[j + b];
      for (int a = 0; a < m; ++a) sum[a][b] *= reciprocal;
    }
    store(sum, y, j);
  }
  template <bool in, int m>
  STRATA_INLINE void copy_right_hand_sides(Vector* const (&y)[m], std::int64_t c) const {
    int const lanes = in ? count : used();
    for (int lane = 0; lane < lanes; ++lane) {
      if (!in && orders[lane] != 0) continue;  // it has no L
      for (int a = 0; a < m; ++a) {
        T* const b = s.right_hand_sides(system(lane)) + (c + a) * s.ld_b;
        T* const inside = reinterpret_cast<T*>(y[a]) + lane;
        for (std::int64_t i = 0; i < s.n; ++i) {
          if constexpr (in)
            inside[i * count] = b[i];
          else
            b[i] = inside[i * count];
        }
      }
    }
    if constexpr (in)
      for (int a = 0; a < m; ++a)
        for (std::int64_t i = s.n; i < order(); ++i) y[a][i] = Vector{};
  }

  STRATA_INLINE void run() {
    load_triangle();
    if (s.info != nullptr) {
      factor();
      copy_triangle<false>();
      for (int lane = 0; lane < used(); ++lane) s.info[first + lane] = orders[lane];
    }
    if (s.B == nullptr) return;
    std::int64_t c = 0;
    for (; c + rows <= s.columns; c += rows) solve<rows>(c);
    for (; c < s.columns; ++c) solve<1>(c);
  }
};

template <class T, int bytes>
STRATA_INLINE void run_lanes(BatchedSystems<T> const& systems, std::int64_t turn,
                             std::int64_t turns, T* room) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count;
  for (std::int64_t first = turn * lanes; first < systems.count; first += turns * lanes)
    Lanes<T, bytes>(systems, first, room).run();
}

template <class T>
void run_16(BatchedSystems<T> const& systems, std::int64_t turn, std::int64_t turns, T* room) {
  run_lanes<T, 16>(systems, turn, turns, room);
}

template <class T>
STRATA_VECTORS_OF_32 void run_32(BatchedSystems<T> const& systems, std::int64_t turn,
                                 std::int64_t turns, T* room) {
  run_lanes<T, 32>(systems, turn, turns, room);
}
template <class T>
STRATA_VECTORS_OF_64 void run_64(BatchedSystems<T> const& systems, std::int64_t turn,
                                 std::int64_t turns, T* room) {
  run_lanes<T, 64>(systems, turn, turns, room);
}

}  // namespace

template <class T>
BatchedLanes<T>::BatchedLanes(int most_bytes) {
  int const bytes = host_vector_bytes(most_bytes);
  lanes_ = bytes / static_cast<int>(sizeof(T));
  kernel_ = of_vectors(bytes, run_16<T>, run_32<T>, run_64<T>);
}

template <class T>
std::size_t BatchedLanes<T>::room_bytes(std::int64_t n) const {
  std::size_t const bytes = static_cast<std::size_t>(room_vectors(n) * lanes_) * sizeof(T);
  return (bytes + 63) / 64 * 64;
}

template class BatchedLanes<double>;
template class BatchedLanes<float>;

}  // namespace strata::detail
