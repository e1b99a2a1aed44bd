// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_ExtendedInterpolation.hpp>
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

// The values of rows that have an entry in each place of `to`, whose columns ascend; how many have
// not.
template <class Exec, class Source, class Space>
std::int64_t fill_known(Exec const& exec, std::int64_t rows, Source const& source,
                        CsrRef<Space> const& to) {
  std::int64_t different = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::finest_level::fill_known", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        std::int64_t const begin = to.begin(i), end = to.begin(i + 1);
        std::int64_t at = begin, length = 0;
        bool is_known = true;
        // No value has come to these places yet.
        for (std::int64_t k = begin; k < end; ++k)
          to.value(k) = Kokkos::Experimental::quiet_NaN_v<double>;
        source(i, [&](std::int64_t j, double value) {
          ++length;
          std::int64_t const found = to.place_of(begin, end, at, j);
          is_known = is_known && found < end && Kokkos::isnan(to.value(found));
          if (!is_known) return;
          to.value(found) = value;
          at = found + 1;
        });
        count += is_known && length == end - begin ? 0 : 1;
      },
      different);
  exec.fence("strata::sparse::finest_level::fill_known");
  return different;
}

template <class Exec>
bool take_known(Exec const& exec, DistributedMatrix<Exec> const& A, LocalCsr<Exec> const& known,
                LocalCsr<Exec>& result) {
  if (known.rows == 0 || known.rows != A.rows()) return false;
  result = known;
  result.value = {exec, "strata::sparse::LocalCsr::value", known.entries()};
  return std::visit(
      [&]<class Matrix>(Matrix const& stored) {
        CallersRows<Matrix> const rows{{stored}, A.order().old_row, A.order().new_row};
        return fill_known(exec, A.rows(), rows, result.ref()) == 0;
      },
      A.stored());
}

template <class Exec>
void number_components(Exec const& exec, int block_size,
                       Vector<std::int32_t, typename Exec::memory_space> const& component) {
  Kokkos::parallel_for(
      "strata::sparse::finest_level::components",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(component.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { component(i) = static_cast<std::int32_t>(i % block_size); });
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

// The mean over rows of |sum_j a_ij v_j| / sum_j |a_ij v_j|, v = 1 / scale. Fences.
template <class Exec, class Space>
double defect(Exec const& exec, std::int64_t count, CsrRef<Space> const& A,
              Vector<double, Space> const& scale) {
  double total = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::finest_level::defect", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t i, double& all) {
        double sum = 0, size = 0;
        A(i, [&](std::int64_t j, double a) {
          double const term = scale.extent(0) > 0 ? a / scale(j) : a;
          sum += term;
          size += Kokkos::abs(term);
        });
        all += size > 0 ? Kokkos::abs(sum) / size : 0;
      },
      total);
  exec.fence("strata::sparse::finest_level::defect");
  return total;
}

template <class Exec, class Space>
void take_unit(Exec const& exec, std::int64_t count, CsrRef<Space> const& A,
               Vector<double, Space> const& scale, bool is_symmetric,
               Vector<double, Space> const& unit) {
  Kokkos::parallel_for(
      "strata::sparse::finest_level::unit", RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t i) {
        unit(i) = 1 / scale(i);
        double const of_row = is_symmetric ? unit(i) : 1;
        for (std::int64_t k = A.begin(i); k < A.begin(i + 1); ++k)
          A.value(k) *= of_row / scale(A.column(k));
      });
}

template <class Exec, class Space>
void multiply_rows(Exec const& exec, BlockRows<Space> const& from,
                   Vector<double, Space> const& unit, Vector<double, Space> const& to) {
  int const size = from.width;
  Kokkos::parallel_for(
      "strata::sparse::with_rows_in",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(from.begin.extent(0)) - 1),
      KOKKOS_LAMBDA(std::int64_t i) {
        for (std::int64_t k = from.begin(i) * size; k < from.begin(i + 1) * size; ++k)
          to(k) = unit(i) * from.value(k);
      });
}

template <class Exec>
BlockCsr<Exec> in_numbers(LocalCsr<Exec> const& A) {
  return {1, 1, A, A.value};
}

template <class Exec>
void set_products(Exec const& exec, BlockCsr<Exec> const& A, BlockCsr<Exec> const& P,
                  Coarsening<Exec>& result) {
  result.P = P;
  result.R = transposed_index(exec, P.nodes);
  result.AP = product(exec, A, P);
  result.coarse.A = product(exec, result.R, P, result.AP);
  exec.fence("strata::sparse::coarsened::products");
}

// `smoothed` and `plain` make a P each.
template <class Exec, class Smoothed, class Plain>
void set_best_products(Exec const& exec, BlockCsr<Exec> const& A, Smoothed const& smoothed,
                       Plain const& plain, Coarsening<Exec>& result) {
  set_products(exec, A, smoothed(), result);
  result.is_smoothed = result.coarse.A.entries() <= A.entries();
  if (!result.is_smoothed) set_products(exec, A, plain(), result);
}

// Of the products of a level with modes.
template <class Exec>
void finish_coarse(Exec const& exec, Tentative<Exec> const& tentative, WholeLevel<Exec>& coarse) {
  hold_dead(exec, coarse.A.nodes.rows, BlockRows<typename Exec::memory_space>::of(coarse.A),
            tentative.is_dead.view());
  measure_blocks(exec, coarse.A);
  coarse.modes = tentative.coarse;
  exec.fence("strata::sparse::coarsened::by_modes");  // `tentative` ends here
}

template <class Exec>
void coarsen_by_modes(Exec const& exec, WholeLevel<Exec> const& level, double largest,
                      Coarsening<Exec>& result) {
  auto const& A = level.A;
  auto const& modes = level.modes;
  auto const tentative = tentative_of(exec, A.height, result.aggregates, modes);
  set_best_products(
      exec, A,
      [&] {
        return smoothed_prolongator(exec, A, result.F, result.aggregates, modes, tentative,
                                    largest);
      },
      [&] { return tentative_prolongator(exec, A, result.aggregates, tentative.P0); }, result);
  finish_coarse(exec, tentative, result.coarse);
}

template <class Exec>
void fill_products(Exec const& exec, BlockCsr<Exec> const& A, Coarsening<Exec> const& of) {
  fill_product(exec, A, of.P, of.AP);
  fill_product(exec, of.R, of.P, of.AP, of.coarse.A);
}

}  // namespace

template <class Exec>
std::uint64_t pattern_of(Exec const& exec, LocalCsr<Exec> const& A) {
  auto const rows = A.ref();
  std::uint64_t total = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::pattern_of", RowPolicy<Exec>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i, std::uint64_t& sum) {
        std::uint64_t own = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
        own = (own ^ (own >> 31)) * 0xbf58476d1ce4e5b9ull;
        for (std::int64_t k = rows.begin(i); k < rows.begin(i + 1); ++k) {
          std::uint64_t const x =
              (own ^ static_cast<std::uint32_t>(rows.column(k))) * 0x94d049bb133111ebull;
          sum += x ^ (x >> 32);
        }
      },
      total);
  exec.fence("strata::sparse::pattern_of");
  return total + static_cast<std::uint64_t>(A.rows) * 0x94d049bb133111ebull;
}

template <class Exec>
PooledVector<double, Exec> take_best_unit(Exec const& exec, LocalCsr<Exec> const& A,
                                          LevelFacts<Exec> const& facts,
                                          Border<Exec> const& border) {
  using Space = typename Exec::memory_space;
  Vector<double, Space> scale = facts.scale;
  if (!border.is_whole()) {
    scale = border.agree([&] {
      return strata::allocate<Vector<double, Space>>(exec, "strata::sparse::finest_level::scale",
                                                     border.all(A.rows));
    });
    Kokkos::deep_copy(exec, Vector<double, Space>(scale.data(), facts.scale.extent(0)),
                      facts.scale);
    border.fill(exec, scale);
  }
  double const in_units = border.sum(defect(exec, A.rows, A.ref(), scale));
  if (!(in_units < border.sum(defect(exec, A.rows, A.ref(), Vector<double, Space>())))) return {};
  auto const unit = border.agree([&] {
    return PooledVector<double, Exec>(exec, "strata::sparse::finest_level::unit", A.rows);
  });
  take_unit(exec, A.rows, A.ref(), scale, facts.is_symmetric, unit.view());
  exec.fence("strata::sparse::finest_level::unit");  // `scale` ends here
  return unit;
}

template <class Exec>
WholeLevel<Exec> finest_level(Exec const& exec, DistributedMatrix<Exec> const& A,
                              LevelFacts<Exec> const& facts, LocalCsr<Exec> const& known) {
  auto const* const given = facts.near_null_space.get();
  STRATA_REQUIRE(ShapeError, !given || given->rows() == A.rows(),
                 "near-null space: ", given ? given->rows() : 0, " rows for a matrix of ",
                 A.rows());
  LocalCsr<Exec> rows;
  if (!take_known(exec, A, known, rows)) {
    rows = rows_of_one_rank(exec, A);
    sort_rows(exec, rows);
  }
  int const size = facts.block_size > 0 ? facts.block_size : found_block_size(exec, rows);
  PooledVector<double, Exec> unit;
  if (!given && facts.scale.extent(0) > 0) unit = take_best_unit(exec, rows, facts);
  WholeLevel<Exec> level{to_blocks(exec, rows, given ? size : 1), {}, {}, size, unit};
  if (given) {
    level.modes = modes_of(exec, level.A, *given, facts.scale);
  } else if (size > 1) {
    level.component = {exec, "strata::sparse::finest_level::component", A.rows()};
    number_components(exec, size, level.component.view());
  }
  return level;
}

template <class Exec>
BlockCsr<Exec> with_rows_in(Exec const& exec, BlockCsr<Exec> const& P,
                            PooledVector<double, Exec> const& unit) {
  if (unit.size() == 0) return P;
  auto nodes = P.nodes;
  nodes.value = {exec, "strata::sparse::with_rows_in", P.nodes.entries()};
  multiply_rows(exec, BlockRows<typename Exec::memory_space>::of(P), unit.view(),
                nodes.value.view());
  exec.fence("strata::sparse::with_rows_in");
  return in_numbers(nodes);
}

template <class Exec>
std::optional<Coarsening<Exec>> coarsened(Exec const& exec, WholeLevel<Exec> const& level,
                                          double strength, double most_rows, double largest) {
  Region const region(exec, "strata::sparse::coarsened");
  auto const& nodes = level.A.nodes;
  auto const F = strong_graph(exec, nodes, level.component, strength);
  auto const aggregates = aggregates_of(exec, nodes, F, level.component);
  int const width = level.modes.width > 0 ? level.modes.width : 1;
  auto const rows = static_cast<double>(aggregates.count * width);
  if (aggregates.count == 0 || rows > most_rows) return std::nullopt;
  Coarsening<Exec> result;
  result.F = F;
  result.aggregates = aggregates;
  result.coarse.component = aggregates.component;
  if (level.modes.width > 0)
    coarsen_by_modes(exec, level, largest, result);
  else
    set_best_products(
        exec, level.A,
        [&] {
          return in_numbers(smoothed_prolongator(exec, nodes, F, level.component, aggregates));
        },
        [&] { return in_numbers(tentative_prolongator(exec, nodes, aggregates)); }, result);
  return result;
}

template <class Exec>
std::optional<Coarsening<Exec>> classically_coarsened(Exec const& exec,
                                                      WholeLevel<Exec> const& level,
                                                      double strength, double most_rows) {
  Region const region(exec, "strata::sparse::classically_coarsened");
  constexpr std::int64_t most_growth = 2;
  auto const& A = level.A;
  Coarsening<Exec> result;
  result.is_classical = true;
  result.F = dependence_graph(exec, A.nodes, strength);
  result.aggregates = splitting(exec, result.F);
  auto const rows = static_cast<double>(result.aggregates.count);
  if (rows == 0 || rows > most_rows) return std::nullopt;
  auto const P = extended_interpolation(exec, A.nodes, result.F, result.aggregates);
  set_products(exec, A, in_numbers(P), result);
  if (result.coarse.A.entries() > most_growth * A.entries()) return std::nullopt;
  return result;
}

template <class Exec>
double share_with_sign(Exec const& exec, LocalCsr<Exec> const& A, Border<Exec> const& border) {
  auto const rows = A.ref();
  double all = 0, with_sign = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::share_with_sign", RowPolicy<Exec>(exec, 0, A.rows),
      KOKKOS_LAMBDA(std::int64_t i, double& total, double& part) {
        double diagonal = 0;
        rows(i, [&](std::int64_t j, double a) { diagonal += j == i ? a : 0; });
        rows(i, [&](std::int64_t j, double a) {
          total += j == i ? 0 : Kokkos::abs(a);
          part += j != i && a * diagonal > 0 ? Kokkos::abs(a) : 0;
        });
      },
      all, with_sign);
  exec.fence("strata::sparse::share_with_sign");
  all = border.sum(all);
  with_sign = border.sum(with_sign);
  return all > 0 ? with_sign / all : 0;
}

template <class Exec>
void recoarsen(Exec const& exec, WholeLevel<Exec> const& level, double largest,
               Coarsening<Exec>& of) {
  Region const region(exec, "strata::sparse::recoarsen");
  auto const& A = level.A;
  if (level.modes.width == 0) {
    if (of.is_classical)
      refill_interpolation(exec, A.nodes, of.F, of.aggregates, of.P.nodes);
    else if (of.is_smoothed)
      refill_smoothed(exec, A.nodes, of.F, level.component, of.aggregates, of.P.nodes);
    return fill_products(exec, A, of);
  }
  auto const tentative = tentative_of(exec, A.height, of.aggregates, level.modes);
  if (of.is_smoothed)
    fill_smoothed(exec, A, of.F, of.aggregates, level.modes, tentative, largest, of.P);
  else
    fill_tentative(exec, of.P, tentative.P0);
  fill_products(exec, A, of);
  finish_coarse(exec, tentative, of.coarse);
}

#define STRATA_INSTANTIATE_COARSENING(Space)                                                   \
  template std::uint64_t pattern_of(Space const&, LocalCsr<Space> const&);                     \
  template WholeLevel<Space> finest_level(Space const&, DistributedMatrix<Space> const&,       \
                                          LevelFacts<Space> const&, LocalCsr<Space> const&);   \
  template std::optional<Coarsening<Space>> coarsened(Space const&, WholeLevel<Space> const&,  \
                                                      double, double, double);                 \
  template BlockCsr<Space> with_rows_in(Space const&, BlockCsr<Space> const&,                  \
                                        PooledVector<double, Space> const&);                   \
  template std::optional<Coarsening<Space>> classically_coarsened(                             \
      Space const&, WholeLevel<Space> const&, double, double);                                 \
  template double share_with_sign(Space const&, LocalCsr<Space> const&, Border<Space> const&); \
  template PooledVector<double, Space> take_best_unit(                                         \
      Space const&, LocalCsr<Space> const&, LevelFacts<Space> const&, Border<Space> const&);   \
  template void recoarsen(Space const&, WholeLevel<Space> const&, double, Coarsening<Space>&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COARSENING)

}  // namespace strata::sparse::detail
