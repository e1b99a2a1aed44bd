// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/portable/detail/Strata_ThinSymmetric.hpp>

#include <core/blas/basics/Strata_SymmetricTiles.hpp>
#include <core/kokkos_ext/Strata_BatchedSum.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/kokkos_ext/Strata_TeamsThatFit.hpp>

#include <optional>

namespace strata::detail {
namespace {

// y = alpha * sum of the partial sums + beta y
template <class T, class Exec>
void add_tiles(Exec const& exec, Tiling const& tiling, double alpha, T const* of_rows,
               T const* of_cols, double beta, T* y) {
  Kokkos::parallel_for(
      "strata::core::thin_symmetric::sum",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, tiling.n),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const across = tiling.of_row(i / Tiling::rows), down = tiling.of_col(i / tiling.cols);
        T const sum =
            batched_sum<T>(static_cast<int>(across.second - across.first),
                           [&](int k) { return of_rows[i + (across.first + k) * tiling.n]; }) +
            batched_sum<T>(static_cast<int>(down.second - down.first),
                           [&](int k) { return of_cols[i + (down.first + k) * tiling.n]; });
        T const old = beta == 0 ? T(0) : static_cast<T>(beta) * y[i];
        y[i] = static_cast<T>(alpha) * sum + old;
      });
}

}  // namespace

template <class Exec>
bool thin_symmetric(Exec const& exec, Workspace<Exec>& workspace, Uplo uplo, double alpha,
                    ConstMatrixRef<typename Exec::memory_space> const& A,
                    ConstMatrixRef<typename Exec::memory_space> const& B, double beta,
                    MatrixRef<typename Exec::memory_space> const& C, std::int64_t tile_cols) {
  bool const takes = C.cols <= 2 && is_arithmetic(C.precision) && B.precision == C.precision &&
                     A.precision == C.precision && !A.scale && !B.scale && !C.scale;
  if (runs_on_host<Exec> || !takes || A.rows == 0) return false;
  Tiling const tiling(A.rows, uplo == Uplo::Lower,
                      tile_cols > 0 ? tile_cols : Tiling::columns(A.rows));
  std::size_t const bytes = Workspace<Exec>::bytes(C.precision, tiling.n, tiling.across) +
                            Workspace<Exec>::bytes(C.precision, tiling.n, tiling.down);
  using Frame = typename Workspace<Exec>::Frame;
  std::optional<Frame> room;
  try {
    room.emplace(workspace, bytes);
  } catch (MemoryError const&) {
    return false;
  }
  Frame& frame = *room;
  with_arithmetic_type(C.precision, [&]<class T>(std::type_identity<T>) {
    T* const of_rows = frame.take(C.precision, tiling.n, tiling.across).template as<T>();
    T* const of_cols = frame.take(C.precision, tiling.n, tiling.down).template as<T>();
    using Kernel = SymmetricTiles<T, ProductTerms<T>>;
    constexpr unsigned teams = teams_that_fit(3, Kernel::scratch_bytes(Tiling::widest(1)));
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tiling::threads, teams>>;
    for (std::int64_t k = 0; k < C.cols; ++k) {
      auto const* const x = static_cast<T const*>(B.data) + k * B.ld;
      Policy policy(exec, static_cast<int>(tiling.down * tiling.across), Tiling::threads);
      policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes(tiling.cols)));
      Kokkos::parallel_for(
          "strata::core::thin_symmetric::tiles", policy,
          Kernel{tiling, static_cast<T const*>(A.data), A.ld, {x, of_rows, of_cols, tiling.n}});
      add_tiles(exec, tiling, alpha, of_rows, of_cols, beta, C.template as<T>() + k * C.ld);
    }
  });
  return true;
}

#define STRATA_INSTANTIATE(Space)                                                           \
  template bool thin_symmetric(Space const&, Workspace<Space>&, Uplo, double,               \
                               ConstMatrixRef<typename Space::memory_space> const&,         \
                               ConstMatrixRef<typename Space::memory_space> const&, double, \
                               MatrixRef<typename Space::memory_space> const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
