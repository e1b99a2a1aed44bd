// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/direct/Strata_SparseFactor.hpp>

#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/direct/detail/Strata_HostLu.hpp>
#include <sparse/direct/detail/Strata_MinimumDegree.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <utility>
#include <vector>

namespace strata::sparse {
namespace {

// Rows without an entry on the diagonal, or with a 0 there.
std::int64_t zeros_on_diagonal(detail::HostCsr const& A) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    bool has = false;
    for (auto k = A.begin[detail::at(i)]; k < A.begin[detail::at(i) + 1]; ++k)
      has = has || (A.column[detail::at(k)] == i && A.value[detail::at(k)] != 0);
    count += has ? 0 : 1;
  }
  return count;
}

// The pattern of A'A, whose order suits any choice of pivots.
detail::HostCsr normal_pattern(detail::HostCsr const& A) {
  auto const columns = detail::transposed(A);
  detail::HostCsr N;
  std::vector<std::int64_t> seen(detail::at(A.rows()), -1);
  for (std::int64_t j = 0; j < A.rows(); ++j) {
    for (auto p = columns.begin[detail::at(j)]; p < columns.begin[detail::at(j) + 1]; ++p) {
      auto const i = columns.column[detail::at(p)];
      for (auto k = A.begin[detail::at(i)]; k < A.begin[detail::at(i) + 1]; ++k) {
        auto const column = A.column[detail::at(k)];
        if (std::exchange(seen[detail::at(column)], j) == j) continue;
        N.column.push_back(column);
      }
    }
    N.begin.push_back(N.entries());
  }
  return N;
}

bool has_room_for_normal(detail::HostCsr const& A) {
  constexpr double most = 30;
  double products = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    auto const width = static_cast<double>(A.begin[detail::at(i) + 1] - A.begin[detail::at(i)]);
    products += width * width;
  }
  return products <= most * static_cast<double>(A.entries());
}

std::vector<std::int32_t> order_of(detail::HostCsr const& A) {
  if (zeros_on_diagonal(A) > 0 && has_room_for_normal(A))
    return detail::minimum_degree(normal_pattern(A));
  return detail::minimum_degree(A);
}

detail::HostLu factored(detail::HostCsr const& A, bool is_symmetric,
                        std::vector<std::int32_t> const& given,
                        detail::FactorLimits const& limits) {
  if (is_symmetric) {
    auto const order = given.empty() ? detail::minimum_degree(A) : given;
    if (auto factor = detail::factor_symmetric(A, order, limits)) return *std::move(factor);
    if (zeros_on_diagonal(A) == 0) return detail::factor_general(A, order, limits);
  }
  return detail::factor_general(A, order_of(A), limits);
}

}  // namespace

template <class Exec>
struct SparseFactor<Exec>::Impl {
  std::int64_t rows = 0;
  Report report;
  detail::HostLu factor;
  std::vector<std::int32_t> place;  // of each row in the matrix' order; none: that is the caller's
  mutable std::vector<double> vector, work;
};

template <class Exec>
SparseFactor<Exec>::SparseFactor(Exec const& exec, DistributedMatrix<Exec> const& A,
                                 bool is_symmetric, Options const& options)
    : impl_("SparseFactor") {
  Region const region(exec, "strata::sparse::SparseFactor::set_up");
  STRATA_REQUIRE(ValueError, A.comm().size() == 1, "direct solver: the matrix is spread over ",
                 A.comm().size(), " ranks, must be on one");
  auto const own = std::make_shared<Impl>();
  constexpr double bytes_of_entry = 12;
  double const bytes = options.most_bytes > 0 ? options.most_bytes
                                              : 0.5 * static_cast<double>(available_memory_bytes());
  detail::FactorLimits const limits{bytes / bytes_of_entry, options.most_flops};
  own->rows = A.rows();
  own->factor = factored(detail::own_block(exec, A), is_symmetric, options.order, limits);
  own->report = {own->factor.is_symmetric, own->factor.entries(), own->factor.replaced};
  if (!A.order().is_natural) own->place = detail::to_host(exec, A.order().new_row);
  own->vector.resize(detail::at(A.rows()));
  own->work.resize(detail::at(A.rows()));
  impl_ = Pimpl<Impl const, std::shared_ptr<Impl const>>("SparseFactor", own);
}

template <class Exec>
auto SparseFactor<Exec>::report() const -> Report const& {
  return impl_->report;
}

template <class Exec>
std::int64_t SparseFactor<Exec>::bytes() const {
  auto const& factor = impl_->factor;
  return (factor.L.entries() + factor.U.entries()) * 12 + 5 * factor.L.rows() * 8;
}

template <class Exec>
void SparseFactor<Exec>::apply(Exec const& exec, Vector<double, MemorySpace> const& r,
                               Vector<double, MemorySpace> const& z) const {
  Region const region(exec, "strata::sparse::SparseFactor::apply");
  auto const& own = *impl_;
  detail::require_entries("direct solver", "r", r, own.rows);
  detail::require_entries("direct solver", "z", z, own.rows);
  auto const rows = std::pair(std::size_t{0}, detail::at(own.rows));
  using Host = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Host const host(own.vector.data(), own.vector.size());
  Kokkos::deep_copy(exec, host, Kokkos::subview(r, rows));
  exec.fence("strata::sparse::SparseFactor::copied");
  if (own.place.empty()) {
    own.factor.solve(own.vector.data(), own.vector.data(), own.work);
  } else {
    auto const stored = own.vector;
    std::vector<double> natural(stored.size());
    for (std::size_t i = 0; i < natural.size(); ++i) natural[i] = stored[detail::at(own.place[i])];
    own.factor.solve(natural.data(), natural.data(), own.work);
    for (std::size_t i = 0; i < natural.size(); ++i)
      own.vector[detail::at(own.place[i])] = natural[i];
  }
  Kokkos::deep_copy(exec, Kokkos::subview(z, rows), host);
  exec.fence("strata::sparse::SparseFactor::solved");
}

#define STRATA_INSTANTIATE_SPARSE_FACTOR(Space) template class SparseFactor<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SPARSE_FACTOR)

}  // namespace strata::sparse
