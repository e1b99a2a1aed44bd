// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/Strata_Refinement.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <dense/refine/detail/Strata_BlockVectors.hpp>
#include <dense/refine/detail/Strata_Convergence.hpp>
#include <dense/refine/detail/Strata_CorrectionSolvers.hpp>
#include <dense/refine/detail/Strata_RefinementMemory.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace strata::dense {

namespace {

using detail::Column, detail::Correction, detail::worst;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class Exec>
class Refiner {
 public:
  using Kernels = detail::BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Scalars = typename Kernels::Scalars;

  using Memory = detail::RefinementMemory<Exec>;

  Refiner(Memory& memory, RefinementOperators<Exec> const& operators, Block const& B,
          Block const& X, RefinementOptions const& options)
      : operators_(operators),
        options_(options),
        memory_(memory),
        kernels_(memory.kernels(B.extent(1))),
        B_(B),
        X_(X),
        W_(memory.vector(Memory::Iterate, B.extent(1))),
        R_(memory.vector(Memory::Residual, B.extent(1))),
        D_(memory.vector(Memory::Correction, B.extent(1))),
        unit_(operators.scaling.extent(0) > 0 ? unit_of(operators.given_norm_inf) : 1),
        convergence_(static_cast<std::int64_t>(B.extent(0)), operators.norm_inf,
                     operators.scaling.extent(0) > 0 ? operators.given_norm_inf * unit_ * unit_
                                                     : operators.norm_inf,
                     options.tolerance),
        n_(static_cast<double>(B.extent(0))),
        restart_(options.restart) {
    report_.tolerance = convergence_.tolerance();
  }

  RefinementReport run() {
    start();
    if (!active_.empty()) step(Refine::Classical);  // x = M^-1 b
    if (options_.refine == Refine::Automatic) {
      for (Refine const method : {Refine::Classical, Refine::Cg, Refine::Gmres}) phase(method);
    } else if (options_.refine != Refine::None) {
      phase(options_.refine);
    }
    return conclude();
  }

 private:
  /// The power of two that A as given is measured in: u^2 ||A|| is about 1.
  static double unit_of(double norm) {
    return norm > 0 && std::isfinite(norm) ? std::ldexp(1.0, -std::ilogb(norm) / 2) : 1;
  }

  /// Scale the columns of B to about ||A||, set X = 0, take up all columns that are finite and not
  /// 0.
  void start() {
    auto const size = kernels_.magnitudes(B_, operators_.scaling, unit_);
    int const norm_exponent = detail::exponent_of(operators_.norm_inf);
    for (std::size_t j = 0; j < size.size(); ++j) {
      Column column;
      double const b_max = size[j].refined.max[0];
      auto const& given = size[j].given.max;
      column.index = static_cast<std::int64_t>(j);
      column.failed = !std::isfinite(b_max) || !std::isfinite(operators_.norm_inf);
      if (column.failed) {
        column.best.backward_error = column.best.refined_error = column.best.r_sum = not_a_number;
      } else {
        column.exponent = std::clamp(detail::exponent_of(b_max) - norm_exponent, -1000, 1000);
        column.b_max = std::ldexp(b_max, -column.exponent);
        column.given_b_max = given[0] < 0x1p-800
                                 ? std::ldexp(given[1], -column.exponent - Kernels::lift_exponent)
                                 : std::ldexp(given[0], -column.exponent);
        if (b_max == 0)
          column.best = {.backward_error = 0, .refined_error = 0, .excess = 0, .shortfall = 0};
      }
      columns_.push_back(column);
    }
    begin_at_zero(size);
  }

  /// The residual of X = 0 is B, whose magnitudes are known.
  void begin_at_zero(std::vector<detail::MomentsOfBoth> const& size) {
    take_up(Refine::Classical);
    if (active_.size() < columns_.size()) kernels_.fill(X_, 0);
    if (active_.empty()) return;
    kernels_.begin(scales(-1), B_, index_, X_, active(W_), active(R_));
    for (Column* column : active_) {
      detail::MomentsOfBoth of_b;
      of_b.refined.max[0] = column->b_max;
      of_b.given.max[0] = column->given_b_max;
      of_b.given.sum[0] =
          std::ldexp(size[static_cast<std::size_t>(column->index)].given.sum[0], -column->exponent);
      column->now = convergence_.judge(of_b, column->b_max, column->given_b_max);
      bool const finite = std::isfinite(column->now.backward_error);
      if (finite && column->now.as_good_as(column->best)) column->best = column->now;
      column->begin_phase();
    }
  }

  /// Every unfinished column is active.
  void take_up(Refine method) {
    active_.clear();
    for (Column& column : columns_)
      if (!column.converged() && !column.failed && column.iterations < limit(method))
        active_.push_back(&column);
    if (!active_.empty()) list_active();
  }

  /// Take up every unfinished column at its best iterate.
  void resume(Refine method) {
    take_up(method);
    if (active_.empty()) return;
    kernels_.gather(scales(-1), X_, index_, active(W_));
    measure(
        std::ranges::all_of(active_, [](Column const* column) { return column->best.x_max == 0; }));
    for (Column* column : active_) column->begin_phase();
  }

  /// Refine by `method` until every column has converged or left.
  void phase(Refine method) {
    bool const first = report_.method == Refine::None;
    retire([&](Column const& column) {
      return column.perfect() || column.iterations >= limit(method);
    });
    if (!first || !std::ranges::all_of(active_, &Column::at_its_best)) resume(method);
    for (Column* column : active_) column->begin_phase();
    while (!active_.empty()) {
      report_.method = method;
      ++report_.outer_iterations;
      step(method);
      for (Column* column : active_) column->end_step(options_.stagnation_steps);
      bool const slow = std::ranges::any_of(
          active_, [](Column const* column) { return column->now.excess > column->before / 2; });
      if (slow) restart_ = std::min<std::int64_t>(2 * restart_, std::int64_t{8} * options_.restart);
      retire([&](Column const& column) { return leaves(column, method); });
    }
  }

  bool leaves(Column const& column, Refine method) const {
    bool const contracts = column.now.excess <= column.before / 8;
    bool const give_way =
        options_.refine == Refine::Automatic && method == Refine::Classical && !contracts;
    bool const gains = column.now.excess <= column.before / 2;
    return column.perfect() || (column.converged() && !gains) || column.broken ||
           column.stagnated || give_way || !std::isfinite(column.now.backward_error) ||
           column.iterations >= limit(method);
  }

  std::int64_t limit(Refine method) const {
    bool const automatic = options_.refine == Refine::Automatic;
    std::int64_t const standard = automatic                              ? 4000
                                  : options_.refine == Refine::Classical ? 100
                                                                         : 2000;
    std::int64_t const total = options_.max_iterations > 0 ? options_.max_iterations : standard;
    return automatic && method == Refine::Cg ? (total + 1) / 2 : total;
  }

  /// One outer step on the active columns: solve A D = R, W += D, measure.
  void step(Refine method) {
    Scalars to_unit;
    for (Column* column : active_) {
      column->before = column->now.excess;
      to_unit.push_back(detail::normaliser(column->now.r_max));
    }
    Block const R = active(R_), D = active(D_);
    if (method == Refine::Classical) {
      kernels_.scale(to_unit, R, D);
      operators_.precondition(D);
      for (Column* column : active_) ++column->iterations;
    } else {
      kernels_.scale(to_unit, R, R);
      solve(method, R, D);
    }
    Scalars back(to_unit);
    for (double& factor : back) factor = 1 / factor;
    kernels_.correct(back, D, scales(+1), operators_.scaling, active(W_));
    measure();
    double error = 0;
    for (Column const& column : columns_) error = worst(error, column.best.backward_error);
    for (Column const* column : active_) error = worst(error, column->now.backward_error);
    report_.history.push_back(error);
    if (options_.on_step) options_.on_step(error);
  }

  void solve(Refine method, Block const& R, Block const& D) {
    std::vector<Correction> corrections;
    for (Column const* column : active_) {
      double const target =
          std::min(0.1, std::max(options_.inner_tolerance, 0.1 / column->now.excess));
      corrections.push_back({target, limit(method) - column->iterations});
    }
    if (method == Refine::Cg) {
      if (!cg_) cg_.emplace(kernels_, operators_, active_.size());
      cg_->solve(R, D, corrections);
    } else {
      gmres().solve(R, D, corrections);
    }
    for (std::size_t c = 0; c < active_.size(); ++c) {
      active_[c]->iterations += corrections[c].iterations;
      active_[c]->broken = corrections[c].broken;
      report_.indefinite |= corrections[c].indefinite;
    }
  }

  /// The solver of the present restart length, shortened and for so many columns as memory allows.
  detail::FlexibleGmres<Exec>& gmres() {
    cg_.reset();  // its vectors are not needed any more
    auto const vectors =
        static_cast<std::int64_t>(static_cast<double>(options_.max_basis_bytes) / (8 * n_));
    auto const fitting = std::max<std::int64_t>(1, (vectors - 1) / 2);
    auto const steps = std::min({restart_, fitting, static_cast<std::int64_t>(n_)});
    if (!gmres_ || gmres_->steps() != steps) {
      auto const columns = static_cast<std::int64_t>(active_.size());
      gmres_.reset();
      gmres_.emplace(kernels_, operators_,
                     std::clamp<std::int64_t>(vectors / (2 * steps + 1), 1, columns), steps);
    }
    return *gmres_;
  }

  /// R = 2^-exponent B - A W in fp64; every column that is better than ever before goes into X.
  void measure(bool at_zero = false) {
    if (at_zero) {
      kernels_.fill(active(R_), 0);
    } else {
      operators_.apply(active(W_), active(R_));
    }
    auto const moments = kernels_.residual(scales(-1), B_, index_, active(W_), active(R_),
                                           operators_.scaling, unit_);
    Scalars accept = scales(+1);
    bool any = false;
    for (std::size_t c = 0; c < active_.size(); ++c) {
      Column& column = *active_[c];
      column.now = convergence_.judge(moments[c], column.b_max, column.given_b_max);
      bool const finite = std::isfinite(column.now.backward_error) &&
                          std::isfinite(std::ldexp(column.now.x_max, column.exponent));
      if (finite && column.now.as_good_as(column.best)) {
        column.best = column.now;
        any = true;
      } else {
        accept[c] = 0;
      }
    }
    if (any) kernels_.scatter(accept, active(W_), X_, index_);
  }

  // --- the list of active columns ---------------------------------------------------------------

  Block active(Block const& A) const {
    return Kokkos::subview(A, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, active_.size()));
  }

  /// 2^(sign * exponent) of the active columns.
  Scalars scales(int sign) const {
    Scalars result;
    for (Column const* column : active_) result.push_back(std::ldexp(1.0, sign * column->exponent));
    return result;
  }

  void list_active() {
    std::vector<std::int64_t> list;
    list.reserve(active_.size());
    bool in_front = true;
    for (Column const* column : active_) {
      in_front = in_front && column->index == static_cast<std::int64_t>(list.size());
      list.push_back(column->index);
    }
    index_ = in_front ? memory_.first_columns(static_cast<std::int64_t>(list.size()))
                      : kernels_.indices(list);
  }

  /// Drop the active columns of which `done` is true and close the gaps in W and R.
  template <class Predicate>
  void retire(Predicate const& done) {
    std::vector<std::int64_t> from;
    std::vector<Column*> rest;
    for (std::size_t c = 0; c < active_.size(); ++c) {
      if (done(*active_[c])) continue;
      from.push_back(static_cast<std::int64_t>(c));
      rest.push_back(active_[c]);
    }
    if (rest.size() == active_.size()) return;
    active_ = rest;
    if (active_.empty()) return;
    auto const positions = kernels_.indices(from);
    kernels_.compact(positions, W_);
    kernels_.compact(positions, R_);
    list_active();
  }

  // --- the report -------------------------------------------------------------------------------

  RefinementReport conclude() {
    int largest = -2000;
    for (Column const& column : columns_)
      if (column.best.x_max > 0 || column.best.r_max > 0)
        largest = std::max(largest, column.exponent);
    double r = 0, x = 0;  // ||B - A X||_1 and ||X||_1, both times 2^-largest
    for (Column const& column : columns_) {
      auto const& best = column.best;
      report_.backward_error = worst(report_.backward_error, best.backward_error);
      report_.equilibrated_error = worst(report_.equilibrated_error, best.refined_error);
      report_.iterations = std::max(report_.iterations, column.iterations);
      if (!column.converged()) {
        ++report_.unconverged_columns;
        report_.stagnated |= column.stagnated;
      }
      r = worst(r, std::ldexp(best.r_sum, column.exponent - largest));
      x = worst(x, std::ldexp(best.x_sum, column.exponent - largest));
    }
    report_.slate_error = convergence_.slate_error(r, x);
    report_.hpl_scaled_residual = convergence_.hpl_scaled(report_.backward_error);
    report_.converged =
        convergence_.holds(report_.equilibrated_error, report_.backward_error, report_.slate_error);
    if (report_.converged) report_.unconverged_columns = 0, report_.stagnated = false;
    return std::move(report_);
  }

  RefinementOperators<Exec> const& operators_;
  RefinementOptions const& options_;
  Memory& memory_;
  Kernels& kernels_;
  Block B_, X_;
  Block W_, R_, D_;  // of the active columns: scaled iterate, residual, correction
  typename Kernels::Indices index_;
  double unit_;  // of A as given
  detail::Convergence convergence_;
  double n_;
  std::int64_t restart_;
  std::optional<detail::ConjugateGradients<Exec>> cg_;
  std::optional<detail::FlexibleGmres<Exec>> gmres_;
  std::vector<Column> columns_;
  std::vector<Column*> active_;
  RefinementReport report_;
};

void require(RefinementOptions const& options) {
  STRATA_REQUIRE(ValueError, options.tolerance >= 0 && std::isfinite(options.tolerance),
                 "refine: tolerance is ", options.tolerance, ", must be finite and >= 0");
  STRATA_REQUIRE(ValueError, options.max_iterations >= 0, "refine: max_iterations is ",
                 options.max_iterations, ", must be >= 0");
  STRATA_REQUIRE(ValueError, options.restart >= 1, "refine: restart is ", options.restart,
                 ", must be >= 1");
  STRATA_REQUIRE(ValueError, options.inner_tolerance > 0 && options.inner_tolerance < 1,
                 "refine: inner_tolerance is ", options.inner_tolerance, ", must be in (0, 1)");
  STRATA_REQUIRE(ValueError, options.stagnation_steps >= 1, "refine: stagnation_steps is ",
                 options.stagnation_steps, ", must be >= 1");
}

}  // namespace

template <class ExecutionSpace>
RefinementReport detail::refine(ExecutionSpace const& exec,
                                RefinementMemory<ExecutionSpace>& memory,
                                RefinementOperators<ExecutionSpace> const& operators,
                                typename RefinementOperators<ExecutionSpace>::Block const& B,
                                typename RefinementOperators<ExecutionSpace>::Block const& X,
                                RefinementOptions const& options) {
  Region const region(exec, "strata::dense::refine");
  STRATA_REQUIRE(ShapeError, B.extent(0) == X.extent(0) && B.extent(1) == X.extent(1),
                 "refine: B is ", B.extent(0), " x ", B.extent(1), " and X is ", X.extent(0), " x ",
                 X.extent(1), ", must be the same");
  require(options);
  STRATA_REQUIRE(ValueError, !(operators.norm_inf < 0), "refine: norm_inf is ", operators.norm_inf,
                 ", must be >= 0");
  STRATA_REQUIRE(ShapeError,
                 operators.scaling.extent(0) == 0 || operators.scaling.extent(0) == B.extent(0),
                 "refine: the scaling has ", operators.scaling.extent(0), " entries, B has ",
                 B.extent(0), " rows");
  STRATA_REQUIRE(ValueError, !(operators.given_norm_inf < 0), "refine: given_norm_inf is ",
                 operators.given_norm_inf, ", must be >= 0");
  if (B.extent(0) == 0 || B.extent(1) == 0) return {};
  STRATA_REQUIRE(ValueError, operators.apply && operators.precondition,
                 "refine: the operators apply and precondition must both be given");
  return Refiner<ExecutionSpace>(memory, operators, B, X, options).run();
}

template <class ExecutionSpace>
RefinementReport refine(ExecutionSpace const& exec,
                        RefinementOperators<ExecutionSpace> const& operators,
                        typename RefinementOperators<ExecutionSpace>::Block const& B,
                        typename RefinementOperators<ExecutionSpace>::Block const& X,
                        RefinementOptions const& options) {
  detail::RefinementMemory<ExecutionSpace> memory(exec, B.extent(0), B.extent(1));
  return detail::refine(exec, memory, operators, B, X, options);
}

#define STRATA_INSTANTIATE(Exec)                                                              \
  template RefinementReport detail::refine<Exec>(                                             \
      Exec const&, detail::RefinementMemory<Exec>&, RefinementOperators<Exec> const&,         \
      RefinementOperators<Exec>::Block const&, RefinementOperators<Exec>::Block const&,       \
      RefinementOptions const&);                                                              \
  template RefinementReport refine<Exec>(                                                     \
      Exec const&, RefinementOperators<Exec> const&, RefinementOperators<Exec>::Block const&, \
      RefinementOperators<Exec>::Block const&, RefinementOptions const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
