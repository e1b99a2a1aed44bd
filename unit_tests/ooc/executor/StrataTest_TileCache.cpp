// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/executor/detail/Strata_TileCache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace {

using namespace strata::ooc::detail;

double by_age(TileCache::Slot const& slot) { return static_cast<double>(slot.last_use); }

// Bring a key in, as a caller does.
std::int64_t bring(TileCache& cache, std::int64_t key, int units) {
  if (std::int64_t const begin = cache.find(key); begin >= 0) {
    cache.touch(begin);
    return begin;
  }
  auto const begin = cache.choose(units, by_age);
  if (!begin) return -1;
  cache.put(*begin, key, units);
  --cache.slot(*begin).pins;
  return *begin;
}

TEST(TileCache, EvictsTheLeastRecentlyUsed) {
  TileCache cache(3, 1, 10);
  for (std::int64_t const key : {0, 1, 2, 0, 3}) EXPECT_GE(bring(cache, key, 1), 0);
  EXPECT_EQ(cache.find(1), -1);
  for (std::int64_t const key : {0, 2, 3}) EXPECT_GE(cache.find(key), 0);
  EXPECT_EQ(cache.evictions(), 1);
}

TEST(TileCache, SparesWhatIsPinnedAndKept) {
  TileCache cache(3, 1, 10);
  for (std::int64_t const key : {0, 1, 2}) bring(cache, key, 1);
  ++cache.slot(cache.find(0)).pins;
  cache.slot(cache.find(1)).keep = true;
  bring(cache, 3, 1);
  EXPECT_EQ(cache.find(2), -1);
  ++cache.slot(cache.find(3)).pins;
  EXPECT_GE(bring(cache, 4, 1), 0);  // what is kept goes before the caller waits
  EXPECT_EQ(cache.find(1), -1);
  ++cache.slot(cache.find(4)).pins;
  EXPECT_EQ(bring(cache, 5, 1), -1);
}

TEST(TileCache, SplitsAndMendsBlocks) {
  TileCache cache(2, 8, 40);
  for (std::int64_t key = 0; key < 8; ++key)
    bring(cache, key, 1);  // one block, not two broken ones
  std::int64_t const whole = bring(cache, 8, 8);
  EXPECT_EQ(cache.evictions(), 0);
  EXPECT_EQ(whole, cache.find(0) < 8 ? 8 : 0);
  cache.touch(whole);
  bring(cache, 9, 8);  // takes the eight small ones' place
  EXPECT_EQ(cache.evictions(), 8);
  EXPECT_GE(cache.find(8), 0);
  cache.drop(cache.find(8));
  EXPECT_EQ(cache.find(8), -1);
  EXPECT_EQ(bring(cache, 10, 2), whole);
  EXPECT_EQ(bring(cache, 11, 4), whole + 4);
  EXPECT_EQ(cache.evictions(), 8);
}

// Whatever comes in and goes out, tiles keep to their slots and never overlap.
TEST(TileCache, NeverLetsTilesOverlap) {
  std::mt19937 random(7);
  TileCache cache(5, 8, 200);
  std::map<std::int64_t, int> units;
  for (int step = 0; step < 20000; ++step) {
    std::int64_t const key = random() % 200;
    units.try_emplace(key, 1 << (random() % 4));
    if (random() % 8 == 0 && cache.find(key) >= 0) {
      cache.drop(cache.find(key));
      continue;
    }
    ASSERT_GE(bring(cache, key, units[key]), 0);
    std::vector<int> taken(40, 0);
    for (auto const& [other, size] : units) {
      std::int64_t const begin = cache.find(other);
      if (begin < 0) continue;
      ASSERT_EQ(begin % size, 0);
      ASSERT_EQ(cache.slot(begin).key, other);
      for (int u = 0; u < size; ++u) ASSERT_EQ(++taken[static_cast<std::size_t>(begin + u)], 1);
    }
  }
  EXPECT_GT(cache.evictions(), 1000);
}

TEST(TileCache, EvictsTheFurthestNextUse) {
  std::vector<std::int64_t> const order = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1};
  TileCache cache(3, 1, 4);
  int misses = 0;
  for (auto now = order.begin(); now != order.end(); ++now) {
    std::int64_t const key = *now;
    if (cache.find(key) >= 0) continue;
    ++misses;
    auto const begin = cache.choose(1, [&](TileCache::Slot const& slot) {
      return -static_cast<double>(std::find(now + 1, order.end(), slot.key) - now);
    });
    ASSERT_TRUE(begin);
    cache.put(*begin, key, 1);
    --cache.slot(*begin).pins;
  }
  EXPECT_EQ(misses, 6);  // Belady's: the least recently used would miss all ten
}

}  // namespace
