// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <geostat/vecchia/Strata_ConditioningBlocks.hpp>

#include <algorithm>
#include <utility>

namespace strata::geostat {

namespace {

using Ranks = std::vector<std::int32_t>;

Ranks ranks_of(std::span<std::int64_t const> order) {
  Ranks rank(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    rank[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
  return rank;
}

// Appends the block of these responses and members, both ascending positions in the order.
void append(ConditioningBlocks& blocks, Ranks const& members, Ranks const& responses,
            std::span<std::int64_t const> order) {
  std::size_t r = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    blocks.members.push_back(
        static_cast<std::int32_t>(order[static_cast<std::size_t>(members[k])]));
    if (r == responses.size() || responses[r] != members[k]) continue;
    blocks.responses.push_back(static_cast<std::int32_t>(k));
    ++r;
  }
  blocks.offsets.push_back(static_cast<std::int64_t>(blocks.members.size()));
  blocks.response_offsets.push_back(static_cast<std::int64_t>(blocks.responses.size()));
}

// The members of a block of one response at position k of the order.
Ranks members_at(std::size_t k, NeighbourLists const& neighbours,
                 std::span<std::int64_t const> order, Ranks const& rank) {
  Ranks members;
  for (auto const other : neighbours.of(order[k]))
    members.push_back(rank[static_cast<std::size_t>(other)]);
  members.push_back(static_cast<std::int32_t>(k));
  std::ranges::sort(members);
  return members;
}

// Blocks on their way to fewer, by positions in the order.
class Groups {
 public:
  Groups(NeighbourLists const& neighbours, std::span<std::int64_t const> order, std::size_t most)
      : most_(most), members_(order.size()), responses_(order.size()), block_(order.size()) {
    auto const rank = ranks_of(order);
    for (std::size_t k = 0; k < order.size(); ++k) {
      members_[k] = members_at(k, neighbours, order, rank);
      responses_[k] = {static_cast<std::int32_t>(k)};
      block_[k] = static_cast<std::int32_t>(k);
    }
  }

  // The blocks of two positions, if that costs no more.
  void join_if_cheap(std::size_t i, std::size_t j) {
    auto a = static_cast<std::size_t>(block_[i]), b = static_cast<std::size_t>(block_[j]);
    if (a == b) return;
    std::size_t const na = members_[a].size(), nb = members_[b].size();
    auto const limit = std::min(most_ * most_, na * na + nb * nb);
    if (std::max(na, nb) * std::max(na, nb) > limit) return;
    both_.clear();
    std::ranges::set_union(members_[a], members_[b], std::back_inserter(both_));
    if (both_.size() * both_.size() > limit) return;
    if (responses_[a].size() < responses_[b].size()) std::swap(a, b);
    members_[a] = both_;
    for (auto const response : responses_[b])
      block_[static_cast<std::size_t>(response)] = static_cast<std::int32_t>(a);
    auto const middle = static_cast<std::ptrdiff_t>(responses_[a].size());
    responses_[a].insert(responses_[a].end(), responses_[b].begin(), responses_[b].end());
    std::ranges::inplace_merge(responses_[a], responses_[a].begin() + middle);
    members_[b] = {};
    responses_[b] = {};
  }

  Ranks const& members(std::size_t block) const { return members_[block]; }
  Ranks const& responses(std::size_t block) const { return responses_[block]; }

 private:
  std::size_t most_;
  std::vector<Ranks> members_, responses_;  // of each block, empty where it joined another
  Ranks block_;                             // of each position
  Ranks both_;
};

}  // namespace

std::int64_t ConditioningBlocks::largest() const {
  std::int64_t most = 0;
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
    most = std::max(most, offsets[k + 1] - offsets[k]);
  return most;
}

std::int64_t ConditioningBlocks::pairs() const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    std::int64_t const count = offsets[k + 1] - offsets[k];
    sum += count * (count + 1) / 2;
  }
  return sum;
}

ConditioningBlocks blocks_of_neighbours(NeighbourLists const& neighbours,
                                        std::span<std::int64_t const> order) {
  auto const rank = ranks_of(order);
  ConditioningBlocks blocks;
  // Along the lists, which are where the locations are: what is near comes one after the other.
  for (std::size_t i = 0; i < order.size(); ++i)
    append(blocks, members_at(static_cast<std::size_t>(rank[i]), neighbours, order, rank),
           {rank[i]}, order);
  return blocks;
}

ConditioningBlocks grouped_blocks(NeighbourLists const& neighbours,
                                  std::span<std::int64_t const> order, std::int64_t most) {
  auto const rank = ranks_of(order);
  Groups groups(neighbours, order, static_cast<std::size_t>(std::max<std::int64_t>(most, 1)));
  std::size_t longest = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    longest = std::max(longest, neighbours.of(static_cast<std::int64_t>(i)).size());
  for (std::size_t l = 0; l < longest; ++l)
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto const others = neighbours.of(static_cast<std::int64_t>(i));
      if (l < others.size())
        groups.join_if_cheap(static_cast<std::size_t>(rank[i]),
                             static_cast<std::size_t>(rank[static_cast<std::size_t>(others[l])]));
    }
  ConditioningBlocks blocks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const block = static_cast<std::size_t>(rank[i]);
    if (!groups.responses(block).empty())
      append(blocks, groups.members(block), groups.responses(block), order);
  }
  return blocks;
}

}  // namespace strata::geostat
