// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_ARRIVED_TILES_HPP
#define STRATA_OOC_TILES_DETAIL_ARRIVED_TILES_HPP

#include <comm/Strata_BlockCyclic.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace strata::ooc::detail {

/// Tiles of a block-cyclic matrix on the ranks that have asked for them, one column of tiles at a
/// time.
class ArrivedTiles {
 public:
  /// Serves tiles of the lower triangle of A. The numbers of A must not change.
  explicit ArrivedTiles(BlockCyclic A);

  /// Tiles of one column arrive on their ranks; those that were there before are given up.
  /// Collective.
  ///
  /// Memory   of this rank's tiles, and what `BlockCyclic::fetch` needs; it is kept. Throws as
  ///          that.
  void bring(std::vector<WholeBlock> const& tiles);

  /// block = the tile whose first entry is (row, col), which must have arrived. Where one rank has
  /// all of A, it may be any tile, from several threads at once. Above the diagonal zeros.
  void read(std::int64_t row, std::int64_t col, HostBlock const& block) const;

  /// A.
  BlockCyclic const& matrix() const { return A_; }

 private:
  using Numbers = Kokkos::View<double*, Kokkos::HostSpace>;

  BlockCyclic A_;
  Numbers numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, double*> here_;  // by first entries
};

}  // namespace strata::ooc::detail

#endif
