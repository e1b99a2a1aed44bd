// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_AGGREGATION_HPP
#define STRATA_SPARSE_DETAIL_AGGREGATION_HPP

#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// What strength of coupling needs: this rank's rows, and how large other ranks' rows are.
struct CouplingProblem {
  HostRows const& rows;
  std::int64_t first = 0;                    ///< global number of row 0
  std::vector<std::int64_t> const& outside;  ///< columns of other ranks, ascending
  std::vector<double>
      largest;  ///< off the diagonal; of each row, then of `outside`; 0: dominated by it
  std::vector<double>
      component;  ///< the unknown of its node that each is: none are aggregated together
  double strength = 0;

  bool own(std::int64_t j) const { return j >= first && j < first + rows.rows(); }
  /// Position of a global column in the lists.
  std::size_t position(std::int64_t j) const;
  /// Whether entry k, of row i, is of one component; and strong, and off the diagonal.
  bool same(std::size_t i, std::size_t k) const {
    return component[i] == component[position(rows.column[k])];
  }
  bool strong(std::size_t i, std::size_t k) const;
};

struct Aggregates {
  std::vector<std::int64_t> of;   ///< each row's aggregate, -1: none
  std::vector<double> component;  ///< component of each aggregate
  std::int64_t count() const { return static_cast<std::int64_t>(component.size()); }
};

/// The largest |a_ij| off the diagonal of each row; 0 where all of them together are less than a
/// fifth of the diagonal, so that smoothing alone reduces the error there.
std::vector<double> largest_couplings(HostRows const& rows, std::int64_t first);

/// Vanek's three passes in row order, within the rank. Rows without a strong coupling have no
/// aggregate.
Aggregates aggregate(CouplingProblem const& problem);

/// (I - w D^-1 A_F) of the rows, global columns; the unit matrix' row where D is 0 or not finite.
HostRows smoother_of(CouplingProblem const& problem);

}  // namespace strata::sparse::detail

#endif
