// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/direct/detail/Strata_MinimumDegree.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::sparse::detail {
namespace {

// Rows by their degrees: lists that a row can be taken out of.
class DegreeLists {
 public:
  explicit DegreeLists(std::int32_t n)
      : head_(at(n) + 1, none), next_(at(n), none), before_(at(n), none), degree_(at(n), 0) {}
  void put(std::int32_t i, std::int32_t degree) {
    degree_[at(i)] = degree;
    before_[at(i)] = none;
    next_[at(i)] = head_[at(degree)];
    if (next_[at(i)] != none) before_[at(next_[at(i)])] = i;
    head_[at(degree)] = i;
    least_ = std::min(least_, degree);
  }
  void take_out(std::int32_t i) {
    auto const before = before_[at(i)], next = next_[at(i)];
    (before == none ? head_[at(degree_[at(i)])] : next_[at(before)]) = next;
    if (next != none) before_[at(next)] = before;
  }
  std::int32_t take_least() {
    while (head_[at(least_)] == none) ++least_;
    auto const i = head_[at(least_)];
    take_out(i);
    return i;
  }
  std::int32_t degree(std::int32_t i) const { return degree_[at(i)]; }

 private:
  static constexpr std::int32_t none = -1;
  std::vector<std::int32_t> head_, next_, before_, degree_;
  std::int32_t least_ = 0;
};

/// Rows that are left, and elements, which are the rows that an eliminated one couples.
class QuotientGraph {
 public:
  explicit QuotientGraph(HostCsr const& A);
  std::vector<std::int32_t> order();

 private:
  using List = std::vector<std::int32_t>;
  void connect(HostCsr const& A);
  void eliminate(std::int32_t pivot);
  List coupled_by(std::int32_t pivot);
  void subtract_from_elements(List const& rows);
  void update(std::int32_t pivot, std::int32_t row, std::int32_t weight);
  void merge_alike(List const& rows);
  bool are_alike(std::int32_t i, std::int32_t j);
  void absorb(std::int32_t into, std::int32_t row);
  void put_in_order(std::int32_t pivot);
  std::int32_t weight_of(List const& rows) const;

  std::int32_t n_, left_ = 0;
  std::vector<List> rows_, elements_, members_;  // of each row, of each row, of each element
  std::vector<std::int32_t> weight_;             // rows that one stands for; 0: it is gone
  std::vector<std::int32_t> size_;               // of an element: weight of its rows
  std::vector<std::int32_t> outside_;  // of an element: weight of rows not coupled by the pivot
  std::vector<std::int32_t> next_alike_, last_alike_;
  std::vector<std::int64_t> mark_, seen_;
  std::vector<std::uint64_t> hash_;
  std::int64_t stamp_ = 0;
  DegreeLists degrees_;
  List order_, dense_;
};

QuotientGraph::QuotientGraph(HostCsr const& A)
    : n_(static_cast<std::int32_t>(A.rows())),
      rows_(at(n_)),
      elements_(at(n_)),
      members_(at(n_)),
      weight_(at(n_), 1),
      size_(at(n_), 0),
      outside_(at(n_), 0),
      next_alike_(at(n_), -1),
      last_alike_(at(n_)),
      mark_(at(n_), 0),
      seen_(at(n_), 0),
      hash_(at(n_), 0),
      degrees_(n_) {
  connect(A);
}

// The pattern of A + A' without the diagonal and without dense rows.
void QuotientGraph::connect(HostCsr const& A) {
  for (std::int32_t i = 0; i < n_; ++i)
    for (auto k = A.begin[at(i)]; k < A.begin[at(i) + 1]; ++k) {
      auto const j = A.column[at(k)];
      if (i == j) continue;
      rows_[at(i)].push_back(j);
      rows_[at(j)].push_back(i);
    }
  double const most = std::max(16.0, 10 * std::sqrt(static_cast<double>(n_)));
  for (std::int32_t i = 0; i < n_; ++i) {
    auto& own = rows_[at(i)];
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (static_cast<double>(own.size()) <= most) continue;
    dense_.push_back(i);
    weight_[at(i)] = 0;
  }
  for (std::int32_t i = 0; i < n_; ++i) {
    last_alike_[at(i)] = i;
    if (weight_[at(i)] == 0) continue;
    ++left_;
    if (!dense_.empty()) std::erase_if(rows_[at(i)], [&](auto j) { return weight_[at(j)] == 0; });
    degrees_.put(i, static_cast<std::int32_t>(rows_[at(i)].size()));
  }
}

std::int32_t QuotientGraph::weight_of(List const& rows) const {
  std::int32_t sum = 0;
  for (auto const i : rows) sum += weight_[at(i)];
  return sum;
}

// The rows that its elimination couples; its elements are part of that from now on.
auto QuotientGraph::coupled_by(std::int32_t pivot) -> List {
  List coupled;
  ++stamp_;
  mark_[at(pivot)] = stamp_;
  auto const take = [&](List const& from) {
    for (auto const i : from)
      if (weight_[at(i)] > 0 && std::exchange(mark_[at(i)], stamp_) != stamp_) coupled.push_back(i);
  };
  take(rows_[at(pivot)]);
  for (auto const e : elements_[at(pivot)]) {
    take(members_[at(e)]);
    List().swap(members_[at(e)]);
  }
  List().swap(rows_[at(pivot)]);
  List().swap(elements_[at(pivot)]);
  return coupled;
}

// outside_(e) = |L_e \ L_pivot| of all elements that have a coupled row.
void QuotientGraph::subtract_from_elements(List const& rows) {
  ++stamp_;
  for (auto const i : rows)
    for (auto const e : elements_[at(i)]) {
      if (std::exchange(seen_[at(e)], stamp_) != stamp_) outside_[at(e)] = size_[at(e)];
      outside_[at(e)] -= weight_[at(i)];
    }
}

// What a coupled row is coupled with beside the pivot's element of that weight.
void QuotientGraph::update(std::int32_t pivot, std::int32_t row, std::int32_t weight) {
  auto& rows = rows_[at(row)];
  auto& elements = elements_[at(row)];
  std::erase_if(elements, [&](auto e) { return members_[at(e)].empty() || outside_[at(e)] == 0; });
  std::erase_if(rows,
                [&](auto j) { return weight_[at(j)] == 0 || mark_[at(j)] == mark_[at(pivot)]; });
  std::int32_t others = weight_of(rows);
  std::uint64_t hash = static_cast<std::uint64_t>(pivot);
  for (auto const e : elements) others += outside_[at(e)], hash += static_cast<std::uint64_t>(e);
  for (auto const j : rows) hash += static_cast<std::uint64_t>(j);
  elements.push_back(pivot);
  hash_[at(row)] = hash;
  std::int32_t const with_pivot = weight - weight_[at(row)];
  std::int32_t const degree =
      std::min({left_ - weight_[at(row)], degrees_.degree(row) + with_pivot, others + with_pivot});
  degrees_.put(row, std::max(degree, 0));
}

bool QuotientGraph::are_alike(std::int32_t i, std::int32_t j) {
  auto const& rows = rows_[at(i)];
  auto const& elements = elements_[at(i)];
  if (hash_[at(i)] != hash_[at(j)] || rows.size() != rows_[at(j)].size() ||
      elements.size() != elements_[at(j)].size())
    return false;
  ++stamp_;
  for (auto const k : rows) seen_[at(k)] = stamp_;
  for (auto const k : rows_[at(j)])
    if (seen_[at(k)] != stamp_) return false;
  ++stamp_;
  for (auto const e : elements) seen_[at(e)] = stamp_;
  return std::all_of(elements_[at(j)].begin(), elements_[at(j)].end(),
                     [&](auto e) { return seen_[at(e)] == stamp_; });
}

void QuotientGraph::absorb(std::int32_t into, std::int32_t row) {
  weight_[at(into)] += std::exchange(weight_[at(row)], 0);
  next_alike_[at(last_alike_[at(into)])] = row;
  last_alike_[at(into)] = last_alike_[at(row)];
  List().swap(rows_[at(row)]);
  List().swap(elements_[at(row)]);
}

// Rows with the same couplings are one from now on.
void QuotientGraph::merge_alike(List const& rows) {
  List sorted = rows;
  std::sort(sorted.begin(), sorted.end(), [&](auto i, auto j) {
    return std::pair(hash_[at(i)], i) < std::pair(hash_[at(j)], j);
  });
  for (std::size_t a = 0; a < sorted.size(); ++a) {
    auto const i = sorted[a];
    if (weight_[at(i)] == 0) continue;
    std::int32_t joined = 0;
    for (std::size_t b = a + 1; b < sorted.size() && hash_[at(sorted[b])] == hash_[at(i)]; ++b) {
      auto const j = sorted[b];
      if (weight_[at(j)] == 0 || !are_alike(i, j)) continue;
      joined += weight_[at(j)];
      degrees_.take_out(j);
      absorb(i, j);
    }
    if (joined == 0) continue;
    degrees_.take_out(i);
    degrees_.put(i, std::max(0, degrees_.degree(i) - joined));
  }
}

void QuotientGraph::put_in_order(std::int32_t pivot) {
  for (auto i = pivot; i >= 0; i = next_alike_[at(i)]) order_.push_back(i);
}

void QuotientGraph::eliminate(std::int32_t pivot) {
  auto coupled = coupled_by(pivot);
  left_ -= weight_[at(pivot)];
  subtract_from_elements(coupled);
  std::int32_t const weight = weight_of(coupled);
  for (auto const i : coupled) degrees_.take_out(i);
  for (auto const i : coupled) update(pivot, i, weight);
  // rows that are coupled with nothing else go with the pivot
  std::erase_if(coupled, [&](auto i) {
    bool const goes = rows_[at(i)].empty() && elements_[at(i)].size() == 1;
    if (!goes) return false;
    degrees_.take_out(i);
    left_ -= weight_[at(i)];
    absorb(pivot, i);
    return true;
  });
  merge_alike(coupled);
  std::erase_if(coupled, [&](auto i) { return weight_[at(i)] == 0; });
  size_[at(pivot)] = weight_of(coupled);
  members_[at(pivot)] = std::move(coupled);
  weight_[at(pivot)] = 0;
  put_in_order(pivot);
}

auto QuotientGraph::order() -> List {
  while (left_ > 0) eliminate(degrees_.take_least());
  order_.insert(order_.end(), dense_.begin(), dense_.end());
  return std::move(order_);
}

}  // namespace

std::vector<std::int32_t> minimum_degree(HostCsr const& A) { return QuotientGraph(A).order(); }

}  // namespace strata::sparse::detail
