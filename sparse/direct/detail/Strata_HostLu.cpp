// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/direct/detail/Strata_HostLu.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace strata::sparse::detail {
namespace {

using Index = std::int32_t;

std::vector<Index> inverse_of(std::vector<Index> const& order) {
  std::vector<Index> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[at(order[k])] = static_cast<Index>(k);
  return place;
}

void require_room(double entries, double flops, FactorLimits const& limits) {
  STRATA_REQUIRE(MemoryError, entries <= limits.entries, "direct solver: factors of more than ",
                 entries, " entries, at most ", limits.entries, " are allowed");
  STRATA_REQUIRE(MemoryError, flops <= limits.flops, "direct solver: the factorisation takes ",
                 flops, " operations, at most ", limits.flops, " are allowed");
}

/// The rows of L of a symmetric matrix, one after the other, by its elimination tree.
class SymmetricRows {
 public:
  SymmetricRows(HostCsr const& A, std::vector<Index> const& order)
      : A_(A),
        order_(order),
        place_(inverse_of(order)),
        parent_(order.size(), -1),
        seen_(order.size(), -1),
        path_(order.size()),
        pattern_(order.size()) {}

  std::int64_t rows() const { return static_cast<std::int64_t>(order_.size()); }
  // The columns of row k of L, each after those that it depends on: pattern()[first] on. `take(i,
  // a)` gets A's entries.
  template <class Take>
  std::size_t find(Index k, Take const& take) {
    std::size_t first = pattern_.size();
    seen_[at(k)] = k;
    auto const old = order_[at(k)];
    for (auto p = A_.begin[at(old)]; p < A_.begin[at(old) + 1]; ++p) {
      Index i = place_[at(A_.column[at(p)])];
      if (i > k) continue;
      take(i, A_.value[at(p)]);
      std::size_t length = 0;
      for (; seen_[at(i)] != k; i = parent_[at(i)]) {
        if (parent_[at(i)] < 0) parent_[at(i)] = k;
        path_[length++] = i;
        seen_[at(i)] = k;
      }
      while (length > 0) pattern_[--first] = path_[--length];
    }
    return first;
  }
  std::vector<Index> const& pattern() const { return pattern_; }

 private:
  HostCsr const& A_;
  std::vector<Index> const& order_;
  std::vector<Index> place_, parent_, seen_, path_, pattern_;
};

// Entries of each column of L.
std::vector<std::int64_t> column_counts(HostCsr const& A, std::vector<Index> const& order) {
  SymmetricRows rows(A, order);
  std::vector<std::int64_t> count(order.size(), 0);
  for (Index k = 0; k < rows.rows(); ++k)
    for (auto p = rows.find(k, [](Index, double) {}); p < rows.pattern().size(); ++p)
      ++count[at(rows.pattern()[p])];
  return count;
}

FactorSize size_of(std::vector<std::int64_t> const& count) {
  FactorSize size;
  for (auto const c : count) {
    auto const entries = static_cast<double>(c);
    size.entries += entries + 1;
    size.flops += entries * (entries + 2);
  }
  return size;
}

/// Columns of L that a sparse right-hand side reaches, each after those that change it.
class Reach {
 public:
  Reach(HostLu const& factor, std::vector<Index> const& pivot_of)
      : L_(factor.L), pivot_of_(pivot_of), seen_(pivot_of.size(), -1), found_(pivot_of.size()) {}

  // From the rows of column `j` of A; they are found()[first] on.
  std::size_t from(HostCsr const& columns, Index j, Index stamp) {
    std::size_t first = found_.size();
    for (auto p = columns.begin[at(j)]; p < columns.begin[at(j) + 1]; ++p)
      first = visit(columns.column[at(p)], stamp, first);
    return first;
  }
  std::vector<Index> const& found() const { return found_; }

 private:
  struct Step {
    Index row;
    std::int64_t next;
  };
  std::size_t visit(Index row, Index stamp, std::size_t first) {
    if (seen_[at(row)] == stamp) return first;
    seen_[at(row)] = stamp;
    stack_.push_back({row, begin_of(row)});
    while (!stack_.empty()) {
      auto& step = stack_.back();
      Index const pivot = pivot_of_[at(step.row)];
      if (pivot < 0 || step.next == L_.begin[at(pivot) + 1]) {
        found_[--first] = step.row;
        stack_.pop_back();
        continue;
      }
      Index const below = L_.column[at(step.next++)];
      if (std::exchange(seen_[at(below)], stamp) != stamp)
        stack_.push_back({below, begin_of(below)});
    }
    return first;
  }
  std::int64_t begin_of(Index row) const {
    Index const pivot = pivot_of_[at(row)];
    return pivot < 0 ? 0 : L_.begin[at(pivot)];
  }

  HostCsr const& L_;
  std::vector<Index> const& pivot_of_;
  std::vector<Index> seen_, found_;
  std::vector<Step> stack_;
};

/// One column of the factors after the other, rows of L by A's numbers meanwhile.
class GeneralColumns {
 public:
  GeneralColumns(HostCsr const& A, std::vector<Index> const& order, FactorLimits const& limits)
      : columns_(transposed(A)),
        limits_(limits),
        pivot_of_(order.size(), -1),
        reach_(factor_, pivot_of_),
        x_(order.size(), 0) {
    factor_.column = order;
  }

  HostLu factor() {
    auto const n = static_cast<Index>(factor_.column.size());
    for (Index k = 0; k < n; ++k) add(k);
    for (auto& row : factor_.L.column) row = pivot_of_[at(row)];
    return std::move(factor_);
  }

 private:
  void add(Index k) {
    Index const j = factor_.column[at(k)];
    auto const first = reach_.from(columns_, j, k);
    double largest = 0;
    for (auto p = columns_.begin[at(j)]; p < columns_.begin[at(j) + 1]; ++p) {
      x_[at(columns_.column[at(p)])] += columns_.value[at(p)];
      largest = std::max(largest, std::abs(columns_.value[at(p)]));
    }
    auto const& found = reach_.found();
    for (auto f = first; f < found.size(); ++f) {
      Index const pivot = pivot_of_[at(found[f])];
      if (pivot < 0) continue;
      double const value = x_[at(found[f])];  // (L^-1 A)(pivot, k)
      for (auto l = factor_.L.begin[at(pivot)]; l < factor_.L.begin[at(pivot) + 1]; ++l)
        x_[at(factor_.L.column[at(l)])] -= factor_.L.value[at(l)] * value;
      factor_.U.column.push_back(pivot);
      factor_.U.value.push_back(value * factor_.inverse[at(pivot)]);
    }
    Index const row = choose(first, j);
    take(k, first, row, largest);
    require_room(static_cast<double>(factor_.L.entries() + factor_.U.entries()), 0, limits_);
  }

  // The row of the pivot among those without one.
  Index choose(std::size_t first, Index diagonal) const {
    constexpr double enough = 1e-3;  // off the diagonal pivots cost fill, and x is refined
    Index best = -1;
    double most = -1;
    auto const& found = reach_.found();
    bool has_diagonal = false;
    for (auto f = first; f < found.size(); ++f) {
      if (pivot_of_[at(found[f])] >= 0) continue;
      has_diagonal = has_diagonal || found[f] == diagonal;
      double const size = std::abs(x_[at(found[f])]);
      if (!(size > most)) continue;
      most = size;
      best = found[f];
    }
    bool const takes_diagonal = has_diagonal && std::abs(x_[at(diagonal)]) >= enough * most;
    return takes_diagonal ? diagonal : best;
  }

  void take(Index k, std::size_t first, Index row, double largest) {
    constexpr double least = 1e-14, small = 1e-7;
    if (row < 0) row = next_free();  // an empty column
    double pivot = x_[at(row)];
    if (!(std::abs(pivot) > least * largest)) {
      ++factor_.replaced;
      pivot = largest > 0 ? small * largest : 1;
    }
    pivot_of_[at(row)] = k;
    factor_.row.push_back(row);
    factor_.inverse.push_back(1 / pivot);
    auto const& found = reach_.found();
    for (auto f = first; f < found.size(); ++f) {
      double const value = std::exchange(x_[at(found[f])], 0.0);
      if (pivot_of_[at(found[f])] >= 0 || value == 0) continue;
      factor_.L.column.push_back(found[f]);
      factor_.L.value.push_back(value / pivot);
    }
    x_[at(row)] = 0;
    factor_.L.begin.push_back(factor_.L.entries());
    factor_.U.begin.push_back(factor_.U.entries());
  }

  Index next_free() {
    while (pivot_of_[at(free_)] >= 0) ++free_;
    return free_;
  }

  HostCsr columns_;
  FactorLimits limits_;
  HostLu factor_;
  std::vector<Index> pivot_of_;
  Reach reach_;
  std::vector<double> x_;
  Index free_ = 0;
};

}  // namespace

void HostLu::solve(double const* b, double* x, std::vector<double>& work) const {
  auto const n = L.rows();
  for (std::int64_t k = 0; k < n; ++k) work[at(k)] = b[row[at(k)]];
  for (std::int64_t k = 0; k < n; ++k)  // L
    for (auto p = L.begin[at(k)]; p < L.begin[at(k) + 1]; ++p)
      work[at(L.column[at(p)])] -= L.value[at(p)] * work[at(k)];
  for (std::int64_t k = 0; k < n; ++k) work[at(k)] *= inverse[at(k)];
  for (std::int64_t k = n; k-- > 0;) {  // U: of L' by rows
    if (is_symmetric) {
      double sum = work[at(k)];
      for (auto p = L.begin[at(k)]; p < L.begin[at(k) + 1]; ++p)
        sum -= L.value[at(p)] * work[at(L.column[at(p)])];
      work[at(k)] = sum;
      continue;
    }
    for (auto p = U.begin[at(k)]; p < U.begin[at(k) + 1]; ++p)
      work[at(U.column[at(p)])] -= U.value[at(p)] * work[at(k)];
  }
  for (std::int64_t k = 0; k < n; ++k) x[column[at(k)]] = work[at(k)];
}

FactorSize size_of_factor(HostCsr const& A, std::vector<std::int32_t> const& order) {
  return size_of(column_counts(A, order));
}

std::optional<HostLu> factor_symmetric(HostCsr const& A, std::vector<std::int32_t> const& order,
                                       FactorLimits const& limits) {
  constexpr double least = 1e-14;
  auto const count = column_counts(A, order);
  auto const size = size_of(count);
  require_room(size.entries, size.flops, limits);
  auto const n = order.size();
  HostLu factor;
  factor.row = factor.column = order;
  factor.is_symmetric = true;
  factor.L.begin.resize(n + 1);
  std::partial_sum(count.begin(), count.end(), factor.L.begin.begin() + 1);
  factor.L.column.resize(at(factor.L.begin.back()));
  factor.L.value.resize(factor.L.column.size());
  auto end = std::vector<std::int64_t>(factor.L.begin.begin(), factor.L.begin.end() - 1);
  std::vector<double> y(n, 0), d(n);
  SymmetricRows rows(A, order);
  for (Index k = 0; k < static_cast<Index>(n); ++k) {
    auto const first = rows.find(k, [&](Index i, double a) { y[at(i)] += a; });
    double const a_kk = std::exchange(y[at(k)], 0.0);
    double pivot = a_kk;
    for (auto p = first; p < n; ++p) {  // row k of L: L(0:k, 0:k) l = a
      Index const i = rows.pattern()[p];
      double const value = std::exchange(y[at(i)], 0.0), l = value / d[at(i)];
      auto const stop = end[at(i)];
      for (auto q = factor.L.begin[at(i)]; q < stop; ++q)
        y[at(factor.L.column[at(q)])] -= factor.L.value[at(q)] * value;
      pivot -= l * value;
      factor.L.column[at(stop)] = k;
      factor.L.value[at(stop)] = l;
      ++end[at(i)];
    }
    if (!(pivot > least * a_kk) || !std::isfinite(pivot)) return std::nullopt;
    d[at(k)] = pivot;
  }
  factor.inverse = std::move(d);
  for (auto& entry : factor.inverse) entry = 1 / entry;
  return factor;
}

HostLu factor_general(HostCsr const& A, std::vector<std::int32_t> const& order,
                      FactorLimits const& limits) {
  return GeneralColumns(A, order, limits).factor();
}

}  // namespace strata::sparse::detail
