// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/coarsening/detail/Strata_Aggregation.hpp>
#include <sparse/coarsening/detail/Strata_Coarsening.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>
#include <sparse/matrix/detail/Strata_SpGemm.hpp>
#include <sparse/multigrid/detail/Strata_LargestEigenvalue.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace strata::sparse {
namespace {

using Partition = std::vector<std::int64_t>;

/// One level on the hosts.
struct HostLevel {
  HostRows rows;
  Partition first_row;
  std::vector<double> component;  // of each row's node
  int block_size = 1;
};

// One entry a row: its aggregate's global number.
HostRows tentative(detail::Aggregates const& aggregates, std::int64_t first_coarse) {
  HostRows T;
  for (auto const aggregate : aggregates.of) {
    if (aggregate >= 0) T.add(first_coarse + aggregate, 1);
    T.end_row();
  }
  return T;
}

// A column of one entry a row, as rows: how numbers of other ranks' rows are fetched.
HostRows as_column(std::vector<double> const& numbers) {
  HostRows rows;
  for (double const number : numbers) {
    rows.add(0, number);
    rows.end_row();
  }
  return rows;
}

/// P, smoothed and not, how its columns are spread, and which component each is.
struct Prolongation {
  HostRows P, T;
  Partition first_coarse;
  std::vector<double> component;
};

// The numbers of the rows, then of those outside.
std::vector<double> with_outside(Communicator const& comm, HostLevel const& level,
                                 std::vector<std::int64_t> const& outside,
                                 std::vector<double> numbers) {
  auto const theirs = detail::fetched(comm, level.first_row, outside, as_column(numbers)).value;
  numbers.insert(numbers.end(), theirs.begin(), theirs.end());
  return numbers;
}

template <class Exec>
Prolongation prolongation(Exec const& exec, Communicator const& comm, HostLevel const& level,
                          double strength) {
  auto const rank = static_cast<std::size_t>(comm.rank());
  std::int64_t const first = level.first_row[rank];
  auto const outside = detail::columns_outside(level.rows, first, level.first_row[rank + 1]);
  detail::CouplingProblem const problem{
      level.rows,
      first,
      outside,
      with_outside(comm, level, outside, detail::largest_couplings(level.rows, first)),
      with_outside(comm, level, outside, level.component),
      strength};
  auto const aggregates = comm.agree([&] { return detail::aggregate(problem); });
  Prolongation result{{}, {}, {0}, aggregates.component};
  for (auto const count : comm.gather(aggregates.count()))
    result.first_coarse.push_back(result.first_coarse.back() + count);
  result.T = tentative(aggregates, result.first_coarse[rank]);
  result.P = detail::spgemm(exec, comm, level.first_row, result.first_coarse,
                            detail::smoother_of(problem), result.T);
  return result;
}

std::int64_t sum_of(Communicator const& comm, std::int64_t mine) {
  std::int64_t sum = 0;
  for (auto const part : comm.gather(mine)) sum += part;
  return sum;
}

/// R and R A P.
struct Coarsened {
  HostRows R, A;
};

template <class Exec>
Coarsened coarsened(Exec const& exec, Communicator const& comm, HostLevel const& level,
                    Partition const& first_coarse, HostRows const& P) {
  auto R = detail::transposed(comm, level.first_row, first_coarse, P);
  auto const AP = detail::spgemm(exec, comm, level.first_row, first_coarse, level.rows, P);
  auto A = detail::spgemm(exec, comm, level.first_row, first_coarse, R, AP);
  return {std::move(R), std::move(A)};
}

template <class Exec>
HostLevel finest(Exec const& exec, DistributedMatrix<Exec> const& A, int block_size) {
  HostLevel level{rows_of(exec, A), first_rows(A), {}};
  if (block_size == 0) block_size = likely_block_size(A.comm(), A.global_rows(), level.rows);
  level.block_size = block_size;
  for (std::int64_t row = 0; row < A.rows(); ++row)
    level.component.push_back(static_cast<double>((A.first_row() + row) % block_size));
  return level;
}

void check(AmgOptions const& options, std::int64_t rows, int ranks) {
  STRATA_REQUIRE(ValueError, options.max_levels >= 1, "AMG: ", options.max_levels, " levels");
  STRATA_REQUIRE(ValueError, options.strength >= 0 && options.strength < 1, "AMG: strength ",
                 options.strength, " must be in [0, 1)");
  STRATA_REQUIRE(ValueError, options.steps >= 1, "AMG: ", options.steps,
                 " steps of a smoother, must be at least 1");
  int const size = options.block_size;
  STRATA_REQUIRE(ValueError, size >= 0 && size <= detail::most_block_size, "AMG: blocks of ", size,
                 ", must be up to ", detail::most_block_size, ", 0 to find them");
  STRATA_REQUIRE(ValueError, size == 0 || rows % size == 0, "AMG: ", rows,
                 " rows are no whole number of blocks of ", size);
  STRATA_REQUIRE(ValueError, ranks == 1 || !options.near_null_space,
                 "AMG: a near-null space is taken on one rank, not on ", ranks);
  constexpr std::int64_t most = 10000;
  STRATA_REQUIRE(ValueError, options.coarse_rows >= 0 && options.coarse_rows <= most,
                 "AMG: ", options.coarse_rows, " rows to be solved directly, must be 0 to ", most);
}

constexpr double least_gain = 0.9;  // of rows: coarsening ends where more are left

template <class Exec>
Smoother chosen_smoother(Exec const& exec, DistributedMatrix<Exec> const& A,
                         AmgOptions const& options) {
  if (options.smoother != Smoother::Automatic) return options.smoother;
  if (A.comm().size() > 1) return Smoother::GaussSeidel;
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
    fine.P = Transfer<Exec>(exec, fine.A, coarse, P);
    fine.R = Transfer<Exec>(exec, coarse, fine.A, next->R, is_symmetric ? P : next->P);
    hierarchy.levels.push_back({coarse, {}, {}, 0});
    level = next->coarse;
    if (!options.keeps_patterns) *next = {};
    tell(options, hierarchy, 0);
  }
}

template <class Exec>
bool is_for_classical(Exec const& exec, detail::WholeLevel<Exec> const& level, bool symmetric,
                      CoarseningKind asked) {
  constexpr double much = 0.15;
  if (level.modes.width > 0 || level.block_size > 1) return false;
  if (asked != CoarseningKind::Automatic) return asked == CoarseningKind::Classical;
  if (!symmetric || level.unit.size() > 0) return true;  // units: its coefficients jump
  return detail::share_with_sign(exec, level.A.nodes) > much;
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
        detail::LevelFacts<Exec>{block_size, options.near_null_space, scale, symmetric});
  };
  bool const fits = size == 0 || hierarchy.levels.front().A.rows() % size == 0;
  auto level = given(fits ? size : options.block_size);
  auto pattern = detail::pattern_of(exec, level.A.nodes);
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
             is_for_classical(exec, level, symmetric, options.coarsening),
             {}};
  }
  hierarchy.is_classical = kept->is_classical;
  hierarchy.block_size = level.block_size;
  hierarchy.modes = std::max(level.modes.width, 1);
  add_levels_on_device(exec, options, level, symmetric, *kept, hierarchy);
  if (options.keeps_patterns) hierarchy.kept = kept;
}

// On several ranks set-up runs on the hosts, products on `exec`.
template <class Exec>
void add_levels_on_ranks(Exec const& exec, AmgOptions const& options,
                         TransferHierarchy<Exec>& hierarchy) {
  auto const& comm = hierarchy.levels.front().A.comm();
  HostLevel level = finest(exec, hierarchy.levels.front().A, options.block_size);
  hierarchy.block_size = level.block_size;
  double strength = options.strength;
  while (static_cast<int>(hierarchy.levels.size()) < options.max_levels &&
         level.first_row.back() > options.coarse_rows) {
    auto [P, T, first_coarse, component] = prolongation(exec, comm, level, strength);
    double const rows = static_cast<double>(level.first_row.back());
    tell(options, hierarchy, 0.3);
    if (first_coarse.back() == 0 || static_cast<double>(first_coarse.back()) > least_gain * rows)
      break;
    auto product = coarsened(exec, comm, level, first_coarse, P);
    if (sum_of(comm, product.A.entries()) > sum_of(comm, level.rows.entries())) {
      P = std::move(T);  // graphs without geometry: smoothing would fill the coarse levels
      product = coarsened(exec, comm, level, first_coarse, P);
    }
    tell(options, hierarchy, 0.8);
    level = {std::move(product.A), first_coarse, component, 1};
    auto const coarse = make_matrix(exec, comm, level.rows, options.matrix);
    auto& fine = hierarchy.levels.back();
    fine.P = Transfer<Exec>(exec, fine.A, coarse, P);
    fine.R = Transfer<Exec>(exec, coarse, fine.A, product.R);
    hierarchy.levels.push_back({coarse, {}, {}, 0});
    strength *= 0.5;
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
  A.comm().agree([&] { check(options, A.global_rows(), A.comm().size()); });
  constexpr std::int64_t largest_direct = 1000;
  TransferHierarchy<Exec> hierarchy = single_level(A);
  hierarchy.smoother = chosen_smoother(exec, A, options);
  hierarchy.steps = options.steps;
  if (A.comm().size() == 1)
    A.comm().agree([&] { add_all_levels(exec, options, scale, kept, hierarchy); });
  else
    add_levels_on_ranks(exec, options, hierarchy);
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
