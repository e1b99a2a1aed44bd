// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Together.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/detail/Strata_TileFactorState.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>
#include <ooc/tiles/detail/Strata_TileDiagonal.hpp>
#include <ooc/tiles/detail/Strata_TileTeam.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace strata::ooc {

namespace {

// Y = D X, or Y = D^-1 X; an empty d is the identity.
template <class Exec, class Block>
void scale_rows(Exec const& exec, Kokkos::View<double const*, typename Exec::memory_space> const& d,
                Block const& X, Block const& Y, bool inverse = false) {
  bool const scaled = d.extent(0) > 0;
  strata::for_each_element(
      "strata::ooc::solve::scale", exec, static_cast<std::int64_t>(X.extent(0)),
      static_cast<std::int64_t>(X.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        double const factor = scaled ? d(i) : 1;
        Y(i, j) = inverse ? X(i, j) / factor : factor * X(i, j);
      });
}

// l_11, ..., l_nn, of all ranks.
template <class Exec>
std::vector<double> diagonal_of(TileMatrix<Exec> const& matrix) {
  return detail::diagonal_of(matrix, "log_determinant");
}

template <class Exec>
using BlockOf = typename TileFactor<Exec>::Block;

template <class Exec>
BlockOf<Exec> allocate_like(Exec const& exec, char const* label, BlockOf<Exec> const& V) {
  return allocate<BlockOf<Exec>>(exec, label, V.extent(0), V.extent(1));
}

// What a caller's function throws on one rank, all throw; some ranks may have none.
std::function<void(double)> heard_together(Communicator const* comm,
                                           std::function<void(double)> const& hears) {
  if (!comm) return hears;
  return [comm, hears](double value) { tell_together(comm, hears, value); };
}

// The devices that substitute, and those that make residuals: one team where they are the same.
template <class Exec>
struct Teams {
  using Team = detail::TileTeam<Exec>;
  Teams(DeviceTeam<Exec> const& team, Exec const& exec, TileMatrix<Exec> const& matrix)
      : loan(team),
        factor(std::make_shared<Team>(loan.machine(), exec, matrix, true)),
        residual(matrix.is_anywhere() || matrix.comm()
                     ? factor
                     : std::make_shared<Team>(loan.machine(), exec, matrix, false)) {}
  detail::Loan<Exec> loan;
  std::shared_ptr<Team> factor, residual;
};

// What rounding changes in the log-determinant of a factor: in log det L L^T = log det H, and in
// the logarithms.
template <class Exec>
double rounding_of(Exec const& exec, TileMatrix<Exec> const& matrix, detail::TileTeam<Exec>& team,
                   dense::LogDeterminantOptions const& options) {
  double logarithms = 0;
  for (double const l : diagonal_of(matrix)) logarithms += std::abs(2 * std::log(l));
  for (double const d : matrix.scaling()) logarithms += std::abs(2 * std::log(d));
  dense::LogDeterminantOperators<Exec> of_H;
  of_H.diagonal = matrix.is_equilibrated() ? 1 : matrix.norm_inf();
  of_H.forward = [&team](BlockOf<Exec> const& V) { team.forward(V); };
  return dense::log_determinant_rounding(exec, matrix.order(), 0, of_H, options) +
         0x1p-52 * logarithms;
}

}  // namespace

template <class Exec>
TileFactor<Exec>::~TileFactor() = default;
template <class Exec>
TileFactor<Exec>::TileFactor(TileFactor&&) noexcept = default;
template <class Exec>
TileFactor<Exec>& TileFactor<Exec>::operator=(TileFactor&&) noexcept = default;

template <class Exec>
Info TileFactor<Exec>::info() const {
  return state_->info;
}
template <class Exec>
CholeskyReport const& TileFactor<Exec>::report() const {
  return state_->report;
}
template <class Exec>
TileMatrix<Exec> const& TileFactor<Exec>::matrix() const {
  if (state_->info.ok()) state_->need_factor("matrix");
  return state_->matrix;
}
template <class Exec>
TileMatrix<Exec> TileFactor<Exec>::take() && {
  auto matrix = std::move(state_->matrix);
  state_ = Pimpl<State>("TileFactor");
  return matrix;
}

template <class Exec>
void TileFactor<Exec>::solve_on(Devices const& devices) {
  STRATA_REQUIRE(ValueError, !devices.empty(), "solve_on: there is no device");
  solve_on(DeviceTeam<Exec>(devices));
}
template <class Exec>
void TileFactor<Exec>::solve_on(DeviceTeam<Exec> const& team) {
  state_->solving = team;
}

template <class Exec>
double TileFactor<Exec>::log_determinant() const {
  state_->need_factor("log_determinant");
  auto const& matrix = state_->matrix;
  long double sum = 0;  // of many terms of one size, whose roundings are alike
  for (double const l : diagonal_of(matrix)) sum += 2 * std::log(l);
  for (double const d : matrix.scaling()) sum -= 2 * std::log(d);
  return static_cast<double>(sum);
}

template <class Exec>
double TileFactor<Exec>::rounding_error(Exec const& exec,
                                        dense::LogDeterminantOptions const& options) const {
  state_->need_factor("rounding_error");
  auto const& matrix = state_->matrix;
  return name_bad_alloc("log_determinant", [&] {
    detail::Loan<Exec> const loan(state_->solving);
    detail::TileTeam<Exec> team(loan.machine(), exec, matrix, true);
    return rounding_of(exec, matrix, team, options);
  });
}

template <class Exec>
dense::LogDeterminantEstimate TileFactor<Exec>::log_determinant(
    Exec const& exec, dense::LogDeterminantOptions const& options) const {
  double const of_factor = log_determinant();
  auto const& matrix = state_->matrix;
  return name_bad_alloc("log_determinant", [&] {
    dense::LogDeterminantOperators<Exec> operators;
    Teams<Exec> const team(state_->solving, exec, matrix);
    operators.apply = [&](Block const& X, Block const& Y) { team.residual->apply(X, Y); };
    operators.forward = [&](Block const& V) { team.factor->forward(V); };
    operators.backward = [&](Block const& V) { team.factor->backward(V); };
    auto told = options;
    told.on_progress = heard_together(matrix.comm(), options.on_progress);
    auto estimate = dense::log_determinant(exec, matrix.order(), of_factor, operators, told);
    // ||A^-1|| <= ||M^-1|| / the least eigenvalue of L^-1 A L^-T
    estimate.rounding_error = rounding_of(exec, matrix, *team.factor, options) / estimate.lowest;
    return estimate;
  });
}

template <class Exec>
void TileFactor<Exec>::half_solve(Exec const& exec, Op op, Block const& V,
                                  std::int64_t first_row) const {
  Region const region(exec, "strata::ooc::half_solve");
  state_->need_factor("half_solve", V.extent(0));
  auto const& matrix = state_->matrix;
  STRATA_REQUIRE(ValueError, first_row >= 0 && first_row <= matrix.order(),
                 "half_solve: first_row is ", first_row, ", must be 0 to ", matrix.order());
  if (V.size() == 0 || first_row == matrix.order()) return;
  std::int64_t const first = first_row / matrix.tile_size();
  name_bad_alloc("half_solve", [&] {
    detail::Loan<Exec> const loan(state_->solving);
    detail::TileTeam<Exec> team(loan.machine(), exec, matrix, true);
    if (op == Op::NoTrans) {
      scale_rows(exec, matrix.device_scaling(), V, V);
      team.forward(V, first);
    } else {
      team.backward(V, first);
      scale_rows(exec, matrix.device_scaling(), V, V);
      exec.fence("strata::ooc::half_solve");
    }
  });
}

// A X = D^-1 H D^-1 X
template <class Exec>
void TileFactor<Exec>::apply(Exec const& exec, Block const& X, Block const& Y) const {
  Region const region(exec, "strata::ooc::apply");
  auto const& matrix = state_->matrix;
  STRATA_REQUIRE(ShapeError,
                 static_cast<std::int64_t>(X.extent(0)) == matrix.order() &&
                     X.extent(0) == Y.extent(0) && X.extent(1) == Y.extent(1),
                 "apply: X is ", X.extent(0), " x ", X.extent(1), ", Y is ", Y.extent(0), " x ",
                 Y.extent(1), ", the matrix has order ", matrix.order());
  if (X.size() == 0) return;
  name_bad_alloc("apply", [&] {
    Block const scaled = allocate_like<Exec>(exec, "strata::ooc::apply::X", X);
    scale_rows(exec, matrix.device_scaling(), X, scaled, true);
    detail::Loan<Exec> const loan(state_->solving);
    detail::TileTeam<Exec>(loan.machine(), exec, matrix, matrix.is_anywhere()).apply(scaled, Y);
    scale_rows(exec, matrix.device_scaling(), Y, Y, true);
    exec.fence("strata::ooc::apply");
  });
}

template <class Exec>
dense::RefinementOperators<Exec> TileFactor<Exec>::State::operators(Exec const& exec) {
  need_factor("solve");
  auto const team = std::make_shared<Teams<Exec>>(solving, exec, matrix);
  dense::RefinementOperators<Exec> result;
  result.apply = [team](Block const& U, Block const& V) { team->residual->apply(U, V); };
  result.precondition = [team](Block const& R) {
    team->factor->forward(R);
    team->factor->backward(R);
  };
  result.norm_inf = matrix.norm_inf();
  result.scaling = matrix.device_scaling();
  result.given_norm_inf = matrix.given_norm_inf();
  return result;
}

template <class Exec>
dense::SolveReport TileFactor<Exec>::solve_strided(Exec const& exec,
                                                   dense::StridedMatrix<double const> const& B,
                                                   dense::StridedMatrix<double> const& X,
                                                   dense::RefinementOptions const& options) {
  Region const region(exec, "strata::ooc::solve");
  state_->need_factor("solve");
  STRATA_REQUIRE(ValueError, !dense::share_memory(state_->matrix.source(), X),
                 "solve: X overlaps A, which the matrix in tiles reads");
  auto told = options;
  told.on_step = heard_together(state_->matrix.comm(), options.on_step);
  return name_bad_alloc("solve", [&] { return dense::solve(exec, *state_, B, X, told); });
}

#define STRATA_INSTANTIATE(Exec) template class TileFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
