// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/detail/Strata_TileIntegers.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

namespace strata::ooc::detail {

template <class Exec>
void largest_square(Exec const& exec, std::int64_t rows, double const* squares, double* largest) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::ooc::integers::largest_square", Policy(exec, 1, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        double found = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, std::int64_t{0}, rows),
            [&](std::int64_t i, double& most) { most = squares[i] > most ? squares[i] : most; },
            Kokkos::Max<double>(found));
        Kokkos::single(Kokkos::PerTeam(team), [&] { *largest = found; });
      });
}

template <class Exec>
void add_squares(Exec const& exec, std::int64_t rows, double const* squares, double* sums,
                 bool accumulate) {
  Kokkos::parallel_for(
      "strata::ooc::integers::add_squares",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { sums[i] = (accumulate ? sums[i] : 0) + squares[i]; });
}

template <class Exec>
void judge_rows(Exec const& exec, std::int64_t rows, double const* sums, double limit,
                std::int64_t first_row, std::int64_t* info) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "strata::ooc::integers::judge_rows", Policy(exec, 1, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t found = rows;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, std::int64_t{0}, rows),
            [&](std::int64_t i, std::int64_t& least) {
              if (!(sums[i] <= limit) && i < least) least = i;
            },
            Kokkos::Min<std::int64_t>(found));
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          std::int64_t const order = first_row + found + 1;
          if (found < rows && (*info == 0 || *info > order)) *info = order;
        });
      });
}

template <class Exec>
void add_bound(Exec const& exec, double const* a, double const* b, double* bound, bool accumulate) {
  Kokkos::parallel_for(
      "strata::ooc::integers::add_bound", Kokkos::RangePolicy<Exec>(exec, 0, 1),
      KOKKOS_LAMBDA(int) { *bound = (accumulate ? *bound : 0) + Kokkos::sqrt(*a * *b); });
}

template <class Exec>
void judge_bound(Exec const& exec, double const* bound, double limit, std::int64_t number,
                 std::int64_t* outgrown) {
  Kokkos::parallel_for(
      "strata::ooc::integers::judge_bound", Kokkos::RangePolicy<Exec>(exec, 0, 1),
      KOKKOS_LAMBDA(int) {
        if (!(*bound <= limit) && *outgrown == 0) *outgrown = number;
      });
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template void largest_square<Exec>(Exec const&, std::int64_t, double const*, double*);         \
  template void add_squares<Exec>(Exec const&, std::int64_t, double const*, double*, bool);      \
  template void judge_rows<Exec>(Exec const&, std::int64_t, double const*, double, std::int64_t, \
                                 std::int64_t*);                                                 \
  template void add_bound<Exec>(Exec const&, double const*, double const*, double*, bool);       \
  template void judge_bound<Exec>(Exec const&, double const*, double, std::int64_t, std::int64_t*);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
