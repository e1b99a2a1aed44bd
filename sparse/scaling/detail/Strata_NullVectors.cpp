// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/scaling/detail/Strata_NullVectors.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Candidate = Vector<double, typename Exec::memory_space>;

template <class Exec, class Scalar>
void find_share(Exec const& exec, Candidate<Exec> const& v,
                Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows,
                Candidate<Exec> const& share) {
  Kokkos::View<double, typename Exec::memory_space, Kokkos::MemoryUnmanaged> const result(
      share.data());
  Kokkos::parallel_reduce(
      "strata::sparse::NullVectors::share", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) { sum += v(i) * static_cast<double>(x(i)); },
      result);
}

template <class Exec, class Scalar>
void take_share(Exec const& exec, Candidate<Exec> const& v, Candidate<Exec> const& share,
                Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::NullVectors::remove", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        x(i) = static_cast<Scalar>(static_cast<double>(x(i)) - share(0) * v(i));
      });
}

template <class Exec>
double inner_product(Exec const& exec, Candidate<Exec> const& x, Candidate<Exec> const& y,
                     std::int64_t rows) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::NullVectors::product", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total) { total += x(i) * y(i); }, sum);
  exec.fence("strata::sparse::NullVectors::product");
  return sum;
}

// y = a x + b y
template <class Exec>
void combine(Exec const& exec, double a, Candidate<Exec> const& x, double b,
             Candidate<Exec> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::NullVectors::combine", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = a * x(i) + (b == 0 ? 0 : b * y(i)); });
}

// By Gram-Schmidt's method, twice; what hardly is left is dropped.
template <class Exec>
std::vector<Candidate<Exec>> orthonormal(Exec const& exec, std::vector<Candidate<Exec>> candidates,
                                         std::int64_t rows) {
  constexpr double least = 1e-8;
  std::vector<Candidate<Exec>> kept;
  for (auto const& v : candidates) {
    double const before = std::sqrt(inner_product(exec, v, v, rows));
    for (int pass = 0; pass < 2; ++pass)
      for (auto const& other : kept)
        combine(exec, -inner_product(exec, other, v, rows), other, 1, v, rows);
    double const length = std::sqrt(inner_product(exec, v, v, rows));
    if (!(length > least * before)) continue;
    combine(exec, 1 / length, v, 0, v, rows);
    kept.push_back(v);
  }
  return kept;
}

/// The eigenvectors of a symmetric matrix, as columns, by Jacobi's rotations; the matrix becomes
/// diagonal.
std::vector<double> eigenvectors(std::vector<double>& G, std::size_t n) {
  std::vector<double> V(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) V[i * n + i] = 1;
  constexpr int sweeps = 30;
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (G[p * n + q] == 0) continue;
        double const tau = (G[q * n + q] - G[p * n + p]) / (2 * G[p * n + q]);
        double const t = std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
        double const c = 1 / std::hypot(1.0, t), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          double const a = G[k * n + p], b = G[k * n + q];
          G[k * n + p] = c * a - s * b, G[k * n + q] = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          double const a = G[p * n + k], b = G[q * n + k];
          G[p * n + k] = c * a - s * b, G[q * n + k] = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          double const a = V[k * n + p], b = V[k * n + q];
          V[k * n + p] = c * a - s * b, V[k * n + q] = s * a + c * b;
        }
      }
  return V;
}

}  // namespace

template <class Exec>
NullVectors<Exec>::NullVectors(Exec const& exec, DistributedMatrix<Exec> const& A,
                               std::vector<Wide> candidates, double norm)
    : rows_(A.rows()) {
  Region const region(exec, "strata::sparse::NullVectors");
  constexpr double within = 1e-12, likely = 1e-6;  // of a product's root, and of the vector itself
  auto const basis = orthonormal(exec, std::move(candidates), rows_);
  auto const n = basis.size();
  auto const vector = [&] {
    return A.template allocate<double>(exec, "strata::sparse::NullVectors");
  };
  std::vector<Wide> images;  // A maps each basis vector to one
  for (auto const& v : basis) {
    images.push_back(vector());
    A.multiply(exec, v, images.back());
  }
  std::vector<double> G(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      G[i * n + j] = G[j * n + i] = inner_product(exec, images[i], images[j], rows_);
  auto const V = eigenvectors(G, n);
  for (std::size_t c = 0; c < n; ++c) {
    if (!(std::sqrt(std::abs(G[c * n + c])) <= likely * norm)) continue;
    auto const v = vector(), image = vector();
    for (std::size_t j = 0; j < n; ++j) combine(exec, V[j * n + c], basis[j], 1, v, rows_);
    A.multiply(exec, v, image);
    if (std::sqrt(inner_product(exec, image, image, rows_)) <= within * norm) vectors_.push_back(v);
  }
  share_ = allocate<Wide>(exec, "strata::sparse::NullVectors::share", 1);
  exec.fence("strata::sparse::NullVectors");
}

template <class Exec>
template <class Scalar>
void NullVectors<Exec>::remove(Exec const& exec,
                               Vector<Scalar, typename Exec::memory_space> const& x) const {
  for (auto const& v : vectors_) {
    find_share(exec, v, x, rows_, share_);
    take_share(exec, v, share_, x, rows_);
  }
}

#define STRATA_INSTANTIATE_NULL_VECTORS(Space)                                                     \
  template class NullVectors<Space>;                                                               \
  template void NullVectors<Space>::remove(Space const&, Vector<fp64, Space::memory_space> const&) \
      const;                                                                                       \
  template void NullVectors<Space>::remove(Space const&, Vector<fp32, Space::memory_space> const&) \
      const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_NULL_VECTORS)

}  // namespace strata::sparse::detail
