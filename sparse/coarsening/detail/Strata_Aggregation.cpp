// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Aggregation.hpp>

#include <algorithm>
#include <cmath>

namespace strata::sparse::detail {

std::size_t CouplingProblem::position(std::int64_t j) const {
  if (own(j)) return static_cast<std::size_t>(j - first);
  return static_cast<std::size_t>(
      rows.rows() + (std::lower_bound(outside.begin(), outside.end(), j) - outside.begin()));
}

bool CouplingProblem::strong(std::size_t i, std::size_t k) const {
  std::size_t const j = position(rows.column[k]);
  if (j == i || component[i] != component[j]) return false;
  double const size = largest[i] * largest[j];
  return size > 0 && std::abs(rows.value[k]) > strength * std::sqrt(size);
}

std::vector<double> largest_couplings(HostRows const& rows, std::int64_t first) {
  constexpr double dominated = 0.2;
  std::vector<double> largest;
  for (std::size_t i = 0; i + 1 < rows.begin.size(); ++i) {
    double most = 0, sum = 0, diagonal = 0;
    for (auto k = static_cast<std::size_t>(rows.begin[i]);
         k < static_cast<std::size_t>(rows.begin[i + 1]); ++k) {
      double const value = rows.value[k];
      if (rows.column[k] == first + static_cast<std::int64_t>(i)) {
        diagonal += value;
      } else {
        most = std::max(most, std::abs(value));
        sum += std::abs(value);
      }
    }
    largest.push_back(sum < dominated * std::abs(diagonal) ? 0 : most);
  }
  return largest;
}

namespace {

constexpr std::int64_t none = -1;

template <class Step>
void for_each_strong(CouplingProblem const& problem, std::size_t i, Step const& step) {
  auto const& rows = problem.rows;
  for (auto k = static_cast<std::size_t>(rows.begin[i]);
       k < static_cast<std::size_t>(rows.begin[i + 1]); ++k)
    if (problem.strong(i, k)) step(k);
}

// A root and all its neighbours, where all are free.
void take_free_neighbourhoods(CouplingProblem const& problem, Aggregates& result) {
  auto& of = result.of;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] != none) continue;
    bool coupled = false, free = true;
    for_each_strong(problem, i, [&](std::size_t k) {
      coupled = true;
      std::int64_t const j = problem.rows.column[k];
      free = free && (!problem.own(j) || of[problem.position(j)] == none);
    });
    if (!coupled || !free) continue;
    of[i] = result.count();
    for_each_strong(problem, i, [&](std::size_t k) {
      std::int64_t const j = problem.rows.column[k];
      if (problem.own(j)) of[problem.position(j)] = result.count();
    });
    result.component.push_back(problem.component[i]);
  }
}

// The others to the neighbour's aggregate that they are coupled to most.
void join_neighbours(CouplingProblem const& problem, Aggregates& result) {
  auto const before = result.of;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != none) continue;
    double most = 0;
    for_each_strong(problem, i, [&](std::size_t k) {
      std::int64_t const j = problem.rows.column[k];
      if (!problem.own(j) || before[problem.position(j)] == none) return;
      double const size = std::abs(problem.rows.value[k]);
      if (size > most) most = size, result.of[i] = before[problem.position(j)];
    });
  }
}

// What is left, with its free neighbours.
void take_rest(CouplingProblem const& problem, Aggregates& result) {
  auto& of = result.of;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] != none) continue;
    bool coupled = false;
    for_each_strong(problem, i, [&](std::size_t k) {
      coupled = true;
      std::int64_t const j = problem.rows.column[k];
      if (problem.own(j) && of[problem.position(j)] == none)
        of[problem.position(j)] = result.count();
    });
    if (!coupled) continue;
    of[i] = result.count();
    result.component.push_back(problem.component[i]);
  }
}

}  // namespace

Aggregates aggregate(CouplingProblem const& problem) {
  Aggregates result;
  result.of.assign(static_cast<std::size_t>(problem.rows.rows()), none);
  take_free_neighbourhoods(problem, result);
  join_neighbours(problem, result);
  take_rest(problem, result);
  return result;
}

HostRows smoother_of(CouplingProblem const& problem) {
  constexpr double damping = 4.0 / 3;
  auto const& rows = problem.rows;
  HostRows S;
  for (std::size_t i = 0; i + 1 < rows.begin.size(); ++i) {
    std::int64_t const row = problem.first + static_cast<std::int64_t>(i);
    double diagonal = 0, given = 0, sum = 0;
    for (auto k = static_cast<std::size_t>(rows.begin[i]);
         k < static_cast<std::size_t>(rows.begin[i + 1]); ++k) {
      if (rows.column[k] == row) given += rows.value[k];
      if (problem.strong(i, k))
        sum += std::abs(rows.value[k]);
      else if (problem.same(i, k))
        diagonal += rows.value[k];
    }
    double const weight = damping / (sum + std::abs(diagonal));
    bool const usable = std::isfinite(weight) && diagonal * given > 0;
    S.add(row, usable ? 1 - weight * std::copysign(1.0, diagonal) * diagonal : 1);
    if (usable)
      for_each_strong(problem, i, [&](std::size_t k) {
        S.add(rows.column[k], -weight * std::copysign(1.0, diagonal) * rows.value[k]);
      });
    S.end_row();
  }
  return S;
}

}  // namespace strata::sparse::detail
