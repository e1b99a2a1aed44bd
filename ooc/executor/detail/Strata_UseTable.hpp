// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_USE_TABLE_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_USE_TABLE_HPP

#include <ooc/executor/detail/Strata_TileCache.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace strata::ooc::detail {

/// How a cache makes room.
enum class Eviction : std::uint8_t { AtOnce, LeastRecentlyUsed, FurthestUse };

/// When each key is used again on one device, as far as a static schedule tells. The clock counts
/// the steps of each stream, as if all streams went at the same pace.
///
/// First the visits to a tile use it. Then visits to tiles of its row use it as an operand, which
/// the step names. To keep each use would take as many entries as there are products. The table
/// keeps the visits to each row, super-panel by super-panel, and for each key how far it has come
/// in its own visits. So all calls for a key together look once at each visit that may use it.
///
/// Memory   100 bytes for each visit, 4 for each tile and 12 for each key.
class UseTable {
 public:
  /// No use of any key is known.
  UseTable() = default;
  /// Keeps a reference to the plan. `lanes`: what the streams of the device do.
  UseTable(TilePlan const& plan, std::span<std::vector<Visit> const> lanes)
      : plan_(&plan),
        tiles_(plan.map().tiles()),
        own_(tile_count(tiles_), none),
        visits_of_row_(static_cast<std::size_t>(tiles_)),
        times_(plan.keys(), unknown),
        positions_(plan.keys(), 0) {
    for (auto const& lane : lanes) {
      std::int64_t time = 0;
      for (Visit const& visit : lane) {
        Timed const timed{visit, time, none};
        own_visits_.push_back(timed);
        visits_of_row_[static_cast<std::size_t>(visit.row)].push_back(timed);
        if (visit.row != visit.col)
          visits_of_row_[static_cast<std::size_t>(visit.col)].push_back(timed);
        time += visit.last - visit.first + (visit.is_last ? 1 : 0);
      }
    }
    for (auto& visits : visits_of_row_)
      std::ranges::sort(visits, {},
                        [](Timed const& t) { return std::pair(t.visit.first, t.start); });
    link_own_visits();
  }

  /// One use has come.
  void consume(std::int64_t key) {
    if (!plan_) return;
    (void)next(key);
    auto const k = static_cast<std::size_t>(key);
    if (times_[k] == never) return;
    if (positions_[k] >= 0) return find(key, positions_[k]);
    std::int32_t const later = own_visits_[static_cast<std::size_t>(-1 - positions_[k])].later;
    later == none ? find(key) : visit_own(key, later);
  }
  /// The time of the next use; far away if there is none.
  double next(std::int64_t key) {
    if (!plan_) return never;
    auto& time = times_[static_cast<std::size_t>(key)];
    if (time == unknown) begin(key);
    return static_cast<double>(time);
  }
  /// The same of what is in a cache: a tile of which integers are made is used when these are,
  /// unless they are there.
  double next(std::int64_t key, TileCache const& cache) {
    double const own = next(key);
    if (!plan_ || plan_->map().moduli() == 0 || key % TilePlan::forms != 0) return own;
    std::int64_t const integers = key + TilePlan::integer_form;
    return cache.find(integers) >= 0 ? own : std::min(own, next(integers));
  }

 private:
  struct Timed {
    Visit visit;
    std::int64_t start;
    std::int32_t later;  // the next visit to the tile, or none
  };
  static constexpr std::int32_t none = -1;
  static constexpr std::int64_t unknown = -1, never = 1'000'000'000'000'000;

  // The visits to each tile behind one another, in the order of their updates.
  void link_own_visits() {
    std::ranges::stable_sort(own_visits_, {}, [](Timed const& t) { return t.visit.first; });
    for (std::size_t v = own_visits_.size(); v-- > 0;) {
      Visit const& visit = own_visits_[v].visit;
      std::int32_t& first = own_[tile_number(visit.row, visit.col, tiles_)];
      own_visits_[v].later = first;
      first = static_cast<std::int32_t>(v);
    }
  }

  // The first use: the visit to the tile itself, if the device has it, else the visit to an
  // operand.
  void begin(std::int64_t key) {
    auto const [i, k, form] = plan_->tile_of(key);
    std::int32_t const own = own_[tile_number(i, k, tiles_)];
    if (own != none && precision_rank(plan_->map().at(i, k)) == form)
      visit_own(key, own);
    else
      find(key);
  }

  void visit_own(std::int64_t key, std::int32_t number) {
    set(key, own_visits_[static_cast<std::size_t>(number)].start, -1 - number);
  }

  // The first use as an operand: by a visit whose updates begin in column k or, of these, the
  // latest before it.
  void find(std::int64_t key) {
    auto const [i, k, form] = plan_->tile_of(key);
    auto const& visits = visits_of_row_[static_cast<std::size_t>(i)];
    auto const first = [](Timed const& t) { return t.visit.first; };
    auto const after = std::ranges::upper_bound(visits, k, {}, first);
    if (after == visits.begin()) return set(key, never, 0);
    auto const begin = std::ranges::lower_bound(visits, first(*std::prev(after)), {}, first);
    find(key, static_cast<std::int32_t>(begin - visits.begin()));
  }

  // The same from that position in the visits to its row on.
  void find(std::int64_t key, std::int32_t from) {
    auto const [i, k, form] = plan_->tile_of(key);
    auto const& visits = visits_of_row_[static_cast<std::size_t>(i)];
    auto position = static_cast<std::size_t>(from);
    while (position < visits.size() && visits[position].visit.first <= k &&
           !is_used(i, k, form, visits[position].visit))
      ++position;
    bool const found = position < visits.size() && visits[position].visit.first <= k;
    set(key, found ? visits[position].start + k - visits[position].visit.first : never,
        static_cast<std::int32_t>(position + 1));
  }

  void set(std::int64_t key, std::int64_t time, std::int32_t position) {
    times_[static_cast<std::size_t>(key)] = time;
    positions_[static_cast<std::size_t>(key)] = position;
  }

  // Whether a visit whose row or column is i takes L_ik in that form. It takes L_ik as an operand
  // of a product, or as the triangle of its TRSM.
  bool is_used(std::int64_t i, std::int64_t k, int form, Visit const& visit) const {
    auto const [row, col, first, last, is_last] = visit;
    if (k >= first && k < last) return TilePlan::form_of(plan_->product(row, col, k)) == form;
    return is_last && col == k && i == k && row != col &&
           precision_rank(plan_->working(row, col)) == form;
  }

  TilePlan const* plan_ = nullptr;
  std::int64_t tiles_ = 0;
  std::vector<std::int32_t> own_;  // the first visit to each tile, or none
  std::vector<Timed> own_visits_;  // to all tiles
  std::vector<std::vector<Timed>>
      visits_of_row_;                // whose row or column it is, by super-panel, as they begin
  std::vector<std::int64_t> times_;  // of the next use, by key
  // behind it in the visits of the key's row; negative: -1 less the number of a visit to the tile
  std::vector<std::int32_t> positions_;
};

}  // namespace strata::ooc::detail

#endif
