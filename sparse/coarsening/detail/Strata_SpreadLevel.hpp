// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SPREAD_LEVEL_HPP
#define STRATA_SPARSE_DETAIL_SPREAD_LEVEL_HPP

#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace strata::sparse::detail {

/// A level that is spread over ranks, on the hosts; each has the numbers of its own rows.
struct SpreadLevel {
  HostRows rows;                         ///< columns are the whole matrix'
  std::vector<std::int64_t> first_node;  ///< first node of each rank, and the end
  int height = 1;                        ///< rows of a node that are taken together
  int width = 0;                         ///< modes; 0: constants
  std::vector<double> modes;             ///< a row's numbers one after the other
  std::vector<double> component;         ///< a row's component, without modes; empty: all in one
  std::vector<double> unit;              ///< as `WholeLevel::unit`
  int block_size = 1;                    ///< unknowns of a node
  bool has_units = false;                ///< rows or columns were multiplied, of any rank
  double share_with_sign = 0;            ///< `share_with_sign` of the finest one without modes

  /// The first row of each rank, and the end.
  std::vector<std::int64_t> first_row() const;
};

/// What a level leads to: P and R between the unknowns as they are given.
struct SpreadCoarsening {
  HostRows P, R;
  SpreadLevel coarse;
};

/// How a level is made coarser.
struct SpreadChoice {
  bool is_classical = false;    ///< rows are chosen, at first
  bool is_symmetric = true;     ///< R is P', else that of the unknowns that are multiplied
  double strength = 0;          ///< strength of rows that are chosen
  double of_aggregates = 0;     ///< strength of rows that are aggregated
  double most_rows = 0;         ///< none where there would be more
  double largest = 0;           ///< eigenvalue of D^-1 A; 0: nothing is known
  std::int64_t least_rows = 0;  ///< rows of a rank; with less the level goes to fewer ranks
};

/// The width of the near-null space, 0 without any. A rank that has no rows need not give what the
/// others give. Collective.
///
/// Throws   ShapeError on all ranks where ranks that have rows give other widths, or ranks other
///          block sizes.
int width_of_modes(Communicator const& comm, std::int64_t rows, NearNullSpace const* given,
                   int block_size);

/// The finest level. Collective; fences. Throws ShapeError where the modes do not fit or are not
/// all ranks', or where a node would be of two ranks; MemoryError; on all ranks.
template <class Exec>
SpreadLevel finest_spread(Exec const& exec, DistributedMatrix<Exec> const& A,
                          LevelFacts<Exec> const& facts);

/// The same aggregates, or chosen rows, as of one rank, whatever the spreading; products are made
/// on the hosts. None where coarsening ends. Collective; fences. Throws MemoryError on all ranks.
template <class Exec>
std::optional<SpreadCoarsening> coarsened(Exec const& exec, Communicator const& comm,
                                          SpreadLevel const& level, SpreadChoice const& choice);

/// The same nodes of `height` rows on fewer ranks, as many as have `least_rows` rows each, the
/// first ones of groups of neighbours; at least one. 0: on the same ranks.
std::vector<std::int64_t> on_fewer_ranks(std::vector<std::int64_t> const& first_node,
                                         std::int64_t least_rows, std::int64_t height = 1);

}  // namespace strata::sparse::detail

#endif
