// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/vectors/detail/Strata_KeptResidues.hpp>

#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::dense::detail {
namespace {

constexpr std::int64_t chunk_of_row = 512;  // columns of a row that a thread adds up

std::size_t whole_lines(std::int64_t count, std::size_t of_one) {
  return (static_cast<std::size_t>(count) * of_one + 255) / 256 * 256;
}

// The stored triangle of H = D A D.
template <class Exec>
struct ScaledTriangle {
  double const* a;
  double const* d;  // null: D = 1
  std::int64_t n, ld;
  bool is_lower;

  KOKKOS_FORCEINLINE_FUNCTION double operator()(std::int64_t p, std::int64_t q) const {
    double const value = a[p + q * ld];
    return d != nullptr ? d[p] * value * d[q] : value;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool contains(std::int64_t p, std::int64_t q) const {
    return is_lower ? p >= q : p <= q;
  }
};

// partial[p + n c] = sum of h_pq^2 over the stored columns q of chunk c.
template <class Exec>
void sum_along_rows(Exec const& exec, ScaledTriangle<Exec> const& H, double* partial) {
  std::int64_t const n = H.n, chunks = (n + chunk_of_row - 1) / chunk_of_row;
  Kokkos::parallel_for(
      "strata::dense::kept_residues::rows",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n * chunks),
      KOKKOS_LAMBDA(std::int64_t t) {
        std::int64_t const p = t % n, begin = t / n * chunk_of_row;
        std::int64_t const end = begin + chunk_of_row < n ? begin + chunk_of_row : n;
        double sum = 0;
        for (std::int64_t q = begin; q < end; ++q) {
          double const h = H.contains(p, q) ? H(p, q) : 0;
          sum += h * h;
        }
        partial[t] = sum;
      });
}

// squares[q] = the sum of row q's partial sums, and of h_pq^2 over the other stored rows p.
template <class Exec>
void sum_along_columns(Exec const& exec, ScaledTriangle<Exec> const& H, double const* partial,
                       double* squares) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::int64_t const n = H.n, chunks = (n + chunk_of_row - 1) / chunk_of_row;
  Kokkos::parallel_for(
      "strata::dense::kept_residues::columns", Policy(exec, static_cast<int>(n), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const q = team.league_rank();
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, H.is_lower ? q + 1 : 0, H.is_lower ? n : q),
            [&](std::int64_t p, double& part) {
              double const h = H(p, q);
              part += h * h;
            },
            sum);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          for (std::int64_t c = 0; c < chunks; ++c) sum += partial[q + c * n];
          squares[q] = sum;
        });
      });
}

// The block of H with these rows and columns; on the diagonal both triangles.
template <class Exec>
void copy_scaled_block(Exec const& exec, ScaledTriangle<Exec> const& H, std::int64_t p0,
                       std::int64_t q0, MatrixRef<typename Exec::memory_space> const& target) {
  auto* const numbers = target.template as<double>();
  std::int64_t const ld = target.ld;
  for_each_element(
      "strata::dense::kept_residues::block", exec, target.rows, target.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const p = p0 + i, q = q0 + j;
        numbers[i + j * ld] = H.contains(p, q) ? H(p, q) : H(q, p);
      });
}

template <class Exec>
double largest_square_of(Exec const& exec, double const* squares, std::int64_t n) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::dense::kept_residues::largest",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i, double& most) { most = squares[i] > most ? squares[i] : most; },
      Kokkos::Max<double>(largest));
  return largest;
}

template <class Exec>
ScaledTriangle<Exec> scaled_triangle(Uplo uplo,
                                     ConstMatrixRef<typename Exec::memory_space> const& A,
                                     typename KeptResidues<Exec>::Scaling const& d) {
  return {A.template as<double>(), d.extent(0) > 0 ? d.data() : nullptr, A.rows, A.ld,
          uplo == Uplo::Lower};
}

}  // namespace

template <class Exec>
KeptResidues<Exec>::KeptResidues(Exec const& exec, IntegerBlas<Exec>& integers, Uplo uplo,
                                 ConstMatrixRef<memory_space> const& A, Scaling const& d,
                                 int moduli, std::int64_t most_columns, std::int64_t edge)
    : exec_(exec),
      integers_(integers),
      n_(A.rows),
      edge_(edge > 0             ? edge
            : runs_on_host<Exec> ? 512
                                 : 8192),
      most_columns_(most_columns),
      moduli_(moduli) {
  if (n_ == 0) return;
  take_memory();
  std::int64_t const of_tile = std::min(IntegerBlas<Exec>::padded(n_), edge_);
  Buffer<Exec> const passing(exec_, "strata::dense::kept_residues::passing",
                             std::max(whole_lines(of_tile * of_tile, sizeof(double)),
                                      whole_lines(6 * n_ * most_columns, sizeof(double))));
  double const largest = measure_rows(uplo, A, d);
  error_ = 2 * traits(integer_precision(moduli)).unit_roundoff * std::sqrt(largest);
  take_rows(uplo, A, d, reinterpret_cast<double*>(passing.data()));
  warm_up();
}

template <class Exec>
void KeptResidues<Exec>::take_memory() {
  std::int64_t const ld = (n_ + 127) / 128 * 128,
                     of_rows = ld * (IntegerBlas<Exec>::padded(n_) + 16),
                     of_columns = ld * (IntegerBlas<Exec>::padded(most_columns_) + 16);
  kept_ =
      Buffer<Exec>(exec_, "strata::dense::kept_residues::rows", whole_lines(moduli_ * of_rows, 1));
  rows_ = {reinterpret_cast<std::int8_t*>(kept_.data()), n_, n_, ld, of_rows, moduli_};
  std::size_t const parts[] = {
      whole_lines(moduli_ * of_columns, 1), whole_lines(n_, sizeof(RowUnit)),
      whole_lines(most_columns_, sizeof(RowUnit)), whole_lines(n_, sizeof(double)),
      whole_lines(moduli_ * std::min(IntegerBlas<Exec>::padded(n_), edge_) *
                      IntegerBlas<Exec>::padded(most_columns_),
                  sizeof(std::int32_t))};
  std::size_t bytes = 0;
  for (std::size_t const part : parts) bytes += part;
  room_ = Buffer<Exec>(exec_, "strata::dense::kept_residues::room", bytes);
  std::byte* at = room_.data();
  auto const next = [&at](std::size_t part) { return std::exchange(at, at + part); };
  columns_ = {reinterpret_cast<std::int8_t*>(next(parts[0])), 0, n_, ld, of_columns, moduli_};
  row_units_ = reinterpret_cast<RowUnit*>(next(parts[1]));
  column_units_ = reinterpret_cast<RowUnit*>(next(parts[2]));
  squares_ = reinterpret_cast<double*>(next(parts[3]));
  sums_ = reinterpret_cast<std::int32_t*>(next(parts[4]));
}

// The units of H's rows, and the square of its longest. Partial sums pass through the planes'
// memory, which has more bytes.
template <class Exec>
double KeptResidues<Exec>::measure_rows(Uplo uplo, ConstMatrixRef<memory_space> const& A,
                                        Scaling const& d) {
  auto const H = scaled_triangle<Exec>(uplo, A, d);
  auto* const partial = reinterpret_cast<double*>(kept_.data());
  sum_along_rows(exec_, H, partial);
  sum_along_columns(exec_, H, partial, squares_);
  integers_.bound_units(squares_, n_, moduli_, row_units_);
  return largest_square_of(exec_, squares_, n_);
}

// Each stored block is the integers of its rows, and, transposed, of its columns.
template <class Exec>
void KeptResidues<Exec>::take_rows(Uplo uplo, ConstMatrixRef<memory_space> const& A,
                                   Scaling const& d, double* tile) {
  auto const H = scaled_triangle<Exec>(uplo, A, d);
  for (std::int64_t j = 0; j < n_; j += edge_)
    for (std::int64_t i = j; i < n_; i += edge_) {
      std::int64_t const p = H.is_lower ? i : j, q = H.is_lower ? j : i;
      std::int64_t const rows = std::min(edge_, n_ - p), cols = std::min(edge_, n_ - q);
      ConstMatrixRef<memory_space> block = A.block(p, q, rows, cols);
      if (i == j || H.d != nullptr) {
        MatrixRef<memory_space> const copy{tile, rows, cols, rows, Precision::fp64};
        copy_scaled_block(exec_, H, p, q, copy);
        block = copy;
      }
      integers_.residues(block, Op::NoTrans, row_units_ + p,
                         rows_.row_block(p, rows).depth_block(q, cols));
      if (i != j)
        integers_.residues(block, Op::Trans, row_units_ + q,
                           rows_.row_block(q, cols).depth_block(p, rows));
    }
}

// A library chooses its algorithm by time, for each number of columns. It does so here, with fewer
// rows than a product has.
template <class Exec>
void KeptResidues<Exec>::warm_up() {
  constexpr std::int64_t rows = 2048;
  if (!runs_on_host<Exec>) multiply(0, std::min(rows, n_), most_columns_);
}

// A half, a quarter and so on of all columns, that is at least these: few numbers of columns, each
// of which a library has to get to know.
template <class Exec>
std::int64_t KeptResidues<Exec>::multiplied(std::int64_t cols) const {
  constexpr std::int64_t few = 128;
  std::int64_t result = runs_on_host<Exec> ? cols : most_columns_;
  while (result > few && (result + 1) / 2 >= cols) result = (result + 1) / 2;
  return result;
}

// The sums of rows [row, row + rows) and so many columns.
template <class Exec>
auto KeptResidues<Exec>::multiply(std::int64_t row, std::int64_t rows, std::int64_t cols) -> Sums {
  constexpr std::int64_t terms = 65536;
  std::int64_t const ld = IntegerBlas<Exec>::padded(rows);
  Sums sums{sums_, rows, cols, ld, ld * IntegerBlas<Exec>::padded(cols), moduli_};
  Planes X = columns_;
  X.rows = cols;
  for (std::int64_t k = 0; k < n_; k += terms) {
    std::int64_t const depth = std::min(terms, n_ - k);
    integers_.multiply(rows_.row_block(row, rows).depth_block(k, depth), X.depth_block(k, depth),
                       sums, k > 0);
  }
  return sums;
}

template <class Exec>
void KeptResidues<Exec>::subtract(Block const& X, Block const& Y) {
  auto const cols = static_cast<std::int64_t>(X.extent(1));
  if (n_ == 0 || cols == 0) return;
  integers_.measure_units(matrix_ref(X), Op::Trans, moduli_, column_units_);
  columns_.rows = cols;
  integers_.residues(matrix_ref(X), Op::Trans, column_units_, columns_);
  for (std::int64_t i = 0; i < n_; i += edge_) {
    std::int64_t const rows = std::min(edge_, n_ - i);
    Sums sums = multiply(i, rows, multiplied(cols));
    sums.cols = cols;
    integers_.combine(sums, row_units_ + i, column_units_, {-1, 1},
                      matrix_ref(Y).block(i, 0, rows, cols));
  }
}

#define STRATA_INSTANTIATE(Exec) template class KeptResidues<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
