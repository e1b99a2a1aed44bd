// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace strata::sparse::detail {

void pack_row(HostRows const& rows, std::int64_t row, std::vector<double>& message) {
  auto const begin = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(row)]),
             end = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(row) + 1]);
  message.push_back(static_cast<double>(end - begin));
  for (std::size_t k = begin; k < end; ++k) {
    message.push_back(static_cast<double>(rows.column[k]));
    message.push_back(rows.value[k]);
  }
}

void unpack_rows(std::vector<double> const& message, HostRows& rows) {
  for (std::size_t at = 0; at < message.size();) {
    auto const length = static_cast<std::size_t>(message[at++]);
    for (std::size_t k = 0; k < length; ++k, at += 2)
      rows.add(static_cast<std::int64_t>(message[at]), message[at + 1]);
    rows.end_row();
  }
}

std::vector<std::int64_t> columns_outside(HostRows const& rows, std::int64_t first,
                                          std::int64_t end) {
  std::vector<std::int64_t> outside;
  for (auto const j : rows.column)
    if (j < first || j >= end) outside.push_back(j);
  std::sort(outside.begin(), outside.end());
  outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
  return outside;
}

std::vector<std::int64_t> partition_of(Communicator const& comm, std::int64_t rows) {
  std::vector<std::int64_t> first{0};
  for (auto const count : comm.gather(rows)) first.push_back(first.back() + count);
  return first;
}

std::size_t owner_of(std::vector<std::int64_t> const& first_row, std::int64_t row) {
  return static_cast<std::size_t>(std::upper_bound(first_row.begin(), first_row.end(), row) -
                                  first_row.begin()) -
         1;
}

HostRows fetched(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                 std::vector<std::int64_t> const& wanted, HostRows const& own) {
  if (comm.size() == 1) return {};
  auto const asking = comm.exchange(comm.agree([&] {
    std::vector<std::vector<double>> asked(static_cast<std::size_t>(comm.size()));
    for (auto const row : wanted)
      asked[owner_of(first_row, row)].push_back(static_cast<double>(row));
    return asked;
  }));
  std::int64_t const first = first_row[static_cast<std::size_t>(comm.rank())];
  auto const answers = comm.exchange(comm.agree([&] {
    std::vector<std::vector<double>> mine(asking.size());
    for (std::size_t rank = 0; rank < asking.size(); ++rank)
      for (auto const row : asking[rank])
        pack_row(own, static_cast<std::int64_t>(row) - first, mine[rank]);
    return mine;
  }));
  return comm.agree([&] {
    HostRows rows;
    for (auto const& answer : answers) unpack_rows(answer, rows);
    return rows;
  });
}

std::vector<std::int64_t> rows_that_refer(Communicator const& comm,
                                          std::vector<std::int64_t> const& first_row,
                                          HostRows const& rows) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  std::int64_t const first = first_row[rank];
  auto const parts = comm.exchange(comm.agree([&] {
    std::vector<std::vector<double>> to(first_row.size() - 1);
    for (std::size_t i = 0; i + 1 < rows.begin.size(); ++i)
      for (auto k = static_cast<std::size_t>(rows.begin[i]);
           k < static_cast<std::size_t>(rows.begin[i + 1]); ++k) {
        auto& message = to[owner_of(first_row, rows.column[k])];
        auto const row = static_cast<double>(first + static_cast<std::int64_t>(i));
        if (&message != &to[rank] && (message.empty() || message.back() != row))
          message.push_back(row);
      }
    return to;
  }));
  return comm.agree([&] {
    std::vector<std::int64_t> found;
    for (auto const& part : parts)
      for (double const row : part) found.push_back(static_cast<std::int64_t>(row));
    return found;  // rank by rank: they ascend
  });
}

std::vector<double> moved(Communicator const& comm, std::vector<std::int64_t> const& from,
                          std::vector<std::int64_t> const& to, std::vector<double> const& own,
                          std::size_t size) {
  if (comm.max(own.empty() ? 0 : 1) == 0) return {};
  auto const rank = static_cast<std::size_t>(comm.rank());
  HostRows rows;
  auto const wanted = comm.agree([&] {
    for (std::size_t k = 0; k < own.size(); ++k) {
      rows.add(0, own[k]);
      if ((k + 1) % size == 0) rows.end_row();
    }
    std::vector<std::int64_t> others;
    for (std::int64_t row = to[rank]; row < to[rank + 1]; ++row)
      if (row < from[rank] || row >= from[rank + 1]) others.push_back(row);
    return others;
  });
  auto const theirs = fetched(comm, from, wanted, rows).value;
  return comm.agree([&] {
    std::vector<double> result;  // a rank takes what follows its own, or gives all away
    if (to[rank + 1] > to[rank]) result = own;
    result.insert(result.end(), theirs.begin(), theirs.end());
    return result;
  });
}

namespace {

// Rows [first, end) of the transpose, of the entries that came: column, row and value of each.
HostRows counted(std::vector<std::vector<double>> const& parts, std::int64_t first,
                 std::int64_t end) {
  // Ranks, and rows within a rank, come in order: counting keeps the columns ascending.
  HostRows result;
  result.begin.assign(static_cast<std::size_t>(end - first) + 1, 0);
  for (auto const& part : parts)
    for (std::size_t at = 0; at < part.size(); at += 3)
      ++result.begin[static_cast<std::size_t>(static_cast<std::int64_t>(part[at]) - first) + 1];
  for (std::size_t i = 1; i < result.begin.size(); ++i) result.begin[i] += result.begin[i - 1];
  result.column.resize(static_cast<std::size_t>(result.begin.back()));
  result.value.resize(result.column.size());
  auto next = result.begin;
  for (auto const& part : parts)
    for (std::size_t at = 0; at < part.size(); at += 3) {
      auto const row = static_cast<std::size_t>(static_cast<std::int64_t>(part[at]) - first);
      auto const position = static_cast<std::size_t>(next[row]++);
      result.column[position] = static_cast<std::int64_t>(part[at + 1]);
      result.value[position] = part[at + 2];
    }
  return result;
}

}  // namespace

HostRows transposed(Communicator const& comm, std::vector<std::int64_t> const& rows,
                    std::vector<std::int64_t> const& cols, HostRows const& own) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const parts = comm.exchange(comm.agree([&] {
    std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
    for (std::size_t i = 0; i + 1 < own.begin.size(); ++i)
      for (auto k = static_cast<std::size_t>(own.begin[i]);
           k < static_cast<std::size_t>(own.begin[i + 1]); ++k) {
        auto& message = to[owner_of(cols, own.column[k])];
        message.insert(message.end(),
                       {static_cast<double>(own.column[k]),
                        static_cast<double>(rows[rank]) + static_cast<double>(i), own.value[k]});
      }
    return to;
  }));
  return comm.agree([&] { return counted(parts, cols[rank], cols[rank + 1]); });
}

}  // namespace strata::sparse::detail
