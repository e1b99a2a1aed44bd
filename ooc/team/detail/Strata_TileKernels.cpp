// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/detail/Strata_TileKernels.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/tree/Strata_Quantise.hpp>

namespace strata::ooc::detail {

namespace {

// columns(j) = measure of column j of A; the part below the diagonal counts twice if symmetric
template <class T, class Exec, class Columns>
void measure_columns(Exec const& exec, ConstMatrixRef<typename Exec::memory_space> const& A,
                     bool symmetric, Columns const& columns) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  T const* const a = A.template as<T>();
  std::int64_t const rows = A.rows, ld = A.ld;
  Kokkos::parallel_for(
      "strata::ooc::measure::columns", Policy(exec, static_cast<int>(A.cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const j = team.league_rank();
        T const* const column = a + j * ld;
        double largest = 0, square = 0, absolute = 0;
        std::uint64_t digest = 0;
        std::int64_t const begin = symmetric ? j + 1 : 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, begin, rows),
            [&](std::int64_t i, double& most, double& squares, double& magnitudes,
                std::uint64_t& digests) {
              double const signed_x = static_cast<double>(column[i]), x = Kokkos::abs(signed_x);
              most = x > most ? x : most;
              squares += x * x;
              magnitudes += x;
              digests += digest_of(signed_x, i, j);
            },
            Kokkos::Max<double>(largest), square, absolute, digest);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          double const pivot = j < rows ? static_cast<double>(column[j]) : 0;
          double const x = Kokkos::abs(pivot);
          if (symmetric) {
            square = 2 * square + x * x;
            absolute = 2 * absolute + x;
            largest = x > largest ? x : largest;
            digest += digest_of(pivot, j, j);
          }
          columns(j) = {largest, square, absolute, pivot, digest};
        });
      });
}

template <class Exec, class Columns>
void sum_columns(Exec const& exec, std::int64_t cols, Columns const& columns,
                 TileMeasure* measure) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::ooc::measure::sum", Policy(exec, 1, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        double largest = 0, square = 0, absolute = 0, trace = 0;
        std::uint64_t digest = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, std::int64_t{0}, cols),
            [&](std::int64_t j, double& most, double& squares, double& magnitudes, double& diagonal,
                std::uint64_t& digests) {
              TileMeasure const& part = columns(j);
              most = part.largest > most ? part.largest : most;
              squares += part.square;
              magnitudes += part.absolute;
              diagonal += part.trace;
              digests += part.digest;
            },
            Kokkos::Max<double>(largest), square, absolute, trace, digest);
        Kokkos::single(Kokkos::PerTeam(team),
                       [&] { *measure = {largest, square, absolute, trace, digest}; });
      });
}

// rows(i, slab) = sum of magnitudes of row i in a slab of columns; of the lower triangle if
// diagonal
template <class Exec, class Rows>
void sum_slabs(Exec const& exec, ConstMatrixRef<typename Exec::memory_space> const& A,
               bool diagonal, std::int64_t slabs, Rows const& sums) {
  double const* const a = A.template as<double>();
  std::int64_t const ld = A.ld, rows = A.rows, width = (A.cols + slabs - 1) / slabs, cols = A.cols;
  Kokkos::parallel_for(
      "strata::ooc::absolute_sums::slabs",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, rows * slabs),
      KOKKOS_LAMBDA(std::int64_t t) {
        std::int64_t const i = t % rows, first = t / rows * width;
        std::int64_t end = first + width < cols ? first + width : cols;
        if (diagonal && i + 1 < end) end = i + 1;
        double sum = 0;
        for (std::int64_t j = first; j < end; ++j) sum += Kokkos::abs(a[i + j * ld]);
        sums(t) = sum;
      });
}

// Adds the slabs of each row, and puts what was measured of each column, or adds it to the same
// sums.
template <class Exec, class Rows, class Columns>
void add_sums(Exec const& exec, std::int64_t rows, std::int64_t cols, std::int64_t slabs,
              Rows const& slab_sums, Columns const& columns, double* row_sums,
              double* column_sums) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  bool const diagonal = row_sums == column_sums;
  Kokkos::parallel_for(
      "strata::ooc::absolute_sums::rows", Policy(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (std::int64_t slab = 0; slab < slabs; ++slab) sum += slab_sums(i + slab * rows);
        row_sums[i] += sum;
      });
  Kokkos::parallel_for(
      "strata::ooc::absolute_sums::columns", Policy(exec, 0, cols), KOKKOS_LAMBDA(std::int64_t j) {
        TileMeasure const& part = columns(j);
        double const below = (part.absolute - Kokkos::abs(part.trace)) / 2;
        column_sums[j] = diagonal ? column_sums[j] + below : part.absolute;
      });
}

}  // namespace

template <class Exec>
TileMeter<Exec>::TileMeter(Exec const& exec, std::int64_t columns)
    : exec_(exec),
      rows_(allocate<decltype(rows_)>(exec, "strata::ooc::measure::rows", slabs * columns)),
      columns_(allocate<decltype(columns_)>(exec, "strata::ooc::measure", columns)) {}

template <class Exec>
void TileMeter<Exec>::operator()(ConstMatrix const& A, bool symmetric, TileMeasure* measure) const {
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    measure_columns<T>(exec_, A, symmetric, columns_);
  });
  sum_columns(exec_, A.cols, columns_, measure);
}

template <class Exec>
void write_trailer(Exec const& exec, Precision precision, TileMeasure const* measure,
                   double* trailer) {
  Kokkos::parallel_for(
      "strata::ooc::write_trailer", Kokkos::RangePolicy<Exec>(exec, 0, 1), KOKKOS_LAMBDA(int) {
        trailer[ScaleField] = dense::block_scale(precision, measure->largest);
        trailer[SquareField] = measure->square;
        trailer[LargestField] = measure->largest;
      });
}

template <class Exec>
void copy_trailer(Exec const& exec, Precision precision, double const* source, double* trailer) {
  Kokkos::parallel_for(
      "strata::ooc::copy_trailer", Kokkos::RangePolicy<Exec>(exec, 0, 1), KOKKOS_LAMBDA(int) {
        trailer[ScaleField] = dense::block_scale(precision, source[LargestField]);
        trailer[SquareField] = source[SquareField];
        trailer[LargestField] = source[LargestField];
      });
}

template <class Exec>
void scale_tile(Exec const& exec, Kokkos::View<double const*, typename Exec::memory_space> const& d,
                std::int64_t row, std::int64_t col,
                MatrixRef<typename Exec::memory_space> const& A) {
  if (d.extent(0) == 0) return;
  double* const a = A.template as<double>();
  std::int64_t const ld = A.ld;
  strata::for_each_element(
      "strata::ooc::scale_tile", exec, A.rows, A.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {  // the larger first: nothing leaves the range
        double const d_i = d(row + i), d_j = d(col + j);
        a[i + j * ld] = a[i + j * ld] * Kokkos::fmax(d_i, d_j) * Kokkos::fmin(d_i, d_j);
      });
}

template <class Exec>
void TileMeter<Exec>::add_absolute_sums(ConstMatrix const& A, double* rows, double* columns) {
  sum_slabs(exec_, A, rows == columns, slabs, rows_);
  add_sums(exec_, A.rows, A.cols, slabs, rows_, columns_, rows, columns);
}

template <class Exec>
void add_in_order(Exec const& exec, std::int64_t m, std::int64_t cols, double const* first,
                  std::int64_t terms, std::int64_t apart, double* y) {
  strata::for_each_element(
      "strata::ooc::add_in_order", exec, m, cols, KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const* const term = first + i + j * m;
        double sum = y[i + j * m];
        for (std::int64_t k = 0; k < terms; ++k) sum += term[k * apart];
        y[i + j * m] = sum;
      });
}

template <class Exec>
double largest(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& values) {
  double found = 0;
  Kokkos::parallel_reduce(
      "strata::ooc::largest", Kokkos::RangePolicy<Exec>(exec, 0, values.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, double& most) {
        double const value =
            Kokkos::isnan(values(i)) ? Kokkos::Experimental::infinity_v<double> : values(i);
        most = Kokkos::fmax(most, value);
      },
      Kokkos::Max<double>(found));
  return found;
}

template <class Exec>
void read_diagonal(Exec const& exec, std::int64_t row,
                   ConstMatrixRef<typename Exec::memory_space> const& A,
                   Kokkos::View<double*, typename Exec::memory_space> const& diagonal) {
  double const* const a = A.template as<double>();
  std::int64_t const ld = A.ld;
  Kokkos::parallel_for(
      "strata::ooc::read_diagonal",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i) { diagonal(row + i) = a[i * (ld + 1)]; });
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template class TileMeter<Exec>;                                                               \
  template void write_trailer<Exec>(Exec const&, Precision, TileMeasure const*, double*);       \
  template void copy_trailer<Exec>(Exec const&, Precision, double const*, double*);             \
  template void scale_tile<Exec>(                                                               \
      Exec const&, Kokkos::View<double const*, Exec::memory_space> const&, std::int64_t,        \
      std::int64_t, MatrixRef<Exec::memory_space> const&);                                      \
  template void add_in_order<Exec>(Exec const&, std::int64_t, std::int64_t, double const*,      \
                                   std::int64_t, std::int64_t, double*);                        \
  template double largest<Exec>(Exec const&, Kokkos::View<double*, Exec::memory_space> const&); \
  template void read_diagonal<Exec>(Exec const&, std::int64_t,                                  \
                                    ConstMatrixRef<Exec::memory_space> const&,                  \
                                    Kokkos::View<double*, Exec::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
