// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
#include <core/detail/Strata_ThinProduct.hpp>

namespace strata::detail {
namespace {

/// As many numbers as one load of 16 bytes brings.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T x[size];
};

template <class T>
KOKKOS_INLINE_FUNCTION Pack<T> load(T const* a, std::int64_t count, bool is_aligned) {
  if (is_aligned && count >= Pack<T>::size) return *reinterpret_cast<Pack<T> const*>(a);
  Pack<T> pack;
  for (int i = 0; i < Pack<T>::size; ++i) pack.x[i] = i < count ? a[i] : T(0.0f);
  return pack;
}

template <class T>
bool is_aligned(T const* a, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(a) % 16 == 0 && ld % Pack<T>::size == 0;
}

// partial(:, chunk) = A(:, columns of chunk) b: a thread has one pack of rows, a team one chunk.
template <class T, class S, class Exec>
void multiply_columns(Exec const& exec, T const* a, std::int64_t lda, std::int64_t rows,
                      std::int64_t cols, std::int64_t per_chunk, S const* b, S* partial) {
  constexpr int team_size = 128, size = Pack<T>::size, rows_of_team = team_size * size;
  std::int64_t const row_blocks = (rows + rows_of_team - 1) / rows_of_team;
  std::int64_t const chunks = (cols + per_chunk - 1) / per_chunk;
  bool const aligned = is_aligned(a, lda);
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::core::thin_product::columns",
      Policy(exec, static_cast<int>(row_blocks * chunks), team_size),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const chunk = team.league_rank() / row_blocks;
        std::int64_t const row =
            (team.league_rank() % row_blocks) * rows_of_team + team.team_rank() * size;
        if (row >= rows) return;
        std::int64_t const end = (chunk + 1) * per_chunk < cols ? (chunk + 1) * per_chunk : cols;
        S sum[size] = {};
        for (std::int64_t j = chunk * per_chunk; j < end; ++j) {
          Pack<T> const pack = load(a + row + j * lda, rows - row, aligned);
          for (int i = 0; i < size; ++i) sum[i] += static_cast<S>(pack.x[i]) * b[j];
        }
        for (int i = 0; i < size; ++i)
          if (row + i < rows) partial[row + i + chunk * rows] = sum[i];
      });
}

// c = factor * sum of the partial sums + beta c
template <class S, class Exec>
void add_chunks(Exec const& exec, double alpha, double const* scale, S const* partial,
                std::int64_t rows, std::int64_t chunks, double beta, S* c) {
  Kokkos::parallel_for(
      "strata::core::thin_product::sum",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        S sum = 0;
        for (std::int64_t k = 0; k < chunks; ++k) sum += partial[i + k * rows];
        S const old = beta == 0 ? S(0) : static_cast<S>(beta) * c[i];
        c[i] = static_cast<S>(alpha * (scale ? *scale : 1.0)) * sum + old;
      });
}

// c = factor * A^T b + beta c: a warp takes the dot product of a column.
template <class T, class S, class Exec>
void multiply_transposed(Exec const& exec, double alpha, double const* scale, T const* a,
                         std::int64_t lda, std::int64_t rows, std::int64_t cols, S const* b,
                         double beta, S* c) {
  constexpr int columns = 4, lanes = 32, size = Pack<T>::size;
  bool const aligned = is_aligned(a, lda);
  std::int64_t const packs = (rows + size - 1) / size;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::core::thin_product::rows",
      Policy(exec, static_cast<int>((cols + columns - 1) / columns), columns, lanes),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j =
            static_cast<std::int64_t>(team.league_rank()) * columns + team.team_rank();
        if (j >= cols) return;
        S sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, packs),
            [&](std::int64_t p, S& part) {
              std::int64_t const row = p * size;
              Pack<T> const pack = load(a + row + j * lda, rows - row, aligned);
              for (int i = 0; i < size; ++i)
                if (row + i < rows) part += static_cast<S>(pack.x[i]) * b[row + i];
            },
            sum);
        Kokkos::single(Kokkos::PerThread(team), [&] {
          S const old = beta == 0 ? S(0) : static_cast<S>(beta) * c[j];
          c[j] = static_cast<S>(alpha * (scale ? *scale : 1.0)) * sum + old;
        });
      });
}

}  // namespace

template <class Exec>
bool thin_product(Exec const& exec, Workspace<Exec>& workspace, Op op_a, double alpha,
                  MatrixRef<typename Exec::memory_space> const& A,
                  MatrixRef<typename Exec::memory_space> const& B, double beta,
                  MatrixRef<typename Exec::memory_space> const& C) {
  bool const takes = C.cols <= 2 && is_arithmetic(C.precision) && B.precision == C.precision &&
                     !B.scale && !C.scale;
  bool const is_large = A.rows >= 128 && A.cols >= 64;  // else any product is as fast
  if (runs_on_host<Exec> || !takes || !is_large) return false;
  std::int64_t const rows_of_team = 128 * 16 / static_cast<std::int64_t>(traits(A.precision).bytes);
  std::int64_t const row_blocks = (A.rows + rows_of_team - 1) / rows_of_team;
  std::int64_t const chunks_wanted = std::max<std::int64_t>(1, 2048 / row_blocks);
  std::int64_t const per_chunk =
      std::max<std::int64_t>(128, (A.cols + chunks_wanted - 1) / chunks_wanted);
  std::int64_t const chunks = (A.cols + per_chunk - 1) / per_chunk;
  using Frame = typename Workspace<Exec>::Frame;
  bool const by_columns = op_a == Op::NoTrans;
  Frame frame(workspace, by_columns ? Workspace<Exec>::bytes(C.precision, A.rows, chunks) : 0);
  with_arithmetic_type(C.precision, [&]<class S>(std::type_identity<S>) {
    with_type(A.precision, [&]<class T>(std::type_identity<T>) {
      auto const* const a = static_cast<T const*>(A.data);
      S* const partial =
          by_columns ? frame.take(C.precision, A.rows, chunks).template as<S>() : nullptr;
      for (std::int64_t j = 0; j < C.cols; ++j) {
        S const* const b = B.template as<S>() + j * B.ld;
        S* const c = C.template as<S>() + j * C.ld;
        if (!by_columns) {
          multiply_transposed<T, S>(exec, alpha, A.scale, a, A.ld, A.rows, A.cols, b, beta, c);
          continue;
        }
        multiply_columns<T, S>(exec, a, A.ld, A.rows, A.cols, per_chunk, b, partial);
        add_chunks<S>(exec, alpha, A.scale, partial, A.rows, chunks, beta, c);
      }
    });
  });
  return true;
}

#define STRATA_INSTANTIATE(Space)                                                    \
  template bool thin_product(Space const&, Workspace<Space>&, Op, double,            \
                             MatrixRef<typename Space::memory_space> const&,         \
                             MatrixRef<typename Space::memory_space> const&, double, \
                             MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
