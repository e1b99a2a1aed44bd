// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Columns of right-hand sides: CG takes some abreast, and what they leave is solved for alone.
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/detail/Strata_AbreastCg.hpp>
#include <sparse/detail/Strata_SparseSolverImpl.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::sparse {
namespace {

// What was done before, and then.
SparseReport joined(std::optional<SparseReport> const& before, SparseReport report) {
  if (!before) return report;
  report.attempts.insert(report.attempts.begin(), before->attempts.begin(), before->attempts.end());
  report.iterations += before->iterations;
  report.columns_abreast = before->columns_abreast;
  report.solve_seconds += before->solve_seconds;
  report.condition_at_least = std::max(report.condition_at_least, before->condition_at_least);
  if (std::isnan(report.forward_error)) report.forward_error = before->forward_error;
  return report;
}

// A smaller limit of iterations, as long as it lives.
class FewerIterations {
 public:
  FewerIterations(std::int64_t& limit, std::int64_t left)
      : limit_(limit), whole_(std::exchange(limit, left)) {}
  ~FewerIterations() { limit_ = whole_; }
  FewerIterations(FewerIterations const&) = delete;
  FewerIterations& operator=(FewerIterations const&) = delete;

 private:
  std::int64_t& limit_;
  std::int64_t whole_;
};

// x is the j-th of vectors that go abreast.
template <class Exec>
void take_lane(Exec const& exec, Vector<Abreast<double>, typename Exec::memory_space> const& X,
               int j, Vector<double, typename Exec::memory_space> const& x, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::SparseSolver::take_lane", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { x(i) = X(i).of[j]; });
}

// The j-th of them is x.
template <class Exec>
void set_lane(Exec const& exec, Vector<double, typename Exec::memory_space> const& x, int j,
              Vector<Abreast<double>, typename Exec::memory_space> const& X, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::SparseSolver::set_lane", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { X(i).of[j] = x(i); });
}

}  // namespace

template <class Exec>
std::vector<KrylovReport> SparseSolver<Exec>::Impl::go_abreast(Exec const& exec, Block const& B,
                                                               Block const& X, std::int64_t begin,
                                                               int count) {
  auto const& candidate = choices[first];
  bool const is_cg = candidate.solver == SolverKind::ConjugateGradients;
  auto const stored = work.matrix().precision();
  bool const has_products = stored == Precision::fp64 || stored == Precision::fp32;
  bool const is_for_it = A.comm().size() == 1 && has_products && is_cg &&
                         base.not_positive_row == 0 && !detail::is_16_bit(options.precision) &&
                         options.stop == StopNorm::Residual;
  if (count < 2 || !is_for_it) return {};
  auto const precision = first_precision(candidate, options.precision);
  (void)method.prepare(exec, candidate, precision);
  auto const* const M = method.abreast(exec);
  if (!M) return {};
  auto const& matrix = work.matrix();
  using Numbers = Abreast<double>;
  auto const b = matrix.template allocate<Numbers>(exec, "strata::sparse::SparseSolver::B"),
             x = matrix.template allocate<Numbers>(exec, "strata::sparse::SparseSolver::X");
  auto const own_b = A.template allocate<double>(exec, "strata::sparse::SparseSolver::b"),
             own_x = A.template allocate<double>(exec, "strata::sparse::SparseSolver::x");
  std::vector<typename detail::WorkMatrix<Exec>::System> systems(static_cast<std::size_t>(count));
  std::vector<double> tolerances;
  for (int j = 0; j < count; ++j) {
    auto& system = systems[static_cast<std::size_t>(j)];
    A.gather(exec, Wide(Kokkos::subview(B, Kokkos::ALL, begin + j)), own_b);
    A.gather(exec, Wide(Kokkos::subview(X, Kokkos::ALL, begin + j)), own_x);
    double const asked = tolerance_for(detail::norm(exec, A.comm(), own_b, A.rows()));
    if (work.is_other()) system = work.translated(exec, own_b, own_x);
    tolerances.push_back(goal_for(asked, system.incompatible));
    set_lane(exec, work.is_other() ? system.b : own_b, j, b, A.rows());
    set_lane(exec, work.is_other() ? system.x : own_x, j, x, A.rows());
  }
  std::vector<Candidate> const others(choices.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                      choices.end());
  tolerance = goal = options.tolerance;
  Patience patience(candidate, others, tolerance);
  auto krylov = krylov_options(candidate, precision, true, 0);
  krylov.gives_up = [&](std::int64_t iteration, double residual) {
    return patience.gives_up(iteration, residual);
  };
  auto const reports = detail::AbreastCg<Exec>(exec, matrix, *M, krylov, work.scales().right)
                           .solve(exec, b, x, tolerances);
  for (int j = 0; j < count; ++j) {
    auto const& system = systems[static_cast<std::size_t>(j)];
    if (!std::isfinite(reports[static_cast<std::size_t>(j)].relative_residual)) continue;
    take_lane(exec, x, j, work.is_other() ? system.x : own_x, A.rows());
    if (work.is_other()) work.translate_back(exec, system, own_x);
    A.scatter(exec, own_x, Wide(Kokkos::subview(X, Kokkos::ALL, begin + j)));
  }
  exec.fence("strata::sparse::SparseSolver::abreast");
  return reports;
}

template <class Exec>
SparseReport SparseSolver<Exec>::Impl::report_abreast(KrylovReport const& krylov, int count,
                                                      double column_tolerance) {
  SparseReport report = base;
  auto const& candidate = choices[first];
  Run const how{candidate, "abreast with " + std::to_string(count - 1) + " other columns",
                first_precision(candidate, options.precision)};
  take(report, how, krylov);
  report.relative_residual = krylov.relative_residual;
  report.backward_error = krylov.backward_error;
  report.tolerance = column_tolerance;
  report.preconditioner_bytes = base.preconditioner_bytes;
  report.columns_abreast = count;
  report.solve_seconds = krylov.seconds;
  return report;
}

template <class Exec>
std::vector<SparseReport> SparseSolver<Exec>::solve(Exec const& exec,
                                                    VectorBlock<MemorySpace> const& B,
                                                    VectorBlock<MemorySpace> const& X) {
  auto& own = *impl_;
  own.A.comm().agree([&] {
    own.A.require_natural("SparseSolver::solve: B", B.extent(0));
    own.A.require_natural("SparseSolver::solve: X", X.extent(0));
    STRATA_REQUIRE(ShapeError, B.extent(1) == X.extent(1), "SparseSolver::solve: B has ",
                   B.extent(1), " columns, X has ", X.extent(1));
  });
  constexpr std::int64_t most = Abreast<double>::count;
  auto const columns = static_cast<std::int64_t>(B.extent(1));
  std::vector<SparseReport> reports;
  for (std::int64_t begin = 0; begin < columns; begin += most) {
    auto const count = static_cast<int>(std::min(most, columns - begin));
    auto const abreast = own.go_abreast(exec, B, X, begin, count);
    for (int j = 0; j < count; ++j) {
      auto const* const krylov = abreast.empty() ? nullptr : &abreast[static_cast<std::size_t>(j)];
      std::optional<SparseReport> before;
      if (krylov && krylov->iterations > 0)  // else b is 0, or x as given the solution
        before = own.report_abreast(*krylov, count, own.tolerance_for(krylov->initial_residual));
      std::int64_t const left =
          own.options.max_iterations - (before ? before->iterations : std::int64_t{0});
      if (left > 0 && (!before || !before->solved() || own.work.is_other())) {
        Vector<double, MemorySpace> const b(Kokkos::subview(B, Kokkos::ALL, begin + j)),
            x(Kokkos::subview(X, Kokkos::ALL, begin + j));
        FewerIterations const limit(own.options.max_iterations, left);
        reports.push_back(joined(before, solve(exec, b, x)));
      } else {
        reports.push_back(*before);
      }
    }
  }
  return reports;
}

#define STRATA_INSTANTIATE_COLUMNS(Space)                        \
  template std::vector<SparseReport> SparseSolver<Space>::solve( \
      Space const&, VectorBlock<Space::memory_space> const&,     \
      VectorBlock<Space::memory_space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COLUMNS)

}  // namespace strata::sparse
