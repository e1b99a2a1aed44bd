// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_CHOLESKY_HPP
#define STRATA_OOC_CHOLESKY_HPP

#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Pimpl.hpp>
#include <dense/refine/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <ooc/Strata_DeviceTeam.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace strata {
enum class Transport;  // comm/Strata_Transport.hpp
}  // namespace strata

namespace strata::ooc {

class PrecisionMap;
template <class ExecutionSpace>
class TileMatrix;
struct Task;

/// What is kept on a device, and when it is given up; one executor, six policies.
enum class Variant : std::uint8_t {
  Sync,   ///< one stream; every step waits for the one before, nothing is kept
  Async,  ///< several streams, nothing is kept
  V1,     ///< a tile stays on the device while it is updated
  V2,     ///< operands stay until memory is short; the least recently used goes first
  V3,     ///< diagonal tiles stay until their column is done
  V4,     ///< the tile whose next use is furthest goes first; tiles are fetched ahead of their use
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Variant) {
  return enum_names<Variant>("variant", {{Variant::Sync, "sync"},
                                         {Variant::Async, "async"},
                                         {Variant::V1, "v1"},
                                         {Variant::V2, "v2"},
                                         {Variant::V3, "v3"},
                                         {Variant::V4, "v4"}});
}
using strata::name_of;

/// Where finished columns are kept, and taken up from.
struct CheckpointOptions {
  /// A folder for one file per column of tiles; "": no checkpoint. Columns that are there already,
  /// from the first on without a gap, are not factored again: to the same bits on any number of
  /// ranks, devices, streams and bytes. Of several ranks each has one file or two for its tiles of a column, in a folder
  /// that all see, or in one on its host: there the same grid goes on, each rank on the host where it was, and others are
  /// refused. Rungs of the ladder above the first have folders of their own in it.
  /// One factorisation uses it at a time; on file systems that can't lock a folder the user must see
  /// to that.
  ///
  /// A file says what it is of: order, tile size, the precision rule, and a digest of every entry
  /// (see TileMatrix). What differs in any of them is refused in words, with a chance of 2^-64 to be
  /// missed. A covariance that a GPU has evaluated differs from a host's in last bits, and is refused
  /// there; a matrix that has the same bits on both, as from a file, is taken up, its factor then as
  /// accurate but with the bits of neither.
  std::string folder;
};

/// Choices of an out-of-core factorisation.
struct CholeskyOptions {
  Variant variant = Variant::V4;  ///< what is kept on a device
  /// Of each device; 0: 4 on a GPU, on hosts as many as keep all cores busy, but no more than columns of tiles and than the budgets
  /// suffice for; Sync has one.
  /// On hosts each stream's products take one thread where tiles have at most 512 rows, else as many as its execution space has.
  int streams = 0;
  /// See `cholesky_schedule`, of whole tasks; 0: 1, but for V4 the one that moves the fewest bytes in a simulation.
  std::int64_t column_block = 0;
  bool peer_copies = true;  ///< fetch finished tiles from the device that has them
  /// How tiles travel between ranks, the same on each: `Automatic`. `Enqueued` is from the first device of each rank, which each
  /// has alone; `Direct` of tiles on devices needs an MPI that reads their memory.
  Transport transport{};
  int lookahead = 2;             ///< updates ahead of which V4 fetches
  bool ladder = true;            ///< on breakdown or without convergence, go on with the next rung
  CheckpointOptions checkpoint;  ///< where finished columns are kept; none by default
  /// Called by a stream's thread before each task, with super-panels before its last part; what it throws ends the
  /// factorisation.
  std::function<void(Task const&)> on_task;
  /// Called where a stream of this rank has waited for a minute, and each minute from then on, without a message: the rank whose
  /// tile it waits for, and the seconds. What it throws ends the factorisation.
  std::function<void(int rank, double seconds)> on_silence;
};

/// What one device moved.
struct DeviceReport {
  int id = 0;                                        ///< of the device
  std::size_t budget_bytes = 0;                      ///< of the pool of tiles
  std::uint64_t bytes_in = 0, bytes_out = 0;         ///< from and to the host
  std::uint64_t bytes_peer = 0;                      ///< from other devices
  std::int64_t hits = 0, misses = 0, evictions = 0;  ///< of tiles looked for
};

/// One factorisation that was tried: as the matrix came, then with the accuracy of its rule divided by 100, and once
/// more, or with its layers promoted, as often as that goes, where that changes a tile, then in fp64.
struct CholeskyAttempt : FactorAttempt {
  double accuracy = 0;                      ///< of the precision rule; 0: fp64, or layers
  std::array<std::int64_t, 4> histogram{};  ///< tiles in fp64, fp32, fp16, fp8_e4m3
  std::vector<Precision> layers{};          ///< of the rule, or none
};

/// What was done. Columns, bytes and rates are those of the last attempt.
struct CholeskyReport {
  /// Of the matrix, a tile, and rows of tiles; columns of tiles taken from a checkpoint.
  std::int64_t n = 0, tile_size = 0, tiles = 0, first_column = 0;
  Variant variant = Variant::V4;            ///< that was played
  int streams = 0;                          ///< of each device
  std::int64_t column_block = 1;            ///< columns of tiles that were factored together
  int grid_rows = 1, grid_cols = 1;         ///< of the ranks
  std::int64_t super_panel = 0;             ///< columns of tiles; 0: whole tasks
  std::array<std::int64_t, 4> histogram{};  ///< tiles in fp64, fp32, fp16, fp8_e4m3
  std::vector<DeviceReport> devices;        ///< of this rank
  std::size_t room_bytes = 0;               ///< on this rank's host, for tiles of others
  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< to and from other ranks, by this one
  Transport transport{};                             ///< that took them
  std::size_t smallest_budget_bytes = 0;  ///< of a device for these streams and precisions
  double setup_seconds = 0;               ///< for what the team has not: pools, queues, threads
  double factor_seconds = 0;              ///< of the last attempt
  double flop_per_s = 0;                  ///< n^3/3 flops over factor_seconds
  Rung rung = Rung::AsAsked;              ///< that held, or was the last
  std::vector<CholeskyAttempt> attempts;  ///< each rung that was tried, and why it was left
  /// The worst ||L_ik||_F ||L_mk||_F u Nt / (eps ||A||_F) of the rule that the map was made by, with
  /// the norms as they came out; 0 for maps of one precision, and of layers. Above 1 the map was too coarse.
  double operand_excess = 0;

  /// Of all devices, from the host.
  std::uint64_t bytes_in() const;
  /// Of all devices, to the host.
  std::uint64_t bytes_out() const;
  /// Of all devices, from each other.
  std::uint64_t bytes_peer() const;
};

/// The least bytes of tiles that each device needs.
///
/// Throws   ValueError if streams < 1.
std::size_t smallest_budget_bytes(std::int64_t n, std::int64_t tile_size, PrecisionMap const& map,
                                  int streams);

/// A = D^-1 L L^T D^-1 in tiles in host memory, and the teams that factor and solve with it.
///
/// Not to be used by two threads at once. A factor that was given up for a rung which then had no memory is made again
/// when it is next needed; whatever needs it throws MemoryError while it can't be.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class TileFactor {
 public:
  /// Some vectors, column by column.
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;

  /// Prefer `cholesky`. Contract as there.
  TileFactor(DeviceTeam<ExecutionSpace> const& team, TileMatrix<ExecutionSpace>&& matrix,
             CholeskyOptions const& options);
  ~TileFactor();
  TileFactor(TileFactor&&) noexcept;
  TileFactor& operator=(TileFactor&&) noexcept;

  /// Whether there is a factor, else the first minor of A that is not positive.
  Info info() const;
  /// What was done.
  CholeskyReport const& report() const;
  /// The tiles of L, and what D A D was.
  TileMatrix<ExecutionSpace> const& matrix() const;
  /// Use this team from now on, instead of the one that factored the matrix, for everything below.
  ///
  /// Rows of tiles go round its devices; budgets do not count. Residuals use them as well where the
  /// generator may run anywhere (see TileMatrixOptions), else the device of `exec` alone. Half solves
  /// have the same bits on any devices; products with A, and with them refined solutions, have the
  /// same bits from run to run on the same number of devices. A solve that climbs factors with the
  /// team that factored before.
  void solve_on(DeviceTeam<ExecutionSpace> const& team);
  /// The same with a team of the factor's own. Throws ValueError if there is no device.
  void solve_on(Devices const& devices);
  /// Give up the factor for its memory, to be filled again; afterwards it is as if moved from.
  TileMatrix<ExecutionSpace> take() &&;

  /// log det A of the factor: 2 sum (log l_ii - log d_i).
  ///
  /// Throws   ValueError if there is no factor.
  double log_determinant() const;

  /// About the most that rounding in fp64 changes in log det A: `dense::log_determinant_rounding` of the equilibrated
  /// matrix, its generated entries' rounding included. And 2^-52 times the sum of the logarithms' magnitudes, which is
  /// more where the entries are far from 1.
  ///
  /// Sync     fences `exec`. The tiles are read once. Memory: as `half_solve` of `options.probes` columns.
  /// Throws   ValueError if there is no factor; all ranks call it.
  double rounding_error(ExecutionSpace const& exec,
                        dense::LogDeterminantOptions const& options = {}) const;

  /// log det A with the factor's error estimated away. Generator and tiles are read once for each
  /// step of Lanczos.
  ///
  /// Result   as of `dense::log_determinant`, with `rounding_error()`.
  /// Sync     fences `exec`.
  /// Throws   ValueError if there is no factor.
  dense::LogDeterminantEstimate log_determinant(ExecutionSpace const& exec,
                                                dense::LogDeterminantOptions const& options) const;

  /// V = L^-1 D V (NoTrans), so that V^T V is the quadratic form of A^-1, or V = D L^-T V (Trans).
  ///
  /// Shape    V: n x m; 0 <= first_row <= n. Arithmetic in fp64; each tile passes through one of the devices once.
  /// Result   V's rows before `first_row` must be 0 (NoTrans), or are undefined afterwards (Trans): tiles that lie
  ///          wholly before it are passed over. The others have the bits that they have without it.
  /// Sync     fences `exec`.
  /// Memory   of the team: four tiles and n m numbers on each device; where there are several, n m also
  ///          on the host. Throws as `solve`.
  /// Throws   ShapeError if V has another number of rows; ValueError if there is no factor, or first_row is out of
  ///          range.
  void half_solve(ExecutionSpace const& exec, Op op, Block const& V,
                  std::int64_t first_row = 0) const;

  /// Y = A X by the generator. Shape: n x m. Fences `exec`. Throws what the generator throws.
  void apply(ExecutionSpace const& exec, Block const& X, Block const& Y) const;

  /// Solve A X = B, refined in fp64 with residuals by the generator.
  ///
  /// Shape    B, X: n x m Views of rank 2, or of rank 1 for m = 1, of any layout and padding. X may be B, or overlap it
  ///          in any way, but not the View that `from_view` reads.
  /// Result   as of `dense::solve`, with the ladder of `cholesky`: where the refinement does not converge, the matrix is
  ///          rounded anew, more accurately, and factored again. If info() is not ok afterwards, A turned out to be
  ///          indefinite by less than the first tiles could tell.
  /// Sync     fences `exec`.
  /// Memory   of the team on each device a few tiles and 3 n m numbers, and with D > 1 devices (D + 1) n m
  ///          numbers on the host; on `exec`'s device 2 n m and what `dense::refine` needs. What can't be had
  ///          is a MemoryError, after which the factor is as it was; of a rung, the report's obstacle.
  /// I/O      reads the tiles twice and evaluates the generator once for each step; each tile on one
  ///          of the devices.
  /// Throws   ShapeError if B or X has another shape; ValueError if there is no factor, B holds a non-finite number
  ///          or X overlaps that View.
  template <class InView, class OutView>
  [[nodiscard]] dense::SolveReport solve(ExecutionSpace const& exec, InView const& B,
                                         OutView const& X,
                                         dense::RefinementOptions const& options = {}) {
    return solve_strided(exec, dense::strided_matrix<ExecutionSpace, double const>(B),
                         dense::strided_matrix<ExecutionSpace, double>(X), options);
  }

 private:
  dense::SolveReport solve_strided(ExecutionSpace const& exec,
                                   dense::StridedMatrix<double const> const& B,
                                   dense::StridedMatrix<double> const& X,
                                   dense::RefinementOptions const& options);
  struct State;
  Pimpl<State> state_;
};

/// Factor a symmetric positive definite matrix in tiles that may be larger than the devices.
///
/// Every tile gets its updates in the order of the columns, so that the factor has the same bits
/// for every variant, number of devices and streams, and budget. A product of two tiles is made in
/// the lower of their precisions, and is added up in fp32, or in fp64 for tiles in fp64.
///
/// Rounding may make a positive definite matrix indefinite, or too coarse for a solve. A breakdown with
/// tiles below fp64, or a refinement that does not converge, is therefore followed by the next rung of the
/// ladder: the matrix is rounded anew by its generator, more accurately, and factored again. No rung shifts
/// the diagonal, by which a likelihood changes.
///
/// Result   takes the matrix over: its tiles become L's, and its rule the rung's that held. Where
///          none did, info() of the factor holds the first minor of A, found in fp64, that is not
///          positive (without the ladder: of A as it was rounded); the tiles are then undefined.
/// Sync     returns when all is done. One thread for each stream, with instances of its own.
/// Memory   of the team: the budgets; each stream's libraries on top, which may take some 100 MB on a
///          GPU. Nothing where the team has factored such a matrix before.
/// I/O      the report counts the bytes. A checkpoint writes each column's tiles once.
/// Ranks    of a matrix that several ranks hold (`TileMatrixOptions::comm`) each plays its part of a `RankOrder` on
///          their grid, with its own team and options of the same values; each rank gets a final tile that it needs
///          once, in its stored precision, by the thread that makes the call, which is the
///          one that calls MPI (MPI_THREAD_FUNNELED). The factor has the bits of one rank's on any grid. What one rank
///          throws all throw, as an AgreedError.
/// Throws   ValueError for options out of range, no device, or a matrix that is not filled;
///          MemoryError that says the smallest budget, before anything is written, that a higher rung
///          exceeds the matrix's max_bytes, or what can't be had; what a stream threw, once all have
///          ended; IoError from a checkpoint. Where tiles were overwritten the matrix is no longer
///          filled.
/// Source   Ren et al. (paper B), algorithms 2 and 3; deviation: V4, no allocation in the loop, and
///          the ladder, after Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021), without shifts.
template <class ExecutionSpace>
[[nodiscard]] TileFactor<ExecutionSpace> cholesky(DeviceTeam<ExecutionSpace> const& team,
                                                  TileMatrix<ExecutionSpace>&& matrix,
                                                  CholeskyOptions const& options = {});

/// The same with a team of its own, which is released at the end; what solves take stays with the factor.
template <class ExecutionSpace>
[[nodiscard]] TileFactor<ExecutionSpace> cholesky(Devices const& devices,
                                                  TileMatrix<ExecutionSpace>&& matrix,
                                                  CholeskyOptions const& options = {});

}  // namespace strata::ooc

#endif
