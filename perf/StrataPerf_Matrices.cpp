// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <StrataPerf_Matrices.hpp>

#include <core/problems/Strata_Generators.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace strata::perf {

namespace {

using Table = Kokkos::View<double*, Exec::memory_space>;
template <class T>
using Typed = Kokkos::View<T**, Kokkos::LayoutStride, Exec::memory_space,
                           Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
constexpr auto by_columns = Kokkos::Iterate::Left;
using Grid = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, by_columns, by_columns>,
                                   Kokkos::IndexType<std::int64_t>>;

template <class T>
Typed<T> typed(Matrix const& A) {
  return Typed<T>(A.as<T>(), Kokkos::LayoutStride(static_cast<std::size_t>(A.rows), 1,
                                                  static_cast<std::size_t>(A.cols),
                                                  static_cast<std::size_t>(A.ld)));
}
Grid grid(Exec const& exec, std::int64_t rows, std::int64_t cols) {
  return Grid(exec, {0, 0}, {rows, cols});
}

template <class T>
void uniform_kernel(Exec const& exec, Typed<T> const& A, double low, std::uint64_t seed) {
  Kokkos::parallel_for(
      "strata::perf::fill_uniform", grid(exec, A.extent(0), A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        A(i, j) = static_cast<T>(low + (1 - low) * uniform(seed, i, j));
      });
}

template <class T>
void zero_upper_kernel(Exec const& exec, Typed<T> const& A) {
  Kokkos::parallel_for(
      "strata::perf::zero_upper", grid(exec, A.extent(0), A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        if (i < j) A(i, j) = T(0);
      });
}

// h(d) = (s_0 / 2 + sum_k s_k cos(pi k d / n)) / n, with c(m) = cos(pi m / n), m < 2 n
void transform_kernel(Exec const& exec, Table const& s, Table const& c, Table const& h) {
  auto const n = static_cast<std::int64_t>(s.extent(0));
  Kokkos::parallel_for(
      "strata::perf::cosine_transform",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n + 1),
      KOKKOS_LAMBDA(std::int64_t d) {
        double sum = s(0) / 2;
        std::int64_t m = 0;  // k d mod 2 n
        for (std::int64_t k = 1; k < n; ++k) {
          m += d;
          if (m >= 2 * n) m -= 2 * n;
          sum += s(k) * c(m);
        }
        h(d) = sum / static_cast<double>(n);
      });
}

void geometric_kernel(Exec const& exec, Table const& h, MatrixView const& A) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  Kokkos::parallel_for(
      "strata::perf::geometric", grid(exec, n, n), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const apart = i < j ? j - i : i - j, sum = i + j + 1;
        A(i, j) = h(apart) + h(sum <= n ? sum : 2 * n - sum);
      });
}

// The sum over A of |a_ij|^2, or the maximum of |a_ij|.
double square_sum_kernel(Exec const& exec, Typed<double> const& A) {
  double result = 0;
  Kokkos::parallel_reduce(
      "strata::perf::square_sum", grid(exec, A.extent(0), A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j, double& sum) { sum += A(i, j) * A(i, j); },
      result);
  return result;
}
double max_kernel(Exec const& exec, Typed<double> const& A) {
  double result = 0;
  Kokkos::parallel_reduce(
      "strata::perf::max_abs", grid(exec, A.extent(0), A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j, double& most) {
        double const value = Kokkos::abs(A(i, j));
        if (value > most) most = value;
      },
      Kokkos::Max<double>(result));
  return result;
}
double column_sum_kernel(Exec const& exec, Typed<double> const& A) {
  using Team = Kokkos::TeamPolicy<Exec>;
  auto const rows = static_cast<std::int64_t>(A.extent(0));
  double result = 0;
  Kokkos::parallel_reduce(
      "strata::perf::norm_one", Team(exec, static_cast<int>(A.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team, double& most) {
        std::int64_t const j = team.league_rank();
        double column = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, rows),
            [&](std::int64_t i, double& sum) { sum += Kokkos::abs(A(i, j)); }, column);
        if (column > most) most = column;
      },
      Kokkos::Max<double>(result));
  return result;
}
void subtract_kernel(Exec const& exec, Typed<double> const& Y, Typed<double> const& Z) {
  Kokkos::parallel_for(
      "strata::perf::subtract", grid(exec, Y.extent(0), Y.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { Y(i, j) -= Z(i, j); });
}

Table to_device(Exec const& exec, std::vector<double> const& values) {
  Table const table(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::table"),
                    values.size());
  Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
      host(values.data(), values.size());
  Kokkos::deep_copy(exec, table, host);
  exec.fence("strata::perf::table");
  return table;
}

// The eigenvalues in an order that depends on n alone.
std::vector<double> shuffled_spectrum(std::int64_t n, double condition) {
  GeneratorOptions options;
  options.condition = condition;
  auto const values = spectrum(MatrixKind::Geometric, n, options);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(),
            [](std::size_t a, std::size_t b) { return random_bits(11, a) < random_bits(11, b); });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[i] = values[order[i]];
  return result;
}

}  // namespace

OwnedMatrix::OwnedMatrix(Exec const& exec, std::int64_t rows, std::int64_t cols,
                         Precision precision)
    : bytes_(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::matrix"),
             static_cast<std::size_t>(rows * cols) * traits(precision).bytes),
      ref_{bytes_.data(), rows, cols, std::max<std::int64_t>(rows, 1), precision, nullptr} {}

MatrixView fp64_matrix(Exec const& exec, std::int64_t rows, std::int64_t cols) {
  return MatrixView(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::matrix"),
                    static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
}

void fill_uniform(Exec const& exec, Matrix const& A, double low, std::uint64_t seed) {
  with_type(A.precision, [&]<class T>(std::type_identity<T>) {
    uniform_kernel<T>(exec, typed<T>(A), low, seed);
  });
}

void fill_zero(Exec const& exec, Matrix const& A) {
  Kokkos::View<std::byte*, Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const bytes(
      static_cast<std::byte*>(A.data),
      static_cast<std::size_t>(A.ld * A.cols) * traits(A.precision).bytes);
  Kokkos::deep_copy(exec, bytes, std::byte{0});
}

void fill_lower(Exec const& exec, Matrix const& A) {
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    generate_dominant(exec, typed<T>(A));
    zero_upper_kernel<T>(exec, typed<T>(A));
  });
}

SpdMatrix::SpdMatrix(Exec const& exec, std::string const& kind, std::int64_t n, double condition) {
  if (kind == "dominant") return;
  STRATA_REQUIRE(ValueError, kind == "geometric", "no matrix '", kind,
                 "' here; there are dominant and geometric");
  std::vector<double> cosines(static_cast<std::size_t>(2 * n));
  for (std::size_t m = 0; m < cosines.size(); ++m)
    cosines[m] = std::cos(std::acos(-1.0) * static_cast<double>(m) / static_cast<double>(n));
  Table const s = to_device(exec, shuffled_spectrum(n, condition)), c = to_device(exec, cosines);
  h_ = Table(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::table"),
             static_cast<std::size_t>(n) + 1);
  transform_kernel(exec, s, c, h_);
  exec.fence("strata::perf::cosine_transform");
}

void SpdMatrix::fill(Exec const& exec, MatrixView const& A) const {
  if (h_.extent(0) == 0) return generate_dominant(exec, A);
  geometric_kernel(exec, h_, A);
}

double max_abs(Exec const& exec, Matrix const& A) { return max_kernel(exec, typed<double>(A)); }
double norm_frobenius(Exec const& exec, Matrix const& A) {
  return std::sqrt(square_sum_kernel(exec, typed<double>(A)));
}
double norm_one(Exec const& exec, Matrix const& A) {
  return column_sum_kernel(exec, typed<double>(A));
}

double backward_error(LeafBlas<Exec>& blas, Matrix const& A, Matrix const& X, Matrix const& B) {
  Exec const& exec = blas.exec();
  double const bound = norm_one(exec, A) * max_abs(exec, X) + max_abs(exec, B);
  blas.symm(Uplo::Lower, -1, A, X, 1, B);
  double const norm = norm_frobenius(exec, B);  // a sum, in which NaN is not lost
  return std::isfinite(norm) ? max_abs(exec, B) / bound : norm;
}

double relative_difference(Exec const& exec, Matrix const& Y, Matrix const& Z) {
  subtract_kernel(exec, typed<double>(Y), typed<double>(Z));
  return norm_frobenius(exec, Y) / norm_frobenius(exec, Z);
}

}  // namespace strata::perf
