// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Together.hpp>
#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/executor/detail/Strata_ExecutorStream.hpp>
#include <ooc/executor/detail/Strata_UseTable.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/schedule/detail/Strata_NeededTiles.hpp>
#include <ooc/schedule/detail/Strata_RankRoom.hpp>
#include <ooc/tiles/detail/Strata_TileCheckpoint.hpp>
#include <ooc/tiles/detail/Strata_TileDiagonal.hpp>

#include <algorithm>
#include <latch>
#include <span>
#include <string>
#include <utility>

namespace strata::ooc::detail {

static_assert(Transport{} ==
              Transport::Automatic);  // the default of CholeskyOptions, which do not see its names

template <class Exec>
Executor<Exec>::Executor(Machine<Exec>& machine, Devices const& devices, TileMatrix<Exec>& matrix,
                         RankOrder const& order, std::string checkpoint,
                         CholeskyOptions const& options)
    : machine_(machine),
      devices_(devices),
      matrix_(matrix),
      order_(order),
      lanes_(visits_of(order, matrix.comm() ? matrix.comm()->rank() : 0)),
      folder_(std::move(checkpoint)),
      options_(options),
      rules_(rules_of(options.variant)),
      plan_(matrix.order(), matrix.tile_size(), matrix.map()),
      progress_(tile_count(matrix.tiles())),
      makers_(tile_count(matrix.tiles()), -1),
      unfinished_(static_cast<std::size_t>(matrix.tiles())) {
  for (Device const& device : machine_.devices())
    is_at_home_.push_back(works_at_home<Exec>(device));
  for (std::size_t d = 0; d < devices_.size(); ++d)
    diagonal_uses_.emplace_back(static_cast<std::size_t>(matrix.tiles()));
  count_uses();
}

template <class Exec>
void Executor<Exec>::count_uses() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    auto const device = static_cast<std::size_t>(device_of(lane));
    for (Visit const& visit : lanes_[lane]) {
      if (!visit.is_last) continue;
      makers_[tile_number(visit.row, visit.col, order_.tiles)] = static_cast<int>(device);
      ++unfinished_[static_cast<std::size_t>(visit.col)];
      if (visit.row != visit.col) ++diagonal_uses_[device][static_cast<std::size_t>(visit.col)];
    }
  }
  for (std::int64_t j = 0; j < order_.first_column; ++j)
    for (std::int64_t i = j; i < order_.tiles; ++i)
      if (matrix_.has_tile(i, j)) progress_.set(tile_number(i, j, order_.tiles), {});
}

template <class Exec>
auto Executor<Exec>::needs_of(std::size_t device) const -> Needs {
  auto const streams = static_cast<std::size_t>(order_.streams);
  auto const needed =
      needed_tiles(order_.tiles, std::span(lanes_).subspan(device * streams, streams));
  Needs needs;
  for (std::int64_t j = 0; j < order_.tiles; ++j)
    for (std::int64_t i = j; i < order_.tiles; ++i) {
      std::size_t const tile = tile_number(i, j, order_.tiles);
      if (!needed[tile]) continue;
      if (!matrix_.has_tile(i, j)) {
        ++needs.others;
        continue;
      }
      bool const is_own = makers_[tile] == static_cast<int>(device);
      (is_own ? needs.own : needs.near) +=
          plan_.blocks_per_tile() - (is_at_home(device, i, j) ? 1 : 0);
    }
  if (matrix_.comm())
    needs.others = std::min(needs.others, room_of(order_, matrix_.comm()->rank()));
  return needs;
}

// The most blocks that a tile of another rank and its forms take.
template <class Exec>
std::int64_t Executor<Exec>::blocks_of_others(std::size_t device) const {
  return plan_.blocks_per_tile() - (is_at_home_[device] || room_bytes_ > 0 ? 1 : 0);
}

// What the tiles of other ranks take of the only device's budget. If that leaves most of the
// budget, they come to the device at once.
template <class Exec>
std::size_t Executor<Exec>::room_on_device() const {
  if (is_at_home_.front()) return 0;
  std::size_t const room =
      rank_room(order_, matrix_.comm()->rank(), matrix_.order(), matrix_.tile_size(), matrix_.map())
          .bytes();
  std::size_t const budget = devices_.front().budget_bytes;
  std::size_t const least =
      smallest_budget_bytes(matrix_.order(), matrix_.tile_size(), matrix_.map(), order_.streams);
  return room <= budget / 4 && budget - room >= least ? room : 0;
}

// The pools, and which devices can read one another's.
template <class Exec>
void Executor<Exec>::make_memories(bool may_hold_others) {
  std::size_t const count = devices_.size();
  auto const streams = static_cast<std::size_t>(order_.streams);
  if (may_hold_others && count == 1) room_bytes_ = room_on_device();
  for (std::size_t d = 0; d < count; ++d) {
    Needs const needs = needs_of(d);
    std::int64_t const useful = needs.own + needs.near + needs.others * blocks_of_others(d) +
                                std::int64_t{order_.streams} * plan_.items();
    std::size_t const sums = streams * plan_.integer_sum_bytes();
    auto const blocks = static_cast<std::int64_t>(
        std::min<std::size_t>((devices_[d].budget_bytes - room_bytes_ - sums) / plan_.block_bytes(),
                              static_cast<std::size_t>(useful)));
    bool const looks_ahead = rules_.eviction == Eviction::FurthestUse;
    std::size_t const tiles_end =
        room_bytes_ + static_cast<std::size_t>(blocks) * plan_.block_bytes();
    auto const pool = pool_of(d, tiles_end + sums);
    integer_sums_.push_back(reinterpret_cast<std::int32_t*>(pool.data() + tiles_end));
    if (room_bytes_ > 0) others_data_ = pool.data();
    memories_.push_back(std::make_unique<Memory>(
        Kokkos::subview(pool, std::pair(room_bytes_, pool.size())), blocks, plan_.units_per_block(),
        plan_.unit_bytes(), plan_.keys(), rules_.eviction,
        looks_ahead ? UseTable(plan_, std::span(lanes_).subspan(d * streams, streams))
                    : UseTable()));
    is_resident_.push_back(stays(d, needs, blocks));
  }
  bool const reads_peers = options_.peer_copies || is_on_devices();
  for (std::size_t d = 0; d < count; ++d) {
    linked_.emplace_back(count, false);
    for (std::size_t other = 0; other < count; ++other)
      linked_[d][other] = d != other && reads_peers && machine_.link(d, other);
  }
  for (auto const& memory : memories_) progress_.on_stop([&memory = *memory] { memory.wake(); });
}

// Whether so many blocks hold all tiles that the device makes, and their sums. In the worst case
// each has a block of its own. What others send and what the device's streams take needs blocks as
// well.
template <class Exec>
bool Executor<Exec>::stays(std::size_t device, Needs const& needs, std::int64_t blocks) const {
  if (order_.super_panel == 0 || rules_.eviction == Eviction::AtOnce) return false;
  std::int64_t const others = is_at_home_[device] || room_bytes_ > 0 ? 0 : needs.others;
  return blocks >= needs.own + others + std::int64_t{order_.streams} * plan_.items();
}

template <class Exec>
auto Executor<Exec>::pool_of(std::size_t device, std::size_t bytes) -> typename Memory::Pool {
  try {
    return machine_.pool(device).need(machine_.worker(device).exec(), "strata::ooc::device::pool",
                                      bytes);
  } catch (MemoryError const& failure) {
    throw MemoryError(strata::detail::message("cholesky: can't allocate ", bytes,
                                              " bytes of tiles on device ", devices_[device].id,
                                              ": ", failure.what()));
  }
}

template <class Exec>
Executor<Exec>::~Executor() = default;

// The link by which the ranks send one another tiles. Collective.
template <class Exec>
MailboxLink Executor<Exec>::link_for(std::vector<Route> const& routes) {
  Communicator const& comm = *matrix_.comm();
  if (auto const& pretended = pretended_carrier(); pretended)
    return {Transport::Enqueued, pretended(comm, routes)};
  return make_mailbox_link<Exec>(devices_.front().id, comm, routes, options_.transport);
}

// What can be refused.
template <class Exec>
void Executor<Exec>::prepare(MailboxLink const& link, RankMessages messages) {
  if (strata::runs_on_host<Exec>) reserve_blas_buffers(static_cast<int>(lanes_.size()));
  make_memories(link.carrier != nullptr);
  if (!folder_.empty())
    checkpoint_ = std::make_unique<CheckpointWriter>(
        [this](std::exception_ptr const& error) { progress_.stop(error); });
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    streams_.push_back(
        std::make_unique<Stream>(*this, device_of(lane), static_cast<int>(lane) % order_.streams));
  if (matrix_.comm())
    exchange_ =
        std::make_unique<RankExchange<Exec>>(matrix_, order_, std::move(messages), lanes_,
                                             progress_, link, devices_.front().id, others_data_);
}

template <class Exec>
Info Executor<Exec>::run(CholeskyReport& report) {
  Kokkos::Timer const setup;
  Communicator const* const comm = matrix_.comm();
  if (plan_.map().moduli() > 0) diagonal_ = diagonal_of(matrix_, "cholesky");
  RankMessages messages;
  together(comm, [&] {
    if (comm) messages = messages_of(order_, comm->rank());
  });
  MailboxLink const link = comm ? link_for(routes_of(messages)) : MailboxLink{};
  report.transport = link.transport;
  together(comm, [&] { prepare(link, std::move(messages)); });
  report.setup_seconds = setup.seconds();
  play(report);
  if (checkpoint_) checkpoint_->finish();
  try {
    Lane<Exec>::enter(devices_.front().id);
    report_on(report);
  } catch (...) {
    progress_.stop(std::current_exception());
  }
  together(comm, [&] { progress_.rethrow(); });
  std::int64_t minor = breakdown_, tile = largest_outgrown();
  if (comm) minor = static_cast<std::int64_t>(comm->max(static_cast<double>(minor)));
  if (comm) tile = static_cast<std::int64_t>(comm->max(static_cast<double>(tile)));
  outgrown_ = tile > 0;
  if (outgrown_) minor = plan_.tile_of((tile - 1) * TilePlan::forms).i * matrix_.tile_size() + 1;
  return minor == 0 ? Info::success() : Info::breakdown(minor);
}

template <class Exec>
std::int64_t Executor<Exec>::largest_outgrown() const {
  std::int64_t tile = 0;
  for (auto const& stream : streams_) tile = std::max(tile, stream->outgrown());
  return tile;
}

// Each stream in its thread, and the messages in this one, which calls MPI.
template <class Exec>
void Executor<Exec>::play(CholeskyReport& report) {
  Kokkos::Timer const setup;
  std::latch ready(static_cast<std::ptrdiff_t>(streams_.size()) + 1);
  std::size_t started = 0;
  try {
    for (; started < streams_.size(); ++started)
      streams_[started]->thread().start([&, lane = started] {
        streams_[lane]->run(lanes_[lane], ready);
        if (exchange_) exchange_->end_stream();
      });
  } catch (...) {
    progress_.stop(std::current_exception());
    ready.count_down(static_cast<std::ptrdiff_t>(streams_.size() - started));
  }
  ready.arrive_and_wait();
  report.setup_seconds += setup.seconds();
  Kokkos::Timer const timer;
  std::exception_ptr failed;  // of this rank alone
  try {
    if (exchange_) exchange_->run(static_cast<int>(started), options_.on_silence);
  } catch (...) {
    failed = std::current_exception();
    progress_.stop(failed);
  }
  for (std::size_t lane = 0; lane < started; ++lane) streams_[lane]->thread().wait();
  report.factor_seconds = timer.seconds();
  if (failed) std::rethrow_exception(failed);
}

template <class Exec>
void Executor<Exec>::report_on(CholeskyReport& report) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    Memory const& memory = *memories_[d];
    std::size_t const sums = static_cast<std::size_t>(order_.streams) * plan_.integer_sum_bytes();
    report.devices.push_back({devices_[d].id, memory.bytes() + room_bytes_ + sums, 0, 0, 0,
                              memory.hits(), memory.misses(), memory.evictions()});
  }
  for (std::size_t lane = 0; lane < streams_.size(); ++lane) {
    auto& device = report.devices[static_cast<std::size_t>(device_of(lane))];
    device.bytes_in += streams_[lane]->bytes_in;
    device.bytes_out += streams_[lane]->bytes_out;
    device.bytes_peer += streams_[lane]->bytes_peer;
  }
  if (exchange_) {
    report.room_bytes = exchange_->room_bytes();
    report.bytes_sent = exchange_->bytes_sent;
    report.bytes_received = exchange_->bytes_received;
  }
  if (report.factor_seconds > 0)
    report.flop_per_s = static_cast<double>(potrf_flops(matrix_.order())) / report.factor_seconds;
}

// Writes a column whose tiles on this rank are all final, even if the run has come to an end
// meanwhile.
template <class Exec>
void Executor<Exec>::write_checkpoint(std::int64_t j) {
  for (std::int64_t i = j; i < matrix_.tiles(); ++i)
    if (matrix_.has_tile(i, j))
      Lane<Exec>::sync(progress_.mark(tile_number(i, j, matrix_.tiles())));
  if (largest_outgrown() > 0) return;  // the tiles may be others'
  for (ColumnPart const& part : own_parts(matrix_, j))
    write_column(folder_, header_of(matrix_, part), tiles_of(matrix_, part), copy_of(matrix_));
}

#define STRATA_INSTANTIATE(Exec) template class Executor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
