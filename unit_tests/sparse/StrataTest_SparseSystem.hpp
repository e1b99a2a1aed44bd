// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_SPARSE_SYSTEM_HPP
#define STRATATEST_SPARSE_SYSTEM_HPP

#include "StrataTest_Ranks.hpp"
#include "StrataTest_Sparse.hpp"
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::test {

using sparse::Communicator;
using sparse::DistributedMatrix;
using sparse::HostRows;
using sparse::ModelProblem;
using sparse::ModelSize;

/// A, and b = A times a known vector, in its order; x = 0.
template <class Exec>
struct System {
  using Wide = sparse::Vector<double, typename Exec::memory_space>;
  Exec exec;
  DistributedMatrix<Exec> A;
  Wide b, x;

  System(HostRows const& rows, Communicator const& comm) {
    A = make_matrix(exec, comm, rows);
    b = A.template allocate<double>(exec, "strata::test::b");
    x = A.template allocate<double>(exec, "strata::test::x");
    auto const known = A.template allocate<double>(exec, "strata::test::known");
    auto const numbers = random_vector(A.global_rows(), 1);
    auto const begin = numbers.begin() + A.first_row();
    A.gather(exec, to_device<double>(exec, {begin, begin + A.rows()}), known);
    A.multiply(exec, known, b);
  }
  /// ||b - A x|| / ||b||, by a product of its own.
  double residual() const {
    auto const r = A.template allocate<double>(exec, "strata::test::r");
    A.multiply(exec, x, r);
    auto const Ax = to_host(exec, r), right = to_host(exec, b);
    double sums[2] = {};
    for (std::size_t i = 0; i < static_cast<std::size_t>(A.rows()); ++i) {
      sums[0] += (right[i] - Ax[i]) * (right[i] - Ax[i]);
      sums[1] += right[i] * right[i];
    }
    A.comm().sum(sums);
    return sums[0] > 0 ? std::sqrt(sums[0] / sums[1]) : 0;
  }
};

/// A natural vector of this rank, entry i = f(global row).
template <class Exec, class Function>
sparse::Vector<double, typename Exec::memory_space> natural(Exec const& exec,
                                                            DistributedMatrix<Exec> const& A,
                                                            Function const& f) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < A.rows(); ++i) numbers.push_back(f(A.first_row() + i));
  return to_device<double>(exec, numbers);
}

/// ||b - A x|| / ||b|| of natural vectors, sums in long double by the rows themselves; of all
/// ranks.
template <class Exec>
double true_residual(Exec const& exec, HostRows const& rows, DistributedMatrix<Exec> const& A,
                     sparse::Vector<double, typename Exec::memory_space> const& b,
                     sparse::Vector<double, typename Exec::memory_space> const& x) {
  auto const all_x = A.comm().gather(std::span<double const>(to_host(exec, x)));
  auto const right = to_host(exec, b);
  double const size = sparse::detail::max_norm(exec, A.comm(), b, A.rows());
  double sums[2] = {};
  for (std::size_t i = 0; i < right.size(); ++i) {
    long double r = right[i];
    for (auto k = static_cast<std::size_t>(rows.begin[i]);
         k < static_cast<std::size_t>(rows.begin[i + 1]); ++k)
      r -=
          static_cast<long double>(rows.value[k]) * all_x[static_cast<std::size_t>(rows.column[k])];
    auto const scaled = static_cast<double>(r / size), b_i = right[i] / size;
    sums[0] += scaled * scaled, sums[1] += b_i * b_i;
  }
  A.comm().sum(sums);
  return std::sqrt(sums[0] / sums[1]);
}

inline HostRows model(Communicator const& comm, ModelProblem problem, ModelSize const& size) {
  auto const first = sparse::even_partition(sparse::model_rows(problem, size), comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  return sparse::make_model(problem, size, first[rank], first[rank + 1]);
}

/// Tridiagonal -1, d_i, -1 on consecutive blocks.
template <class Diagonal>
HostRows tridiagonal(Communicator const& comm, std::int64_t n, Diagonal const& d) {
  auto const first = sparse::even_partition(n, comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  HostRows rows;
  for (auto i = first[rank]; i < first[rank + 1]; ++i) {
    if (i > 0) rows.add(i - 1, -1);
    rows.add(i, d(i));
    if (i + 1 < n) rows.add(i + 1, -1);
    rows.end_row();
  }
  return rows;
}

/// This rank's rows of a matrix that is given whole.
inline HostRows part_of(Communicator const& comm, HostRows const& whole) {
  auto const first = sparse::even_partition(whole.rows(), comm.size());
  auto const rank = static_cast<std::size_t>(comm.rank());
  HostRows rows;
  for (auto i = first[rank]; i < first[rank + 1]; ++i) {
    for (auto k = whole.begin[static_cast<std::size_t>(i)];
         k < whole.begin[static_cast<std::size_t>(i) + 1]; ++k)
      rows.add(whole.column[static_cast<std::size_t>(k)], whole.value[static_cast<std::size_t>(k)]);
    rows.end_row();
  }
  return rows;
}

inline HostRows times(HostRows rows, double factor) {
  for (auto& value : rows.value) value *= factor;
  return rows;
}

/// The square of tridiag(-1, 2, -1): a beam that is held at both ends.
inline HostRows biharmonic(Communicator const& comm, std::int64_t n) {
  HostRows whole;
  for (std::int64_t i = 0; i < n; ++i) {
    double const middle = i == 0 || i == n - 1 ? 5 : 6;
    double const entries[] = {1, -4, middle, -4, 1};
    for (std::int64_t j = i - 2; j <= i + 2; ++j)
      if (j >= 0 && j < n) whole.add(j, entries[j - i + 2]);
    whole.end_row();
  }
  return part_of(comm, whole);
}

/// A chain without ends that are held: constants are its null space.
inline HostRows floating_chain(Communicator const& comm, std::int64_t n) {
  return tridiagonal(comm, n, [=](std::int64_t i) { return i == 0 || i == n - 1 ? 1.0 : 2.0; });
}

}  // namespace strata::test

#endif
