// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/detail/Strata_Coarsening.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/multigrid/detail/Strata_Prolongator.hpp>

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

template <class Exec>
void number_components(Exec const& exec, int block_size,
                       Vector<std::int32_t, typename Exec::memory_space> const& component) {
  Kokkos::parallel_for(
      "strata::sparse::finest_level::components",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(component.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { component(i) = static_cast<std::int32_t>(i % block_size); });
}

template <class Exec>
Coarsening<Exec> galerkin(Exec const& exec, LocalCsr<Exec> const& A, LocalCsr<Exec> const& P) {
  Coarsening<Exec> result{P, transposed_index(exec, P), {}};
  auto const AP = product(exec, A, P);
  result.coarse.A = product(exec, result.R, P, AP);
  return result;
}

}  // namespace

template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A, int block_size) {
  WholeLevel<Exec> level{rows_of_one_rank(exec, A), {}};
  if (block_size > 1) {
    level.component = {exec, "strata::sparse::finest_level::component", A.rows()};
    number_components(exec, block_size, level.component.view());
  }
  return level;
}

template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows) {
  Region const region(exec, "strata::sparse::coarsened");
  auto const& A = level.A;
  auto const F = strong_graph(exec, A, level.component, strength);
  auto const aggregates = aggregates_of(exec, A, F, level.component);
  if (aggregates.count == 0 || static_cast<double>(aggregates.count) > most_rows)
    return std::nullopt;
  auto result = galerkin(exec, A, smoothed_prolongator(exec, A, F, level.component, aggregates));
  if (result.coarse.A.entries() > A.entries())
    result = galerkin(exec, A, tentative_prolongator(exec, A, aggregates));
  result.coarse.component = aggregates.component;
  return result;
}

#define STRATA_INSTANTIATE_COARSENING(Space)                                                   \
  template WholeLevel<Space> finest_level(Space const&, DistributedMatrix<Space> const&, int); \
  template std::optional<Coarsening<Space>> coarsened(Space const&, WholeLevel<Space> const&,  \
                                                      double, double);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COARSENING)

}  // namespace strata::sparse::detail
