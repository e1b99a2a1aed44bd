// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/problems/Strata_Generators.hpp>

#include <core/kokkos_ext/detail/Strata_HostThreads.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace strata {

namespace {

// Streams of random numbers: the matrix itself uses rows 0, 1, ... of `seed`, everything else a
// seed of its own.
enum Stream : std::uint64_t { Signs = 1, Eigenvalues, Scaling, Solution };
std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return random_bits(seed, std::numeric_limits<std::uint64_t>::max() - 1, stream);
}

constexpr std::int64_t block = 64;  // columns that a thread takes at once
constexpr int rounds = 3;

std::int64_t blocks(std::int64_t n) { return (n + block - 1) / block; }

// Q = H S3 H S2 H S1. H is ceil(log2 n) stages. A stage turns each pair (x_2k, x_2k+1) into its sum
// and difference over sqrt(2). Sums come first, then the last number if n is odd, then the
// differences.
class FastOrthogonal {
 public:
  FastOrthogonal(std::int64_t n, std::uint64_t seed) : signs_(rounds * n) {
    for (std::size_t k = 0; k < signs_.size(); ++k)
      signs_[k] = random_bits(seed, k) >> 63 ? 1.0 : -1.0;
    while ((std::int64_t{1} << stages_) < n) ++stages_;
  }

  // x = Q x; `other` has the size of x.
  void apply(std::vector<double>& x, std::vector<double>& other) const {
    for (int round = 0; round < rounds; ++round) {
      double const* const sign = signs_.data() + round * x.size();
      for (std::size_t k = 0; k < x.size(); ++k) x[k] *= sign[k];
      for (int s = 0; s < stages_; ++s) {
        stage(x, other);
        std::swap(x, other);
      }
    }
  }

 private:
  static void stage(std::vector<double> const& x, std::vector<double>& y) {
    constexpr double root_half = 0.70710678118654752440;
    std::size_t const n = x.size(), half = n / 2;
    double const* const in = x.data();
    double *const sums = y.data(), *const differences = y.data() + (n - half);
    for (std::size_t k = 0; k < half; ++k) {
      double const a = in[2 * k], b = in[2 * k + 1];
      sums[k] = (a + b) * root_half;  // in this order no compiler can fuse the operations
      differences[k] = (a - b) * root_half;
    }
    if (n % 2 == 1) y[half] = x[n - 1];
  }

  std::vector<double> signs_;
  int stages_ = 0;
};

// Call f(i0, i1, j0, j1) for the blocks of the lower triangle, diagonal blocks included.
template <class Function>
void for_each_lower_block(HostMatrix const& A, Function const& f) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  detail::for_each_on_host(blocks(n), [&](std::int64_t b) {
    std::int64_t const j0 = b * block, j1 = std::min(n, j0 + block);
    for (std::int64_t i0 = j0; i0 < n; i0 += block) f(i0, std::min(n, i0 + block), j0, j1);
  });
}

void transpose_in_place(HostMatrix const& A) {
  for_each_lower_block(A, [&](auto i0, auto i1, auto j0, auto j1) {
    for (std::int64_t j = j0; j < j1; ++j)
      for (std::int64_t i = std::max(i0, j + 1); i < i1; ++i) std::swap(A(i, j), A(j, i));
  });
}

void mirror_lower(HostMatrix const& A) {
  for_each_lower_block(A, [&](auto i0, auto i1, auto j0, auto j1) {
    for (std::int64_t j = j0; j < j1; ++j)
      for (std::int64_t i = std::max(i0, j + 1); i < i1; ++i) A(j, i) = A(i, j);
  });
}

// Tells of `count` steps of equal cost, which are from `begin` to `end` of the whole.
std::function<void(std::int64_t)> steps_of(GeneratorOptions const& options, std::int64_t count,
                                           double begin, double end) {
  if (!options.on_progress) return {};
  return [&options, count, begin, end](std::int64_t done) {
    options.on_progress(begin +
                        (end - begin) * static_cast<double>(done) / static_cast<double>(count));
  };
}

// f(column, work) for each column j of A: column = f's result. From `begin` to `end` of the whole
// work.
template <class Function>
void for_each_column(HostMatrix const& A, GeneratorOptions const& options, double begin, double end,
                     Function const& f) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  detail::for_each_on_host(
      blocks(n),
      [&](std::int64_t b) {
        std::vector<double> column(n), work(n);
        for (std::int64_t j = b * block; j < std::min(n, (b + 1) * block); ++j) {
          f(j, column, work);
          std::copy(column.begin(), column.end(), &A(0, j));
        }
      },
      steps_of(options, blocks(n), begin, end));
}

// A = Q diag(values) Q^T, as Q applied to the columns of (Q diag(values))^T.
void fill_from_spectrum(HostMatrix const& A, std::vector<double> const& values,
                        GeneratorOptions const& options) {
  using Column = std::vector<double>;
  FastOrthogonal const Q(static_cast<std::int64_t>(values.size()),
                         stream_seed(options.seed, Signs));
  for_each_column(A, options, 0, 0.5, [&](std::int64_t j, Column& column, Column& work) {
    std::fill(column.begin(), column.end(), 0.0);
    column[j] = values[j];
    Q.apply(column, work);
  });
  transpose_in_place(A);
  for_each_column(A, options, 0.5, 1, [&](std::int64_t j, Column& column, Column& work) {
    std::copy_n(&A(0, j), values.size(), column.begin());
    Q.apply(column, work);
  });
}

// The lower triangle from a formula in 0-based i >= j. `tell` hears what part of its entries is
// there.
template <class Formula>
void fill_lower(HostMatrix const& A, Formula const& formula,
                std::function<void(double)> const& tell = {}) {
  auto const n = static_cast<std::int64_t>(A.extent(0));
  std::function<void(std::int64_t)> on_done;
  if (tell)
    on_done = [&](std::int64_t columns) {
      double const left = 1 - static_cast<double>(columns) / static_cast<double>(n);
      tell(1 - left * left);
    };
  detail::for_each_on_host(
      n,
      [&](std::int64_t j) {
        for (std::int64_t i = j; i < n; ++i) A(i, j) = formula(i, j);
      },
      on_done);
}

void fill_from_formula(MatrixKind kind, HostMatrix const& A, GeneratorOptions const& options) {
  auto const n = static_cast<double>(A.extent(0));
  auto const fill = [&](auto const& formula) { fill_lower(A, formula, options.on_progress); };
  switch (kind) {
    case MatrixKind::Dominant:
      return fill([&](auto i, auto j) { return uniform(options.seed, i, j) + (i == j ? n : 0.0); });
    case MatrixKind::MinIJ:
      return fill([](auto, auto j) { return j + 1.0; });
    case MatrixKind::Lehmer:
      return fill([](auto i, auto j) { return (j + 1.0) / (i + 1.0); });
    case MatrixKind::Moler:
      return fill([](auto i, auto j) { return i == j ? i + 1.0 : j - 1.0; });
    default:
      STRATA_REQUIRE(ValueError, options.correlation > 0 && options.correlation < 1,
                     "generate: correlation is ", options.correlation,
                     ", must lie between 0 and 1");
      return fill([&](auto i, auto j) { return std::pow(options.correlation, i - j); });
  }
}

void check_spread(char const* caller, double spread) {
  STRATA_REQUIRE(ValueError, spread >= 1 && std::isfinite(spread), caller, ": diagonal_spread is ",
                 spread, ", must be finite and at least 1");
}

}  // namespace

std::vector<double> spectrum(MatrixKind kind, std::int64_t n, GeneratorOptions const& options) {
  double const K = options.condition;
  STRATA_REQUIRE(ValueError, has_spectrum(kind), "spectrum: the kind '", name_of(kind),
                 "' has no prescribed spectrum");
  STRATA_REQUIRE(ValueError, K >= 1 && std::isfinite(K), "spectrum: the condition number is ", K,
                 ", must be finite and at least 1");
  STRATA_REQUIRE(ShapeError, n >= 0, "spectrum: n is ", n, ", must not be negative");
  std::vector<double> values(n);
  std::uint64_t const seed = stream_seed(options.seed, Eigenvalues);
  for (std::int64_t i = 0; i < n; ++i) {
    double const t = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0.0;
    bool const last = i > 0 && i == n - 1;
    switch (kind) {
      case MatrixKind::Geometric:
        values[i] = last ? 1 / K : std::pow(K, -t);
        break;
      case MatrixKind::Arithmetic:
        values[i] = last ? 1 / K : 1 - t * (1 - 1 / K);
        break;
      case MatrixKind::Cluster0:
        values[i] = i == 0 ? 1 : 1 / K;
        break;
      case MatrixKind::Cluster1:
        values[i] = last ? 1 / K : 1;
        break;
      default:
        values[i] = i == 0 ? 1 : last ? 1 / K : std::pow(K, -uniform(seed, i));
    }
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

HostMatrix generate(MatrixKind kind, std::int64_t n, GeneratorOptions const& options) {
  check_spread("generate", options.diagonal_spread);
  HostMatrix const A = allocate_host_matrix("strata::generate", n, n);
  if (has_spectrum(kind)) {
    fill_from_spectrum(A, spectrum(kind, n, options), options);
  } else {
    fill_from_formula(kind, A, options);
  }
  mirror_lower(A);
  if (options.diagonal_spread > 1) spread_diagonal(A, options.diagonal_spread, options.seed);
  return A;
}

void spread_diagonal(HostMatrix const& A, double spread, std::uint64_t seed) {
  check_spread("spread_diagonal", spread);
  STRATA_REQUIRE(ShapeError, A.extent(0) == A.extent(1), "spread_diagonal: A is ", A.extent(0),
                 " x ", A.extent(1), ", must be square");
  std::uint64_t const scaling = stream_seed(seed, Scaling);
  std::vector<double> d(A.extent(0));  // d_i = s^(u_i - 1/2)
  for (std::size_t i = 0; i < d.size(); ++i)
    d[i] = std::pow(spread, uniform(scaling, static_cast<std::int64_t>(i)) - 0.5);
  fill_lower(A, [&](auto i, auto j) { return d[i] * d[j] * A(i, j); });
  mirror_lower(A);
}

HostMatrix known_solution(std::int64_t n, std::int64_t nrhs, std::uint64_t seed) {
  HostMatrix const X = allocate_host_matrix("strata::known_solution", n, nrhs);
  for (std::int64_t j = 0; j < nrhs; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      X(i, j) = 2 * uniform(stream_seed(seed, Solution), i, j) - 1;
  return X;
}

}  // namespace strata
