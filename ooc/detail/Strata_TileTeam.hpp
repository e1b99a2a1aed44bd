// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TILE_TEAM_HPP
#define STRATA_TILE_TEAM_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <ooc/Strata_TileMatrix.hpp>
#include <ooc/detail/Strata_Lane.hpp>
#include <ooc/detail/Strata_Progress.hpp>

#include <Kokkos_Core.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace strata::ooc::detail {

/// Devices that pass together over the tiles of a factor or of its matrix, a thread each.
///
/// Rows of tiles, backwards columns, go round the devices, so that each tile is copied to one of them
/// only; blocks of vectors pass between them through host memory. Every block gets its updates in
/// the order of the columns, in places of the same shape: a substitution has the same bits on any number of devices.
template <class ExecutionSpace>
class TileTeam {
 public:
  using Space = typename ExecutionSpace::memory_space;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

  /// The device of `exec` alone, or none at all, works on `exec`.
  TileTeam(ExecutionSpace const& exec, TileMatrix<ExecutionSpace> const& matrix,
           std::vector<int> devices);
  ~TileTeam();
  TileTeam(TileTeam const&) = delete;
  TileTeam& operator=(TileTeam const&) = delete;

  /// V = L^-1 V. Fences `exec`.
  void forward(Block const& V);
  /// V = L^-T V. Fences `exec`.
  void backward(Block const& V);
  /// Y = H X, by the generator; the devices' sums are added in their order. Fences `exec`.
  void apply(Block const& X, Block const& Y);

 private:
  struct Member;
  using Mark = typename Lane<ExecutionSpace>::Mark;
  using Matrix = MatrixRef<Space>;
  using Vector = Kokkos::View<double*, Space>;
  using HostMemory = std::conditional_t<strata::runs_on_host<ExecutionSpace>, Kokkos::HostSpace,
                                        Kokkos::SharedHostPinnedSpace>;

  bool alone() const { return alone_; }
  bool owns(Member const& member, std::int64_t i) const;
  std::size_t place(std::int64_t i) const;
  std::size_t block_bytes(std::int64_t i) const;
  Matrix block(Vector const& values, std::int64_t i) const;
  Matrix block(Member const& member, std::int64_t i) const;

  void begin(Block const& V, std::size_t sums);
  void unpack(std::size_t from, Block const& V, bool add);
  void run(std::function<void(Member&)> const& pass);
  void take_own(Member& member);
  Matrix arrive(Member& member, std::int64_t k);
  void finish(Member& member, std::int64_t k, Op op);
  void substitute(Member& member, Op op);
  void multiply(Member& member);

  ExecutionSpace exec_;
  TileMatrix<ExecutionSpace> const& matrix_;
  bool alone_, is_scaled_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Progress<Mark>> progress_;
  std::int64_t cols_ = 0;
  Block result_;                                // of a product where there is one device
  Kokkos::View<double*, HostMemory> exchange_;  // V, block by block, and the devices' sums
  Vector stage_;                                // V, block by block, on the device of `exec`
};

}  // namespace strata::ooc::detail

#endif
