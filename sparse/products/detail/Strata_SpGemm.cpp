// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/products/detail/Strata_SpGemm.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spgemm.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <limits>

namespace strata::sparse::detail {
namespace {

/// Global columns as 0, 1, ...: those of [first, end), then the others in order.
struct LocalColumns {
  std::int64_t first, end;
  std::vector<std::int64_t> outside;

  int of(std::int64_t j) const {
    if (j >= first && j < end) return static_cast<int>(j - first);
    auto const at = std::lower_bound(outside.begin(), outside.end(), j) - outside.begin();
    return static_cast<int>(end - first + at);
  }
  std::int64_t global(int j) const {
    return j < end - first ? first + j : outside[static_cast<std::size_t>(j - (end - first))];
  }
  std::int64_t count() const { return end - first + static_cast<std::int64_t>(outside.size()); }
};

void append(HostRows& rows, HostRows const& more) {
  rows.column.insert(rows.column.end(), more.column.begin(), more.column.end());
  rows.value.insert(rows.value.end(), more.value.begin(), more.value.end());
  std::int64_t const before = rows.begin.back();
  for (std::size_t i = 1; i < more.begin.size(); ++i) rows.begin.push_back(before + more.begin[i]);
}

// The rows are the host's, and so is their product.
using Host = Kokkos::DefaultHostExecutionSpace;
using Crs = KokkosSparse::CrsMatrix<double, int, Kokkos::Device<Host, Host::memory_space>, void,
                                    std::size_t>;

Crs to_crs(Host const& exec, std::string const& label, HostRows const& rows,
           LocalColumns const& columns) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  STRATA_REQUIRE(ShapeError, rows.rows() < most && columns.count() < most, label, ": ", rows.rows(),
                 " x ", columns.count(), " on a rank, Kokkos Kernels counts to ", most);
  std::vector<int> local(rows.column.size());
  for (std::size_t k = 0; k < local.size(); ++k) local[k] = columns.of(rows.column[k]);
  std::vector<std::size_t> const begin(rows.begin.begin(), rows.begin.end());
  return Crs(label, static_cast<int>(rows.rows()), static_cast<int>(columns.count()), local.size(),
             to_device(exec, label + "::value", rows.value),
             to_device(exec, label + "::begin", begin), to_device(exec, label + "::column", local));
}

// Kokkos Kernels' product takes no instance: it is fenced from `exec` on both sides.
Crs multiplied(Host const& exec, Crs const& A, Crs const& B) {
  exec.fence("strata::sparse::product::operands");
  Kokkos::Profiling::ScopedRegion const region("KokkosSparse::spgemm");
  auto const C = KokkosSparse::spgemm<Crs>(A, false, B, false);
  exec.fence("strata::sparse::product::result");
  return C;
}

}  // namespace

template <class Exec>
HostRows spgemm(Exec const&, Communicator const& comm, std::vector<std::int64_t> const& inner,
                std::vector<std::int64_t> const& cols, HostRows const& A, HostRows const& B) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const local_of = [&](std::vector<std::int64_t> const& first, HostRows const& rows) {
    return LocalColumns{first[rank], first[rank + 1],
                        columns_outside(rows, first[rank], first[rank + 1])};
  };
  auto const of_A = comm.agree([&] { return local_of(inner, A); });
  auto const theirs = fetched(comm, inner, of_A.outside, B);
  return comm.agree([&] {
    Host const exec;
    HostRows all = B;
    append(all, theirs);
    auto const of_B = local_of(cols, all);
    HostRows C;
    C.begin.assign(A.begin.size(), 0);
    if (A.entries() == 0 || all.entries() == 0) return C;
    auto const result = multiplied(exec, to_crs(exec, "strata::sparse::product::A", A, of_A),
                                   to_crs(exec, "strata::sparse::product::B", all, of_B));
    auto const begin = to_host(exec, result.graph.row_map);
    auto const local = to_host(exec, result.graph.entries);
    C.value = to_host(exec, result.values);
    std::copy(begin.begin(), begin.end(), C.begin.begin());
    C.column.resize(local.size());
    std::transform(local.begin(), local.end(), C.column.begin(),
                   [&](int j) { return of_B.global(j); });
    return C;
  });
}

#define STRATA_INSTANTIATE_PRODUCT(Space)                                                       \
  template HostRows spgemm(Space const&, Communicator const&, std::vector<std::int64_t> const&, \
                           std::vector<std::int64_t> const&, HostRows const&, HostRows const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PRODUCT)

}  // namespace strata::sparse::detail
