// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/coarsening/detail/Strata_SpreadLevel.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/multigrid/detail/Strata_LargestEigenvalue.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace strata::sparse {
namespace {

void check(AmgOptions const& options, std::int64_t rows) {
  STRATA_REQUIRE(ValueError, options.max_levels >= 1, "AMG: ", options.max_levels, " levels");
  STRATA_REQUIRE(ValueError, options.strength >= 0 && options.strength < 1, "AMG: strength ",
                 options.strength, " must be in [0, 1)");
  STRATA_REQUIRE(ValueError, options.steps >= 0, "AMG: ", options.steps,
                 " steps of a smoother, must be at least 1, or 0 for the usual number");
  int const size = options.block_size;
  STRATA_REQUIRE(ValueError, size >= 0 && size <= detail::most_block_size, "AMG: blocks of ", size,
                 ", must be up to ", detail::most_block_size, ", 0 to find them");
  STRATA_REQUIRE(ValueError, size == 0 || rows % size == 0, "AMG: ", rows,
                 " rows are no whole number of blocks of ", size);
  constexpr std::int64_t most = 10000;
  STRATA_REQUIRE(ValueError, options.coarse_rows >= 0 && options.coarse_rows <= most,
                 "AMG: ", options.coarse_rows, " rows to be solved directly, must be 0 to ", most);
}

constexpr std::int64_t rows_of_a_rank = 2000;  // a coarse level with fewer goes to fewer ranks
constexpr double least_gain = 0.9;             // of rows: coarsening ends where more are left

template <class Exec>
Smoother chosen_smoother(Exec const& exec, DistributedMatrix<Exec> const& A,
                         AmgOptions const& options) {
  if (options.smoother != Smoother::Automatic) return options.smoother;
  bool const is_positive = kind_of_diagonal(exec, A).first < 0;
  return is_positive && is_symmetric(exec, A) ? Smoother::Chebyshev : Smoother::GaussSeidel;
}

// Tells which part of the levels is made, of which each takes a quarter of the time of the one
// before.
template <class Exec>
void tell(AmgOptions const& options, TransferHierarchy<Exec> const& hierarchy, double of_level) {
  double const left = std::pow(0.25, static_cast<double>(hierarchy.levels.size()) - 1);
  if (!options.on_progress) return;
  hierarchy.levels.front().A.comm().agree(
      [&] { options.on_progress(1 - left * (1 - 0.75 * of_level)); });
}

// A level's matrix, in the order that its smoother wants.
template <class Exec>
DistributedMatrix<Exec> matrix_of(Exec const& exec, Communicator const& comm,
                                  detail::BlockCsr<Exec> const& A, MatrixOptions const& how) {
  auto const rows = detail::to_numbers(exec, A);
  if (how.order == RowOrder::Natural) return DistributedMatrix<Exec>(exec, comm, rows, how);
  return DistributedMatrix<Exec>(exec, comm, rows.rows, rows.ref(), how);
}

template <class Exec>
void invert(Exec const& exec, Vector<double, typename Exec::memory_space> const& x) {
  Kokkos::parallel_for(
      "strata::sparse::make_algebraic_hierarchy::invert",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(x.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { x(i) = 1 / x(i); });
}

// Of D^-1 A, where its smoother is for symmetric matrices with a positive diagonal.
template <class Exec>
double eigenvalue_of(Exec const& exec, DistributedMatrix<Exec> const& A, Smoother smoother) {
  if (smoother != Smoother::Chebyshev) return 0;
  auto const inverse = diagonal(exec, A);
  invert(exec, inverse);
  double const largest = detail::largest_eigenvalue(exec, A, inverse);
  return std::isfinite(largest) ? largest : 0;
}

// The next level's coarsening, anew or with new values; none where coarsening ends.
template <class Exec>
detail::Coarsening<Exec>* next_of(Exec const& exec, AmgOptions const& options,
                                  detail::WholeLevel<Exec> const& level,
                                  TransferHierarchy<Exec> const& hierarchy,
                                  detail::KeptLevels<Exec>& kept) {
  std::size_t const number = hierarchy.levels.size() - 1;
  double const largest = hierarchy.levels.back().largest;
  if (hierarchy.has_old_pattern) {
    if (number == kept.levels.size()) return nullptr;
    detail::recoarsen(exec, level, largest, kept.levels[number]);
    return &kept.levels[number];
  }
  double const most = least_gain * static_cast<double>(level.A.rows());
  std::optional<detail::Coarsening<Exec>> made;
  if (hierarchy.is_classical)
    made = detail::classically_coarsened(exec, level, options.strength, most);
  if (!made)
    made = detail::coarsened(exec, level, std::ldexp(options.strength, -static_cast<int>(number)),
                             most, largest);
  if (!made) return nullptr;
  kept.levels.push_back(std::move(*made));
  return &kept.levels.back();
}

// On one rank everything is made on `exec`.
template <class Exec>
void add_levels_on_device(Exec const& exec, AmgOptions const& options,
                          detail::WholeLevel<Exec> level, bool is_symmetric,
                          detail::KeptLevels<Exec>& kept, TransferHierarchy<Exec>& hierarchy) {
  auto const& comm = hierarchy.levels.front().A.comm();
  MatrixOptions how = options.matrix;
  how.order = hierarchy.smoother == Smoother::GaussSeidel ? RowOrder::Sweep : RowOrder::Natural;
  while (static_cast<int>(hierarchy.levels.size()) < options.max_levels &&
         level.A.rows() > options.coarse_rows) {
    auto& fine = hierarchy.levels.back();
    if (level.modes.width > 0) fine.largest = eigenvalue_of(exec, fine.A, hierarchy.smoother);
    auto* const next = next_of(exec, options, level, hierarchy, kept);
    tell(options, hierarchy, 0.3);
    if (!next) break;
    if (!options.keeps_patterns) next->AP = {};
    if (how.order == RowOrder::Sweep && fine.A.order().is_natural) {
      hierarchy.takes_natural = true;
      fine.A = fine.A.coloured(exec, how);
    }
    auto const coarse = matrix_of(exec, comm, next->coarse.A, how);
    tell(options, hierarchy, 0.8);
    auto const P = detail::with_rows_in(exec, next->P, level.unit);
    bool const is_natural = fine.A.order().is_natural && coarse.order().is_natural;
    if (!is_natural) next->stored_P = next->stored_R = {};
    fine.P = Transfer<Exec>(exec, fine.A, coarse, P, next->stored_P);
    fine.R =
        Transfer<Exec>(exec, coarse, fine.A, next->R, is_symmetric ? P : next->P, next->stored_R);
    if (is_natural) {
      next->stored_P = std::get<typename Transfer<Exec>::template Stored<fp64>>(fine.P.stored());
      next->stored_R = std::get<typename Transfer<Exec>::template Stored<fp64>>(fine.R.stored());
    }
    hierarchy.levels.push_back({coarse, {}, {}, 0});
    level = next->coarse;
    if (!options.keeps_patterns) *next = {};
    tell(options, hierarchy, 0);
  }
}

bool is_for_classical(bool has_single_unknowns, bool symmetric, bool has_units,
                      double share_with_sign, CoarseningKind asked) {
  constexpr double much = 0.15;
  if (!has_single_unknowns) return false;
  if (asked != CoarseningKind::Automatic) return asked == CoarseningKind::Classical;
  return !symmetric || has_units || share_with_sign > much;  // units: its coefficients jump
}

// Whether a mesh with slivers has such a diagonal and such couplings. Collective; fences.
template <class Exec>
bool has_slivers(Exec const& exec, Communicator const& comm,
                 Vector<double, typename Exec::memory_space> const& scale, double share_with_sign) {
  constexpr double some = 0.05, spread = 0x1p12;  // of the diagonal's root
  double least = 0, most = 0;
  auto const rows = static_cast<std::int64_t>(scale.extent(0));
  Kokkos::parallel_reduce(
      "strata::sparse::make_algebraic_hierarchy::spread", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& low, double& high) {
        low = scale(i) < low ? scale(i) : low;
        high = scale(i) > high ? scale(i) : high;
      },
      Kokkos::Min<double>(least), Kokkos::Max<double>(most));
  exec.fence("strata::sparse::make_algebraic_hierarchy::spread");
  double const low = -comm.max(rows > 0 ? -least : -std::numeric_limits<double>::infinity()),
               high = comm.max(rows > 0 ? most : 0);
  return share_with_sign > some && high > spread * low;
}

// Classical levels know the slow modes of slivers badly: their smoother must know more of them.
template <class Exec>
void smooth_slivers(AmgOptions const& options, TransferHierarchy<Exec>& hierarchy) {
  if (hierarchy.smoother != Smoother::Chebyshev || options.steps > 0) return;
  hierarchy.steps = 4;
  hierarchy.least_part = 0.05;
}

template <class Exec>
void add_all_levels(Exec const& exec, AmgOptions const& options,
                    Vector<double, typename Exec::memory_space> const& scale,
                    std::shared_ptr<detail::KeptLevels<Exec>> kept,
                    TransferHierarchy<Exec>& hierarchy) {
  bool const is_positive = hierarchy.smoother == Smoother::Chebyshev;
  bool const symmetric = is_positive || is_symmetric(exec, hierarchy.levels.front().A);
  int const size = options.block_size > 0 ? options.block_size : kept ? kept->block_size : 0;
  auto const given = [&](int block_size) {
    return detail::finest_level(
        exec, hierarchy.levels.front().A,
        detail::LevelFacts<Exec>{block_size, options.near_null_space, scale, symmetric},
        kept ? kept->rows : detail::LocalCsr<Exec>());
  };
  bool const fits = size == 0 || hierarchy.levels.front().A.rows() % size == 0;
  auto level = given(fits ? size : options.block_size);
  bool const is_known =
      kept && kept->rows.rows > 0 && level.A.nodes.column.data() == kept->rows.column.data();
  auto pattern = is_known ? kept->pattern : detail::pattern_of(exec, level.A.nodes);
  hierarchy.has_old_pattern = kept && fits && kept->pattern == pattern &&
                              kept->block_size == level.block_size &&
                              kept->is_positive == is_positive;
  if (!hierarchy.has_old_pattern) {
    if (kept && options.block_size == 0) {
      level = given(0);
      pattern = detail::pattern_of(exec, level.A.nodes);
    }
    kept = std::make_shared<detail::KeptLevels<Exec>>();
    *kept = {pattern,
             level.block_size,
             is_positive,
             is_for_classical(level.modes.width == 0 && level.block_size == 1, symmetric,
                              level.unit.size() > 0, detail::share_with_sign(exec, level.A.nodes),
                              options.coarsening),
             {},
             level.A.height == 1 ? level.A.nodes : detail::LocalCsr<Exec>()};
    kept->rows.value = {};
  }
  hierarchy.is_classical = kept->is_classical;
  if (kept->is_classical && has_slivers(exec, hierarchy.levels.front().A.comm(), scale,
                                        detail::share_with_sign(exec, level.A.nodes)))
    smooth_slivers(options, hierarchy);
  hierarchy.block_size = level.block_size;
  hierarchy.modes = std::max(level.modes.width, 1);
  add_levels_on_device(exec, options, level, symmetric, *kept, hierarchy);
  if (options.keeps_patterns) hierarchy.kept = kept;
}

// On several ranks products are made on the hosts.
template <class Exec>
void add_levels_on_ranks(Exec const& exec, AmgOptions const& options,
                         Vector<double, typename Exec::memory_space> const& scale,
                         TransferHierarchy<Exec>& hierarchy) {
  auto const& comm = hierarchy.levels.front().A.comm();
  detail::SpreadChoice choice;
  choice.is_symmetric =
      hierarchy.smoother == Smoother::Chebyshev || is_symmetric(exec, hierarchy.levels.front().A);
  choice.strength = options.strength;
  choice.least_rows = rows_of_a_rank;
  auto level = detail::finest_spread(
      exec, hierarchy.levels.front().A,
      {options.block_size, options.near_null_space, scale, choice.is_symmetric});
  choice.is_classical = hierarchy.is_classical =
      is_for_classical(level.width == 0 && level.block_size == 1, choice.is_symmetric,
                       level.has_units, level.share_with_sign, options.coarsening);
  if (choice.is_classical && has_slivers(exec, comm, scale, level.share_with_sign))
    smooth_slivers(options, hierarchy);
  hierarchy.block_size = level.block_size;
  hierarchy.modes = std::max(level.width, 1);
  while (static_cast<int>(hierarchy.levels.size()) < options.max_levels &&
         level.first_row().back() > options.coarse_rows) {
    auto& fine = hierarchy.levels.back();
    if (level.width > 0) fine.largest = eigenvalue_of(exec, fine.A, hierarchy.smoother);
    choice.largest = fine.largest;
    choice.of_aggregates =
        std::ldexp(options.strength, 1 - static_cast<int>(hierarchy.levels.size()));
    choice.most_rows = least_gain * static_cast<double>(level.first_row().back());
    tell(options, hierarchy, 0.3);
    auto next = detail::coarsened(exec, comm, level, choice);
    tell(options, hierarchy, 0.8);
    if (!next) break;
    level = std::move(next->coarse);
    auto const coarse = make_matrix(exec, comm, level.rows, options.matrix);
    fine.P = Transfer<Exec>(exec, fine.A, coarse, next->P);
    fine.R = Transfer<Exec>(exec, coarse, fine.A, next->R);
    hierarchy.levels.push_back({coarse, {}, {}, 0});
    tell(options, hierarchy, 0);
  }
}

}  // namespace

template <class Exec>
TransferHierarchy<Exec> make_algebraic_hierarchy(
    Exec const& exec, DistributedMatrix<Exec> const& A, AmgOptions const& options,
    Vector<double, typename Exec::memory_space> const& scale,
    std::shared_ptr<detail::KeptLevels<Exec>> const& kept) {
  Region const region(exec, "strata::sparse::make_algebraic_hierarchy");
  A.comm().agree([&] { check(options, A.global_rows()); });
  constexpr std::int64_t largest_direct = 1000;
  TransferHierarchy<Exec> hierarchy = single_level(A);
  hierarchy.smoother = chosen_smoother(exec, A, options);
  hierarchy.steps = options.steps_or_two();
  if (A.comm().size() == 1)
    A.comm().agree([&] { add_all_levels(exec, options, scale, kept, hierarchy); });
  else
    add_levels_on_ranks(exec, options, scale, hierarchy);
  if (hierarchy.levels.back().A.global_rows() <= std::max(options.coarse_rows, largest_direct))
    hierarchy.coarse = CoarseSolve::Direct;
  return hierarchy;
}

#define STRATA_INSTANTIATE_AMG(Space)                                   \
  template TransferHierarchy<Space> make_algebraic_hierarchy(           \
      Space const&, DistributedMatrix<Space> const&, AmgOptions const&, \
      Vector<double, Space::memory_space> const&,                       \
      std::shared_ptr<detail::KeptLevels<Space>> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_AMG)

}  // namespace strata::sparse
