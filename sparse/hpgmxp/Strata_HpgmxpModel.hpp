// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPGMXP_MODEL_HPP
#define STRATA_SPARSE_HPGMXP_MODEL_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// The operations that the benchmark's two public codes credit, and the least memory traffic of
// Strata's kernels. Both are per restart cycle of m iterations, of all ranks.
namespace strata::sparse {

/// The parts of a solve that are timed and counted by themselves.
enum class Motif {
  Multiply,       ///< products with the finest matrix
  GaussSeidel,    ///< sweeps of all levels
  Restrict,       ///< residuals at the coarse points
  Prolong,        ///< corrections from coarse points
  Orthogonalise,  ///< CGS2
  Update,         ///< of the solution and between the cycles
};
inline constexpr std::size_t motif_count = 6;  ///< of Motif

/// The matrix of a multigrid level, over all ranks.
struct LevelSize {
  std::int64_t rows = 0, entries = 0;  ///< of the matrix
};

/// Whose count of operations.
enum class FlopCount {
  Ornl,  ///< of the paper's code: half a pass for the sweep from zero, the residual at coarse points
  Reference,  ///< of the reference code: three passes over every level's matrix
};

/// Bytes of what is stored.
struct StorageBytes {
  double value = 8;        ///< of the matrix inside
  double index = 4;        ///< of a column in the matrix
  double scalar = 8;       ///< of the vectors inside
  double basis = 8;        ///< of a number in the Krylov basis
  double outer_value = 8;  ///< of the matrix that gives the fp64 residuals
};

/// One number for each motif.
class PerMotif {
 public:
  /// Of one motif.
  double& operator[](Motif motif) { return values_[static_cast<std::size_t>(motif)]; }
  /// Of one motif.
  double operator[](Motif motif) const { return values_[static_cast<std::size_t>(motif)]; }
  /// Of all motifs.
  double total() const {
    double sum = 0;
    for (double const value : values_) sum += value;
    return sum;
  }

 private:
  std::array<double, motif_count> values_{};
};

/// Seconds of what was recorded of GMRES-IR with multigrid, by the names of the regions.
PerMotif motif_seconds(std::vector<RecordedSpan> const& spans);

/// One application of the multigrid preconditioner.
PerMotif multigrid_flops(std::vector<LevelSize> const& levels, FlopCount count);
/// Bytes that it reads and writes.
PerMotif multigrid_bytes(std::vector<LevelSize> const& levels, StorageBytes const& storage);

/// A cycle of m iterations, with the residual and the update at its ends.
///
/// Result   SpMV 2 N (m + 1); CGS2 4 n m (m + 1) + 3 n m; updates (7 + 2 m) n; m + 1 applications of multigrid.
PerMotif cycle_flops(std::vector<LevelSize> const& levels, int m, FlopCount count);
/// Bytes that it reads and writes.
PerMotif cycle_bytes(std::vector<LevelSize> const& levels, int m, StorageBytes const& storage);

}  // namespace strata::sparse

#endif
