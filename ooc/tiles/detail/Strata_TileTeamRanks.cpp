// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/tiles/detail/Strata_TileTeam.hpp>

#include <span>

// The passes of several ranks, each with all vectors and its own tiles. Every block has its updates
// in the same order as on one rank.
namespace strata::ooc::detail {

// The blocks i in [begin, end) of the stage, as rank `root` has them, on all ranks.
template <class Exec>
template <class Try>
void TileTeam<Exec>::share(std::int64_t begin, std::int64_t end, int root, Try& attempt) {
  Communicator const& comm = *matrix_.comm();
  std::size_t const first = offset(begin);
  std::size_t const size =
      (end == matrix_.tiles() ? static_cast<std::size_t>(matrix_.order() * cols_) : offset(end)) -
      first;
  std::size_t const bytes = size * sizeof(double);
  if (comm.rank() == root)
    attempt([&] {
      home_.work.copy(exchange_ + first, stage_ + first, bytes);
      home_.work.fence();
    });
  comm.broadcast({exchange_ + first, size}, root);
  if (comm.rank() != root)
    attempt([&] {
      home_.work.copy(stage_ + first, exchange_ + first, bytes);
      home_.work.fence();
    });
}

// Parts of `values`, of which each(f) calls f(first number, bytes), go from one rank to another,
// one behind the other.
template <class Exec>
template <class Each, class Try>
void TileTeam<Exec>::pass_on(double* values, Each const& each, int from, int to, Try& attempt) {
  Communicator const& comm = *matrix_.comm();
  bool const sends = comm.rank() == from, gets = comm.rank() == to;
  if (from == to || (!sends && !gets)) return;
  std::size_t size = 0;  // of the message
  auto const copy = [&](auto const& f) {
    std::size_t at = 0;
    each([&](std::size_t first, std::size_t bytes) {
      f(exchange_ + at, values + first, bytes);
      at += bytes / sizeof(double);
    });
    home_.work.fence();
  };
  each([&](std::size_t, std::size_t bytes) { size += bytes / sizeof(double); });
  std::span<double> const message(exchange_, size), nothing;
  if (sends)
    attempt([&] {
      copy([&](double* host, double* here, std::size_t bytes) {
        home_.work.copy(host, here, bytes);
      });
    });
  comm.send_receive(sends ? message : nothing, to, gets ? message : nothing, from);
  if (gets)
    attempt([&] {
      copy([&](double* host, double* here, std::size_t bytes) {
        home_.work.copy(here, host, bytes);
      });
    });
}

// Blocks of the stage go from one rank to another.
template <class Exec>
template <class Try>
void TileTeam<Exec>::hand_on(BlocksRound const& blocks, int from, int to, Try& attempt) {
  auto const each = [&](auto const& f) {
    for (std::int64_t i = blocks.first(); i < blocks.end; i += blocks.parts)
      f(offset(i), block_bytes(i));
  };
  pass_on(stage_, each, from, to, attempt);
}

// Each final block goes to all ranks. Forwards, the ranks with tiles in the block's column are a
// column of the grid. They update the blocks below for which they have tiles. Then they hand these
// blocks on to the grid's next column, which has the next column of tiles. Backwards, the ranks
// with tiles in the block's row update the blocks above, and hand them on to the grid's row before.
template <class Exec>
void TileTeam<Exec>::substitute_on_ranks(Op op) {
  LocalSteps attempt;
  Member& member = members_.front();
  RankGrid const& grid = matrix_.grid();
  bool const forward = op == Op::NoTrans;
  std::int64_t const tiles = matrix_.tiles(), step = forward ? 1 : -1;
  std::int64_t const first = forward ? first_ : tiles - 1, end = forward ? tiles : first_ - 1;
  auto const row = matrix_.comm()->rank() / grid.cols, col = matrix_.comm()->rank() % grid.cols;
  auto const update = [&](std::int64_t i, std::int64_t k) {
    bool const has = forward ? matrix_.has_tile(i, k) : matrix_.has_tile(k, i);
    if (!has) return;
    auto const L = forward ? member.tiles(matrix_).next(i, k) : member.tiles(matrix_).next(k, i);
    home_.blas().gemm(forward ? L.op : transposed(L.op), Op::NoTrans, -1, L.matrix,
                      block(member, k), 1, block(member, i));
  };
  for (std::int64_t k = first; k != end; k += step) {
    if (matrix_.has_tile(k, k))
      attempt([&] {
        home_.blas().trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1,
                          member.tiles(matrix_).next(k, k).matrix, block(member, k));
      });
    share(k, k + 1, matrix_.owner(k, k), attempt);
    attempt([&] {
      for (std::int64_t i = k + step; i != end; i += step) update(i, k);
    });
    if (k + step == end) break;
    if (forward)
      hand_on({k + 1, tiles, row, grid.rows}, grid.rank_at(row, k), grid.rank_at(row, k + 1),
              attempt);
    else
      hand_on({first_, k, col, grid.cols}, matrix_.owner(k, col), matrix_.owner(k - 1, col),
              attempt);
  }
  attempt([&] { home_.fence(); });
  attempt.end(matrix_.comm());
}

// Y = H X: each rank by the tiles of the rows that it makes. The terms of Y_j go to the rank that
// makes row j.
template <class Exec>
void TileTeam<Exec>::multiply_on_ranks() {
  LocalSteps attempt;
  Member& member = members_.front();
  int const rank = matrix_.comm()->rank(), ranks = matrix_.comm()->size();
  std::int64_t const tiles = matrix_.tiles();
  double* terms = nullptr;
  attempt([&] {
    begin_product(home_);
    terms = home_.terms.view().data();
  });
  for (std::int64_t j = 0; j < tiles; ++j) {
    matrix_.bring(j, TileUsers::Makers);
    attempt([&] {
      auto const makes = [&](std::int64_t i) { return matrix_.makes_row(i); };
      multiply_column(member, j, makes, matrix_.device_scaling());
    });
    int const maker = matrix_.maker_of_row(j);
    auto const bytes = static_cast<std::size_t>(matrix_.rows(j) * cols_) * sizeof(double);
    for (int from = 0; from < ranks; ++from) {
      auto const each = [&](auto const& f) {
        for (std::int64_t i = j + 1; i < tiles; ++i)
          if (matrix_.maker_of_row(i) == from) f(offset(i), bytes);
      };
      pass_on(terms, each, from, maker, attempt);
    }
    if (rank == maker) attempt([&] { add_terms(home_, j, {j + 1, tiles, 0, 1}); });
  }
  attempt([&] {
    home_.work.copy(stage_, home_.sums.view().data(),
                    static_cast<std::size_t>(matrix_.order() * cols_) * sizeof(double));
    home_.work.fence();
  });
  for (std::int64_t i = 0; i < tiles; ++i) share(i, i + 1, matrix_.maker_of_row(i), attempt);
  attempt.end(matrix_.comm());
}

#define STRATA_INSTANTIATE(Exec)                         \
  template void TileTeam<Exec>::substitute_on_ranks(Op); \
  template void TileTeam<Exec>::multiply_on_ranks();
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
