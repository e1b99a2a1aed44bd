// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/basics/detail/Strata_Elementwise.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::detail {
namespace {

/// One team combines a chunk of a column.
template <class Exec>
struct Combine {
  static constexpr int chunk = runs_on_host<Exec> ? 8192 : 2048;

  ConstMatrixRef<typename Exec::memory_space> product;
  MatrixRef<typename Exec::memory_space> C;
  Factor factor;
  double beta;
  std::int64_t chunks;
  Part part;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double const alpha = factor();
    for (std::int64_t item = member.league_rank(); item < chunks * C.cols;
         item += member.league_size()) {
      std::int64_t const j = item / chunks;
      RowRange const range(part, j, C.rows);
      std::int64_t const first = (item % chunks) * chunk;
      std::int64_t const begin = first < range.begin ? range.begin : first;
      std::int64_t const end = first + chunk < range.end ? first + chunk : range.end;
      if (begin >= end) continue;
      std::int64_t const at_c = begin + j * C.ld, at_product = begin + j * product.ld;
      int const count = static_cast<int>(end - begin);
      with_stored_type(C.precision, C.data, [&](auto* c) {
        if (!product.data) return scale(member, count, c + at_c);
        if (product.precision == Precision::fp64)
          add(member, count, alpha, static_cast<double const*>(product.data) + at_product,
              c + at_c);
        else
          add(member, count, alpha, static_cast<float const*>(product.data) + at_product, c + at_c);
      });
    }
  }

 private:
  template <class Member, class T>
  KOKKOS_FUNCTION void scale(Member const& member, int count, T* KOKKOS_RESTRICT c) const {
    double const b = beta;
    if (b == 0)
      team_for(member, count, [=](int i) { c[i] = static_cast<T>(0.0f); });
    else
      team_for(member, count, [=](int i) { c[i] = static_cast<T>(b * static_cast<double>(c[i])); });
  }

  template <class Member, class P, class T>
  KOKKOS_FUNCTION void add(Member const& member, int count, double alpha,
                           P const* KOKKOS_RESTRICT p, T* KOKKOS_RESTRICT c) const {
    double const b = beta;
    if (b == 0) {
      team_for(member, count,
               [=](int i) { c[i] = static_cast<T>(alpha * static_cast<double>(p[i])); });
    } else {
      team_for(member, count, [=](int i) {
        c[i] = static_cast<T>(alpha * static_cast<double>(p[i]) + b * static_cast<double>(c[i]));
      });
    }
  }
};

}  // namespace

template <class Exec>
void combine(Exec const& exec, Part part, Factor const& factor,
             ConstMatrixRef<typename Exec::memory_space> const& product, double beta,
             MatrixRef<typename Exec::memory_space> const& C) {
  using Kernel = Combine<Exec>;
  if (C.rows == 0 || C.cols == 0 || (!product.data && beta == 1)) return;
  std::int64_t const chunks = (C.rows + Kernel::chunk - 1) / Kernel::chunk;
  launch_teams("strata::core::combine", exec, chunks * C.cols, 0,
               Kernel{product, C, factor, beta, chunks, part});
}

#define STRATA_INSTANTIATE_COMBINE(Space)                                            \
  template void combine(Space const&, Part, Factor const&,                           \
                        ConstMatrixRef<typename Space::memory_space> const&, double, \
                        MatrixRef<typename Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COMBINE)

}  // namespace strata::detail
