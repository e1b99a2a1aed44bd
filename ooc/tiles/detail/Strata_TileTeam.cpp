// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/detail/Strata_TileTeam.hpp>

#include <comm/Strata_Together.hpp>
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>

#include <algorithm>
#include <utility>

namespace strata::ooc::detail {

// Block i of the vectors begins at number i nb m and is stored by columns. Kernels begin at
// row `from`.
struct BlockedIndex {
  std::int64_t n, tile_size, cols, from;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    std::int64_t const first = i / tile_size * tile_size;
    std::int64_t const rows = n - first < tile_size ? n - first : tile_size;
    return first * cols + (i - first) + j * rows;
  }
};

namespace {

template <class Exec, class Block>
void pack_blocks(Exec const& exec, BlockedIndex const& index, Block const& V, double* values) {
  strata::for_each_element(
      "strata::ooc::team::pack", exec, index.n - index.from, index.cols,
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t j) {
        std::int64_t const i = index.from + k;
        values[index(i, j)] = V(i, j);
      });
}

template <class Exec, class Block>
void unpack_blocks(Exec const& exec, BlockedIndex const& index, double const* values,
                   Block const& V, bool add) {
  strata::for_each_element(
      "strata::ooc::team::unpack", exec, index.n - index.from, index.cols,
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t j) {
        std::int64_t const i = index.from + k;
        V(i, j) = (add ? V(i, j) : 0) + values[index(i, j)];
      });
}

}  // namespace

template <class Exec>
TileTeam<Exec>::TileTeam(Machine<Exec>& machine, Exec const& exec, TileMatrix<Exec> const& matrix,
                         bool all)
    : machine_(machine),
      exec_(exec),
      home_(machine.near(exec)),
      matrix_(matrix),
      is_scaled_(matrix.device_scaling().extent(0) > 0),
      alone_(!all || matrix.comm() ||
             (machine.size() == 1 && machine.devices().front().id == home_.id)) {
  if (alone_)
    members_.push_back({home_, 0, {}});
  else
    for (std::size_t d = 0; d < machine.size(); ++d)
      members_.push_back({machine.worker(d), static_cast<int>(d), {}});
  Lane<Exec>::enter(home_.id);
}

template <class Exec>
bool TileTeam<Exec>::owns(Member const& member, std::int64_t i) const {
  return i % static_cast<std::int64_t>(members_.size()) == member.position;
}

template <class Exec>
std::size_t TileTeam<Exec>::offset(std::int64_t i) const {
  return static_cast<std::size_t>(i * matrix_.tile_size() * cols_);
}

template <class Exec>
std::size_t TileTeam<Exec>::block_bytes(std::int64_t i) const {
  return static_cast<std::size_t>(matrix_.rows(i) * cols_) * sizeof(double);
}

template <class Exec>
auto TileTeam<Exec>::block(double* values, std::int64_t i) const -> Matrix {
  return {values + offset(i), matrix_.rows(i), cols_, matrix_.rows(i), Precision::fp64, nullptr};
}

// The product of tile (i, j) with block i, transposed.
template <class Exec>
auto TileTeam<Exec>::term(double* terms, std::int64_t i, std::int64_t j) const -> Matrix {
  return {terms + offset(i), matrix_.rows(j), cols_, matrix_.rows(j), Precision::fp64, nullptr};
}

// Block i of what is substituted, or multiplied.
template <class Exec>
auto TileTeam<Exec>::block(Member const& member, std::int64_t i) const -> Matrix {
  return block(alone_ ? stage_ : member.worker.values.view().data(), i);
}

// V in the stage and, if there are several devices, in the exchange, with room for `sums` results
// behind it.
template <class Exec>
void TileTeam<Exec>::begin(Block const& V, std::size_t sums, std::int64_t first) {
  cols_ = static_cast<std::int64_t>(V.extent(1));
  first_ = first;
  home_.be_one_thread(false);
  for (Member& member : members_) member.worker.be_one_thread(false);
  std::size_t const size = V.extent(0) * V.extent(1);
  exec_.fence("strata::ooc::team::begin");  // V is there
  auto const& stage = home_.stage.need(home_.exec(), "strata::ooc::team::stage", size);
  stage_ = stage.data();
  pack(V);
  progress_ = std::make_unique<Progress<Mark>>(static_cast<std::size_t>(matrix_.tiles()));
  if (alone_ && !matrix_.comm()) return;
  exchange_ =
      machine_.exchange.need(home_.exec(), "strata::ooc::team::HostExchange", (1 + sums) * size)
          .data();
  std::size_t const skipped = offset(first_);
  home_.work.copy(exchange_ + skipped, stage_ + skipped, (size - skipped) * sizeof(double));
  home_.work.fence();
}

// V in the stage, block by block.
template <class Exec>
void TileTeam<Exec>::pack(Block const& V) {
  std::int64_t const nb = matrix_.tile_size();
  pack_blocks(home_.exec(), BlockedIndex{matrix_.order(), nb, cols_, first_ * nb}, V, stage_);
}

template <class Exec>
void TileTeam<Exec>::unpack(std::size_t from, Block const& V, bool add) {
  std::size_t const size = V.extent(0) * V.extent(1);
  std::int64_t const nb = matrix_.tile_size();
  BlockedIndex const index{matrix_.order(), nb, cols_, first_ * nb};
  std::size_t const skipped = offset(first_);
  if (!alone_)
    home_.work.copy(stage_ + skipped, exchange_ + from * size + skipped,
                    (size - skipped) * sizeof(double));
  unpack_blocks(home_.exec(), index, stage_, V, add);
  home_.work.fence();
}

// The pass of each member, where there are several in their threads; what one throws ends them all.
template <class Exec>
void TileTeam<Exec>::run(std::function<void(Member&)> const& pass) {
  auto const body = [&](Member& member) {
    try {
      std::optional<vendor::OnNode> near_device;
      std::optional<BlasThreads> threads;  // as many as its kernels have
      if (!alone_) {
        near_device.emplace(member.worker.node);
        threads.emplace(member.worker.threads());
      }
      Lane<Exec>::enter(member.worker.id);
      pass(member);
    } catch (Stopped const&) {
    } catch (...) {
      progress_->stop(std::current_exception());
    }
    try {  // nothing of this member may run once its pass has ended
      member.worker.fence();
    } catch (...) {
      progress_->stop(std::current_exception());
    }
  };
  if (alone_) {
    body(members_.front());
    return progress_->rethrow();
  }
  std::size_t started = 0;
  try {
    for (; started < members_.size(); ++started)
      members_[started].worker.thread.start([&, d = started] { body(members_[d]); });
  } catch (...) {
    progress_->stop(std::current_exception());
  }
  for (std::size_t d = 0; d < started; ++d) members_[d].worker.thread.wait();
  Lane<Exec>::enter(home_.id);
  progress_->rethrow();
}

template <class Exec>
void TileTeam<Exec>::take_own(Member& member) {
  if (alone_) return;
  auto& worker = member.worker;
  double* const values = worker.values
                             .need(worker.exec(), "strata::ooc::team::values",
                                   static_cast<std::size_t>(matrix_.order() * cols_))
                             .data();
  for (std::int64_t i = first_; i < matrix_.tiles(); ++i)
    if (owns(member, i)) worker.in.copy(values + offset(i), exchange_ + offset(i), block_bytes(i));
  worker.work.wait(worker.in.record());
}

// Block k, once it is final, for the member's work.
template <class Exec>
auto TileTeam<Exec>::arrive(Member& member, std::int64_t k) -> Matrix {
  Matrix const V = block(member, k);
  if (!alone_ && !owns(member, k)) {
    auto& worker = member.worker;
    worker.in.wait(progress_->wait(static_cast<std::size_t>(k)));
    worker.in.copy(V.data, exchange_ + offset(k), block_bytes(k));
    worker.work.wait(worker.in.record());
  }
  return V;
}

// V_k = L_kk^-1 V_k, or with L_kk^T, which all others may have then.
template <class Exec>
void TileTeam<Exec>::finish(Member& member, std::int64_t k, Op op) {
  auto& worker = member.worker;
  Matrix const V = block(member, k);
  worker.blas().trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1,
                     member.tiles(matrix_).next(k, k).matrix, V);
  if (alone_) return;
  worker.out.wait(worker.work.record());
  worker.out.copy(exchange_ + offset(k), V.data, block_bytes(k));
  progress_->set(static_cast<std::size_t>(k), worker.out.record());
}

// Forwards  V_i -= L_ik V_k for i > k, backwards  V_i -= L_ki^T V_k for i < k,  the next V_i first.
template <class Exec>
void TileTeam<Exec>::substitute(Member& member, Op op) {
  std::int64_t const tiles = matrix_.tiles(), step = op == Op::NoTrans ? 1 : -1;
  std::int64_t const first = step > 0 ? first_ : tiles - 1, end = step > 0 ? tiles : first_ - 1;
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
      member.worker.blas().gemm(step > 0 ? L.op : transposed(L.op), Op::NoTrans, -1, L.matrix, X, 1,
                                block(member, i));
      if (i == k + step) finish(member, i, op);
    }
  }
}

// All of X on the device of a member, whose D it returns.
template <class Exec>
auto TileTeam<Exec>::take_all(Member& member) -> Scaling {
  auto const size = static_cast<std::size_t>(matrix_.order() * cols_);
  auto& worker = member.worker;
  Exec const& exec = worker.exec();
  double* const values = worker.values.need(exec, "strata::ooc::team::values", size).data();
  worker.in.copy(values, exchange_, size * sizeof(double));
  worker.work.wait(worker.in.record());
  if (!is_scaled_) return {};
  auto const& d = matrix_.scaling();
  auto const scaling =
      Kokkos::subview(worker.scaling.need(exec, "strata::ooc::team::scaling", d.size()),
                      std::pair(std::size_t(0), d.size()));
  using Host =
      Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(exec, scaling, Host(d.data(), d.size()));
  return scaling;
}

// Room for a tile and for the products of a column, and Y = 0, on a worker's device. All is in
// blocks, for a product's bits depend on how its result is stored.
template <class Exec>
void TileTeam<Exec>::begin_product(Worker<Exec>& worker) {
  using Numbers = Kokkos::View<double*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Exec const& exec = worker.exec();
  auto const edge = static_cast<std::size_t>(std::min(matrix_.order(), matrix_.tile_size()));
  auto const size = static_cast<std::size_t>(matrix_.order() * cols_);
  worker.tile.need(exec, "strata::ooc::apply::tile", edge * edge);
  auto const zeros = [&](auto& kept, char const* label, std::size_t numbers) {
    Kokkos::deep_copy(exec, Numbers(kept.need(exec, label, numbers).data(), numbers), 0.0);
  };
  zeros(worker.sums, "strata::ooc::team::sums", size);
  zeros(worker.terms, "strata::ooc::team::terms", offset(matrix_.tiles()));
}

// Multiplies by the tiles (i, j) in the member's rows: Y_i += H_ij X_j, and the term H_ij^T X_i of
// Y_j.
template <class Exec>
void TileTeam<Exec>::multiply_column(Member& member, std::int64_t j,
                                     std::function<bool(std::int64_t)> const& owns,
                                     Scaling const& scaling) {
  auto& worker = member.worker;
  double *const sums = worker.sums.view().data(), *const terms = worker.terms.view().data();
  for (std::int64_t i = j; i < matrix_.tiles(); ++i) {
    if (!owns(i)) continue;
    if (progress_->stopped()) throw Stopped();
    TileView<Exec> const tile(worker.tile.view().data(), static_cast<std::size_t>(matrix_.rows(i)),
                              static_cast<std::size_t>(matrix_.rows(j)));
    matrix_.generate_tile(worker.exec(), i, j, tile, scaling);
    auto const A = matrix_ref(tile);
    if (i == j) {
      worker.blas().symm(Uplo::Lower, 1, A, block(member, i), 1, block(sums, i));
      continue;
    }
    worker.blas().gemm(Op::NoTrans, Op::NoTrans, 1, A, block(member, j), 1, block(sums, i));
    worker.blas().gemm(Op::Trans, Op::NoTrans, 1, A, block(member, i), 0, term(terms, i, j));
  }
}

// Y_j += its terms from these rows.
template <class Exec>
void TileTeam<Exec>::add_terms(Worker<Exec>& worker, std::int64_t j, BlocksRound const& rows) {
  std::int64_t const first = rows.first(), terms = (rows.end - first + rows.parts - 1) / rows.parts;
  if (terms <= 0) return;
  add_in_order(worker.exec(), matrix_.rows(j), cols_, worker.terms.view().data() + offset(first),
               terms, rows.parts * matrix_.tile_size() * cols_,
               worker.sums.view().data() + offset(j));
}

// Y = H X, each tile for both triangles, of the rows of tiles that are the member's.
template <class Exec>
void TileTeam<Exec>::multiply(Member& member) {
  auto& worker = member.worker;
  Scaling const scaling = alone_ ? matrix_.device_scaling() : take_all(member);
  begin_product(worker);
  int const devices = static_cast<int>(members_.size());
  std::int64_t const tiles = matrix_.tiles();
  for (std::int64_t j = 0; j < tiles; ++j) {
    multiply_column(member, j, [&](std::int64_t i) { return owns(member, i); }, scaling);
    add_terms(worker, j, {j + 1, tiles, member.position, devices});
  }
  double* const sums = worker.sums.view().data();
  std::size_t const bytes = static_cast<std::size_t>(matrix_.order() * cols_) * sizeof(double);
  if (alone_) return worker.work.copy(stage_, sums, bytes);
  worker.out.wait(worker.work.record());
  worker.out.copy(
      exchange_ + static_cast<std::size_t>((1 + member.position) * matrix_.order() * cols_), sums,
      bytes);
}

template <class Exec>
void TileTeam<Exec>::forward(Block const& V, std::int64_t first) {
  together(matrix_.comm(), [&] { begin(V, 0, first); });
  if (matrix_.comm())
    substitute_on_ranks(Op::NoTrans);
  else
    run([&](Member& member) { substitute(member, Op::NoTrans); });
  unpack(0, V, false);
}

template <class Exec>
void TileTeam<Exec>::backward(Block const& V, std::int64_t first) {
  together(matrix_.comm(), [&] { begin(V, 0, first); });
  if (matrix_.comm())
    substitute_on_ranks(Op::Trans);
  else
    run([&](Member& member) { substitute(member, Op::Trans); });
  unpack(0, V, false);
}

template <class Exec>
void TileTeam<Exec>::apply(Block const& X, Block const& Y) {
  together(matrix_.comm(), [&] { begin(X, alone_ ? 0 : members_.size()); });
  if (matrix_.comm())
    multiply_on_ranks();
  else
    run([&](Member& member) { multiply(member); });
  if (alone_) return unpack(0, Y, false);
  for (std::size_t d = 0; d < members_.size(); ++d) unpack(1 + d, Y, d > 0);
}

#define STRATA_INSTANTIATE(Exec) template class TileTeam<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
