// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_REFINER_HPP
#define STRATA_DETAIL_REFINER_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/detail/Strata_ActiveColumns.hpp>
#include <dense/refine/detail/Strata_Convergence.hpp>
#include <dense/refine/detail/Strata_CorrectionSolvers.hpp>
#include <dense/refine/detail/Strata_Equilibrate.hpp>
#include <dense/refine/detail/Strata_RefinementMemory.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// One call of `refine`.
template <class Exec>
class Refiner {
 public:
  using Kernels = BlockVectors<Exec>;
  using Block = typename Kernels::Block;
  using Scalars = typename Kernels::Scalars;

  using Memory = RefinementMemory<Exec>;

  Refiner(Memory& memory, RefinementOperators<Exec> const& operators, Block const& B,
          Block const& X, RefinementOptions const& options, bool is_cut_short, GivenSystem* given)
      : operators_(operators),
        options_(options),
        is_cut_short_(is_cut_short),
        given_(given),
        multiplies_(operators.apply_given && operators.scaling.extent(0) > 0),
        memory_(memory),
        kernels_(memory.kernels()),
        B_(B),
        X_(X),
        W_(memory.vector(Memory::Iterate, B.extent(1))),
        R_(memory.vector(Memory::Residual, B.extent(1))),
        D_(memory.vector(Memory::Correction, B.extent(1))),
        active_(kernels_, W_, R_),
        unit_(operators.scaling.extent(0) > 0 ? unit_of(operators.given_norm_inf) : 1),
        convergence_(static_cast<std::int64_t>(B.extent(0)), operators.norm_inf,
                     operators.scaling.extent(0) > 0 ? operators.given_norm_inf * unit_ * unit_
                                                     : operators.norm_inf,
                     options.tolerance, operators.largest),
        n_(static_cast<double>(B.extent(0))),
        restart_(options.restart) {
    report_.tolerance = convergence_.tolerance();
  }

  RefinementReport run() {
    first_solve();
    if (holds_non_finite()) return std::move(report_);
    if (options_.refine == Refine::Automatic) {
      if (phase(Refine::Classical) == Refine::Classical) phase(Refine::Cg);
      if (!is_cut_short_) phase(Refine::Gmres);
    } else if (options_.refine != Refine::None) {
      phase(options_.refine);
    }
    conclude(active_.all(), convergence_, unit_, report_);
    return std::move(report_);
  }

 private:
  bool holds_non_finite() const { return given_ != nullptr && given_->found == NotFinite; }

  /// The power of two that A as given is measured in: u^2 ||A|| is about 1.
  static double unit_of(double norm) {
    return norm > 0 && std::isfinite(norm) ? std::ldexp(1.0, -std::ilogb(norm) / 2) : 1;
  }

  /// X = M^-1 B and its residual, with the columns of B scaled to about ||A||; those that are
  /// finite and not 0 become active.
  ///
  /// A device sees for itself how it scales B. Where the solve takes longer than to wait for that,
  /// there is a look first at whether there is anything to solve.
  void first_solve() {
    auto const cols = static_cast<std::int64_t>(B_.extent(1));
    kernels_.measure(given_ ? given_->B : StridedMatrix<double const>{}, operators_.scaling, unit_,
                     B_);
    bool const at_once = B_.extent(0) <= 8192 && std::isfinite(operators_.norm_inf);
    if (!at_once && !take_columns(kernels_.magnitudes(cols))) return;
    kernels_.start(B_, operators_.norm_inf, D_);
    operators_.precondition(D_);
    kernels_.correct_first(D_, operators_.scaling, W_, multiplies_);
    multiply(W_, D_, R_);
    auto moments = kernels_.residual_first(B_, {}, W_, R_, operators_.scaling, unit_, multiplies_,
                                           given_ ? given_->X : StridedMatrix<double>{});
    if (at_once && !take_columns(kernels_.magnitudes(cols))) return;
    active_.drop_others(moments);
    for (Column* column : active_) {
      column->before = column->now.excess;
      ++column->iterations;
    }
    auto const accept = judge(moments);
    keep_first(accept);
    note_step();
  }

  /// Takes the columns of B, and the quality of X = 0, whose residual is B. Returns false, and X =
  /// 0, if no column is left to be solved. Returns false if the given B holds a number that is not
  /// finite.
  bool take_columns(std::vector<MomentsOfBoth> const& size) {
    for (std::size_t j = 0; j < size.size(); ++j) {
      Column column;
      double const b_max = size[j].refined.max[0];
      auto const& given = size[j].given;
      FirstScale const first(b_max, operators_.norm_inf);
      column.index = static_cast<std::int64_t>(j);
      column.failed = first.failed;
      if (column.failed) {
        column.best.backward_error = column.best.refined_error = column.best.r_sum =
            std::numeric_limits<double>::quiet_NaN();
      } else if (b_max == 0) {
        column.best = {.backward_error = 0, .refined_error = 0, .excess = 0, .shortfall = 0};
      } else {
        column.exponent = first.exponent;
        column.b_max = first.b_max;
        column.given_b_max =
            given.max[0] < 0x1p-800
                ? std::ldexp(given.max[1], -column.exponent - Kernels::lift_exponent)
                : std::ldexp(given.max[0], -column.exponent);
        begin_at_zero(column, std::ldexp(given.sum[0], -column.exponent));
      }
      if (given_)
        given_->found = std::max(given_->found, static_cast<std::int64_t>(size[j].refined.max[1]));
      active_.all().push_back(column);
    }
    if (holds_non_finite()) return false;
    take_up(Refine::Classical);
    if (active_.empty()) kernels_.fill(X_, 0);
    return !active_.empty();
  }

  void begin_at_zero(Column& column, double given_b_sum) {
    MomentsOfBoth of_b;
    of_b.refined.max[0] = column.b_max;
    of_b.given.max[0] = column.given_b_max;
    of_b.given.sum[0] = given_b_sum;
    column.now = convergence_.judge(of_b, column.b_max, column.given_b_max);
    bool const finite = std::isfinite(column.now.backward_error);
    if (finite && column.now.as_good_as(column.best)) column.best = column.now;
    column.begin_phase();
  }

  /// X = the first solution, 0 where it is worse than that. Where it is in the caller's X, and good
  /// enough, there is no need.
  void keep_first(Scalars const& accept) {
    bool const all = std::ranges::find(accept, 0) == accept.end();
    if (given_) {
      given_->holds = all && given_->X.data != nullptr && given_->found == Nothing &&
                      std::ranges::all_of(active_, [&](Column const* column) {
                        return column->now.is_in_range(column->exponent, unit_);
                      });
      bool const is_enough =
          options_.refine == Refine::None || std::ranges::all_of(active_, &Column::perfect);
      if (given_->holds && is_enough) return;
    }
    if (!all || active_.size() < active_.all().size()) kernels_.fill(X_, 0);
    kernels_.scatter(accept, active_.of(W_), X_, active_.index());
  }

  /// Every unfinished column is active.
  void take_up(Refine method) {
    active_.take_up([&](Column const& column) {
      return !column.converged() && !column.failed && column.iterations < limit(method);
    });
  }

  /// Take up every unfinished column at its best iterate.
  void resume(Refine method) {
    take_up(method);
    if (active_.empty()) return;
    kernels_.gather(active_.scales(-1), X_, active_.index(), active_.of(W_));
    if (multiplies_)
      scale_rows(memory_.exec(), operators_.scaling, active_.of(W_), active_.of(D_), B_.extent(0),
                 active_.size());
    measure(
        std::ranges::all_of(active_, [](Column const* column) { return column->best.x_max == 0; }));
    for (Column* column : active_) column->begin_phase();
  }

  /// Refine by `method`, or by CG where `step` takes that, until every column has converged or
  /// left; the method.
  Refine phase(Refine method) {
    bool const first = report_.method == Refine::None;
    active_.retire([&](Column const& column) {
      return column.perfect() || column.iterations >= limit(method);
    });
    if (!first || !std::ranges::all_of(active_, &Column::at_its_best)) resume(method);
    for (Column* column : active_) column->begin_phase();
    while (!active_.empty()) {
      step(method);
      report_.method = method;
      ++report_.outer_iterations;
      for (Column* column : active_) column->end_step(options_.stagnation_steps);
      bool const slow = std::ranges::any_of(
          active_, [](Column const* column) { return column->now.excess > column->before / 2; });
      if (slow) restart_ = std::min<std::int64_t>(2 * restart_, std::int64_t{8} * options_.restart);
      active_.retire([&](Column const& column) { return leaves(column, method); });
    }
    return method;
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
    return automatic && !is_cut_short_ && method == Refine::Cg ? (total + 1) / 2 : total;
  }

  /// One outer step on the active columns: solve A D = R, W += D, measure. The first one, if left
  /// to choose, goes on with CG where a classical one would gain little.
  void step(Refine& method) {
    Scalars to_unit;
    for (Column* column : active_) {
      column->before = column->now.excess;
      to_unit.push_back(normaliser(column->now.r_max));
    }
    Block const R = active_.of(R_), D = active_.of(D_);
    bool is_first_of_cg = false;  // D = M^-1 R
    if (method == Refine::Classical) {
      kernels_.scale(to_unit, R, D);
      operators_.precondition(D);
      bool const may_choose =
          options_.refine == Refine::Automatic && report_.method == Refine::None;
      is_first_of_cg = may_choose && gains_little(D, to_unit);
      if (is_first_of_cg)
        method = Refine::Cg;
      else
        for (Column* column : active_) ++column->iterations;
    }
    if (method != Refine::Classical) {
      kernels_.scale(to_unit, R, R);
      solve(method, R, D, is_first_of_cg);
    }
    Scalars back(to_unit);
    for (double& factor : back) factor = 1 / factor;
    kernels_.correct(back, D, active_.scales(+1), operators_.scaling, active_.of(W_), multiplies_);
    measure();
    note_step();
  }

  /// Whether no column of W would gain a factor of 8 by its correction, or come to the goal. The
  /// correction is to x about as the next residual is to this one, for both are what I - M^-1 A
  /// leaves of the error. A column that has converged may try.
  bool gains_little(Block const& D, Scalars const& to_unit) {
    auto const size = kernels_.norms(Scalars(active_.size(), 1.0), D);
    for (std::size_t c = 0; c < active_.size(); ++c) {
      auto const& now = active_[c].now;
      double const d = size[c].max[0] / to_unit[c];
      bool const little = std::isfinite(d) && 8 * d > now.x_max && now.excess * d > now.x_max;
      if (!little || active_[c].converged() || active_[c].iterations >= limit(Refine::Cg))
        return false;
    }
    return true;
  }

  void note_step() {
    double error = 0;
    for (Column const& column : active_.all()) error = worst(error, column.best.backward_error);
    for (Column const* column : active_) error = worst(error, column->now.backward_error);
    report_.history.push_back(error);
    if (options_.on_step) options_.on_step(error);
  }

  void solve(Refine method, Block const& R, Block const& D, bool is_first_of_cg) {
    std::vector<Correction> corrections;
    for (Column const* column : active_) {
      double const target =
          std::min(0.1, std::max(options_.inner_tolerance, 0.1 / column->now.excess));
      corrections.push_back({target, limit(method) - column->iterations, is_cut_short_});
    }
    if (method == Refine::Cg) {
      if (!cg_) cg_.emplace(kernels_, operators_, active_.size());
      cg_->solve(R, D, corrections, is_first_of_cg);
    } else {
      gmres().solve(R, D, corrections);
    }
    for (std::size_t c = 0; c < active_.size(); ++c) {
      active_[c].iterations += corrections[c].iterations;
      active_[c].broken = corrections[c].broken || corrections[c].gave_up;
      report_.indefinite |= corrections[c].indefinite;
    }
  }

  /// The solver of the present restart length, shortened and for so many columns as memory allows.
  FlexibleGmres<Exec>& gmres() {
    cg_.reset();  // its vectors are not needed any more
    auto const vectors =
        static_cast<std::int64_t>(static_cast<double>(options_.max_basis_bytes) / (8 * n_));
    auto const fitting = std::max<std::int64_t>(1, (vectors - 1) / 2);
    auto const steps = std::min({restart_, fitting, static_cast<std::int64_t>(n_)});
    if (!gmres_ || gmres_->steps() != steps) {
      auto const columns = static_cast<std::int64_t>(active_.size());
      gmres_.reset();
      gmres_.emplace(memory_.exec(), B_.extent(0), operators_,
                     std::clamp<std::int64_t>(vectors / (2 * steps + 1), 1, columns), steps);
    }
    return *gmres_;
  }

  /// R = A W, or G D for D = d W where the residual multiplies by d.
  void multiply(Block const& W, Block const& D, Block const& R) {
    if (multiplies_)
      operators_.apply_given(D, R);
    else
      operators_.apply(W, R);
  }

  /// R = 2^-exponent B - A W in fp64; every column that is better than ever before goes into X.
  void measure(bool at_zero = false) {
    if (at_zero)
      kernels_.fill(active_.of(R_), 0);
    else
      multiply(active_.of(W_), active_.of(D_), active_.of(R_));
    auto const accept =
        judge(kernels_.residual(active_.scales(-1), B_, active_.index(), active_.of(W_),
                                active_.of(R_), operators_.scaling, unit_, multiplies_));
    if (std::ranges::any_of(accept, [](double factor) { return factor != 0; }))
      kernels_.scatter(accept, active_.of(W_), X_, active_.index());
  }

  /// The active columns' quality; what brings those into X that are better than ever before, 0 for
  /// the others.
  Scalars judge(std::vector<MomentsOfBoth> const& moments) {
    Scalars accept = active_.scales(+1);
    for (std::size_t c = 0; c < active_.size(); ++c) {
      Column& column = active_[c];
      column.now = convergence_.judge(moments[c], column.b_max, column.given_b_max);
      bool const finite = std::isfinite(column.now.backward_error) &&
                          std::isfinite(std::ldexp(column.now.x_max, column.exponent));
      if (finite && column.now.as_good_as(column.best))
        column.best = column.now;
      else
        accept[c] = 0;
    }
    return accept;
  }

  RefinementOperators<Exec> const& operators_;
  RefinementOptions const& options_;
  bool is_cut_short_;
  GivenSystem* given_;
  bool multiplies_;  // by d in `residual`, of what `apply_given` makes
  Memory& memory_;
  Kernels& kernels_;
  Block B_, X_;
  Block W_, R_, D_;  // of the active columns: scaled iterate, residual, correction
  ActiveColumns<Exec> active_;
  double unit_;  // of A as given
  Convergence convergence_;
  double n_;
  std::int64_t restart_;
  std::optional<ConjugateGradients<Exec>> cg_;
  std::optional<FlexibleGmres<Exec>> gmres_;
  RefinementReport report_;
};

}  // namespace strata::dense::detail

#endif
