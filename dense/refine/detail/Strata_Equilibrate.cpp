// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/detail/Strata_Equilibrate.hpp>

#include <core/blas/basics/Strata_SymmetricTiles.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/kokkos_ext/Strata_TeamsThatFit.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/detail/Strata_HostRowSums.hpp>
#include <dense/refine/detail/Strata_RowSums.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

// The triangle that is read, as the lower one: element (i, j), i >= j.
struct Triangle {
  double const* a;
  std::int64_t n, row_stride, col_stride;
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    return a[i * row_stride + j * col_stride];
  }
};

// The power of two nearest to 1 / sqrt(a) in the exponent, 2^-k where 2^(2k-1) <= a < 2^(2k+1); 1
// where a is no positive number.
KOKKOS_INLINE_FUNCTION double scaling_of(double a) {
  if (!(a > 0) || !Kokkos::isfinite(a)) return 1;
  int const lift = a < 0x1p-1022 ? 64 : 0;  // of a subnormal number
  auto const bits = Kokkos::bit_cast<std::uint64_t>(lift > 0 ? a * 0x1p64 : a);
  int const exponent = static_cast<int>(bits >> 52) - 1023 - lift, k = (exponent + 1) >> 1;
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(1023 - k) << 52);
}

// D, and sums of no rows yet.
template <class ExecutionSpace, class ScalingView, class SumsView>
void choose_scaling(ExecutionSpace const& exec, Triangle const& A, ScalingView const& d,
                    SumsView const& sums) {
  bool const keep = d.extent(0) > 0;
  Kokkos::parallel_for(
      "strata::dense::analyse::diagonal", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n),
      KOKKOS_LAMBDA(std::int64_t i) {
        if (keep) d(i) = scaling_of(A(i, i));
        sums(i, 0) = sums(i, 1) = 0;
      });
}

// sums(i, 0) = sum_j |a_ij|, sums(i, 1) = sum_j |d_i a_ij d_j|, and the working blocks of D A D
template <class ExecutionSpace, class ScalingView, class SumsView, class Blocks>
void sum_rows(ExecutionSpace const& exec, Triangle const& A, ScalingView const& d,
              SumsView const& sums, Blocks const& into) {
  using Terms = RowSumTerms<ScalingView, SumsView>;
  using Kernel = SymmetricTiles<double, Terms>;
  bool const is_lower = A.row_stride == 1;  // in memory
  Tiling const tiling(A.n, is_lower, Tiling::columns(A.n, Terms::count));
  constexpr unsigned teams =
      strata::teams_that_fit(2, Kernel::scratch_bytes(Tiling::widest(Terms::count)));
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<Tiling::threads, teams>>;
  Policy policy(exec, static_cast<int>(tiling.down * tiling.across), Tiling::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(tiling.cols))));
  Kokkos::parallel_for(
      "strata::dense::analyse::row_sums", policy,
      Kernel{tiling, A.a, is_lower ? A.col_stride : A.row_stride, {d, sums, into}});
}

// The same on a host, by blocks of the triangle as it lies in memory: an entry off the diagonal
// counts for its row, and by symmetry for its column's.
template <bool is_scaled, class ExecutionSpace, class SumsView>
void sum_rows_on_host(ExecutionSpace const& exec, Triangle const& A, double const* d,
                      SumsView const& sums) {
  constexpr std::int64_t rows = 512, cols = 64;
  bool const lower = A.row_stride == 1;  // else columns of memory are rows of the triangle
  std::int64_t const ld = lower ? A.col_stride : A.row_stride;
  std::int64_t const row_blocks = (A.n + rows - 1) / rows, col_blocks = (A.n + cols - 1) / cols;
  AddColumnsPart* const add_part = add_columns_part();
  bool const is_alone = row_blocks * col_blocks == 1;
  auto const add = [=](std::int64_t i, double sum, double scaled_sum) {
    auto const add_to = [=](double& total, double term) {
      if (is_alone)
        total += term;
      else
        Kokkos::atomic_add(&total, term);
    };
    add_to(sums(i, 0), sum);
    if constexpr (is_scaled) add_to(sums(i, 1), scaled_sum * d[i]);
  };
  Kokkos::parallel_for(
      "strata::dense::analyse::row_sums",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                           row_blocks * col_blocks),
      [=](std::int64_t block) {
        std::int64_t const row = block % row_blocks * rows, col = block / row_blocks * cols;
        std::int64_t const row_end = std::min(row + rows, A.n), col_end = std::min(col + cols, A.n);
        if (lower ? row_end <= col : row >= col_end) return;
        double of_rows[rows], scaled_of_rows[rows];
        std::fill_n(of_rows, row_end - row, 0.0);
        std::fill_n(scaled_of_rows, row_end - row, 0.0);
        for (std::int64_t j = col; j < col_end; j += ColumnsPart::most) {
          auto const count =
              static_cast<int>(std::min<std::int64_t>(ColumnsPart::most, col_end - j));
          double const* const a = A.a + j * ld;
          double of_columns[ColumnsPart::most][2] = {};
          std::int64_t const begin = lower ? std::max(row, j + count) : row,
                             end = lower ? row_end : std::min(row_end, j);  // in all columns
          if (begin < end)
            add_part({a + begin, ld, is_scaled ? d + begin : nullptr, is_scaled ? d + j : nullptr,
                      end - begin, count},
                     of_rows + (begin - row), scaled_of_rows + (begin - row), of_columns[0]);
          for (std::int64_t k = j; k < j + count; ++k) {  // those between them and the diagonal
            double* const of_column = of_columns[k - j];
            std::int64_t const first = std::max(row, lower ? k : j),
                               last = std::min(row_end, lower ? j + count : k + 1);
            for (std::int64_t i = first; i < last; ++i) {
              double const x = std::abs(a[i + (k - j) * ld]), d_i = is_scaled ? d[i] : 1;
              of_column[0] += x;
              of_column[1] += x * d_i;
              if (i == k) continue;
              of_rows[i - row] += x;
              scaled_of_rows[i - row] += x * (is_scaled ? d[k] : 1);
            }
            add(k, of_column[0], of_column[1]);
          }
        }
        for (std::int64_t i = row; i < row_end; ++i)
          add(i, of_rows[i - row], scaled_of_rows[i - row]);
      });
}

// The largest row sums, the range of D and the first diagonal entry that is not positive; returns
// whether all sums are finite numbers.
template <class ExecutionSpace, class SumsView, class Result>
bool summarise(ExecutionSpace const& exec, Triangle const& A, SumsView const& sums,
               Result& result) {
  auto const d = result.d;
  bool const keep = d.extent(0) > 0;
  int infinite = 0;
  std::int64_t first_bad = none;
  Kokkos::parallel_reduce(
      "strata::dense::analyse::norms", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, A.n),
      KOKKOS_LAMBDA(std::int64_t i, double& plain, double& scaled, int& not_finite,
                    std::int64_t& bad, double& low, double& high, double& diagonal) {
        plain = sums(i, 0) > plain ? sums(i, 0) : plain;
        scaled = sums(i, 1) > scaled ? sums(i, 1) : scaled;
        if (!Kokkos::isfinite(sums(i, 0))) not_finite = 1;
        if (!(A(i, i) > 0) && i < bad) bad = i;
        double const scaling = keep ? d(i) : 1;
        low = scaling < low ? scaling : low;
        high = scaling > high ? scaling : high;
        double const scaled_diagonal = scaling * A(i, i) * scaling;
        diagonal = scaled_diagonal > diagonal ? scaled_diagonal : diagonal;
      },
      Kokkos::Max<double>(result.norm), Kokkos::Max<double>(result.scaled_norm),
      Kokkos::Max<int>(infinite), Kokkos::Min<std::int64_t>(first_bad),
      Kokkos::Min<double>(result.smallest_scaling), Kokkos::Max<double>(result.largest_scaling),
      Kokkos::Max<double>(result.largest_diagonal));
  result.bad_diagonal = first_bad == none ? 0 : first_bad + 1;
  return infinite < 1;  // Max starts from the lowest int
}

// The first non-finite entry in column-major order as i + j n, or `none`: rows can overflow though
// entries are finite.
template <class ExecutionSpace>
std::int64_t first_non_finite(ExecutionSpace const& exec, Triangle const& A) {
  std::int64_t first = none;
  Kokkos::parallel_reduce(
      "strata::dense::analyse::non_finite",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, A.n),
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t& found) {
        for (std::int64_t i = j; i < A.n; ++i) {
          if (!Kokkos::isfinite(A(i, j)) && i + j * A.n < found) found = i + j * A.n;
        }
      },
      Kokkos::Min<std::int64_t>(first));
  return first;
}

template <class ExecutionSpace, class ScalingView, class Result>
void scale_as_a_whole(ExecutionSpace const& exec, ScalingView const& room, Result& result) {
  result.scaled_norm = result.norm;
  if (result.norm == 0 || (result.norm >= 0x1p-600 && result.norm <= 0x1p600)) return;
  double const scaling = scaling_of(result.norm);
  result.d = room;
  Kokkos::deep_copy(exec, result.d, scaling);
  result.smallest_scaling = result.largest_scaling = scaling;
  result.scaled_norm = result.norm * scaling * scaling;
  result.largest_diagonal = result.largest_diagonal * scaling * scaling;
}

}  // namespace

template <class ExecutionSpace>
Analysis<typename ExecutionSpace::memory_space> analyse(
    ExecutionSpace const& exec, Uplo uplo,
    ConstMatrixRef<typename ExecutionSpace::memory_space> const& A, bool equilibrate,
    AnalysisRoom<typename ExecutionSpace::memory_space> const& room,
    LeafBlocks<typename ExecutionSpace::memory_space> const& into) {
  Analysis<typename ExecutionSpace::memory_space> result;
  std::int64_t const n = A.rows;
  if (n == 0) return result;
  bool const lower = uplo == Uplo::Lower;
  Triangle const triangle{A.template as<double>(), n, lower ? 1 : A.ld, lower ? A.ld : 1};
  if (equilibrate) result.d = room.scaling;
  auto const& sums = room.sums;
  choose_scaling(exec, triangle, result.d, sums);
  if constexpr (!strata::runs_on_host<ExecutionSpace>)
    sum_rows(exec, triangle, result.d, sums, into);
  else if (equilibrate)
    sum_rows_on_host<true>(exec, triangle, result.d.data(), sums);
  else
    sum_rows_on_host<false>(exec, triangle, nullptr, sums);
  if (!summarise(exec, triangle, sums, result)) {
    std::int64_t const first = first_non_finite(exec, triangle);
    STRATA_REQUIRE(ValueError, first != none,
                   "cholesky: the sum of a row of A overflows; scale A down");
    throw NonFiniteEntry(first % n, first / n);
  }
  if (!equilibrate) scale_as_a_whole(exec, room.scaling, result);
  return result;
}

#define STRATA_INSTANTIATE(Exec)                                          \
  template Analysis<Exec::memory_space> analyse<Exec>(                    \
      Exec const&, Uplo, ConstMatrixRef<Exec::memory_space> const&, bool, \
      AnalysisRoom<Exec::memory_space> const&, LeafBlocks<Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
