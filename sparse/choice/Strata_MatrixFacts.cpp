// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/choice/Strata_MatrixFacts.hpp>

#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace strata::sparse {
namespace {

using detail::at, detail::HostCsr;

// Rows that are coupled to a quarter of all, where these are few. Information goes through such
// rows at once, but local methods find an error that is smooth on all others as slowly as ever.
std::vector<std::int64_t> hubs_of(HostCsr const& A) {
  constexpr std::int64_t least_rows = 400;
  constexpr std::size_t few = 16;
  std::vector<std::int64_t> hubs;
  for (std::int64_t i = 0; A.rows() >= least_rows && i < A.rows() && hubs.size() <= few; ++i)
    if (4 * (A.begin[at(i) + 1] - A.begin[at(i)]) > A.rows()) hubs.push_back(i);
  return hubs.size() <= few ? hubs : std::vector<std::int64_t>();
}

/// Searches by breadth through the graph of a matrix, hubs left out.
class BreadthSearch {
 public:
  explicit BreadthSearch(HostCsr const& A) : A_(A), seen_(at(A.rows()), 0) {
    for (auto const hub : hubs_of(A)) seen_[at(hub)] = out;
  }

  struct Found {
    std::int64_t steps = 0, widest = 0, reached = 0, last = 0;
  };
  // From a row through all that can be reached from it.
  Found from(std::int64_t start) {
    ++stamp_;
    queue_.assign(1, static_cast<std::int32_t>(start));
    seen_[at(start)] = stamp_;
    Found found{0, 1, 0, start};
    for (std::size_t first = 0; first < queue_.size(); ++found.steps) {
      std::size_t const end = queue_.size();
      found.widest = std::max(found.widest, static_cast<std::int64_t>(end - first));
      for (; first < end; ++first) visit(queue_[first]);
    }
    found.reached = static_cast<std::int64_t>(queue_.size());
    found.last = queue_.back();
    return found;
  }
  bool has_seen(std::int64_t i) const { return seen_[at(i)] > 0; }

 private:
  static constexpr int out = std::numeric_limits<int>::max();  // seen by every search

  void visit(std::int32_t i) {
    for (auto k = A_.begin[at(i)]; k < A_.begin[at(i) + 1]; ++k) {
      auto const j = A_.column[at(k)];
      if (seen_[at(j)] == stamp_ || seen_[at(j)] == out) continue;
      seen_[at(j)] = stamp_;
      queue_.push_back(j);
    }
  }

  HostCsr const& A_;
  std::vector<int> seen_;
  std::vector<std::int32_t> queue_;
  int stamp_ = 0;
};

// Of the largest parts that rows 0, 1, ... lie in: more than a few are not looked for.
void find_hops(HostCsr const& A, MatrixFacts& facts) {
  constexpr int most_parts = 8;
  BreadthSearch search(A);
  std::int64_t row = 0;
  while (row < A.rows() && search.has_seen(row)) ++row;
  for (int part = 0; part < most_parts && row < A.rows(); ++part) {
    auto const there = search.from(row);
    auto const back = search.from(there.last);
    if (std::max(there.steps, back.steps) > facts.hops) {
      facts.hops = std::max(there.steps, back.steps);
      facts.widest = std::min(there.widest, back.widest);
    }
    if (2 * there.reached >= A.rows()) break;
    while (row < A.rows() && search.has_seen(row)) ++row;
  }
}

/// Sums over a row's entries beside its diagonal.
struct RowSums {
  double diagonal = 0, sum = 0, positive = 0, largest = 0;

  RowSums(HostCsr const& A, std::int64_t i) {
    double above = 0, below = 0;
    for (auto k = A.begin[at(i)]; k < A.begin[at(i) + 1]; ++k) {
      double const value = A.value[at(k)], size = std::abs(value);
      if (A.column[at(k)] == i) {
        diagonal = value;
        continue;
      }
      (value > 0 ? above : below) += size;
      largest = std::max(largest, size);
    }
    sum = above + below;
    positive = diagonal > 0 ? above : below;
  }
};

void look_at_values(HostCsr const& A, MatrixFacts& facts) {
  double dominance = 1, positive = 0, all = 0, spread = 0;
  std::int64_t coupled = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    RowSums const row(A, i);
    all += row.sum;
    positive += row.positive;
    if (row.diagonal != 0) dominance = std::min(dominance, 1 - row.sum / std::abs(row.diagonal));
    if (!(row.sum > 0)) continue;
    spread += row.largest * static_cast<double>(A.begin[at(i) + 1] - A.begin[at(i)] - 1) / row.sum;
    ++coupled;
  }
  facts.dominance = A.rows() > 0 ? dominance : 0;
  facts.positive_share = all > 0 ? positive / all : 0;
  facts.spread = coupled > 0 ? spread / static_cast<double>(coupled) : 1;
}

// |log10 a - m|, m the mean of log10 a, in the mean.
double decades_of(std::span<double const> sizes) {
  if (sizes.empty()) return 0;
  double sum = 0, off = 0;
  for (double const size : sizes) sum += std::log10(size);
  double const mean = sum / static_cast<double>(sizes.size());
  for (double const size : sizes) off += std::abs(std::log10(size) - mean);
  return off / static_cast<double>(sizes.size());
}

// The sum over rows of |sum_j a_ij / s_j| / sum_j |a_ij / s_j|; s without numbers: 1.
double defect_of(HostCsr const& A, std::span<double const> scale) {
  double defect = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0, size = 0;
    for (auto k = A.begin[at(i)]; k < A.begin[at(i) + 1]; ++k) {
      double const term =
          scale.empty() ? A.value[at(k)] : A.value[at(k)] / scale[at(A.column[at(k)])];
      sum += term;
      size += std::abs(term);
    }
    defect += size > 0 ? std::abs(sum) / size : 0;
  }
  return defect;
}

std::int64_t padding_of(detail::HostCsr const& A) {
  constexpr std::int64_t slice = 32;
  std::int64_t padding = 0;
  for (std::int64_t first = 0; first < A.rows(); first += slice) {
    std::int64_t const end = std::min(first + slice, A.rows());
    std::int64_t widest = 0;
    for (auto i = first; i < end; ++i)
      widest = std::max(widest, A.begin[at(i) + 1] - A.begin[at(i)]);
    padding += (end - first) * widest - (A.begin[at(end)] - A.begin[at(first)]);
  }
  return padding;
}

}  // namespace

double jumps_of(detail::HostCsr const& A, std::span<double const> scale) {
  bool const are_units = !(defect_of(A, scale) < defect_of(A, {}));
  return scale.empty() || are_units ? 0 : 2 * decades_of(scale);
}

void look_at_rows(detail::HostCsr const& A, MatrixFacts& facts) {
  facts.padding = padding_of(A);
  look_at_values(A, facts);
  find_hops(A, facts);
}

}  // namespace strata::sparse
