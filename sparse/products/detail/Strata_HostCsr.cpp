// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace strata::sparse::detail {
namespace {

/// The rows of a matrix in the caller's order (row source), without zeros and without the halo's
/// columns.
template <class Matrix>
struct OwnColumns {
  EllRows<Matrix> stored;
  std::int64_t rows;
  Vector<std::int32_t, typename Matrix::MemorySpace> old_row, new_row;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    stored(new_row(row), [&](std::int64_t column, double value) {
      if (column < rows) emit(std::int64_t(old_row(column)), value);
    });
  }
};

bool is_tidy(HostCsr const& A) {
  for (std::int64_t i = 0; i < A.rows(); ++i)
    for (auto k = A.begin[at(i)] + 1; k < A.begin[at(i) + 1]; ++k)
      if (A.column[at(k) - 1] >= A.column[at(k)]) return false;
  return true;
}

// Columns ascending; a row's entries in one column are added up.
void tidy_rows(HostCsr& A) {
  if (is_tidy(A)) return;
  std::vector<std::pair<std::int32_t, double>> row;
  std::int64_t kept = 0;
  for (std::int64_t i = 0, first = 0; i < A.rows(); ++i) {
    auto const end = A.begin[at(i) + 1];
    row.clear();
    for (auto k = at(first); k < at(end); ++k) row.emplace_back(A.column[k], A.value[k]);
    std::stable_sort(row.begin(), row.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    auto const start = kept;
    for (auto const& [j, a] : row) {
      if (kept > start && A.column[at(kept) - 1] == j) {
        A.value[at(kept) - 1] += a;
        continue;
      }
      A.column[at(kept)] = j;
      A.value[at(kept++)] = a;
    }
    first = end;
    A.begin[at(i) + 1] = kept;
  }
  A.column.resize(at(kept));
  A.value.resize(at(kept));
}

}  // namespace

template <class Exec>
HostCsr own_block(Exec const& exec, DistributedMatrix<Exec> const& A) {
  LocalCsr<Exec> rows;
  std::visit(
      [&]<class Matrix>(Matrix const& stored) {
        (void)make_local_csr(
            exec, A.rows(), A.rows(),
            OwnColumns<Matrix>{{stored}, A.rows(), A.order().old_row, A.order().new_row}, rows);
      },
      A.stored());
  HostCsr own{to_host(exec, rows.begin.view()), to_host(exec, rows.column.view()),
              to_host(exec, rows.value.view())};
  tidy_rows(own);
  return own;
}

HostCsr transposed(HostCsr const& A) {
  HostCsr result;
  auto const n = static_cast<std::size_t>(A.rows());
  result.begin.assign(n + 1, 0);
  for (auto const j : A.column) ++result.begin[at(j) + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.column.resize(A.column.size());
  result.value.resize(A.value.size());
  auto next = result.begin;
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = at(A.begin[i]); k < at(A.begin[i + 1]); ++k) {
      auto const place = at(next[at(A.column[k])]++);
      result.column[place] = static_cast<std::int32_t>(i);
      result.value[place] = A.value[k];
    }
  return result;
}

#define STRATA_INSTANTIATE_HOST_CSR(Space) \
  template HostCsr own_block(Space const&, DistributedMatrix<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_HOST_CSR)

}  // namespace strata::sparse::detail
