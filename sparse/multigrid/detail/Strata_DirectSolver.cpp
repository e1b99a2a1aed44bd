// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_DirectSolver.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/multigrid/detail/Strata_SymmetricInverse.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata::sparse::detail {
namespace {

// A, row by row in the order in which the ranks' vectors follow each other, scaled.
template <class Exec>
std::vector<double> gathered(Exec const& exec, DistributedMatrix<Exec> const& A,
                             std::vector<double> const& d) {
  auto const n = static_cast<std::size_t>(A.global_rows());
  auto const& comm = A.comm();
  auto const new_row = to_host(exec, A.order().new_row);
  auto const rows = rows_of(exec, A);
  auto const first = static_cast<double>(A.first_row());
  std::vector<double> position(new_row.begin(), new_row.end()), triples;
  for (auto& p : position) p += first;
  auto const all_positions = comm.gather(position), all_d = comm.gather(d);
  for (std::size_t i = 0; i < new_row.size(); ++i)
    for (auto k = static_cast<std::size_t>(rows.begin[i]);
         k < static_cast<std::size_t>(rows.begin[i + 1]); ++k)
      triples.insert(
          triples.end(),
          {position[i], all_positions[static_cast<std::size_t>(rows.column[k])], rows.value[k]});
  std::vector<double> dense(n * n, 0.0);
  auto const all = comm.gather(triples);
  for (std::size_t k = 0; k < all.size(); k += 3) {
    auto const i = static_cast<std::size_t>(all[k]), j = static_cast<std::size_t>(all[k + 1]);
    dense[i * n + j] += all_d[i] * all[k + 2] * all_d[j];
  }
  return dense;
}

// d_i a_ij d_j of one rank, row by row, in A's order.
template <class Exec, class Matrix>
void spread(Exec const& exec, Matrix const& A, Vector<double, typename Exec::memory_space> const& d,
            Vector<double, typename Exec::memory_space> const& dense) {
  std::int64_t const n = A.rows();
  Kokkos::parallel_for(
      "strata::sparse::DirectSolver::spread", RowPolicy<Exec>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i) {
        EllRows<Matrix>{A}(i,
                           [&](std::int64_t j, double a) { dense(i * n + j) += d(i) * a * d(j); });
      });
}

template <class Exec, class From, class To>
void round_entries(Exec const& exec, From const& from, To const& to) {
  Kokkos::parallel_for(
      "strata::sparse::DirectSolver::convert",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) {
        to(k) = static_cast<typename To::non_const_value_type>(from(k));
      });
}

bool is_exactly_symmetric(std::vector<double> const& A, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::abs(A[i * n + j] - A[j * n + i]) >
          1e-12 * (std::abs(A[i * n + i]) + std::abs(A[j * n + j])))
        return false;
  return true;
}

}  // namespace

std::vector<double> generalised_inverse(std::vector<double> A, std::size_t n) {
  bool const symmetric = is_exactly_symmetric(A, n);
  // In place: after step k the pivot's row and column hold the inverse's.
  std::vector<std::size_t> pivot_row, pivot_col;
  std::vector<char> row_used(n, 0), col_used(n, 0);
  double largest = 0;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t p = n, q = n;
    double best = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (row_used[i]) continue;
      for (std::size_t j = 0; j < n; ++j)
        if (!col_used[j] && std::abs(A[i * n + j]) > best)
          best = std::abs(A[i * n + j]), p = i, q = j;
    }
    largest = std::max(largest, best);
    if (p == n || !(best > 1e-11 * largest)) break;
    row_used[p] = col_used[q] = 1;
    pivot_row.push_back(p), pivot_col.push_back(q);
    double const pivot = A[p * n + q];
    A[p * n + q] = 1;
    for (std::size_t j = 0; j < n; ++j) A[p * n + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      double const factor = A[i * n + q];
      if (i == p || factor == 0) continue;
      A[i * n + q] = 0;
      for (std::size_t j = 0; j < n; ++j) A[i * n + j] -= factor * A[p * n + j];
    }
  }
  // Row p now belongs to unknown q, column q to equation p.
  std::vector<double> X(n * n, 0.0);
  for (std::size_t s = 0; s < pivot_row.size(); ++s)
    for (std::size_t t = 0; t < pivot_col.size(); ++t)
      X[pivot_col[s] * n + pivot_row[t]] = A[pivot_row[s] * n + pivot_col[t]];
  if (symmetric)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j)
        X[i * n + j] = X[j * n + i] = 0.5 * (X[i * n + j] + X[j * n + i]);
  return X;
}

template <class Exec, class Scalar>
DirectSolver<Exec, Scalar>::DirectSolver(Exec const& exec, DistributedMatrix<Exec> const& A,
                                         Vector<double, MemorySpace> const& d)
    : comm_(A.comm()), rows_(A.rows()), n_(A.global_rows()) {
  if (comm_.size() == 1 && comm_.agree([&] { return inverted_on_device(exec, A, d); })) return;
  auto scales = comm_.agree([&] { return to_host(exec, d); });
  scales.resize(static_cast<std::size_t>(rows_));
  auto const dense = gathered(exec, A, scales);
  comm_.agree([&] {
    auto const n = static_cast<std::size_t>(n_);
    auto const inverse = generalised_inverse(dense, n);
    auto const begin = inverse.begin() + static_cast<std::ptrdiff_t>(A.first_row() * n_);
    std::vector<Scalar> mine(static_cast<std::size_t>(rows_) * n);
    std::transform(begin, begin + static_cast<std::ptrdiff_t>(mine.size()), mine.begin(),
                   [](double value) { return static_cast<Scalar>(value); });
    inverse_ = to_device(exec, "strata::sparse::DirectSolver::inverse", mine);
    all_ = allocate<Vector<Scalar, MemorySpace>>(exec, "strata::sparse::DirectSolver::all", n_);
  });
}

template <class Exec, class Scalar>
bool DirectSolver<Exec, Scalar>::inverted_on_device(Exec const& exec,
                                                    DistributedMatrix<Exec> const& A,
                                                    Vector<double, MemorySpace> const& d) {
  auto const dense = allocate_zeros<Vector<double, MemorySpace>>(
      exec, "strata::sparse::DirectSolver::dense", n_ * n_);
  std::visit([&](auto const& stored) { spread(exec, stored, d, dense); }, A.stored());
  if (!invert_symmetric(exec, dense, n_)) return false;
  inverse_ =
      allocate<Vector<Scalar, MemorySpace>>(exec, "strata::sparse::DirectSolver::inverse", n_ * n_);
  round_entries(exec, dense, inverse_);
  exec.fence("strata::sparse::DirectSolver::inverted");
  return true;
}

template <class Exec, class Scalar>
DirectSolver<Exec, Scalar>::DirectSolver(Exec const& exec, DirectSolver<Exec, fp64> const& other)
    : comm_(other.comm_), rows_(other.rows_), n_(other.n_) {
  using Vec = Vector<Scalar, MemorySpace>;
  inverse_ =
      allocate<decltype(inverse_)>(exec, "strata::sparse::DirectSolver::inverse", rows_ * n_);
  if (comm_.size() > 1) all_ = allocate<Vec>(exec, "strata::sparse::DirectSolver::all", n_);
  round_entries(exec, other.inverse_, inverse_);
}

template <class Exec, class Scalar>
void DirectSolver<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                       Vector<Scalar, MemorySpace> const& x) const {
  if constexpr (is_abreast<Scalar>)
    return multiply(exec, r, x);  // of one rank
  else
    apply_on_ranks(exec, r, x);
}

template <class Exec, class Scalar>
void DirectSolver<Exec, Scalar>::apply_on_ranks(Exec const& exec,
                                                Vector<Scalar, MemorySpace> const& r,
                                                Vector<Scalar, MemorySpace> const& x) const {
  auto source = r;
  if (comm_.size() > 1) {
    auto const own = Kokkos::subview(r, std::pair(std::int64_t(0), rows_));
    std::vector<Scalar> const mine = to_host(exec, own);
    auto const everyone = comm_.gather(std::vector<double>(mine.begin(), mine.end()));
    std::vector<Scalar> const narrow(everyone.begin(), everyone.end());
    using Host = Kokkos::View<Scalar const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(exec, all_, Host(narrow.data(), narrow.size()));
    exec.fence("strata::sparse::DirectSolver::gathered");  // `narrow` ends here
    source = all_;
  }
  multiply(exec, source, x);
}

template <class Exec, class Scalar>
void DirectSolver<Exec, Scalar>::multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                          Vector<Scalar, MemorySpace> const& x) const {
  using Team = Kokkos::TeamPolicy<Exec>;
  if (rows_ == 0) return;
  LaneOf<Scalar> const* const inverse = inverse_.data();
  std::int64_t const n = n_;
  Kokkos::parallel_for(
      "strata::sparse::DirectSolver::multiply", Team(exec, static_cast<int>(rows_), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team) {
        auto const* const row = inverse + team.league_rank() * n;
        auto total = Scalar();
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n),
            [&](std::int64_t j, Scalar& sum) { sum += row[j] * r(j); }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&] { x(team.league_rank()) = total; });
      });
}

#define STRATA_INSTANTIATE_DIRECT_ABREAST(Space, Number)                                         \
  template DirectSolver<Space, Abreast<Number>>::DirectSolver(Space const&,                      \
                                                              DirectSolver<Space, fp64> const&); \
  template void DirectSolver<Space, Abreast<Number>>::apply(                                     \
      Space const&, Vector<Abreast<Number>, Space::memory_space> const&,                         \
      Vector<Abreast<Number>, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_DIRECT(Space)           \
  template class DirectSolver<Space, fp64>;        \
  template class DirectSolver<Space, fp32>;        \
  STRATA_INSTANTIATE_DIRECT_ABREAST(Space, double) \
  STRATA_INSTANTIATE_DIRECT_ABREAST(Space, float)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_DIRECT)

}  // namespace strata::sparse::detail
