// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/portable/detail/Strata_ThinProduct.hpp>

#include <core/blas/basics/Strata_Pack.hpp>
#include <core/kokkos_ext/Strata_BatchedSum.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>

namespace strata::detail {
namespace {

/// The numbers of a pack that lie within `count`, others 0; whole: all do, and they are aligned.
template <bool is_whole, class T>
KOKKOS_INLINE_FUNCTION Pack<T> load(T const* a, std::int64_t count) {
  if constexpr (is_whole) {
    return load_pack(a);
  } else {
    Pack<T> pack;
    for (int i = 0; i < Pack<T>::size; ++i) pack.x[i] = i < count ? a[i] : T(0.0f);
    return pack;
  }
}

/// A rows x cols matrix that is read once.
template <class T>
struct Columns {
  T const* data;
  std::int64_t ld, rows, cols;

  bool has_whole_packs() const {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && ld % Pack<T>::size == 0 &&
           rows % Pack<T>::size == 0;
  }
};

constexpr int team_size = 128;

// partial(:, chunk) = A(:, columns of chunk) b: a thread has one pack of rows, a team one chunk.
template <bool is_whole, class T, class S, class Exec>
void multiply_columns(Exec const& exec, Columns<T> const& A, std::int64_t per_chunk, S const* b,
                      S* partial) {
  constexpr int size = Pack<T>::size, rows_of_team = team_size * size;
  std::int64_t const row_blocks = (A.rows + rows_of_team - 1) / rows_of_team;
  std::int64_t const chunks = (A.cols + per_chunk - 1) / per_chunk;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::core::thin_product::columns",
      Policy(exec, static_cast<int>(row_blocks * chunks), team_size),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const chunk = team.league_rank() / row_blocks;
        std::int64_t const row =
            (team.league_rank() % row_blocks) * rows_of_team + team.team_rank() * size;
        if (row >= A.rows) return;
        std::int64_t const begin = chunk * per_chunk;
        int const count = static_cast<int>(begin + per_chunk < A.cols ? per_chunk : A.cols - begin);
        T const* const a = A.data + row + begin * A.ld;
        S sum[size] = {};
#pragma unroll 8
        for (int j = 0; j < count; ++j) {
          Pack<T> const pack = load<is_whole>(a + j * A.ld, A.rows - row);
          for (int i = 0; i < size; ++i) sum[i] += static_cast<S>(pack.x[i]) * b[begin + j];
        }
        for (int i = 0; i < size; ++i)
          if (is_whole || row + i < A.rows) partial[row + i + chunk * A.rows] = sum[i];
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
        S const sum =
            batched_sum<S>(static_cast<int>(chunks), [&](int k) { return partial[i + k * rows]; });
        S const old = beta == 0 ? S(0) : static_cast<S>(beta) * c[i];
        c[i] = static_cast<S>(alpha * (scale ? *scale : 1.0)) * sum + old;
      });
}

// c = factor * A^T b + beta c: the threads that run in step, 32 or 64, take the dot product of a
// column.
template <bool is_whole, class T, class S, class Exec>
void multiply_transposed(Exec const& exec, double alpha, double const* scale, Columns<T> const& A,
                         S const* b, double beta, S* c) {
  constexpr int columns = 4, size = Pack<T>::size;
  std::int64_t const packs = (A.rows + size - 1) / size;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  int const lanes = Policy::vector_length_max();
  Kokkos::parallel_for(
      "strata::core::thin_product::rows",
      Policy(exec, static_cast<int>((A.cols + columns - 1) / columns), columns, lanes),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j =
            static_cast<std::int64_t>(team.league_rank()) * columns + team.team_rank();
        if (j >= A.cols) return;
        S sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, packs),
            [&](std::int64_t p, S& part) {
              std::int64_t const row = p * size;
              Pack<T> const pack = load<is_whole>(A.data + row + j * A.ld, A.rows - row);
              for (int i = 0; i < size; ++i)
                if (is_whole || row + i < A.rows) part += static_cast<S>(pack.x[i]) * b[row + i];
            },
            sum);
        Kokkos::single(Kokkos::PerThread(team), [&] {
          S const old = beta == 0 ? S(0) : static_cast<S>(beta) * c[j];
          c[j] = static_cast<S>(alpha * (scale ? *scale : 1.0)) * sum + old;
        });
      });
}

// The same on a host, where an A in low precision need not be widened in memory first. Blocks of
// rows have sums that stay in the nearest cache, or dot products use vector lanes.
template <class T, class S, class Exec>
void multiply_on_host(Exec const& exec, bool by_columns, double alpha, double const* scale,
                      Columns<T> const& A, S const* b, double beta, S* c) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  auto const finish = [=](S sum, S& result) {
    S const old = beta == 0 ? S(0) : static_cast<S>(beta) * result;
    result = static_cast<S>(alpha * (scale ? *scale : 1.0)) * sum + old;
  };
  if (by_columns) {
    constexpr std::int64_t most = 1024, together = 4;
    std::int64_t const share = (A.rows / exec.concurrency() + 63) / 64 * 64;
    std::int64_t const block = std::clamp<std::int64_t>(share, 64, most);  // some for each thread
    Kokkos::parallel_for("strata::core::thin_product::columns",
                         Policy(exec, 0, (A.rows + block - 1) / block), [=](std::int64_t item) {
                           std::int64_t const row = item * block,
                                              count = std::min(block, A.rows - row);
                           S sum[most] = {};
                           std::int64_t j = 0;
                           for (; j + together <= A.cols; j += together) {
                             T const *const a = A.data + row + j * A.ld, *const a1 = a + A.ld,
                                            *const a2 = a1 + A.ld, *const a3 = a2 + A.ld;
                             S const b0 = b[j], b1 = b[j + 1], b2 = b[j + 2], b3 = b[j + 3];
                             for (std::int64_t i = 0; i < count; ++i)
                               sum[i] += static_cast<S>(a[i]) * b0 + static_cast<S>(a1[i]) * b1 +
                                         static_cast<S>(a2[i]) * b2 + static_cast<S>(a3[i]) * b3;
                           }
                           for (; j < A.cols; ++j)
                             for (std::int64_t i = 0; i < count; ++i)
                               sum[i] += static_cast<S>(A.data[row + i + j * A.ld]) * b[j];
                           for (std::int64_t i = 0; i < count; ++i) finish(sum[i], c[row + i]);
                         });
  } else {
    Kokkos::parallel_for("strata::core::thin_product::rows", Policy(exec, 0, A.cols),
                         [=](std::int64_t j) {
                           T const* const a = A.data + j * A.ld;
                           constexpr int lanes = 16;
                           S parts[lanes] = {}, sum = 0;
                           std::int64_t i = 0;
                           for (; i + lanes <= A.rows; i += lanes)
                             for (int l = 0; l < lanes; ++l)
                               parts[l] += static_cast<S>(a[i + l]) * b[i + l];
                           for (; i < A.rows; ++i) sum += static_cast<S>(a[i]) * b[i];
                           for (S const part : parts) sum += part;
                           finish(sum, c[j]);
                         });
  }
}

}  // namespace

template <class Exec>
bool thin_product(Exec const& exec, Workspace<Exec>& workspace, Op op_a, double alpha,
                  ConstMatrixRef<typename Exec::memory_space> const& A,
                  ConstMatrixRef<typename Exec::memory_space> const& B, double beta,
                  MatrixRef<typename Exec::memory_space> const& C) {
  bool const takes = C.cols <= 2 && is_arithmetic(C.precision) && B.precision == C.precision &&
                     !B.scale && !C.scale;
  bool const is_large = A.rows >= 128 && A.cols >= 64;  // else any product is as fast
  if (!takes || !is_large) return false;
  bool const by_columns = op_a == Op::NoTrans;
  if constexpr (runs_on_host<Exec>) {
    if (is_arithmetic(A.precision)) return false;
    with_arithmetic_type(C.precision, [&]<class S>(std::type_identity<S>) {
      with_type(A.precision, [&]<class T>(std::type_identity<T>) {
        Columns<T> const a{static_cast<T const*>(A.data), A.ld, A.rows, A.cols};
        for (std::int64_t j = 0; j < C.cols; ++j)
          multiply_on_host<T, S>(exec, by_columns, alpha, A.scale, a, B.template as<S>() + j * B.ld,
                                 beta, C.template as<S>() + j * C.ld);
      });
    });
    return true;
  }
  // Enough teams to fill a device, but at least some columns for each.
  std::int64_t const rows_of_team =
      team_size * 16 / static_cast<std::int64_t>(traits(A.precision).bytes);
  std::int64_t const row_blocks = (A.rows + rows_of_team - 1) / rows_of_team;
  std::int64_t const chunks_wanted = std::max<std::int64_t>(1, 2048 / row_blocks);
  std::int64_t const per_chunk =
      std::max<std::int64_t>(16, (A.cols + chunks_wanted - 1) / chunks_wanted);
  std::int64_t const chunks = (A.cols + per_chunk - 1) / per_chunk;
  using Frame = typename Workspace<Exec>::Frame;
  Frame frame(workspace, by_columns ? Workspace<Exec>::bytes(C.precision, A.rows, chunks) : 0);
  with_arithmetic_type(C.precision, [&]<class S>(std::type_identity<S>) {
    with_type(A.precision, [&]<class T>(std::type_identity<T>) {
      Columns<T> const a{static_cast<T const*>(A.data), A.ld, A.rows, A.cols};
      S* const partial =
          by_columns ? frame.take(C.precision, A.rows, chunks).template as<S>() : nullptr;
      auto const multiply = [&]<bool is_whole>(std::bool_constant<is_whole>) {
        for (std::int64_t j = 0; j < C.cols; ++j) {
          S const* const b = B.template as<S>() + j * B.ld;
          S* const c = C.template as<S>() + j * C.ld;
          if (!by_columns) {
            multiply_transposed<is_whole>(exec, alpha, A.scale, a, b, beta, c);
            continue;
          }
          multiply_columns<is_whole>(exec, a, per_chunk, b, partial);
          add_chunks<S>(exec, alpha, A.scale, partial, A.rows, chunks, beta, c);
        }
      };
      if (a.has_whole_packs())
        multiply(std::true_type());
      else
        multiply(std::false_type());
    });
  });
  return true;
}

#define STRATA_INSTANTIATE(Space)                                                         \
  template bool thin_product(Space const&, Workspace<Space>&, Op, double,                 \
                             ConstMatrixRef<typename Space::memory_space> const&,         \
                             ConstMatrixRef<typename Space::memory_space> const&, double, \
                             MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
