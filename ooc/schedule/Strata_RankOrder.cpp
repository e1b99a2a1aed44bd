// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/schedule/Strata_RankOrder.hpp>

#include <core/Strata_Errors.hpp>
#include <ooc/schedule/detail/Strata_SchedulePlayer.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace strata::ooc {

namespace {

// Steps forward from b to a round a ring.
std::int64_t distance(std::int64_t a, std::int64_t b, int around) {
  return ((a - b) % around + around) % around;
}

std::int32_t narrow(std::int64_t i) { return static_cast<std::int32_t>(i); }

// The first row of a rank from this one on, with whole tasks.
std::int64_t next_row(RankOrder const& order, int rank, std::int64_t row) {
  while (order.owner(row, 0) != rank) ++row;
  return row;
}

// Whether a rank of a column has tiles below this row, and so needs the row's own.
bool needs_row(RankOrder const& order, int rank, std::int64_t row) {
  if (row < order.first_column || order.owner(row, 0) == rank) return false;
  return next_row(order, rank, row) < order.tiles;
}

// How many of the numbers in [begin, end) are `part`, taken round `parts`.
std::int64_t count_round(std::int64_t begin, std::int64_t end, std::int64_t part, int parts) {
  std::int64_t const first = begin + distance(part, begin, parts);
  return first >= end ? 0 : (end - first + parts - 1) / parts;
}

// f(i) for what a rank gets of column k, rows ascending, in an order with super-panels.
template <class Function>
void for_each_copy(RankOrder const& order, int rank, std::int64_t k, Function const& f) {
  int const P = order.grid.rows, Q = order.grid.cols;
  std::int64_t row = k + distance(rank / Q, k, P), col = k + distance(rank % Q, k, Q);
  while (std::min(row, col) < order.tiles) {
    std::int64_t const i = std::min(row, col);
    if (row == i) row += P;
    if (col == i) col += Q;
    if (source_of(order, rank, i, k) >= 0) f(i);
  }
}

// Picks a rank's streams from the streams of all ranks.
std::vector<std::vector<Visit>> part_of(RankOrder const& order, int rank,
                                        std::vector<std::vector<Visit>> all) {
  std::vector<std::vector<Visit>> part;
  for (int device = 0; device < order.devices; ++device)
    for (int stream = 0; stream < order.streams; ++stream)
      part.push_back(std::move(all[order.lane(rank, device, stream)]));
  return part;
}

// The room of each rank.
std::vector<std::int64_t> rooms_of(RankOrder const& order) {
  std::vector<std::int64_t> rooms;
  for (int rank = 0; rank < order.grid.ranks(); ++rank) rooms.push_back(room_of(order, rank));
  return rooms;
}

constexpr int most_in_a_column = 4;  // ranks that go by whole tasks

// Whether an int holds their number.
bool has_countable_ranks(RankGrid const& grid) {
  return std::int64_t{grid.rows} * grid.cols <= std::numeric_limits<int>::max();
}

}  // namespace

RankGrid automatic_grid(int ranks) {
  int cols = 1;
  for (int c = 2; ranks > most_in_a_column && c * c <= ranks; ++c)
    if (ranks % c == 0) cols = c;
  return {ranks / cols, cols};
}

std::int64_t automatic_super_panel(RankGrid const& grid) {
  return grid.cols == 1 && grid.rows <= most_in_a_column ? 0 : 4;
}

RankGrid grid_from(std::string const& text) {
  RankGrid grid;
  char const* const end = text.data() + text.size();
  auto const rows = std::from_chars(text.data(), end, grid.rows);
  bool const has_rows = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  auto const cols = std::from_chars(has_rows ? rows.ptr + 1 : end, end, grid.cols);
  STRATA_REQUIRE(
      ValueError,
      has_rows && cols.ec == std::errc() && cols.ptr == end && grid.rows >= 1 && grid.cols >= 1,
      text, " is no grid of ranks, as 4x8");
  return grid;
}

void RankOrder::check() const {
  STRATA_REQUIRE(ShapeError, tiles >= 0 && tiles < (std::int64_t{1} << 31),
                 "order of ranks: ", tiles, " tile rows");
  STRATA_REQUIRE(ShapeError, first_column >= 0 && first_column <= tiles, "order of ranks: ", tiles,
                 " tile rows from column ", first_column);
  STRATA_REQUIRE(
      ValueError,
      grid.rows >= 1 && grid.cols >= 1 && devices >= 1 && streams >= 1 && column_block >= 1,
      "order of ranks: a grid of ", grid.rows, " x ", grid.cols, ", ", devices, " devices, ",
      streams, " streams and blocks of ", column_block, " columns, must all be at least 1");
  STRATA_REQUIRE(ValueError, has_countable_ranks(grid), "order of ranks: a grid of ", grid.rows,
                 " x ", grid.cols, " is of too many ranks");
  STRATA_REQUIRE(ValueError, super_panel >= 0, "order of ranks: super-panels of ", super_panel,
                 " columns, must not be negative");
  STRATA_REQUIRE(ValueError, super_panel > 0 || grid.cols == 1, "order of ranks: a grid of ",
                 grid.rows, " x ", grid.cols, " without super-panels, must be of one column");
}

std::int64_t RankOrder::visits_in(int rank, std::int64_t step) const {
  if (super_panel == 0) {
    std::int64_t rows = 0;
    for (std::int64_t i = step; step >= first_column && i < tiles; ++i) rows += owner(i, 0) == rank;
    return rows;
  }
  std::int64_t const begin = std::max(step * super_panel, first_column);
  std::int64_t visits = 0;
  for (std::int64_t j = begin + distance(rank % grid.cols, begin, grid.cols); j < tiles;
       j += grid.cols)
    visits += count_round(j, tiles, rank / grid.cols, grid.rows);
  return visits;
}

bool RankOrder::needs_on(int rank, int device, std::int64_t i, std::int64_t /*k*/) const {
  return i % grid.cols == rank % grid.cols || device_of(i) == device;
}

std::vector<Visit> visits_of(RankOrder const& order, int rank, int device, int stream,
                             std::int64_t step) {
  std::int64_t const begin = step * order.super_panel;
  std::int64_t const end = std::min(begin + order.super_panel, order.tiles);
  int const P = order.grid.rows, Q = order.grid.cols, others = order.streams - 1;
  std::vector<Visit> visits;
  // the first stream has the columns of this super-panel and of the next
  std::int64_t const next = end + order.super_panel;
  std::int64_t const from = std::max(stream == 0 ? begin : next, order.first_column);
  std::int64_t const until = stream > 0 || others == 0 ? order.tiles : std::min(next, order.tiles);
  for (std::int64_t j = from + distance(rank % Q, from, Q); j < until; j += Q) {
    std::int64_t i = j + distance(rank / Q, j, P);
    for (std::int64_t own_row = i / P, own_col = j / Q; i < order.tiles; i += P, ++own_row) {
      if (order.devices > 1 && own_row % order.devices != device) continue;
      if (others > 1 && stream > 0 && 1 + (own_row / order.devices + own_col) % others != stream)
        continue;
      visits.push_back({narrow(i), narrow(j), narrow(begin), narrow(std::min(end, j)), j < end});
    }
  }
  return visits;
}

std::vector<std::vector<Visit>> visits_of(RankOrder const& order, int rank) {
  order.check();
  if (order.super_panel == 0) return part_of(order, rank, visits_of(order));
  std::vector<std::vector<Visit>> lanes;
  for (int device = 0; device < order.devices; ++device)
    for (int stream = 0; stream < order.streams; ++stream) {
      auto& lane = lanes.emplace_back();
      for (std::int64_t step = 0; step < order.steps(); ++step) {
        auto const visits = visits_of(order, rank, device, stream, step);
        lane.insert(lane.end(), visits.begin(), visits.end());
      }
    }
  return lanes;
}

std::vector<std::vector<Visit>> visits_of(RankOrder const& order) {
  order.check();
  int const ranks = order.grid.ranks();
  if (order.super_panel == 0)
    return detail::visits_of(cholesky_schedule(order.tiles, ranks * order.devices, order.streams,
                                               order.column_block, order.first_column, ranks));
  std::vector<std::vector<Visit>> lanes(order.lane(0, order.devices, 0));
  for (int rank = 0; rank < ranks; ++rank) {
    auto part = visits_of(order, rank);
    for (int device = 0; device < order.devices; ++device)
      for (int stream = 0; stream < order.streams; ++stream)
        lanes[order.lane(rank, device, stream)] = std::move(
            part[static_cast<std::size_t>(device) * static_cast<std::size_t>(order.streams) +
                 static_cast<std::size_t>(stream)]);
  }
  return lanes;
}

int source_of(RankOrder const& order, int rank, std::int64_t i, std::int64_t k) {
  RankGrid const& grid = order.grid;
  if (order.super_panel == 0) return needs_row(order, rank, i) ? order.owner(i, k) : -1;
  if (i < order.first_column) return -1;
  int const row = rank / grid.cols, col = rank % grid.cols;
  if (i % grid.rows == row) {
    std::int64_t const from_owner = distance(col, k, grid.cols);
    bool const is_needed = from_owner > 0 && from_owner <= i - k;
    return is_needed ? grid.rank_at(row, col + grid.cols - 1) : -1;
  }
  bool const is_needed = i % grid.cols == col && i + distance(row, i, grid.rows) < order.tiles;
  return is_needed ? grid.rank_at(row + grid.rows - 1, col) : -1;
}

std::vector<Message> receives_of(RankOrder const& order, int rank, std::int64_t step) {
  std::vector<Message> receives;
  if (order.super_panel == 0) {
    int const from = source_of(order, rank, step, 0);
    for (std::int64_t k = 0; from >= 0 && k <= step; ++k) receives.push_back({step, k, from, rank});
    return receives;
  }
  std::int64_t const end = std::min((step + 1) * order.super_panel, order.tiles);
  for (std::int64_t k = step * order.super_panel; k < end; ++k)
    for_each_copy(order, rank, k, [&](std::int64_t i) {
      receives.push_back({i, k, source_of(order, rank, i, k), rank});
    });
  return receives;
}

void targets_of(RankOrder const& order, int rank, std::int64_t i, std::int64_t k,
                std::vector<int>& targets) {
  RankGrid const& grid = order.grid;
  targets.clear();
  if (order.super_panel == 0) {
    for (int to = 0; order.owner(i, k) == rank && to < grid.ranks(); ++to)
      if (needs_row(order, to, i)) targets.push_back(to);
    return;
  }
  if (i < order.first_column) return;
  int const row = rank / grid.cols, col = rank % grid.cols;
  if (i % grid.rows == row) {
    std::int64_t const next = distance(col, k, grid.cols) + 1;
    if (next < grid.cols && next <= i - k) targets.push_back(grid.rank_at(row, col + 1));
  }
  if (i % grid.cols == col) {
    std::int64_t const next = distance(row, i, grid.rows) + 1;
    if (next < grid.rows && i + next < order.tiles) targets.push_back(grid.rank_at(row + 1, col));
  }
}

RankMessages messages_of(RankOrder const& order, int rank) {
  order.check();
  STRATA_REQUIRE(ValueError, rank >= 0 && rank < order.grid.ranks(), "messages: rank ", rank,
                 " of ", order.grid.ranks());
  RankMessages messages;
  std::vector<int> targets;
  for (std::int64_t step = 0; step < order.steps(); ++step) {
    auto const receives = receives_of(order, rank, step);
    messages.receives.insert(messages.receives.end(), receives.begin(), receives.end());
  }
  // by columns where there are super-panels, else by rows
  for (std::int64_t a = 0; a < order.tiles; ++a) {
    bool const by_rows = order.super_panel == 0;
    for (std::int64_t b = by_rows ? 0 : a; b < (by_rows ? a + 1 : order.tiles); ++b) {
      std::int64_t const i = by_rows ? a : b, k = by_rows ? b : a;
      if (order.owner(i, k) != rank && source_of(order, rank, i, k) < 0) continue;
      targets_of(order, rank, i, k, targets);
      for (int const to : targets) messages.sends.push_back({i, k, rank, to});
    }
  }
  return messages;
}

std::int64_t room_of(RankOrder const& order, int rank) {
  std::int64_t room = 0, before = 0;
  if (order.super_panel == 0) {
    std::int64_t rows = 2 * std::min(order.column_block, order.tiles);
    for (std::int64_t i = order.tiles; i-- > 0 && rows > 0;) {
      if (!needs_row(order, rank, i)) continue;
      room += i + 1;
      --rows;
    }
    return room;
  }
  for (std::int64_t step = 0; step < order.steps(); ++step) {
    std::int64_t count = 0;
    std::int64_t const end = std::min((step + 1) * order.super_panel, order.tiles);
    for (std::int64_t k = step * order.super_panel; k < end; ++k)
      for_each_copy(order, rank, k, [&](std::int64_t) { ++count; });
    room = std::max(room, before + count);
    before = count;
  }
  return room;
}

std::int64_t room_of(RankOrder const& order) { return std::ranges::max(rooms_of(order)); }

RankCheck check_order(RankOrder const& order) {
  std::vector<RankMessages> messages;
  for (int rank = 0; rank < order.grid.ranks(); ++rank)
    messages.push_back(messages_of(order, rank));
  return detail::play(detail::played(order), messages, rooms_of(order));
}

}  // namespace strata::ooc
