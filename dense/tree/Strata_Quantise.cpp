// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_Quantise.hpp>

#include <core/blas/basics/Strata_LargestMagnitude.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::dense {

template <class ExecutionSpace>
void measure_largest(ExecutionSpace const& exec,
                     ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                     double* largest) {
  using MemorySpace = typename ExecutionSpace::memory_space;
  using Number = Kokkos::View<double, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(exec, Number(largest), 0.0);
  with_type(source.precision, [&]<class T>(std::type_identity<T>) {
    strata::largest_magnitude<T>("strata::dense::quantise::largest", exec, source, 1, 0, largest);
  });
}

namespace {

template <class Source, class Stored, class ExecutionSpace>
void divide_and_round(ExecutionSpace const& exec,
                      ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                      double const* largest,
                      MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
                      BlockScaling scaling) {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  Source const* const source_data = source.template as<Source>();
  Stored* const stored_data = stored.template as<Stored>();
  std::int64_t const rows = source.rows, cols = source.cols, source_ld = source.ld,
                     stored_ld = stored.ld;
  Precision const precision = stored.precision;
  strata::launch_teams(
      "strata::dense::quantise::below", exec, cols, 0, KOKKOS_LAMBDA(Member const& team) {
        double const s = block_scale(precision, *largest, scaling), to_unit = 1 / s;
        if (team.league_rank() == 0) Kokkos::single(Kokkos::PerTeam(team), [&] { *scale = s; });
        for (std::int64_t j = team.league_rank(); j < cols; j += team.league_size()) {
          Source const* const from = source_data + j * source_ld;
          Stored* const to = stored_data + j * stored_ld;
          // Times a power of two: what is rounded twice is too small for the stored type.
          strata::team_for(team, static_cast<int>(rows), [=](int i) {
            to[i] =
                static_cast<Stored>(static_cast<Source>(static_cast<double>(from[i]) * to_unit));
          });
        }
      });
}

}  // namespace

template <class ExecutionSpace>
void quantise_below(ExecutionSpace const& exec,
                    ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                    double const* largest,
                    MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
                    BlockScaling scaling) {
  STRATA_REQUIRE(ShapeError, source.rows == stored.rows && source.cols == stored.cols,
                 "quantise_below: the source is ", source.rows, " x ", source.cols, ", stored ",
                 stored.rows, " x ", stored.cols);
  STRATA_REQUIRE(
      ValueError,
      scale != nullptr && stored.scale == scale && scale != largest && source.scale == nullptr,
      "quantise_below: the scale must be the stored block's, the source must have none, and "
      "the largest magnitude must lie elsewhere");
  if (source.rows == 0 || source.cols == 0) return;
  with_arithmetic_type(source.precision, [&]<class Source>(std::type_identity<Source>) {
    with_type(stored.precision, [&]<class Stored>(std::type_identity<Stored>) {
      divide_and_round<Source, Stored>(exec, source, largest, stored, scale, scaling);
    });
  });
}

template <class ExecutionSpace>
void quantise(LeafBlas<ExecutionSpace>& blas,
              ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
              MatrixRef<typename ExecutionSpace::memory_space> const& stored, double* scale,
              BlockScaling scaling) {
  STRATA_REQUIRE(ShapeError, source.rows == stored.rows && source.cols == stored.cols,
                 "quantise: the source is ", source.rows, " x ", source.cols, ", stored ",
                 stored.rows, " x ", stored.cols);
  STRATA_REQUIRE(ValueError, scale != nullptr && stored.scale == scale && source.scale != scale,
                 "quantise: the scale must be the stored block's, and not the source's");
  if (source.rows == 0 || source.cols == 0) return;
  measure_largest(blas.exec(), source, scale);
  double const* const source_scale = source.scale;
  Precision const precision = stored.precision;
  Kokkos::parallel_for(
      "strata::dense::quantise::scale", Kokkos::RangePolicy<ExecutionSpace>(blas.exec(), 0, 1),
      KOKKOS_LAMBDA(int) {
        *scale = block_scale(precision, source_scale ? *source_scale * *scale : *scale, scaling);
      });
  blas.convert(Op::NoTrans, source, stored);
}

#define STRATA_INSTANTIATE(Exec)                                                                   \
  template void measure_largest<Exec>(Exec const&, ConstMatrixRef<Exec::memory_space> const&,      \
                                      double*);                                                    \
  template void quantise<Exec>(LeafBlas<Exec>&, ConstMatrixRef<Exec::memory_space> const&,         \
                               MatrixRef<Exec::memory_space> const&, double*, BlockScaling);       \
  template void quantise_below<Exec>(Exec const&, ConstMatrixRef<Exec::memory_space> const&,       \
                                     double const*, MatrixRef<Exec::memory_space> const&, double*, \
                                     BlockScaling);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
