// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/scaling/detail/Strata_Scales.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/scaling/detail/Strata_PowersOfTwo.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Wide = Vector<double, typename Exec::memory_space>;

// 2^-e within 2^-1000 and 2^1000, which have inverses; 1 where there is no e.
KOKKOS_INLINE_FUNCTION double inverse_power(int e) {
  constexpr int most = 1000;
  if (e == no_exponent) return 1;
  return power_of_two(e < -most ? most : e > most ? -most : -e);
}

enum class Part { Whole, Root };  // of a number, to which a power of two is near

template <class Exec>
void scales_of(Exec const& exec, Wide<Exec> const& x, Part part, Wide<Exec> const& scales,
               std::int64_t rows) {
  bool const of_root = part == Part::Root;
  Kokkos::parallel_for(
      "strata::sparse::find_scales::powers", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        scales(i) = inverse_power(of_root ? rounded_log2_of_root(x(i)) : rounded_log2(x(i)));
      });
}

// largest(i) = max_j |a_ij right_j|
template <class Exec, class Matrix>
void row_maxima(Exec const& exec, Matrix const& A, Wide<Exec> const& right,
                Wide<Exec> const& largest) {
  Kokkos::parallel_for(
      "strata::sparse::find_scales::rows", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        double most = 0;
        for (int k = 0; k < row.width; ++k) {
          double const value = static_cast<double>(A.values()[row.first + k * row.stride]);
          double const size = value == 0 ? 0 : Kokkos::abs(value) * right(A.column(i, k));
          most = size > most ? size : most;
        }
        largest(i) = most;
      });
}

// largest(j) = max_i |left_i a_ij| over the rank's rows, of its own columns.
template <class Exec, class Matrix>
void column_maxima(Exec const& exec, Matrix const& A, Wide<Exec> const& left,
                   Wide<Exec> const& largest) {
  Kokkos::parallel_for(
      "strata::sparse::find_scales::columns", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        for (int k = 0; k < row.width; ++k) {
          std::int64_t const j = A.column(i, k);
          double const size =
              left(i) * Kokkos::abs(static_cast<double>(A.values()[row.first + k * row.stride]));
          if (j < A.rows() && size > 0) Kokkos::atomic_max(&largest(j), size);
        }
      });
}

template <class Exec, class Matrix>
double largest_weighted(Exec const& exec, Matrix const& A, Wide<Exec> const& w) {
  bool const has_weights = w.extent(0) > 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::weighted_norm", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i, double& most) {
        auto const row = A.row(i);
        double const factor = has_weights ? w(i) : 1.0;
        double sum = 0;
        for (int k = 0; k < row.width; ++k)
          sum += factor * Kokkos::abs(static_cast<double>(A.values()[row.first + k * row.stride]));
        // a reduction's maximum may lose a NaN
        most = sum != sum ? infinity : sum > most ? sum : most;
      },
      Kokkos::Max<double>(largest));
  exec.fence("strata::sparse::weighted_norm");
  return A.rows() > 0 ? largest : 0;
}

template <class Exec, class Matrix>
double local_roughness(Exec const& exec, Matrix const& A, Wide<Exec> const& left,
                       Wide<Exec> const& right) {
  double total = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::find_scales::roughness", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        auto const row = A.row(i);
        for (int k = 0; k < row.width; ++k) {
          double const value = static_cast<double>(A.values()[row.first + k * row.stride]);
          if (value == 0) continue;
          double const e = Kokkos::log2(Kokkos::abs(value)) + Kokkos::log2(left(i)) +
                           Kokkos::log2(right(A.column(i, k)));
          sum += e * e;
        }
      },
      total);
  exec.fence("strata::sparse::find_scales::roughness");
  return total;
}

struct Range {
  double least, most;  // exponents, of all ranks
};

template <class Exec>
Range range_of(Exec const& exec, Communicator const& comm, Wide<Exec> const& scales,
               std::int64_t rows) {
  double least = 0, most = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::find_scales::range", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& low, double& high) {
        double const e = BinaryParts::of(scales(i)).exponent;  // exact, as log2 need not be
        low = e < low ? e : low;
        high = e > high ? e : high;
      },
      Kokkos::Min<double>(least), Kokkos::Max<double>(most));
  exec.fence("strata::sparse::find_scales::range");
  constexpr double none = -1e4;  // below any exponent
  Range const found{-comm.max(rows > 0 ? -least : none), comm.max(rows > 0 ? most : none)};
  return found.most == none ? Range{0, 0} : found;
}

bool is_needed(Range const& range) {
  constexpr double apart = 5, far = 32;
  return range.most - range.least >= apart || range.most > far || range.least < -far;
}

template <class Exec>
Scales<Exec> by_diagonal(Exec const& exec, DistributedMatrix<Exec> const& A, Wide<Exec> const& d) {
  Scales<Exec> found;
  found.right = A.comm().agree(
      [&] { return A.template allocate<double>(exec, "strata::sparse::find_scales"); });
  scales_of(exec, d, Part::Root, found.right, A.rows());
  A.fill_halo(exec, found.right);
  found.left = found.right;
  return found;
}

template <class Exec>
Scales<Exec> by_maxima(Exec const& exec, DistributedMatrix<Exec> const& A, bool rows_first) {
  auto const ones = [&] {
    auto const vector = A.comm().agree(
        [&] { return A.template allocate<double>(exec, "strata::sparse::find_scales"); });
    Kokkos::deep_copy(exec, vector, 1.0);
    return vector;
  };
  Scales<Exec> found{ones(), ones()};
  auto const scale_rows = [&](auto const& stored) {
    row_maxima(exec, stored, found.right, found.left);
    scales_of(exec, found.left, Part::Whole, found.left, A.rows());
  };
  std::visit(
      [&](auto const& stored) {
        if (rows_first) scale_rows(stored);
        auto const largest = ones();
        Kokkos::deep_copy(exec, largest, 0.0);
        column_maxima(exec, stored, found.left, largest);
        scales_of(exec, largest, Part::Whole, found.right, A.rows());
        A.fill_halo(exec, found.right);
        if (!rows_first) scale_rows(stored);
      },
      A.stored());
  return found;
}

// How far the scaled entries are from 1: the sum of the squares of their logarithms.
template <class Exec>
double roughness(Exec const& exec, DistributedMatrix<Exec> const& A, Scales<Exec> const& scales) {
  double sum = std::visit(
      [&](auto const& stored) { return local_roughness(exec, stored, scales.left, scales.right); },
      A.stored());
  A.comm().sum(std::span(&sum, 1));
  return sum;
}

template <class Exec>
bool are_needed(Exec const& exec, DistributedMatrix<Exec> const& A, Scales<Exec>& scales) {
  auto const right = range_of(exec, A.comm(), scales.right, A.rows());
  scales.apart = static_cast<int>(right.most - right.least);
  return is_needed(right) || is_needed(range_of(exec, A.comm(), scales.left, A.rows()));
}

}  // namespace

template <class Exec>
Scales<Exec> find_scales(Exec const& exec, DistributedMatrix<Exec> const& A, ScaleBy by,
                         Wide<Exec> const& d) {
  auto best = by_diagonal(exec, A, d);
  if (by == ScaleBy::Evenness) {
    double least = roughness(exec, A, best);
    for (bool const rows_first : {true, false}) {
      auto const scales = by_maxima(exec, A, rows_first);
      double const sum = roughness(exec, A, scales);
      if (!(sum < least)) continue;
      least = sum;
      best = scales;
    }
  }
  return are_needed(exec, A, best) ? best : Scales<Exec>{};
}

template <class Exec>
double weighted_norm(Exec const& exec, DistributedMatrix<Exec> const& A,
                     Vector<double, typename Exec::memory_space> const& w) {
  return A.comm().max(std::visit(
      [&](auto const& stored) { return largest_weighted(exec, stored, w); }, A.stored()));
}

template <class Exec>
void multiply_by_powers(Exec const& exec, Vector<double, typename Exec::memory_space> const& a,
                        Power power, int exponent,
                        Vector<double, typename Exec::memory_space> const& x,
                        Vector<double, typename Exec::memory_space> const& y, std::int64_t rows) {
  bool const divides = power == Power::Inverse;
  constexpr int most = 1000;  // 2^-1000 and 2^1000 have no zero and no infinity beside them
  int const clamped = std::clamp(exponent, -most, most);
  double const first = std::ldexp(1.0, clamped);
  Kokkos::parallel_for(
      "strata::sparse::multiply_by_powers", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const own = divides ? 1 / a(i) : a(i), low = own < first ? own : first,
                     high = own < first ? first : own;
        // the product goes towards 1 first
        y(i) = Kokkos::abs(x(i)) >= 1 ? x(i) * low * high : x(i) * high * low;
      });
  scale_by_power(exec, exponent - clamped, y, rows);
}

#define STRATA_INSTANTIATE_SCALES(Space)                                                     \
  template Scales<Space> find_scales(Space const&, DistributedMatrix<Space> const&, ScaleBy, \
                                     Vector<double, Space::memory_space> const&);            \
  template double weighted_norm(Space const&, DistributedMatrix<Space> const&,               \
                                Vector<double, Space::memory_space> const&);                 \
  template void multiply_by_powers(Space const&, Vector<double, Space::memory_space> const&, \
                                   Power, int, Vector<double, Space::memory_space> const&,   \
                                   Vector<double, Space::memory_space> const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SCALES)

}  // namespace strata::sparse::detail
