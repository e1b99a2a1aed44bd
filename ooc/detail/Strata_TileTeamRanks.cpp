// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/detail/Strata_TileTeam.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>

#include <span>

// The passes of several ranks, each with all vectors and its own rows of tiles; every block has its updates in
// the order that it has them in on one rank.
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

// Forwards each final block goes to all ranks, which update their own below it. Backwards a rank has the
// tiles of a row, which update all blocks above: they go on to the next row's rank as a whole.
template <class Exec>
void TileTeam<Exec>::substitute_on_ranks(Op op) {
  LocalSteps attempt;
  Member& member = members_.front();
  auto& blas = home_.blas();
  std::int64_t const tiles = matrix_.tiles();
  auto const ranks = static_cast<std::int64_t>(matrix_.comm()->size());
  auto const finish = [&](std::int64_t k) {
    blas.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1,
              member.tiles(matrix_).next(k, k).matrix, block(member, k));
  };
  for (std::int64_t k = first_; op == Op::NoTrans && k < tiles; ++k) {
    if (matrix_.has_row(k)) attempt([&] { finish(k); });
    share(k, k + 1, static_cast<int>(k % ranks), attempt);
    for (std::int64_t i = k + 1; i < tiles; ++i) {
      if (!matrix_.has_row(i)) continue;
      attempt([&] {
        auto const L = member.tiles(matrix_).next(i, k);
        blas.gemm(L.op, Op::NoTrans, -1, L.matrix, block(member, k), 1, block(member, i));
      });
    }
  }
  for (std::int64_t k = tiles - 1; op == Op::Trans && k >= first_; --k) {
    if (matrix_.has_row(k)) {
      attempt([&] {
        finish(k);
        for (std::int64_t i = k - 1; i >= first_; --i) {
          auto const L = member.tiles(matrix_).next(k, i);
          blas.gemm(transposed(L.op), Op::NoTrans, -1, L.matrix, block(member, k), 1,
                    block(member, i));
        }
      });
    }
    share(first_, k + 1, static_cast<int>(k % ranks), attempt);
  }
  attempt([&] { home_.fence(); });
  attempt.end(matrix_.comm());
}

// Y = H X: each rank its own rows, for which it evaluates the tiles above the diagonal too.
template <class Exec>
void TileTeam<Exec>::multiply_on_ranks(Block const& Y) {
  LocalSteps attempt;
  Member& member = members_.front();
  auto& blas = home_.blas();
  std::int64_t const edge = std::min(matrix_.order(), matrix_.tile_size());
  std::int64_t const tiles = matrix_.tiles();
  auto const target = [&](std::int64_t i) {
    return matrix_ref(Y).block(i * matrix_.tile_size(), 0, matrix_.rows(i), cols_);
  };
  double* buffer = nullptr;
  attempt([&] {
    buffer =
        home_.tile
            .need(home_.exec(), "strata::ooc::apply::tile", static_cast<std::size_t>(edge * edge))
            .data();
    Kokkos::deep_copy(home_.exec(), Y, 0.0);
  });
  for (std::int64_t j = 0; j < tiles; ++j) {
    matrix_.bring(j, TileUsers::BothRows);
    attempt([&] {
      for (std::int64_t i = j; i < tiles; ++i) {
        bool const lower = matrix_.has_row(i), upper = matrix_.has_row(j);
        if (!lower && !upper) continue;
        TileView<Exec> const tile(buffer, static_cast<std::size_t>(matrix_.rows(i)),
                                  static_cast<std::size_t>(matrix_.rows(j)));
        matrix_.generate_tile(home_.exec(), i, j, tile, matrix_.device_scaling());
        auto const A = matrix_ref(tile);
        if (i == j) {
          blas.symm(Uplo::Lower, 1, A, block(member, i), 1, target(i));
          continue;
        }
        if (lower) blas.gemm(Op::NoTrans, Op::NoTrans, 1, A, block(member, j), 1, target(i));
        if (upper) blas.gemm(Op::Trans, Op::NoTrans, 1, A, block(member, i), 1, target(j));
      }
    });
  }
  attempt([&] {
    pack(Y);
    home_.work.fence();
  });
  auto const ranks = static_cast<std::int64_t>(matrix_.comm()->size());
  for (std::int64_t i = 0; i < tiles; ++i) share(i, i + 1, static_cast<int>(i % ranks), attempt);
  attempt.end(matrix_.comm());
}

#define STRATA_INSTANTIATE(Exec)                         \
  template void TileTeam<Exec>::substitute_on_ranks(Op); \
  template void TileTeam<Exec>::multiply_on_ranks(Block const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
