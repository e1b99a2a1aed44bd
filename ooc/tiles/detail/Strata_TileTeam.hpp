// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TILES_DETAIL_TILE_TEAM_HPP
#define STRATA_OOC_TILES_DETAIL_TILE_TEAM_HPP

#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_Progress.hpp>
#include <ooc/tiles/detail/Strata_TileFeed.hpp>

#include <Kokkos_Core.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace strata::ooc::detail {

/// Devices of a machine that pass together over the tiles of a factor or of its matrix, a thread
/// each.
///
/// Rows of tiles, backwards columns, go round the devices. So each tile is copied to one of them
/// only. Blocks of vectors pass between devices through host memory. Every block gets its updates
/// in the order of the columns, in blocks stored alike. So a substitution has the same bits on any
/// number of devices.
///
/// If several ranks hold the matrix, each rank has all vectors and works with the device of `exec`.
/// In substitutions it uses its own tiles. In products it uses the tiles of the rows that it makes,
/// each tile for both triangles. All ranks make the same calls.
template <class ExecutionSpace>
class TileTeam {
 public:
  using Space = typename ExecutionSpace::memory_space;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

  /// Works on vectors that lie on `exec`'s device. All devices take part, or this one alone, in the
  /// caller's thread.
  TileTeam(Machine<ExecutionSpace>& machine, ExecutionSpace const& exec,
           TileMatrix<ExecutionSpace> const& matrix, bool all);

  /// V = L^-1 V, by the tiles from block `first` on: those before it are 0 in V. Fences `exec`.
  void forward(Block const& V, std::int64_t first = 0);
  /// V = L^-T V, block `first` and those behind it. Fences `exec`.
  void backward(Block const& V, std::int64_t first = 0);
  /// Y = H X, by the generator; the devices' sums are added in their order. Fences `exec`.
  void apply(Block const& X, Block const& Y);

 private:
  /// One device: its worker, and the tiles that pass.
  struct Member {
    TileFeed<ExecutionSpace>& tiles(TileMatrix<ExecutionSpace> const& matrix) {
      return feed ? *feed : feed.emplace(worker, matrix);
    }
    Worker<ExecutionSpace>& worker;
    int position;
    std::optional<TileFeed<ExecutionSpace>> feed;
  };
  using Mark = typename Lane<ExecutionSpace>::Mark;
  using Matrix = MatrixRef<Space>;
  using Scaling = Kokkos::View<double const*, Space>;

  bool owns(Member const& member, std::int64_t i) const;
  std::size_t offset(std::int64_t i) const;
  std::size_t block_bytes(std::int64_t i) const;
  Matrix block(double* values, std::int64_t i) const;
  Matrix block(Member const& member, std::int64_t i) const;
  Matrix term(double* terms, std::int64_t i, std::int64_t j) const;

  void begin(Block const& V, std::size_t sums, std::int64_t first = 0);
  void unpack(std::size_t from, Block const& V, bool add);
  void run(std::function<void(Member&)> const& pass);
  void take_own(Member& member);
  Scaling take_all(Member& member);
  Matrix arrive(Member& member, std::int64_t k);
  void finish(Member& member, std::int64_t k, Op op);
  void substitute(Member& member, Op op);
  void multiply(Member& member);
  void pack(Block const& V);
  template <class Try>
  void share(std::int64_t begin, std::int64_t end, int root, Try& attempt);
  // Blocks i in [begin, end) with i % parts == part.
  struct BlocksRound {
    std::int64_t begin, end;
    int part, parts;
    std::int64_t first() const { return begin + (part - begin % parts + parts) % parts; }
  };
  void begin_product(Worker<ExecutionSpace>& worker);
  void multiply_column(Member& member, std::int64_t j,
                       std::function<bool(std::int64_t)> const& owns, Scaling const& scaling);
  void add_terms(Worker<ExecutionSpace>& worker, std::int64_t j, BlocksRound const& rows);
  template <class Each, class Try>
  void pass_on(double* values, Each const& each, int from, int to, Try& attempt);
  template <class Try>
  void hand_on(BlocksRound const& blocks, int from, int to, Try& attempt);
  void substitute_on_ranks(Op op);
  void multiply_on_ranks();

  Machine<ExecutionSpace>& machine_;
  ExecutionSpace exec_;
  Worker<ExecutionSpace>& home_;  // on the device of `exec`: packs and unpacks its vectors
  TileMatrix<ExecutionSpace> const& matrix_;
  bool is_scaled_;  // known before members run: Views that they share are not theirs to copy
  bool alone_;      // home is the only member
  std::deque<Member> members_;
  std::unique_ptr<Progress<Mark>> progress_;
  std::int64_t cols_ = 0;
  std::int64_t first_ = 0;      // the block that a substitution begins or ends with
  double* exchange_ = nullptr;  // V, block by block, and the devices' sums, on the host
  double* stage_ = nullptr;     // V, block by block, at home
};

}  // namespace strata::ooc::detail

#endif
