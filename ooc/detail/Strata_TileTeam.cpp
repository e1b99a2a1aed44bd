// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/detail/Strata_TileTeam.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/detail/Strata_TileFeed.hpp>

#include <algorithm>
#include <thread>

namespace strata::ooc::detail {

// Block i of the vectors begins at number i nb m and is stored by columns.
struct BlockedIndex {
  std::int64_t n, tile_size, cols;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    std::int64_t const first = i / tile_size * tile_size;
    std::int64_t const rows = n - first < tile_size ? n - first : tile_size;
    return first * cols + (i - first) + j * rows;
  }
};

namespace {

template <class Exec, class Block, class Vector>
void pack_blocks(Exec const& exec, BlockedIndex const& index, Block const& V,
                 Vector const& values) {
  strata::for_each_element(
      "strata::ooc::team::pack", exec, index.n, index.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { values(index(i, j)) = V(i, j); });
}

template <class Exec, class Block, class Vector>
void unpack_blocks(Exec const& exec, BlockedIndex const& index, Vector const& values,
                   Block const& V, bool add) {
  strata::for_each_element(
      "strata::ooc::team::unpack", exec, index.n, index.cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        V(i, j) = (add ? V(i, j) : 0) + values(index(i, j));
      });
}

}  // namespace

/// What one device has: its lanes, its blocks of the vectors, and the tiles that pass.
template <class Exec>
struct TileTeam<Exec>::Member {
  Member(Exec const& exec, int position)
      : id(Lane<Exec>::device_of(exec)),
        position(position),
        work(std::make_unique<Lane<Exec>>(exec)),
        blas(exec) {}
  Member(int device, int position)
      : id(device),
        position(position),
        work(std::make_unique<Lane<Exec>>(device)),
        in(std::make_unique<Lane<Exec>>(device)),
        out(std::make_unique<Lane<Exec>>(device)),
        blas(work->exec()) {}

  Exec const& exec() const { return work->exec(); }
  TileFeed<Exec>& tiles(TileMatrix<Exec> const& matrix) {
    if (!feed) feed = std::make_unique<TileFeed<Exec>>(exec(), matrix);
    return *feed;
  }
  void need(Vector& values, char const* label, std::size_t size) const {
    if (values.extent(0) < size) values = allocate<Vector>(exec(), label, size);
  }
  void fence() {
    for (auto const* lane : {&in, &work, &out})
      if (*lane) (*lane)->fence();
  }

  int id, position;
  std::unique_ptr<Lane<Exec>> work, in, out;
  LeafBlas<Exec> blas;
  std::unique_ptr<TileFeed<Exec>> feed;
  Vector values, sums, tile, scaling;
};

template <class Exec>
TileTeam<Exec>::TileTeam(Exec const& exec, TileMatrix<Exec> const& matrix, std::vector<int> devices)
    : exec_(exec),
      matrix_(matrix),
      alone_(devices.empty() ||
             (devices.size() == 1 && devices.front() == Lane<Exec>::device_of(exec))),
      is_scaled_(matrix.device_scaling().extent(0) > 0) {
  if (alone_) {
    members_.push_back(std::make_unique<Member>(exec, 0));
    return;
  }
  for (std::size_t d = 0; d < devices.size(); ++d)
    members_.push_back(std::make_unique<Member>(devices[d], static_cast<int>(d)));
  Lane<Exec>::enter(Lane<Exec>::device_of(exec));
}
template <class Exec>
TileTeam<Exec>::~TileTeam() = default;

template <class Exec>
bool TileTeam<Exec>::owns(Member const& member, std::int64_t i) const {
  return i % static_cast<std::int64_t>(members_.size()) == member.position;
}

template <class Exec>
std::size_t TileTeam<Exec>::place(std::int64_t i) const {
  return static_cast<std::size_t>(i * matrix_.tile_size() * cols_);
}

template <class Exec>
std::size_t TileTeam<Exec>::block_bytes(std::int64_t i) const {
  return static_cast<std::size_t>(matrix_.rows(i) * cols_) * sizeof(double);
}

template <class Exec>
auto TileTeam<Exec>::block(Vector const& values, std::int64_t i) const -> Matrix {
  return {values.data() + place(i), matrix_.rows(i), cols_,
          matrix_.rows(i),          Precision::fp64, nullptr};
}

// Block i of what is substituted, or multiplied.
template <class Exec>
auto TileTeam<Exec>::block(Member const& member, std::int64_t i) const -> Matrix {
  return block(alone_ ? stage_ : member.values, i);
}

// Buffers for these vectors, V in the stage and, if there are several devices, in the exchange, with room for `sums`
// results behind it.
template <class Exec>
void TileTeam<Exec>::begin(Block const& V, std::size_t sums) {
  cols_ = static_cast<std::int64_t>(V.extent(1));
  std::size_t const size = V.extent(0) * V.extent(1);
  if (stage_.extent(0) < size) stage_ = allocate<Vector>(exec_, "strata::ooc::team::stage", size);
  pack_blocks(exec_, BlockedIndex{matrix_.order(), matrix_.tile_size(), cols_}, V, stage_);
  if (alone_) return;
  if (exchange_.extent(0) < (1 + sums) * size)
    exchange_ =
        allocate_on_host<decltype(exchange_)>("strata::ooc::team::HostExchange", (1 + sums) * size);
  progress_ = std::make_unique<Progress<Mark>>(static_cast<std::size_t>(matrix_.tiles()));
  Kokkos::deep_copy(exec_, Kokkos::subview(exchange_, std::pair(std::size_t(0), size)),
                    Kokkos::subview(stage_, std::pair(std::size_t(0), size)));
  exec_.fence("strata::ooc::team::pack");
}

template <class Exec>
void TileTeam<Exec>::unpack(std::size_t from, Block const& V, bool add) {
  std::size_t const size = V.extent(0) * V.extent(1);
  BlockedIndex const index{matrix_.order(), matrix_.tile_size(), cols_};
  if (!alone_)
    Kokkos::deep_copy(exec_, Kokkos::subview(stage_, std::pair(std::size_t(0), size)),
                      Kokkos::subview(exchange_, std::pair(from * size, (from + 1) * size)));
  unpack_blocks(exec_, index, stage_, V, add);
  exec_.fence("strata::ooc::team::unpack");
}

// The pass of each member in its thread; what one throws ends them all.
template <class Exec>
void TileTeam<Exec>::run(std::function<void(Member&)> const& pass) {
  if (alone_) {
    pass(*members_.front());
    members_.front()->fence();
    return;
  }
  auto const body = [&](Member& member) {
    try {
      vendor::OnNode const near_device(Lane<Exec>::node_of(member.id));
      Lane<Exec>::enter(member.id);
      pass(member);
    } catch (Stopped const&) {
    } catch (...) {
      progress_->stop(std::current_exception());
    }
    try {  // nothing of this member may run once its thread has ended
      member.fence();
    } catch (...) {
      progress_->stop(std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  try {
    for (auto const& member : members_) threads.emplace_back(body, std::ref(*member));
  } catch (...) {
    progress_->stop(std::current_exception());
  }
  for (auto& thread : threads) thread.join();
  Lane<Exec>::enter(Lane<Exec>::device_of(exec_));
  progress_->rethrow();
}

template <class Exec>
void TileTeam<Exec>::take_own(Member& member) {
  if (alone_) return;
  member.need(member.values, "strata::ooc::team::values",
              static_cast<std::size_t>(matrix_.order() * cols_));
  member.in->wait(member.work->record());  // the memory is there
  for (std::int64_t i = member.position; i < matrix_.tiles();
       i += static_cast<std::int64_t>(members_.size()))
    member.in->copy(member.values.data() + place(i), exchange_.data() + place(i), block_bytes(i));
  member.work->wait(member.in->record());
}

// Block k, once it is final, for the member's work.
template <class Exec>
auto TileTeam<Exec>::arrive(Member& member, std::int64_t k) -> Matrix {
  if (!alone_ && !owns(member, k)) {
    member.in->wait(progress_->wait(static_cast<std::size_t>(k)));
    member.in->copy(member.values.data() + place(k), exchange_.data() + place(k), block_bytes(k));
    member.work->wait(member.in->record());
  }
  return block(member, k);
}

// V_k = L_kk^-1 V_k, or with L_kk^T, which all others may have then.
template <class Exec>
void TileTeam<Exec>::finish(Member& member, std::int64_t k, Op op) {
  member.blas.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1,
                   member.tiles(matrix_).next(k, k).matrix, block(member, k));
  if (alone_) return;
  member.out->wait(member.work->record());
  member.out->copy(exchange_.data() + place(k), member.values.data() + place(k), block_bytes(k));
  progress_->set(static_cast<std::size_t>(k), member.out->record());
}

// Forwards  V_i -= L_ik V_k for i > k, backwards  V_i -= L_ki^T V_k for i < k,  the next V_i first.
template <class Exec>
void TileTeam<Exec>::substitute(Member& member, Op op) {
  std::int64_t const tiles = matrix_.tiles(), step = op == Op::NoTrans ? 1 : -1;
  std::int64_t const first = step > 0 ? 0 : tiles - 1, end = step > 0 ? tiles : -1;
  take_own(member);
  if (owns(member, first)) finish(member, first, op);
  for (std::int64_t k = first; k != end; k += step) {
    std::int64_t next = k + step;
    while (next != end && !owns(member, next)) next += step;
    if (next == end) continue;
    Matrix const X = arrive(member, k);
    for (std::int64_t i = next; i != end; i += step) {
      if (!owns(member, i)) continue;
      auto const L = step > 0 ? member.tiles(matrix_).next(i, k) : member.tiles(matrix_).next(k, i);
      member.blas.gemm(step > 0 ? L.op : transposed(L.op), Op::NoTrans, -1, L.matrix, X, 1,
                       block(member, i));
      if (i == k + step) finish(member, i, op);
    }
  }
}

// Y = H X, each tile for both triangles, of the rows of tiles that are the member's.
template <class Exec>
void TileTeam<Exec>::multiply(Member& member) {
  Exec const& exec = member.exec();
  auto const size = static_cast<std::size_t>(matrix_.order() * cols_);
  std::int64_t const edge = std::min(matrix_.order(), matrix_.tile_size());
  member.need(member.tile, "strata::ooc::apply::tile", static_cast<std::size_t>(edge * edge));
  Kokkos::View<double const*, typename Exec::memory_space> scaling;
  if (alone_) {
    scaling = matrix_.device_scaling();
  } else {
    member.need(member.values, "strata::ooc::team::values", size);
    member.need(member.sums, "strata::ooc::team::sums", size);
    if (is_scaled_ && member.scaling.extent(0) == 0) {
      member.need(member.scaling, "strata::ooc::team::scaling", matrix_.scaling().size());
      using Host =
          Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      Kokkos::deep_copy(exec, member.scaling,
                        Host(matrix_.scaling().data(), matrix_.scaling().size()));
    }
    if (is_scaled_) scaling = member.scaling;
    member.in->wait(member.work->record());
    member.in->copy(member.values.data(), exchange_.data(), size * sizeof(double));
    member.work->wait(member.in->record());
  }
  auto const Y = [&](std::int64_t i) {
    if (!alone_) return block(member.sums, i);
    return matrix_ref(result_).block(i * matrix_.tile_size(), 0, matrix_.rows(i), cols_);
  };
  if (alone_)
    Kokkos::deep_copy(exec, result_, 0.0);
  else
    Kokkos::deep_copy(exec, member.sums, 0.0);
  for (std::int64_t j = 0; j < matrix_.tiles(); ++j) {
    for (std::int64_t i = j; i < matrix_.tiles(); ++i) {
      if (!owns(member, i)) continue;
      if (!alone_ && progress_->stopped()) throw Stopped();
      TileView<Exec> const tile(member.tile.data(), static_cast<std::size_t>(matrix_.rows(i)),
                                static_cast<std::size_t>(matrix_.rows(j)));
      matrix_.generate_tile(exec, i, j, tile, scaling);
      auto const A = matrix_ref(tile);
      if (i == j) {
        member.blas.symm(Uplo::Lower, 1, A, block(member, i), 1, Y(i));
        continue;
      }
      member.blas.gemm(Op::NoTrans, Op::NoTrans, 1, A, block(member, j), 1, Y(i));
      member.blas.gemm(Op::Trans, Op::NoTrans, 1, A, block(member, i), 1, Y(j));
    }
  }
  if (alone_) return;
  member.out->wait(member.work->record());
  member.out->copy(exchange_.data() + (1 + static_cast<std::size_t>(member.position)) * size,
                   member.sums.data(), size * sizeof(double));
}

template <class Exec>
void TileTeam<Exec>::forward(Block const& V) {
  begin(V, 0);
  run([&](Member& member) { substitute(member, Op::NoTrans); });
  unpack(0, V, false);
}

template <class Exec>
void TileTeam<Exec>::backward(Block const& V) {
  begin(V, 0);
  run([&](Member& member) { substitute(member, Op::Trans); });
  unpack(0, V, false);
}

template <class Exec>
void TileTeam<Exec>::apply(Block const& X, Block const& Y) {
  result_ = Y;
  begin(X, members_.size());
  run([&](Member& member) { multiply(member); });
  if (alone_) return;
  for (std::size_t d = 0; d < members_.size(); ++d) unpack(1 + d, Y, d > 0);
}

#define STRATA_INSTANTIATE(Exec) template class TileTeam<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
