// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_BlockCyclic.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace strata {

namespace {

enum Field : std::uint8_t { DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD };

constexpr std::int64_t dense_matrix = 1;  // of DTYPE

std::array<std::int64_t, 9> widened(std::span<int const, 9> descriptor) {
  std::array<std::int64_t, 9> wide{};
  std::ranges::copy(descriptor, wide.begin());
  return wide;
}

bool is_inside(ProcessGrid const& grid) { return grid.row != -1 && grid.col != -1; }

// What a rank can say of its own numbers.
void check_own(ProcessGrid const& grid, std::span<std::int64_t const, 9> d, int ranks) {
  auto const require = [&](bool is_right, char const* name, std::int64_t value,
                           auto const&... rule) {
    STRATA_REQUIRE(ValueError, is_right, "block-cyclic matrix: ", name, " is ", value, ", must be ",
                   rule...);
  };
  STRATA_REQUIRE(ValueError,
                 grid.rows >= 1 && grid.cols >= 1 && std::int64_t{grid.rows} * grid.cols <= ranks,
                 "block-cyclic matrix: a grid of ", grid.rows, " x ", grid.cols, " processes on ",
                 ranks, " ranks");
  STRATA_REQUIRE(ValueError,
                 0 <= grid.row && grid.row < grid.rows && 0 <= grid.col && grid.col < grid.cols,
                 "block-cyclic matrix: process (", grid.row, ", ", grid.col, ") of a grid of ",
                 grid.rows, " x ", grid.cols, "; (-1, -1) is outside the grid");
  require(d[DTYPE] == dense_matrix, "DTYPE", d[DTYPE], "1, for a dense matrix");
  require(d[M] >= 0, "M", d[M], "at least 0");
  require(d[N] >= 0, "N", d[N], "at least 0");
  require(d[MB] >= 1, "MB", d[MB], "at least 1");
  require(d[NB] >= 1, "NB", d[NB], "at least 1");
  require(0 <= d[RSRC] && d[RSRC] < grid.rows, "RSRC", d[RSRC], "from 0 to ", grid.rows - 1);
  require(0 <= d[CSRC] && d[CSRC] < grid.cols, "CSRC", d[CSRC], "from 0 to ", grid.cols - 1);
}

// What each rank tells the others, as doubles: P, Q, its coordinates, and what all must agree on.
constexpr std::array told_names{"P", "Q", "row", "col", "M", "N", "MB", "NB", "RSRC", "CSRC"};

std::vector<double> told(ProcessGrid const& grid, std::span<std::int64_t const, 9> d) {
  std::vector<double> numbers{static_cast<double>(grid.rows), static_cast<double>(grid.cols),
                              static_cast<double>(grid.row), static_cast<double>(grid.col)};
  if (!is_inside(grid)) return {0, 0, -1, -1, 0, 0, 0, 0, 0, 0};
  for (auto const field : {M, N, MB, NB, RSRC, CSRC})
    numbers.push_back(static_cast<double>(d[field]));
  return numbers;
}

// The first rank in the grid, with which all others in it agree.
std::size_t first_of_equals(std::vector<double> const& all, std::size_t ranks) {
  constexpr std::size_t size = told_names.size();
  auto const number = [&](std::size_t rank, std::size_t k) {
    return static_cast<std::int64_t>(all[rank * size + k]);
  };
  std::size_t first = 0;
  while (first < ranks && number(first, 2) < 0) ++first;
  STRATA_REQUIRE(ValueError, first < ranks, "block-cyclic matrix: no rank is in the grid");
  std::int64_t inside = 0;
  for (std::size_t rank = first; rank < ranks; ++rank) {
    if (number(rank, 2) < 0) continue;
    ++inside;
    for (std::size_t k = 0; k < size; ++k)
      STRATA_REQUIRE(ValueError, k == 2 || k == 3 || number(rank, k) == number(first, k),
                     "block-cyclic matrix: ", told_names[k], " is ", number(first, k), " on rank ",
                     first, " and ", number(rank, k), " on rank ", rank);
    for (std::size_t other = first; other < rank; ++other)
      STRATA_REQUIRE(ValueError,
                     number(rank, 2) != number(other, 2) || number(rank, 3) != number(other, 3),
                     "block-cyclic matrix: ranks ", other, " and ", rank, " are both process (",
                     number(rank, 2), ", ", number(rank, 3), ") of the grid");
  }
  STRATA_REQUIRE(ValueError, inside == number(first, 0) * number(first, 1),
                 "block-cyclic matrix: ", inside, " ranks are in a grid of ", number(first, 0),
                 " x ", number(first, 1), " processes");
  return first;
}

// Room for the largest of the messages.
template <class Numbers>
void grow(Numbers& room, std::vector<std::size_t> const& sizes) {
  std::size_t const size = sizes.empty() ? 0 : *std::ranges::max_element(sizes);
  if (room.size() >= size) return;
  room = {};
  room = allocate_on_host<Numbers>("strata::comm::block_cyclic::message", size);
}

}  // namespace

// --- one dimension ---

// Indices before `end` that a process has; ScaLAPACK's numroc.
std::int64_t BlockCyclic::Axis::below(std::int64_t end, int process) const {
  if (process < 0) return 0;
  std::int64_t const whole = end / block, turn = (process - first + count) % count;
  std::int64_t const mine = whole / count * block;
  if (turn < whole % count) return mine + block;
  return turn == whole % count ? mine + end % block : mine;
}

// Where the process that has it has it.
std::int64_t BlockCyclic::Axis::local(std::int64_t index) const {
  return index / block / count * block + index % block;
}

// f(begin, end) for each run of neighbouring indices that a process has.
template <class F>
void BlockCyclic::Axis::for_each_run(int process, std::int64_t begin, std::int64_t end,
                                     F const& f) const {
  if (process < 0 || begin >= end) return;
  std::int64_t number = begin / block;
  std::int64_t const turn = (process - first + count) % count;
  number += (turn - number % count + count) % count;
  for (; number * block < end; number += count)
    f(std::max(begin, number * block), std::min(end, (number + 1) * block));
}

// --- the matrix ---

BlockCyclic::BlockCyclic(std::shared_ptr<Communicator const> comm, ProcessGrid const& grid,
                         std::span<int const, 9> descriptor, double* A)
    : BlockCyclic(std::move(comm), grid, widened(descriptor), A) {}

BlockCyclic::BlockCyclic(std::shared_ptr<Communicator const> comm, ProcessGrid const& grid,
                         std::span<std::int64_t const, 9> descriptor, double* A)
    : comm_(std::move(comm)), messages_(std::make_shared<Messages>()) {
  STRATA_REQUIRE(ValueError, comm_, "block-cyclic matrix: there is no communicator");
  auto const ranks = static_cast<std::size_t>(comm_->size());
  comm_->agree([&] {
    if (is_inside(grid)) check_own(grid, descriptor, comm_->size());
  });
  auto const all = comm_->gather(told(grid, descriptor));
  std::size_t const first = comm_->agree([&] { return first_of_equals(all, ranks); });
  auto const number = [&](std::size_t rank, std::size_t k) {
    return static_cast<std::int64_t>(all[rank * told_names.size() + k]);
  };
  auto processes = std::make_shared<std::vector<Process>>();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    processes->push_back({static_cast<int>(number(rank, 2)), static_cast<int>(number(rank, 3))});
  processes_ = std::move(processes);
  auto const axis = [&](std::size_t k) {
    std::int64_t const size = number(first, 4 + k);
    std::int64_t const block = std::min(number(first, 6 + k), std::max<std::int64_t>(1, size));
    return Axis{size, block, static_cast<int>(number(first, k)),
                static_cast<int>(number(first, 8 + k))};
  };
  row_axis_ = axis(0);
  col_axis_ = axis(1);
  rows_ = row_axis_.size;
  cols_ = col_axis_.size;
  data_ = A;
  if (is_inside(grid)) ld_ = descriptor[LLD];
  comm_->agree([&] {
    if (!is_inside(grid)) return;
    std::int64_t const m = row_axis_.below(rows_, grid.row), n = col_axis_.below(cols_, grid.col);
    STRATA_REQUIRE(ValueError, ld_ >= std::max<std::int64_t>(1, m), "block-cyclic matrix: LLD is ",
                   ld_, ", must be at least ", std::max<std::int64_t>(1, m), " on process (",
                   grid.row, ", ", grid.col, "), which has ", m, " rows");
    STRATA_REQUIRE(ValueError, A != nullptr || m == 0 || n == 0,
                   "block-cyclic matrix: a null pointer on process (", grid.row, ", ", grid.col,
                   "), which has ", m, " rows and ", n, " columns");
  });
}

BlockCyclic BlockCyclic::part(std::int64_t row, std::int64_t col, std::int64_t m,
                              std::int64_t n) const {
  require_inside({row, col, m, n});
  BlockCyclic sub = *this;
  sub.row_ += row;
  sub.col_ += col;
  sub.rows_ = m;
  sub.cols_ = n;
  return sub;
}

void BlockCyclic::require_inside(WholeBlock const& block) const {
  STRATA_REQUIRE(ShapeError,
                 block.row >= 0 && block.col >= 0 && block.rows >= 0 && block.cols >= 0 &&
                     block.row <= rows_ - block.rows && block.col <= cols_ - block.cols,
                 "block-cyclic matrix: a block of ", block.rows, " x ", block.cols, " at (",
                 block.row, ", ", block.col, ") of a matrix of ", rows_, " x ", cols_);
}

double* BlockCyclic::local(std::int64_t i, std::int64_t j) const {
  return data_ + row_axis_.local(row_ + i) + col_axis_.local(col_ + j) * ld_;
}

// f(i, j, length) for each piece of a column of the block that a process has, one entry below the
// other.
template <class F>
void BlockCyclic::for_each_run(Process const& process, WholeBlock const& block, F const& f) const {
  std::int64_t const last_row = row_ + block.row + block.rows, first_col = col_ + block.col;
  col_axis_.for_each_run(
      process.col, first_col, first_col + block.cols, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t j = begin - col_; j < end - col_; ++j) {
          std::int64_t const top = block.is_lower ? std::max(block.row, j) : block.row;
          row_axis_.for_each_run(
              process.row, row_ + top, last_row,
              [&](std::int64_t from, std::int64_t to) { f(from - row_, j, to - from); });
        }
      });
}

// Entries of the block that a process has.
std::int64_t BlockCyclic::count(Process const& process, WholeBlock const& block) const {
  std::int64_t const last_row = row_ + block.row + block.rows, first_col = col_ + block.col;
  auto const rows_from = [&](std::int64_t top) {
    return row_axis_.below(last_row, process.row) -
           row_axis_.below(std::min(last_row, row_ + top), process.row);
  };
  if (!block.is_lower)
    return rows_from(block.row) * (col_axis_.below(first_col + block.cols, process.col) -
                                   col_axis_.below(first_col, process.col));
  std::int64_t sum = 0;
  col_axis_.for_each_run(process.col, first_col, first_col + block.cols,
                         [&](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t j = begin - col_; j < end - col_; ++j)
                             sum += rows_from(std::max(block.row, j));
                         });
  return sum;
}

// Copies the numbers at read(b, i, j) to write(b, i, j) on other ranks, for all blocks b. Parts of
// a block go to the rank that wants the whole block, or back. In step s each rank sends to the one
// s ranks on.
template <class Read, class Write>
void BlockCyclic::exchange(std::span<WholeBlock const> blocks, bool to_whole, Read const& read,
                           Write const& write) const {
  int const ranks = comm_->size(), me = comm_->rank();
  std::vector<std::vector<std::size_t>> of_rank;
  std::vector<std::size_t> sent, got;  // in each step
  struct Way {
    int in_parts, whole;
  };
  auto const way_out = [&](int to) { return to_whole ? Way{me, to} : Way{to, me}; };
  auto const way_in = [&](int from) { return to_whole ? Way{from, me} : Way{me, from}; };
  auto const each_run = [&](Way const& way, auto const& f) {
    for (std::size_t const b : of_rank[static_cast<std::size_t>(way.whole)])
      for_each_run((*processes_)[static_cast<std::size_t>(way.in_parts)], blocks[b],
                   [&](std::int64_t i, std::int64_t j, std::int64_t n) { f(b, i, j, n); });
  };
  auto const numbers_on = [&](Way const& way) {
    std::int64_t sum = 0;
    for (std::size_t const b : of_rank[static_cast<std::size_t>(way.whole)])
      sum += count((*processes_)[static_cast<std::size_t>(way.in_parts)], blocks[b]);
    return static_cast<std::size_t>(sum);
  };
  together(comm_.get(), [&] {
    of_rank.resize(static_cast<std::size_t>(ranks));
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      require_inside(blocks[b]);
      of_rank[static_cast<std::size_t>(blocks[b].rank)].push_back(b);
    }
    for (int s = 1; s < ranks; ++s) {
      sent.push_back(numbers_on(way_out((me + s) % ranks)));
      got.push_back(numbers_on(way_in((me - s + ranks) % ranks)));
    }
    grow(messages_->out, sent);
    grow(messages_->in, got);
  });
  each_run({me, me}, [&](std::size_t b, std::int64_t i, std::int64_t j, std::int64_t n) {
    std::copy_n(read(b, i, j), n, write(b, i, j));
  });
  for (int s = 1; s < ranks; ++s) {
    int const to = (me + s) % ranks, from = (me - s + ranks) % ranks;
    double* out = messages_->out.data();
    each_run(way_out(to), [&](std::size_t b, std::int64_t i, std::int64_t j, std::int64_t n) {
      out = std::copy_n(read(b, i, j), n, out);
    });
    auto const step = static_cast<std::size_t>(s - 1);
    comm_->send_receive({messages_->out.data(), sent[step]}, to, {messages_->in.data(), got[step]},
                        from);
    double const* in = messages_->in.data();
    each_run(way_in(from), [&](std::size_t b, std::int64_t i, std::int64_t j, std::int64_t n) {
      std::copy_n(in, n, write(b, i, j));
      in += n;
    });
  }
}

namespace {
std::int64_t offset_in(WholeBlock const& block, std::int64_t i, std::int64_t j) {
  return i - block.row + (j - block.col) * block.rows;
}
}  // namespace

void BlockCyclic::fetch(std::span<WholeBlock const> blocks,
                        std::span<double* const> numbers) const {
  exchange(
      blocks, true, [&](std::size_t, std::int64_t i, std::int64_t j) { return local(i, j); },
      [&](std::size_t b, std::int64_t i, std::int64_t j) {
        return numbers[b] + offset_in(blocks[b], i, j);
      });
}

void BlockCyclic::give(std::span<WholeBlock const> blocks,
                       std::span<double const* const> numbers) const {
  exchange(
      blocks, false,
      [&](std::size_t b, std::int64_t i, std::int64_t j) {
        return numbers[b] + offset_in(blocks[b], i, j);
      },
      [&](std::size_t, std::int64_t i, std::int64_t j) { return local(i, j); });
}

void BlockCyclic::read_own(WholeBlock const& block, double* numbers) const {
  require_inside(block);
  for_each_run((*processes_)[static_cast<std::size_t>(comm_->rank())], block,
               [&](std::int64_t i, std::int64_t j, std::int64_t n) {
                 std::copy_n(local(i, j), n, numbers + offset_in(block, i, j));
               });
}

void BlockCyclic::write_own(WholeBlock const& block, double const* numbers) const {
  require_inside(block);
  for_each_run((*processes_)[static_cast<std::size_t>(comm_->rank())], block,
               [&](std::int64_t i, std::int64_t j, std::int64_t n) {
                 std::copy_n(numbers + offset_in(block, i, j), n, local(i, j));
               });
}

bool BlockCyclic::overlaps(BlockCyclic const& other) const {
  // from this rank's first entry to behind its last one
  auto const span_of = [](BlockCyclic const& A) {
    std::pair<double const*, double const*> span{nullptr, nullptr};
    A.for_each_run((*A.processes_)[static_cast<std::size_t>(A.comm_->rank())],
                   {0, 0, A.rows_, A.cols_}, [&](std::int64_t i, std::int64_t j, std::int64_t n) {
                     double const* const at = A.local(i, j);
                     if (span.first == nullptr) span.first = at;
                     span.second = std::max(span.second, at + n, std::less<>());
                   });
    return span;
  };
  auto const mine = span_of(*this), theirs = span_of(other);
  std::less<double const*> const before;
  return before(mine.first, theirs.second) && before(theirs.first, mine.second);
}

}  // namespace strata
