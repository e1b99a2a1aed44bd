// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_CHOLESKY_HPP
#define STRATA_OOC_CHOLESKY_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Pimpl.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::ooc {

template <class ExecutionSpace>
class TileMatrix;

/// A = D^-1 L L^T D^-1 in tiles in host memory, and the teams that factor and solve with it.
///
/// Not to be used by two threads at once. A factor may have been given up for a rung that then had
/// no memory. It is made again when it is next needed. While it can't be made, whatever needs it
/// throws MemoryError.
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
  /// Uses this team from now on for everything below, instead of the team that factored the matrix.
  ///
  /// Rows of tiles go round its devices; budgets do not count. Residuals use them as well where the
  /// generator may run anywhere (see TileMatrixOptions), else the device of `exec` alone. Half
  /// solves have the same bits on any devices. Products with A, and so refined solutions, have the
  /// same bits in each run on the same number of devices. A solve that climbs factors with the team
  /// that factored before.
  void solve_on(DeviceTeam<ExecutionSpace> const& team);
  /// The same with a team that the factor makes for itself. Throws ValueError if there is no
  /// device.
  void solve_on(Devices const& devices);
  /// Give up the factor for its memory, to be filled again; afterwards it is as if moved from.
  TileMatrix<ExecutionSpace> take() &&;

  /// log det A of the factor: 2 sum (log l_ii - log d_i).
  ///
  /// Throws   ValueError if there is no factor.
  double log_determinant() const;

  /// About the most that rounding in fp64 changes in log det A: `dense::log_determinant_rounding`
  /// of the equilibrated matrix, its generated entries' rounding included. And 2^-52 times the sum
  /// of the logarithms' magnitudes, which is more where the entries are far from 1.
  ///
  /// Sync     fences `exec`. The tiles are read once. Memory: as `half_solve` of `options.probes`
  ///          columns.
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
  /// Shape    V: n x m; 0 <= first_row <= n. Arithmetic in fp64; each tile passes through one of
  ///          the devices once.
  /// Result   V's rows before `first_row` must be 0 (NoTrans), or are undefined afterwards (Trans):
  ///          tiles that lie wholly before it are passed over. The others have the bits that they
  ///          have without it.
  /// Sync     fences `exec`.
  /// Memory   of the team: four tiles and n m numbers on each device; where there are several, n m
  ///          also on the host. Throws as `solve`.
  /// Throws   ShapeError if V has another number of rows; ValueError if there is no factor, or
  ///          first_row is out of range.
  void half_solve(ExecutionSpace const& exec, Op op, Block const& V,
                  std::int64_t first_row = 0) const;

  /// Y = A X by the generator. Shape: n x m. Fences `exec`. Throws what the generator throws.
  void apply(ExecutionSpace const& exec, Block const& X, Block const& Y) const;

  /// Solve A X = B, refined in fp64 with residuals by the generator.
  ///
  /// Shape    B, X: n x m Views of rank 2, or of rank 1 for m = 1, of any layout and padding. X may
  ///          be B, or overlap it in any way, but not the View that `from_view` reads.
  /// Result   as of `dense::solve`, with the ladder of `cholesky`: where the refinement does not
  ///          converge, the matrix is rounded anew, more accurately, and factored again. If info()
  ///          is not ok afterwards, A turned out to be indefinite by less than the first tiles
  ///          could tell.
  /// Sync     fences `exec`.
  /// Memory   of the team on each device a few tiles and 3 n m numbers, and with D > 1 devices (D +
  ///          1) n m numbers on the host; on `exec`'s device 2 n m and what `dense::refine` needs.
  ///          What can't be had is a MemoryError, after which the factor is as it was; of a rung,
  ///          the report's obstacle.
  /// I/O      reads the tiles twice and evaluates the generator once for each step; each tile on
  ///          one of the devices.
  /// Throws   ShapeError if B or X has another shape; ValueError if there is no factor, B holds a
  ///          non-finite number or X overlaps that View.
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
/// Every tile gets its updates in the order of the columns. So the factor has the same bits for
/// every variant, number of devices and streams, and budget. A product of two tiles is made in the
/// lower of their precisions, and is added up in fp32, or in fp64 for tiles in fp64. Products of
/// integers (int8x6 to int8x16) are added up exactly in each visit to a tile, and rounded once at
/// the visit's end. If a row's integers outgrow the bound that its diagonal entry sets, info()
/// names the leading minor that ends with this row.
///
/// Rounding may make a positive definite matrix indefinite, or too coarse for a solve. Therefore
/// the next rung of the ladder follows a breakdown with tiles below fp64, or a refinement that does
/// not converge. The generator rounds the matrix anew, more accurately, and it is factored again.
/// No rung shifts the diagonal, by which a likelihood changes.
///
/// Result   takes the matrix over: its tiles become L's, and its rule the rung's that held. Where
///          none did, info() of the factor holds the first minor of A, found in fp64, that is not
///          positive (without the ladder: of A as it was rounded); the tiles are then undefined.
/// Sync     returns when all is done. One thread for each stream, with instances of its own.
/// Memory   of the team: the budgets; each stream's libraries on top, which may take some 100 MB on
///          a GPU. Nothing where the team has factored such a matrix before.
/// I/O      the report counts the bytes. A checkpoint writes each column's tiles once.
/// Ranks    of a matrix that several ranks hold (`TileMatrixOptions::comm`) each plays its part of
///          a `RankOrder` on their grid, with its own team and options of the same values; each
///          rank gets a final tile that it needs once, in its stored precision, by the thread that
///          makes the call, which is the one that calls MPI (MPI_THREAD_FUNNELED). The factor has
///          the bits of one rank's on any grid; by integers, of one rank's with super-panels of the
///          same width. What one rank throws all throw, as an AgreedError.
/// Throws   ValueError for options out of range, no device, or a matrix that is not filled;
///          MemoryError that says the smallest budget, before anything is written, that a higher
///          rung exceeds the matrix's max_bytes, or what can't be had; what a stream threw, once
///          all have ended; IoError from a checkpoint. Where tiles were overwritten the matrix is
///          no longer filled.
/// Source   Ren et al. (paper B), algorithms 2 and 3; deviation: V4, no allocation in the loop, and
///          the ladder, after Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021), without shifts.
template <class ExecutionSpace>
[[nodiscard]] TileFactor<ExecutionSpace> cholesky(DeviceTeam<ExecutionSpace> const& team,
                                                  TileMatrix<ExecutionSpace>&& matrix,
                                                  CholeskyOptions const& options = {});

/// The same with a team of its own, which is released at the end; what solves take stays with the
/// factor.
template <class ExecutionSpace>
[[nodiscard]] TileFactor<ExecutionSpace> cholesky(Devices const& devices,
                                                  TileMatrix<ExecutionSpace>&& matrix,
                                                  CholeskyOptions const& options = {});

}  // namespace strata::ooc

#endif
