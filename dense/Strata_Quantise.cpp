// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/Strata_Quantise.hpp>

#include <core/blas/Strata_LargestMagnitude.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

namespace strata::dense {

template <class ExecutionSpace>
void measure_scale(ExecutionSpace const& exec,
                   ConstMatrixRef<typename ExecutionSpace::memory_space> const& source,
                   Precision precision, double* scale, BlockScaling scaling) {
  using MemorySpace = typename ExecutionSpace::memory_space;
  Kokkos::View<double, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const slot(scale);
  double const* const source_scale = source.scale;
  with_type(source.precision, [&]<class T>(std::type_identity<T>) {
    Kokkos::deep_copy(exec, slot, 0.0);
    strata::largest_magnitude<T>("strata::dense::quantise::largest", exec, source, 1, 0, scale);
  });
  Kokkos::parallel_for(
      "strata::dense::quantise::scale", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
      KOKKOS_LAMBDA(int) {
        slot() = block_scale(precision, source_scale ? *source_scale * slot() : slot(), scaling);
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
  STRATA_REQUIRE(
      ValueError, scale != nullptr && stored.scale == scale && source.scale != scale,
      "quantise: the scale must be that of the stored block, and not that of the source");
  if (source.rows == 0 || source.cols == 0) return;
  measure_scale(blas.exec(), source, stored.precision, scale, scaling);
  blas.convert(Op::NoTrans, source, stored);
}

#define STRATA_INSTANTIATE(Exec)                                                            \
  template void measure_scale<Exec>(Exec const&, ConstMatrixRef<Exec::memory_space> const&, \
                                    Precision, double*, BlockScaling);                      \
  template void quantise<Exec>(LeafBlas<Exec>&, ConstMatrixRef<Exec::memory_space> const&,  \
                               MatrixRef<Exec::memory_space> const&, double*, BlockScaling);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
