// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_MatrixProperties.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/detail/Strata_SliceRows.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace strata::sparse {
namespace {

template <class Exec>
using Wide = Vector<double, typename Exec::memory_space>;
template <class Exec, class Matrix>
using Sums = detail::RowSums<Matrix, detail::rows_of_item<Exec>>;

template <class Exec, class Matrix>
void find_diagonal(Exec const& exec, Matrix const& A, Wide<Exec> const& d) {
  Kokkos::parallel_for(
      "strata::sparse::diagonal", detail::RowPolicy<Exec>(exec, 0, Sums<Exec, Matrix>::items(A)),
      KOKKOS_LAMBDA(std::int64_t item) {
        Sums<Exec, Matrix> const of(A, item);
        for (int r = 0; r < of.count; ++r) d(of.first + r) = of.diagonal[r];
      });
}

// Zeros, negatives, the first of both and the first zero.
template <class Exec, class Rows>
std::array<std::int64_t, 4> count_diagonal(Exec const& exec, Wide<Exec> const& d,
                                           Rows const& old_row, std::int64_t none) {
  std::int64_t zero = 0, negative = 0, first = none, first_zero = none;
  Kokkos::parallel_reduce(
      "strata::sparse::kind_of_diagonal",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(old_row.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& zeros, std::int64_t& negatives,
                    std::int64_t& least, std::int64_t& least_zero) {
        if (d(i) > 0) return;
        bool const is_zero = !(d(i) < 0);
        ++(is_zero ? zeros : negatives);
        if (old_row(i) < least) least = old_row(i);
        if (is_zero && old_row(i) < least_zero) least_zero = old_row(i);
      },
      zero, negative, Kokkos::Min<std::int64_t>(first), Kokkos::Min<std::int64_t>(first_zero));
  exec.fence("strata::sparse::kind_of_diagonal");
  return {zero, negative, first, first_zero};
}

// Empty rows, the first of them, and others whose entries do not add up to 0.
template <class Exec, class Matrix, class Rows>
std::array<std::int64_t, 3> count_rows(Exec const& exec, Matrix const& A, Rows const& old_row,
                                       std::int64_t none) {
  std::int64_t empty = 0, first = none, others = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::kind_of_rows",
      detail::RowPolicy<Exec>(exec, 0, Sums<Exec, Matrix>::items(A)),
      KOKKOS_LAMBDA(std::int64_t item, std::int64_t& empties, std::int64_t& least,
                    std::int64_t& unequal) {
        Sums<Exec, Matrix> const of(A, item);
        for (int r = 0; r < of.count; ++r) {
          bool const is_empty = of.size[r] == 0;
          empties += is_empty;
          if (is_empty && old_row(of.first + r) < least) least = old_row(of.first + r);
          unequal += !(Kokkos::abs(of.sum[r]) <= 1e-13 * of.size[r]);
        }
      },
      empty, Kokkos::Min<std::int64_t>(first), others);
  exec.fence("strata::sparse::kind_of_rows");
  return {empty, first, others};
}

// Over the ranks: the sum, and the first rank's row of those that have one.
std::int64_t total(Communicator const& comm, std::int64_t mine) {
  std::int64_t sum = 0;
  for (auto const count : comm.gather(mine)) sum += count;
  return sum;
}
std::int64_t first_of(Communicator const& comm, std::int64_t mine) {
  for (auto const row : comm.gather(mine))
    if (row >= 0) return row;
  return -1;
}

// All, and those whose columns are Shared and Narrow.
template <class Exec, class Slices>
std::array<double, 3> count_slices(Exec const& exec, Slices const& slices) {
  auto const all = static_cast<std::int64_t>(slices.extent(0));
  std::int64_t shared = 0, narrow = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::column_forms", detail::RowPolicy<Exec>(exec, 0, all),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& shareds, std::int64_t& narrows) {
        auto const kind = static_cast<Columns>(slices(i).kind);
        shareds += kind == Columns::Shared;
        narrows += kind == Columns::Narrow;
      },
      shared, narrow);
  exec.fence("strata::sparse::column_forms");
  return {static_cast<double>(all), static_cast<double>(shared), static_cast<double>(narrow)};
}

template <class Exec, class Matrix>
double largest_row(Exec const& exec, Matrix const& A) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::norm_inf", detail::RowPolicy<Exec>(exec, 0, Sums<Exec, Matrix>::items(A)),
      KOKKOS_LAMBDA(std::int64_t item, double& most) {
        Sums<Exec, Matrix> const of(A, item);
        for (int r = 0; r < of.count; ++r) {
          double const size = of.size[r];
          // a reduction's maximum may lose a NaN
          most = size != size ? infinity : size > most ? size : most;
        }
      },
      Kokkos::Max<double>(largest));
  exec.fence("strata::sparse::norm_inf");
  return A.rows() > 0 ? largest : 0;
}

// Random numbers over the square root of the diagonal's absolute value, by global row.
template <class Exec, class Rows>
void fill_scaled(Exec const& exec, Wide<Exec> const& d, Rows const& old_row, std::int64_t first,
                 std::uint64_t seed, Wide<Exec> const& x, Wide<Exec> const& y) {
  Kokkos::parallel_for(
      "strata::sparse::is_symmetric::fill",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(old_row.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const size = Kokkos::sqrt(Kokkos::abs(d(i))), factor = 1 / (size > 0 ? size : 1);
        x(i) = factor * (2 * uniform(seed, first + old_row(i)) - 1);
        y(i) = factor * (2 * uniform(seed + 1, first + old_row(i)) - 1);
      });
}

// (x' Ay - y' Ax, sum of the terms' absolute values)
template <class Exec>
std::array<double, 2> difference(Exec const& exec, Wide<Exec> const& x, Wide<Exec> const& Ax,
                                 Wide<Exec> const& y, Wide<Exec> const& Ay, std::int64_t rows) {
  std::array<double, 2> sums{};
  Kokkos::parallel_reduce(
      "strata::sparse::is_symmetric::compare", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& apart, double& size) {
        double const one = x(i) * Ay(i), other = y(i) * Ax(i);
        apart += one - other;
        size += Kokkos::abs(one) + Kokkos::abs(other);
      },
      sums[0], sums[1]);
  exec.fence("strata::sparse::is_symmetric::compare");
  return sums;
}

// left_i a_ij right_j, and e_i added to the diagonal; e without entries: 0.
template <class Exec, class Matrix>
void modify(Exec const& exec, Matrix const& A, Wide<Exec> const& left, Wide<Exec> const& right,
            Wide<Exec> const& e, double* values) {
  bool const adds = e.extent(0) > 0;
  using Rows = detail::SliceRows<Matrix, detail::rows_of_item<Exec>>;
  Kokkos::parallel_for(
      "strata::sparse::modified", detail::RowPolicy<Exec>(exec, 0, Rows::items(A)),
      KOKKOS_LAMBDA(std::int64_t item) {
        Rows const rows(A, item);
        bool added[detail::rows_of_item<Exec>] = {};
        auto const* const given = A.values();
        rows.for_each([&](int r, std::int64_t at, std::int64_t j) {
          auto const value = static_cast<double>(given[at]);
          values[at] = 0;  // also below the last row
          if (value == 0 || r >= rows.count) return;
          std::int64_t const i = rows.first + r;
          bool const here = adds && j == i && !added[r];
          values[at] = left(i) * value * right(j) + (here ? e(i) : 0);
          added[r] = added[r] || here;
        });
      });
}

}  // namespace

template <class Exec>
Vector<double, typename Exec::memory_space> diagonal(Exec const& exec,
                                                     DistributedMatrix<Exec> const& A) {
  auto const d =
      A.comm().agree([&] { return A.template allocate<double>(exec, "strata::sparse::diagonal"); });
  std::visit([&](auto const& stored) { find_diagonal(exec, stored, d); }, A.stored());
  return d;
}

template <class Exec>
DiagonalKind kind_of_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A) {
  return kind_of_diagonal(exec, A, diagonal(exec, A));
}

template <class Exec>
DiagonalKind kind_of_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A,
                              Vector<double, typename Exec::memory_space> const& d) {
  std::int64_t const none = A.rows();
  auto const found = count_diagonal(exec, d, A.order().old_row, none);
  auto const& comm = A.comm();
  auto const global = [&](std::int64_t row) { return row < none ? A.first_row() + row : -1; };
  return {total(comm, found[0]), total(comm, found[1]), first_of(comm, global(found[2])),
          first_of(comm, global(found[3]))};
}

template <class Exec>
RowKind kind_of_rows(Exec const& exec, DistributedMatrix<Exec> const& A) {
  auto const& comm = A.comm();
  std::int64_t const none = A.rows();
  auto const found = std::visit(
      [&](auto const& stored) { return count_rows(exec, stored, A.order().old_row, none); },
      A.stored());
  RowKind kind;
  kind.empty = total(comm, found[0]);
  kind.first_empty = first_of(comm, found[1] < none ? A.first_row() + found[1] : -1);
  kind.zero_sums = A.global_rows() - kind.empty - total(comm, found[2]);
  kind.maps_constants_to_zero =
      kind.zero_sums > 0 && kind.zero_sums == A.global_rows() - kind.empty;
  return kind;
}

template <class Exec>
ColumnForms column_forms(Exec const& exec, DistributedMatrix<Exec> const& A) {
  auto const [all, shared, narrow] = std::visit(
      [&](auto const& stored) { return count_slices(exec, stored.arrays().slices); }, A.stored());
  std::array<double, 5> sums{all, shared, narrow, static_cast<double>(A.column_bytes()),
                             static_cast<double>(A.entries())};
  A.comm().sum(sums);
  double const slices = std::max(sums[0], 1.0);
  return {sums[1] / slices, sums[2] / slices, (sums[0] - sums[1] - sums[2]) / slices,
          sums[3] / std::max(sums[4], 1.0)};
}

template <class Exec>
double norm_inf(Exec const& exec, DistributedMatrix<Exec> const& A) {
  return A.comm().max(
      std::visit([&](auto const& stored) { return largest_row(exec, stored); }, A.stored()));
}

template <class Exec>
bool is_symmetric(Exec const& exec, DistributedMatrix<Exec> const& A) {
  return is_symmetric(exec, A, diagonal(exec, A));
}

template <class Exec>
bool is_symmetric(Exec const& exec, DistributedMatrix<Exec> const& A,
                  Vector<double, typename Exec::memory_space> const& d) {
  Region const region(exec, "strata::sparse::is_symmetric");
  auto const vector = [&] {
    return A.comm().agree(
        [&] { return A.template allocate<double>(exec, "strata::sparse::is_symmetric"); });
  };
  auto const x = vector(), y = vector(), Ax = vector(), Ay = vector();
  for (std::uint64_t pair = 0; pair < 2; ++pair) {
    fill_scaled(exec, d, A.order().old_row, A.first_row(), 2 * pair + 1, x, y);
    A.multiply(exec, x, Ax);
    A.multiply(exec, y, Ay);
    auto sums = difference(exec, x, Ax, y, Ay, A.rows());
    A.comm().sum(sums);
    if (!(std::abs(sums[0]) <= 1e-12 * sums[1])) return false;
  }
  return true;
}

template <class Exec>
DistributedMatrix<Exec> DistributedMatrix<Exec>::scaled(
    Exec const& exec, Vector<double, MemorySpace> const& left,
    Vector<double, MemorySpace> const& right, Vector<double, MemorySpace> const& e) const {
  DistributedMatrix result(*this);
  comm().agree([&] {
    auto const* const A = std::get_if<Stored<fp64>>(&stored_);
    STRATA_REQUIRE(ValueError, A, "modified: values in ", traits(precision()).name,
                   ", must be fp64");
    auto const fits = [](auto const& vector, std::int64_t least) {
      return static_cast<std::int64_t>(vector.extent(0)) >= least;
    };
    STRATA_REQUIRE(
        ShapeError,
        fits(left, rows()) && fits(right, rows() + halo()) && (e.extent(0) == 0 || fits(e, rows())),
        "modified: d has ", right.extent(0), " entries and e ", e.extent(0), ", must have ",
        rows() + halo(), " and ", rows());
    auto const values = strata::allocate<Kokkos::View<double*, MemorySpace>>(
        exec, "strata::sparse::EllMatrix::values", A->stored());
    modify(exec, *A, left, right, e, values.data());
    result.stored_ = A->with_values(values);
  });
  return result;
}

#define STRATA_INSTANTIATE_PROPERTIES(Space)                                                  \
  template Vector<double, Space::memory_space> diagonal(Space const&,                         \
                                                        DistributedMatrix<Space> const&);     \
  template DiagonalKind kind_of_diagonal(Space const&, DistributedMatrix<Space> const&);      \
  template DiagonalKind kind_of_diagonal(Space const&, DistributedMatrix<Space> const&,       \
                                         Vector<double, Space::memory_space> const&);         \
  template ColumnForms column_forms(Space const&, DistributedMatrix<Space> const&);           \
  template RowKind kind_of_rows(Space const&, DistributedMatrix<Space> const&);               \
  template double norm_inf(Space const&, DistributedMatrix<Space> const&);                    \
  template bool is_symmetric(Space const&, DistributedMatrix<Space> const&);                  \
  template bool is_symmetric(Space const&, DistributedMatrix<Space> const&,                   \
                             Vector<double, Space::memory_space> const&);                     \
  template DistributedMatrix<Space> DistributedMatrix<Space>::scaled(                         \
      Space const&, Vector<double, Space::memory_space> const&,                               \
      Vector<double, Space::memory_space> const&, Vector<double, Space::memory_space> const&) \
      const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PROPERTIES)

}  // namespace strata::sparse
