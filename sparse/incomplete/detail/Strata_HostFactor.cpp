// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/incomplete/detail/Strata_HostFactor.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::sparse::detail {
namespace {

using Index = std::int32_t;

// A row whose columns are a sorted list in an array: the next one of each, and the row's end.
class LinkedRow {
 public:
  explicit LinkedRow(Index n) : n_(n), next_(at(n) + 1), level_(at(n), 0) {}

  void start(HostCsr const& A, Index i) {
    Index last = n_;  // the head is one beyond the columns
    bool has_diagonal = false;
    next_[at(n_)] = n_;
    auto const append = [&](Index j) {
      next_[at(last)] = j;
      next_[at(j)] = n_;
      level_[at(j)] = 0;
      last = j;
    };
    for (auto k = A.begin[at(i)]; k < A.begin[at(i) + 1]; ++k) {
      Index const j = A.column[at(k)];
      if (j > i && !has_diagonal) append(i);
      has_diagonal = has_diagonal || j >= i;
      append(j);
    }
    if (!has_diagonal) append(i);
  }
  Index first() const { return next_[at(n_)]; }
  Index next(Index j) const { return next_[at(j)]; }
  int level(Index j) const { return level_[at(j)]; }
  // Column j at this level, or the lower one that it has; `behind`: a column of the row before it.
  void put(Index behind, Index j, int level) {
    while (next_[at(behind)] < j) behind = next_[at(behind)];
    if (next_[at(behind)] == j) {
      level_[at(j)] = std::min(level_[at(j)], level);
      return;
    }
    next_[at(j)] = std::exchange(next_[at(behind)], j);
    level_[at(j)] = level;
  }

 private:
  Index n_;
  std::vector<Index> next_;
  std::vector<int> level_;
};

// The pattern with a diagonal, where A's own has one.
bool has_diagonal(HostCsr const& A) {
  for (std::int64_t i = 0; i < A.rows(); ++i)
    if (!std::binary_search(A.column.begin() + A.begin[at(i)],
                            A.column.begin() + A.begin[at(i) + 1], static_cast<Index>(i)))
      return false;
  return true;
}

// A's values where it has entries, zeros elsewhere: both rows have ascending columns.
void spread_values(HostCsr const& A, Index i, HostCsr& F) {
  auto k = A.begin[at(i)];
  for (auto f = F.begin[at(i)]; f < F.entries(); ++f) {
    bool const is_own = k < A.begin[at(i) + 1] && A.column[at(k)] == F.column[at(f)];
    F.value.push_back(is_own ? A.value[at(k++)] : 0.0);
  }
}

// U of the rows above as IC makes them, and which of them have an entry in the column that comes
// next.
class ColumnLists {
 public:
  ColumnLists(HostCsr const& U, std::int64_t n)
      : U_(U), head_(at(n), -1), next_(at(n), -1), place_(at(n)) {}
  Index first(Index i) const { return head_[at(i)]; }
  Index next(Index k) const { return next_[at(k)]; }
  std::int64_t place(Index k) const { return place_[at(k)]; }
  // Row k's entries from `where` on are still to be used.
  void put(Index k, std::int64_t where) {
    place_[at(k)] = where;
    if (where == U_.begin[at(k) + 1]) return;
    Index const j = U_.column[at(where)];
    next_[at(k)] = std::exchange(head_[at(j)], k);
  }

 private:
  HostCsr const& U_;
  std::vector<Index> head_, next_;
  std::vector<std::int64_t> place_;  // of row k's entry in the column that comes next
};

// The upper triangle, without the diagonal, which goes to `d`.
HostCsr upper_part(HostCsr const& A, std::vector<double>& d) {
  HostCsr U;
  U.begin.reserve(at(A.rows()) + 1);
  U.column.reserve(at(A.entries() / 2));
  U.value.reserve(at(A.entries() / 2));
  d.assign(at(A.rows()), 0);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (auto k = A.begin[at(i)]; k < A.begin[at(i) + 1]; ++k) {
      if (A.column[at(k)] == i) d[at(i)] = A.value[at(k)];
      if (A.column[at(k)] <= i) continue;
      U.column.push_back(A.column[at(k)]);
      U.value.push_back(A.value[at(k)]);
    }
    U.begin.push_back(U.entries());
  }
  return U;
}

// In place: row i of U becomes d_i^-1 (a_i - sum_k u_ki d_k u_k) on its pattern, d the pivots.
// False at a pivot that is too small.
bool factor_upper(HostCsr& U, std::vector<double>& d, double shift) {
  constexpr double least = 1e-8;
  auto const n = U.rows();
  ColumnLists lists(U, n);
  std::vector<std::int64_t> where(at(n), -1);
  for (Index i = 0; i < n; ++i) {
    double const a_ii = (1 + shift) * d[at(i)];
    double pivot = a_ii;
    auto const begin = U.begin[at(i)], end = U.begin[at(i) + 1];
    for (auto f = begin; f < end; ++f) where[at(U.column[at(f)])] = f;
    for (Index k = lists.first(i), after = -1; k >= 0; k = after) {
      after = lists.next(k);
      auto const place = lists.place(k);
      double const factor = U.value[at(place)] * d[at(k)];  // u_ki d_k
      pivot -= factor * U.value[at(place)];
      for (auto f = place + 1; f < U.begin[at(k) + 1]; ++f) {
        auto const target = where[at(U.column[at(f)])];
        if (target >= 0) U.value[at(target)] -= factor * U.value[at(f)];
      }
      lists.put(k, place + 1);
    }
    if (!(pivot > least * a_ii) || !std::isfinite(pivot)) return false;
    d[at(i)] = pivot;
    for (auto f = begin; f < end; ++f) {
      where[at(U.column[at(f)])] = -1;
      U.value[at(f)] /= pivot;
    }
    lists.put(i, begin);
  }
  return true;
}

// Each row's columns the other way round.
void reverse_rows(HostCsr& U) {
  for (std::int64_t i = 0; i < U.rows(); ++i) {
    auto const first = U.begin[at(i)], end = U.begin[at(i) + 1];
    std::reverse(U.column.begin() + first, U.column.begin() + end);
    std::reverse(U.value.begin() + first, U.value.begin() + end);
  }
}

std::vector<double> inverted(std::vector<double> d) {
  for (auto& entry : d) entry = 1 / entry;
  return d;
}

// What ILU's rows go to as they are made: F is overwritten by I + L, and by D (I + U) unscaled.
struct RowElimination {
  HostCsr& F;
  std::vector<std::int64_t> diagonal;  // of each row, where it stands
  std::vector<std::int64_t> where;     // of a column in the row at hand
  std::int64_t replaced = 0;

  void eliminate(Index i) {
    auto const begin = F.begin[at(i)], end = F.begin[at(i) + 1];
    double largest = 0;
    for (auto f = begin; f < end; ++f) {
      where[at(F.column[at(f)])] = f;
      largest = std::max(largest, std::abs(F.value[at(f)]));
    }
    auto f = begin;
    for (; F.column[at(f)] < i; ++f) {
      Index const k = F.column[at(f)];
      double const factor = F.value[at(f)] /= F.value[at(diagonal[at(k)])];
      for (auto g = diagonal[at(k)] + 1; g < F.begin[at(k) + 1]; ++g) {
        auto const target = where[at(F.column[at(g)])];
        if (target >= 0) F.value[at(target)] -= factor * F.value[at(g)];
      }
    }
    diagonal[at(i)] = f;
    mend(F.value[at(f)], largest);
    for (auto g = begin; g < end; ++g) where[at(F.column[at(g)])] = -1;
  }
  void mend(double& pivot, double largest) {
    if (std::abs(pivot) >= 0x1p-20 * largest && pivot != 0) return;
    ++replaced;
    double const size = largest > 0 ? 0x1p-10 * largest : 1;
    pivot = pivot < 0 ? -size : size;
  }
};

}  // namespace

HostCsr filled_pattern(HostCsr const& A, int fill) {
  if (fill == 0 && has_diagonal(A)) return A;
  auto const n = static_cast<Index>(A.rows());
  HostCsr F;
  std::vector<int> level;              // of each entry of F
  std::vector<std::int64_t> diagonal;  // of each row, where it stands
  LinkedRow row(n);
  for (Index i = 0; i < n; ++i) {
    row.start(A, i);
    for (Index k = row.first(); k < i; k = row.next(k)) {
      if (row.level(k) >= fill) continue;
      for (auto f = diagonal[at(k)] + 1; f < F.begin[at(k) + 1]; ++f) {
        int const made = row.level(k) + level[at(f)] + 1;
        if (made <= fill) row.put(k, F.column[at(f)], made);
      }
    }
    for (Index j = row.first(); j < n; j = row.next(j)) {
      if (j == i) diagonal.push_back(F.entries());
      F.column.push_back(j);
      level.push_back(row.level(j));
    }
    spread_values(A, i, F);
    F.begin.push_back(F.entries());
  }
  return F;
}

HostFactor incomplete_cholesky(HostCsr const& A, int fill) {
  constexpr double first_shift = 1e-3, growth = 4, last_shift = 1e3;
  HostFactor factor;
  bool const is_own = fill == 0 && has_diagonal(A);
  auto const filled = is_own ? HostCsr() : filled_pattern(A, fill);
  HostCsr const& pattern = is_own ? A : filled;
  std::vector<double> d;
  factor.U = upper_part(pattern, d);
  while (!factor_upper(factor.U, d, factor.shift)) {
    factor.shift = factor.shift == 0 ? first_shift : growth * factor.shift;
    factor.U = upper_part(pattern, d);
    if (factor.shift < last_shift) continue;
    factor.U = HostCsr{std::vector<std::int64_t>(at(A.rows()) + 1, 0), {}, {}};
    break;  // not positive definite: the diagonal alone
  }
  factor.L = transposed(factor.U);
  reverse_rows(factor.U);
  factor.inverse = inverted(std::move(d));
  return factor;
}

HostFactor incomplete_lu(HostCsr const& A, int fill) {
  HostFactor factor;
  auto F = filled_pattern(A, fill);
  auto const n = F.rows();
  RowElimination work{F, std::vector<std::int64_t>(at(n)), std::vector<std::int64_t>(at(n), -1)};
  for (Index i = 0; i < n; ++i) work.eliminate(i);
  factor.replaced = work.replaced;
  std::vector<double> d(at(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto const middle = work.diagonal[at(i)];
    d[at(i)] = F.value[at(middle)];
    for (auto f = F.begin[at(i)]; f < F.begin[at(i) + 1]; ++f) {
      if (f == middle) continue;
      auto& to = f < middle ? factor.L : factor.U;
      to.column.push_back(F.column[at(f)]);
      to.value.push_back(f < middle ? F.value[at(f)] : F.value[at(f)] / d[at(i)]);
    }
    factor.L.begin.push_back(factor.L.entries());
    factor.U.begin.push_back(factor.U.entries());
  }
  reverse_rows(factor.U);
  factor.inverse = inverted(std::move(d));
  return factor;
}

}  // namespace strata::sparse::detail
