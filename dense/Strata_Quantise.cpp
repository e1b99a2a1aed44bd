// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/detail/Strata_Instantiate.hpp>
#include <dense/Strata_Quantise.hpp>

namespace strata::dense {

namespace {

// *largest = the largest stored magnitude of A, NaN not counted.
template <class T, class ExecutionSpace>
void largest_magnitude(ExecutionSpace const& exec,
                       MatrixRef<typename ExecutionSpace::memory_space> const& A,
                       Kokkos::View<double, typename ExecutionSpace::memory_space,
                                    Kokkos::MemoryTraits<Kokkos::Unmanaged>> const& largest) {
  constexpr std::int64_t most_teams = 1024, chunk = 4096;
  std::int64_t const chunks = (A.rows + chunk - 1) / chunk, rows = A.rows, ld = A.ld;
  std::int64_t const items = chunks * A.cols, teams = items < most_teams ? items : most_teams;
  T const* const a = A.template as<T>();
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::deep_copy(exec, largest, 0.0);
  Kokkos::parallel_for(
      "strata::dense::quantise::largest", Policy(exec, static_cast<int>(teams), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        Wide part = 0;
        for (std::int64_t item = team.league_rank(); item < items; item += teams) {
          std::int64_t const begin = (item % chunks) * chunk;
          std::int64_t const end = begin + chunk < rows ? begin + chunk : rows;
          T const* const column = a + (item / chunks) * ld;
          Wide most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(team, begin, end),
              [&](std::int64_t i, Wide& value) {
                Wide const magnitude = Kokkos::abs(static_cast<Wide>(column[i]));
                value = magnitude > value ? magnitude : value;
              },
              Kokkos::Max<Wide>(most));
          part = most > part ? most : part;
        }
        // Of numbers that are not negative the bits are in the numbers' order.
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          Kokkos::atomic_max(reinterpret_cast<std::int64_t*>(&largest()),
                             Kokkos::bit_cast<std::int64_t>(static_cast<double>(part)));
        });
      });
}

}  // namespace

template <class ExecutionSpace>
void quantise(LeafBlas<ExecutionSpace>& blas,
              MatrixRef<typename ExecutionSpace::memory_space> const& source,
              MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
              BlockScaling scaling) {
  STRATA_REQUIRE(ShapeError, source.rows == stored.rows && source.cols == stored.cols,
                 "quantise: the source is ", source.rows, " x ", source.cols, ", stored ",
                 stored.rows, " x ", stored.cols);
  STRATA_REQUIRE(
      ValueError, scale != nullptr && stored.scale == scale && source.scale != scale,
      "quantise: the scale must be that of the stored block, and not that of the source");
  if (source.rows == 0 || source.cols == 0) return;
  using MemorySpace = typename ExecutionSpace::memory_space;
  Kokkos::View<double, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const slot(scale);
  Precision const precision = stored.precision;
  double const* const source_scale = source.scale;
  with_type(source.precision, [&]<class T>(std::type_identity<T>) {
    largest_magnitude<T>(blas.exec(), source, slot);
  });
  Kokkos::parallel_for(
      "strata::dense::quantise::scale", Kokkos::RangePolicy<ExecutionSpace>(blas.exec(), 0, 1),
      KOKKOS_LAMBDA(int) {
        slot() = block_scale(precision, source_scale ? *source_scale * slot() : slot(), scaling);
      });
  blas.convert(Op::NoTrans, source, stored);
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template void quantise<Exec>(LeafBlas<Exec>&, MatrixRef<Exec::memory_space> const&, \
                               MatrixRef<Exec::memory_space> const&, double*, BlockScaling);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
