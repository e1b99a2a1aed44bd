// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_Prolongator.hpp>

#include <utility>

namespace strata::sparse::detail {
namespace {

/// The rows of a matrix in the caller's order (row source), without the zeros that may be padding.
template <class Matrix>
struct CallersRows {
  EllRows<Matrix> stored;
  Vector<std::int32_t, typename Matrix::MemorySpace> old_row, new_row;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    stored(new_row(row),
           [&](std::int64_t column, double value) { emit(std::int64_t(old_row(column)), value); });
  }
};

template <class Exec>
LocalCsr<Exec> rows_of_one_rank(Exec const& exec, DistributedMatrix<Exec> const& A) {
  LocalCsr<Exec> result;
  std::visit(
      [&]<class Matrix>(Matrix const& stored) {
        CallersRows<Matrix> const rows{{stored}, A.order().old_row, A.order().new_row};
        (void)make_local_csr(exec, A.rows(), A.rows(), rows, result);
      },
      A.stored());
  return result;
}

// A dead unknown's equation is x = 0.
template <class Exec, class Space>
void hold_dead(Exec const& exec, std::int64_t nodes, BlockRows<Space> const& A,
               Vector<double, Space> const& is_dead) {
  int const size = A.height;
  Kokkos::parallel_for(
      "strata::sparse::coarsened::hold_dead", RowPolicy<Exec>(exec, 0, nodes),
      KOKKOS_LAMBDA(std::int64_t node) {
        for (std::int64_t k = A.begin(node); k < A.begin(node + 1); ++k)
          if (A.column(k) == node)
            for (int c = 0; c < size; ++c)
              if (is_dead(node * size + c) > 0) A.value((k * size + c) * size + c) = 1;
      });
}

template <class Exec>
BlockCsr<Exec> in_numbers(LocalCsr<Exec> const& A) {
  return {1, 1, A, A.value};
}

template <class Exec>
Coarsening<Exec> galerkin(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& P) {
  Coarsening<Exec> result{P, transposed_index(exec, P.nodes), {}};
  auto const AP = product(exec, A, P);
  result.coarse.A = product(exec, result.R, P, AP);
  exec.fence("strata::sparse::coarsened");  // AP ends here
  return result;
}

// `smoothed` and `tentative` make a P each.
template <class Exec, class Smoothed, class Plain>
Coarsening<Exec> galerkin_of(Exec const& exec, BlockCsr<Exec> const& A, Smoothed const& smoothed,
                             Plain const& plain) {
  auto result = galerkin(exec, A, smoothed());
  if (result.coarse.A.entries() > A.entries()) result = galerkin(exec, A, plain());
  return result;
}

template <class Exec>
Coarsening<Exec> coarsened_by_modes(Exec const& exec, WholeLevel<Exec> const& level,
                                    StrongGraph<Exec> const& F,
                                    RowAggregates<Exec> const& aggregates, double largest) {
  auto const& A = level.A;
  auto const tentative = tentative_of(exec, A.height, aggregates, level.modes);
  auto result = galerkin_of(
      exec, A,
      [&] { return smoothed_prolongator(exec, A, F, aggregates, level.modes, tentative, largest); },
      [&] { return tentative_prolongator(exec, A, aggregates, tentative.P0); });
  auto& coarse = result.coarse;
  hold_dead(exec, coarse.A.nodes.rows, BlockRows<typename Exec::memory_space>::of(coarse.A),
            tentative.is_dead.view());
  measure_blocks(exec, coarse.A);
  coarse.modes = tentative.coarse;
  exec.fence("strata::sparse::coarsened::by_modes");  // `tentative` ends here
  return result;
}

}  // namespace

template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A,
                              LevelFacts<Exec> const& facts) {
  auto const* const given = facts.near_null_space.get();
  STRATA_REQUIRE(ShapeError, !given || given->rows() == A.rows(),
                 "near-null space: ", given ? given->rows() : 0, " rows for a matrix of ",
                 A.rows());
  auto rows = rows_of_one_rank(exec, A);
  if (facts.block_size != 1) sort_rows(exec, rows);
  int const size = facts.block_size > 0 ? facts.block_size : found_block_size(exec, rows);
  WholeLevel<Exec> level{to_blocks(exec, rows, size), {}};
  if (size > 1 || given) level.modes = modes_of(exec, level.A, given, facts.scale);
  return level;
}

template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows, double largest) {
  Region const region(exec, "strata::sparse::coarsened");
  auto const& nodes = level.A.nodes;
  auto const F = strong_graph(exec, nodes, strength);
  auto const aggregates = aggregates_of(exec, nodes, F);
  int const width = level.modes.width > 0 ? level.modes.width : 1;
  auto const rows = static_cast<double>(aggregates.count * width);
  if (aggregates.count == 0 || rows > most_rows) return std::nullopt;
  if (level.modes.width > 0) return coarsened_by_modes(exec, level, F, aggregates, largest);
  return galerkin_of(
      exec, level.A, [&] { return in_numbers(smoothed_prolongator(exec, nodes, F, aggregates)); },
      [&] { return in_numbers(tentative_prolongator(exec, nodes, aggregates)); });
}

#define STRATA_INSTANTIATE_COARSENING(Space)                                                  \
  template WholeLevel<Space> finest_level(Space const&, DistributedMatrix<Space> const&,      \
                                          LevelFacts<Space> const&);                          \
  template std::optional<Coarsening<Space>> coarsened(Space const&, WholeLevel<Space> const&, \
                                                      double, double, double);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COARSENING)

}  // namespace strata::sparse::detail
