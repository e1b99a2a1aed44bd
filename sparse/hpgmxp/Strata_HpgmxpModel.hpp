// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPGMXP_MODEL_HPP
#define STRATA_SPARSE_HPGMXP_MODEL_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/comm/Strata_Communicator.hpp>

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
  Update,         ///< updates of the solution, and work between the cycles
};
inline constexpr std::size_t motif_count = 6;  ///< number of values of Motif

/// The matrix of a multigrid level, over all ranks.
struct LevelSize {
  std::int64_t rows = 0, entries = 0;  ///< rows and entries of the matrix
};

/// Whose count of operations.
enum class FlopCount {
  /// count of the paper's code: half a pass for the sweep from zero, the residual at coarse points
  Ornl,
  Reference,  ///< count of the reference code: three passes over every level's matrix
};

/// Bytes of what is stored.
struct StorageBytes {
  double value = 8;        ///< bytes of a number in the inner matrix
  double index = 4;        ///< bytes of a column index in the matrix
  double scalar = 8;       ///< bytes of a number in the inner vectors
  double basis = 8;        ///< bytes of a number in the Krylov basis
  double outer_value = 8;  ///< bytes of a number in the matrix that gives the fp64 residuals
};

/// One number for each motif.
class PerMotif {
 public:
  /// The number of one motif.
  double& operator[](Motif motif) { return values_[static_cast<std::size_t>(motif)]; }
  /// The number of one motif.
  double operator[](Motif motif) const { return values_[static_cast<std::size_t>(motif)]; }
  /// The sum of all motifs.
  double total() const {
    double sum = 0;
    for (double const value : values_) sum += value;
    return sum;
  }
  /// The numbers of all motifs, in the order of `Motif`.
  std::array<double, motif_count>& values() { return values_; }

 private:
  std::array<double, motif_count> values_{};
};

/// Seconds of each motif, and of these the seconds that it waits for other ranks.
struct MotifTimes {
  PerMotif seconds;  ///< all seconds
  PerMotif waiting;  ///< seconds of waiting for halos and for sums over the ranks
};
/// The times of the motifs, from the recorded spans of GMRES-IR with multigrid. The names of the
/// regions tell the motifs apart. A motif waits in the spans `waiting_span` that lie in its own
/// spans.
MotifTimes motif_times(std::vector<RecordedSpan> const& spans);

/// The times of a solve on the slowest rank, which computes longest and so waits least.
struct Breakdown {
  MotifTimes slowest;           ///< times of the slowest rank
  int rank = 0;                 ///< number of the slowest rank
  PerMotif most_waiting;        ///< the longest that any rank waits in a motif
  PerMotif mean_waiting;        ///< the mean of the ranks
  double seconds = 0;           ///< seconds of the solve, on the slowest rank
  std::int64_t iterations = 0;  ///< iterations of the solve
};

/// The breakdown of a solve, from what each rank recorded and how long the solve took there.
/// Collective; all ranks get the same result.
Breakdown breakdown_of(Communicator const& comm, MotifTimes own, double seconds,
                       std::int64_t iterations);

/// One application of the multigrid preconditioner.
PerMotif multigrid_flops(std::vector<LevelSize> const& levels, FlopCount count);
/// Bytes that it reads and writes.
PerMotif multigrid_bytes(std::vector<LevelSize> const& levels, StorageBytes const& storage);

/// A cycle of m iterations, with the residual and the update at its ends.
///
/// Result   SpMV 2 N (m + 1); CGS2 4 n m (m + 1) + 3 n m; updates (7 + 2 m) n; m + 1 applications
///          of multigrid.
PerMotif cycle_flops(std::vector<LevelSize> const& levels, int m, FlopCount count);
/// Bytes that it reads and writes.
PerMotif cycle_bytes(std::vector<LevelSize> const& levels, int m, StorageBytes const& storage);

}  // namespace strata::sparse

#endif
