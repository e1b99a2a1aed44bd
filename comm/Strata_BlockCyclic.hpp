// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLOCK_CYCLIC_HPP
#define STRATA_BLOCK_CYCLIC_HPP

#include <Kokkos_Core.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace strata {

class Communicator;

/// A grid of processes and this one's coordinates in it, as BLACS' gridinfo gives them. row and col
/// are -1 on a rank outside of the grid. The other numbers of such a rank are not read.
struct ProcessGrid {
  int rows = 1;  ///< P
  int cols = 1;  ///< Q
  int row = 0;   ///< row of this process, from 0
  int col = 0;   ///< column of this process, from 0
};

/// A block of a matrix, and a rank that has it or wants it as a whole.
struct WholeBlock {
  std::int64_t row = 0, col = 0;    ///< row and column of its first entry
  std::int64_t rows = 0, cols = 0;  ///< rows and columns of the block
  bool is_lower = false;            ///< only entries (i, j) of the matrix with i >= j
  int rank = 0;                     ///< the rank that has it, or wants it
};

/// A matrix of doubles that ranks hold in ScaLAPACK's two-dimensional block-cyclic form. Row i
/// belongs to row (i / MB + RSRC) mod P of the grid, column j to column (j / NB + CSRC) mod Q.
///
/// It keeps the pointer to this rank's numbers, which stay the caller's, in host memory. Copies
/// share their memory for messages. All members but those that say so are collective.
///
/// Source   Blackford et al., ScaLAPACK Users' Guide, SIAM 1997, chapter 4.
class BlockCyclic {
 public:
  /// Describes a matrix by ScaLAPACK's descriptor: DTYPE, CTXT (not read), M, N, MB, NB, RSRC,
  /// CSRC, LLD.
  ///
  /// Shape    A: on each process of the grid LLD x its columns, by columns; nullptr where it has
  ///          none, and on ranks outside of the grid, whose descriptor is not read. Any blocks, any
  ///          first process, any LLD that holds the rows.
  /// Throws   ValueError, on all ranks, with the numbers: for a descriptor out of range; a
  ///          descriptor that differs from another rank's in more than LLD; a grid of another
  ///          number of processes; two processes at the same coordinates; no memory where there are
  ///          blocks.
  BlockCyclic(std::shared_ptr<Communicator const> comm, ProcessGrid const& grid,
              std::span<int const, 9> descriptor, double* A);
  /// The same for ScaLAPACK with wide integers.
  BlockCyclic(std::shared_ptr<Communicator const> comm, ProcessGrid const& grid,
              std::span<std::int64_t const, 9> descriptor, double* A);

  /// The m x n submatrix whose first entry is (row, col); ScaLAPACK's sub(A), counted from 0. Not
  /// collective.
  ///
  /// Throws   ShapeError if it is not inside the matrix.
  BlockCyclic part(std::int64_t row, std::int64_t col, std::int64_t m, std::int64_t n) const;

  std::int64_t rows() const { return rows_; }  ///< rows of the matrix
  std::int64_t cols() const { return cols_; }  ///< columns of the matrix
  /// The ranks that hold it.
  std::shared_ptr<Communicator const> const& comm() const { return comm_; }

  /// Each block that is wanted, on the rank that wants it.
  ///
  /// Shape    blocks: the same on all ranks. numbers[b]: rows x cols numbers without gaps where
  ///          this is blocks[b].rank; not read elsewhere.
  /// Result   the entries of the block; above the diagonal of one that is_lower nothing is written.
  /// Memory   two messages: what one rank has of the blocks of another. MPI's steps are an exchange
  ///          in pairs.
  /// Throws   MemoryError on all ranks; ShapeError for a block that is not inside the matrix.
  void fetch(std::span<WholeBlock const> blocks, std::span<double* const> numbers) const;
  /// The other way round: each block from the rank that has it to those whose numbers it is.
  /// Contract as for `fetch`.
  void give(std::span<WholeBlock const> blocks, std::span<double const* const> numbers) const;

  /// What this rank has of a block, to its place in `numbers`, and from there. Not collective; from
  /// any thread.
  void read_own(WholeBlock const& block, double* numbers) const;
  /// The other half of `read_own`.
  void write_own(WholeBlock const& block, double const* numbers) const;

  /// Whether this rank's memory and the other's have an entry in common, or may have one. Not
  /// collective.
  bool overlaps(BlockCyclic const& other) const;

 private:
  // One dimension: blocks of indices go round `count` processes.
  struct Axis {
    std::int64_t size = 0, block = 1;
    int count = 1, first = 0;
    std::int64_t below(std::int64_t end, int process) const;
    std::int64_t local(std::int64_t index) const;
    template <class F>
    void for_each_run(int process, std::int64_t begin, std::int64_t end, F const& f) const;
  };
  struct Process {
    int row = -1, col = -1;
  };
  using Numbers = Kokkos::View<double*, Kokkos::HostSpace>;
  struct Messages {
    Numbers out, in;
  };

  using Descriptor = std::array<std::int64_t, 9>;
  void check(ProcessGrid const& grid, Descriptor const& descriptor) const;
  void require_inside(WholeBlock const& block) const;
  std::int64_t count(Process const& process, WholeBlock const& block) const;
  template <class F>
  void for_each_run(Process const& process, WholeBlock const& block, F const& f) const;
  double* local(std::int64_t i, std::int64_t j) const;
  template <class Read, class Write>
  void exchange(std::span<WholeBlock const> blocks, bool to_whole, Read const& read,
                Write const& write) const;

  std::shared_ptr<Communicator const> comm_;
  Axis row_axis_, col_axis_;
  std::int64_t row_ = 0, col_ = 0, rows_ = 0, cols_ = 0;  // the part
  std::int64_t ld_ = 1;
  double* data_ = nullptr;
  std::shared_ptr<std::vector<Process> const> processes_;  // of the ranks
  std::shared_ptr<Messages> messages_;
};

}  // namespace strata

#endif
