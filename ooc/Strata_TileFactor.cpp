// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/detail/Strata_TileTeam.hpp>

#include <cmath>
#include <memory>
#include <utility>

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

template <class Exec>
using BlockOf = typename TileFactor<Exec>::Block;

template <class Exec>
BlockOf<Exec> allocate_like(Exec const& exec, char const* label, BlockOf<Exec> const& V) {
  return allocate<BlockOf<Exec>>(exec, label, V.extent(0), V.extent(1));
}

// The devices that substitute, and those that make residuals: one team where they are the same.
template <class Exec>
struct Teams {
  using Team = detail::TileTeam<Exec>;
  Teams(Exec const& exec, TileMatrix<Exec> const& matrix, std::vector<int> const& devices,
        std::vector<int> const& of_residual)
      : factor(std::make_shared<Team>(exec, matrix, devices)),
        residual(devices == of_residual ? factor
                                        : std::make_shared<Team>(exec, matrix, of_residual)) {}
  std::shared_ptr<Team> factor, residual;
};

}  // namespace

template <class Exec>
TileFactor<Exec>::TileFactor(TileMatrix<Exec>&& matrix, Info info, CholeskyReport report)
    : matrix_(std::move(matrix)), info_(info), report_(std::move(report)) {
  for (DeviceReport const& device : report_.devices) devices_.push_back(device.id);
}

template <class Exec>
void TileFactor<Exec>::solve_on(Devices const& devices) {
  STRATA_REQUIRE(ValueError, !devices.empty(), "solve_on: there is no device");
  devices_.clear();
  for (Device const& device : devices) devices_.push_back(device.id);
}

template <class Exec>
std::vector<int> TileFactor<Exec>::residual_devices() const {
  return matrix_.is_anywhere() ? devices_ : std::vector<int>();
}

template <class Exec>
void TileFactor<Exec>::require_factor(char const* what, std::size_t rows) const {
  STRATA_REQUIRE(ValueError, info_.ok(), what, ": there is no factor; the minor of order ",
                 info_.order(), " is not positive");
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(rows) == matrix_.order(), what, ": ", rows,
                 " rows, the matrix has ", matrix_.order());
}

template <class Exec>
double TileFactor<Exec>::log_determinant() const {
  require_factor("log_determinant", static_cast<std::size_t>(matrix_.order()));
  double sum = 0;
  for (std::int64_t k = 0; k < matrix_.tiles(); ++k) {
    auto const L = matrix_.tile(k, k);
    for (std::int64_t i = 0; i < L.rows; ++i)
      sum += 2 * std::log(L.template as<double>()[i * (L.ld + 1)]);
  }
  for (double const d : matrix_.scaling()) sum -= 2 * std::log(d);
  return sum;
}

template <class Exec>
double TileFactor<Exec>::rounding_error() const {
  require_factor("rounding_error", static_cast<std::size_t>(matrix_.order()));
  double sum = 0;
  for (std::int64_t k = 0; k < matrix_.tiles(); ++k) {
    auto const L = matrix_.tile(k, k);
    for (std::int64_t i = 0; i < L.rows; ++i) {
      double const l = L.template as<double>()[i * (L.ld + 1)];
      sum += 2 / (l * l);
    }
  }
  return 16 * 0x1p-53 * sum;
}

template <class Exec>
dense::LogDeterminantEstimate TileFactor<Exec>::log_determinant(
    Exec const& exec, dense::LogDeterminantOptions const& options) const {
  double const of_factor = log_determinant();
  return name_bad_alloc("log_determinant", [&] {
    dense::LogDeterminantOperators<Exec> operators;
    Teams<Exec> const team(exec, matrix_, devices_, residual_devices());
    operators.apply = [&](Block const& X, Block const& Y) { team.residual->apply(X, Y); };
    operators.forward = [&](Block const& V) { team.factor->forward(V); };
    operators.backward = [&](Block const& V) { team.factor->backward(V); };
    auto estimate = dense::log_determinant(exec, matrix_.order(), of_factor, operators, options);
    estimate.rounding_error = rounding_error();
    return estimate;
  });
}

template <class Exec>
void TileFactor<Exec>::half_solve(Exec const& exec, Op op, Block const& V) const {
  Region const region(exec, "strata::ooc::half_solve");
  require_factor("half_solve", V.extent(0));
  if (V.size() == 0) return;
  name_bad_alloc("half_solve", [&] {
    detail::TileTeam<Exec> team(exec, matrix_, devices_);
    if (op == Op::NoTrans) {
      scale_rows(exec, matrix_.device_scaling(), V, V);
      team.forward(V);
    } else {
      team.backward(V);
      scale_rows(exec, matrix_.device_scaling(), V, V);
      exec.fence("strata::ooc::half_solve");
    }
  });
}

// A X = D^-1 H D^-1 X
template <class Exec>
void TileFactor<Exec>::apply(Exec const& exec, Block const& X, Block const& Y) const {
  Region const region(exec, "strata::ooc::apply");
  STRATA_REQUIRE(ShapeError,
                 static_cast<std::int64_t>(X.extent(0)) == matrix_.order() &&
                     X.extent(0) == Y.extent(0) && X.extent(1) == Y.extent(1),
                 "apply: X is ", X.extent(0), " x ", X.extent(1), ", Y is ", Y.extent(0), " x ",
                 Y.extent(1), ", the matrix has order ", matrix_.order());
  if (X.size() == 0) return;
  name_bad_alloc("apply", [&] {
    Block const scaled = allocate_like<Exec>(exec, "strata::ooc::apply::X", X);
    scale_rows(exec, matrix_.device_scaling(), X, scaled, true);
    detail::TileTeam<Exec>(exec, matrix_, residual_devices()).apply(scaled, Y);
    scale_rows(exec, matrix_.device_scaling(), Y, Y, true);
    exec.fence("strata::ooc::apply");
  });
}

template <class Exec>
dense::RefinementReport TileFactor<Exec>::solve(Exec const& exec, Block const& B, Block const& X,
                                                SolveOptions const& options) const {
  Region const region(exec, "strata::ooc::solve");
  require_factor("solve", B.extent(0));
  STRATA_REQUIRE(ShapeError, B.extent(0) == X.extent(0) && B.extent(1) == X.extent(1),
                 "solve: B is ", B.extent(0), " x ", B.extent(1), " and X is ", X.extent(0), " x ",
                 X.extent(1), ", must be the same");
  return name_bad_alloc("solve", [&] {
    Teams<Exec> const team(exec, matrix_, devices_, residual_devices());
    dense::RefinementOperators<Exec> operators;
    operators.norm_inf = matrix_.norm_inf();
    operators.apply = [&](Block const& U, Block const& V) { team.residual->apply(U, V); };
    operators.precondition = [&](Block const& R) {
      team.factor->forward(R);
      team.factor->backward(R);
    };
    Block const scaled = allocate_like<Exec>(exec, "strata::ooc::solve::B", B);
    scale_rows(exec, matrix_.device_scaling(), B, scaled);  // H (D^-1 X) = D B
    auto const report = dense::refine(exec, operators, scaled, X, options.refinement);
    scale_rows(exec, matrix_.device_scaling(), X, X);
    exec.fence("strata::ooc::solve");
    return report;
  });
}

#define STRATA_INSTANTIATE(Exec) template class TileFactor<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
