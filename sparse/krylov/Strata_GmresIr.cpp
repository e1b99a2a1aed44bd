// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_GmresIr.hpp>

#include <core/Strata_Errors.hpp>
#include <core/Strata_HessenbergLeastSquares.hpp>
#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace strata::sparse {

template <class Exec, class Scalar, class Stored>
struct GmresIr<Exec, Scalar, Stored>::Impl final : KrylovMethod<Exec>::Work {
  using MemorySpace = typename Exec::memory_space;
  using Wide = Vector<double, MemorySpace>;

  Impl(Exec const& exec, DistributedMatrix<Exec> const& A, DistributedMatrix<Exec> const& inner,
       Preconditioner<Exec, Scalar> const& preconditioner, KrylovOptions const& options);

  std::int64_t bytes() const override;
  KrylovReport solve(Exec const& exec, Wide const& b, Wide const& x,
                     detail::ResidualNorms<Exec> const* norms) override;

  // Whether steps are replayed: on all ranks or on none, since messages may be part of them.
  // Collective.
  bool replays() const;
  // q_{k+1}, and column k of the Hessenberg matrix.
  void arnoldi_step(Exec const& exec, int k);
  // One cycle; Breakdown if x was not updated by finite numbers.
  std::optional<KrylovStatus> cycle(Exec const& exec, detail::OuterIteration<Exec>& outer,
                                    Wide const& x, bool replays);

  DistributedMatrix<Exec> A_, inner_;
  Preconditioner<Exec, Scalar> preconditioner_;
  KrylovOptions options_;
  KrylovBasis<Exec, Scalar, Stored> basis_;
  std::vector<strata::Replay<Exec>> steps_;  // of a cycle
  typename detail::OuterIteration<Exec>::Work outer_;
  Vector<Scalar, MemorySpace> y_, z_;
};

template <class Exec, class Scalar, class Stored>
GmresIr<Exec, Scalar, Stored>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& A,
                                          DistributedMatrix<Exec> const& inner,
                                          Preconditioner<Exec, Scalar> const& preconditioner,
                                          KrylovOptions const& options)
    : A_(A),
      inner_(inner),
      preconditioner_(preconditioner),
      options_(detail::checked(options, "GMRES")),
      basis_(A.comm().agree([&] {
        return KrylovBasis<Exec, Scalar, Stored>(exec, A.comm(), A.rows(), options.restart + 1,
                                                 A.link(), options.norm);
      })),
      steps_(static_cast<std::size_t>(options.restart)) {
  A.comm().agree([&] {
    STRATA_REQUIRE(ShapeError, inner.rows() == A.rows() && inner.halo() == A.halo(),
                   "GMRES: the inner matrix has ", inner.rows(), " rows and a halo of ",
                   inner.halo(), ", A ", A.rows(), " and ", A.halo());
    outer_.r = A_.template allocate<double>(exec, "strata::sparse::GmresIr::r");
    outer_.best = A_.template allocate<double>(exec, "strata::sparse::GmresIr::best");
    y_ = A_.template allocate<Scalar>(exec, "strata::sparse::GmresIr::y");
    z_ = A_.template allocate<Scalar>(exec, "strata::sparse::GmresIr::z");
  });
}

template <class Exec, class Scalar, class Stored>
bool GmresIr<Exec, Scalar, Stored>::Impl::replays() const {
  if constexpr (strata::runs_on_host<Exec>) return false;
  bool const can = A_.is_enqueued() && inner_.is_enqueued() && preconditioner_.is_enqueued() &&
                   strata::Replay<Exec>::is_possible();
  return A_.comm().max(can ? 0 : 1) == 0;
}

template <class Exec, class Scalar, class Stored>
void GmresIr<Exec, Scalar, Stored>::Impl::arnoldi_step(Exec const& exec, int k) {
  preconditioner_.apply(exec, basis_[k - 1], z_);  // z = M^-1 q_k
  inner_.multiply(exec, z_, basis_[k]);            // q_{k+1} = A z
  basis_.orthogonalise(exec, k);
}

template <class Exec, class Scalar, class Stored>
std::optional<KrylovStatus> GmresIr<Exec, Scalar, Stored>::Impl::cycle(
    Exec const& exec, detail::OuterIteration<Exec>& outer, Wide const& x, bool replays) {
  double const rho = outer.norm();
  double const target = std::max(outer.target(), options_.cycle_floor * rho);
  HessenbergLeastSquares givens(rho);
  basis_.start(exec, 1 / rho, outer_.r);  // q_1 = r / rho
  for (int k = 1; k <= options_.restart && outer.has_iterations(); ++k) {
    if (replays)
      steps_[static_cast<std::size_t>(k - 1)].run(exec, [&] { arnoldi_step(exec, k); });
    else
      arnoldi_step(exec, k);
    HessenbergColumn column = basis_.column(exec, k);
    double const beta = column.beta;
    if (!std::isfinite(beta)) break;
    givens.append(std::move(column.h), beta);
    outer.count(givens.residual());
    if (beta == 0 || givens.residual() <= target) break;
  }
  auto const t = givens.minimiser();
  for (double const entry : t)
    if (!std::isfinite(entry)) return KrylovStatus::Breakdown;
  if (t.empty()) return KrylovStatus::Breakdown;
  basis_.combine(exec, t, y_);  // y = Q t
  preconditioner_.apply(exec, y_, z_);
  detail::add(exec, outer.unit(), z_, x, A_.rows());  // x += M^-1 y
  if (!outer.estimates() || !(givens.residual() <= outer.target())) return std::nullopt;
  auto const last = givens.last_decade();
  if (!last.empty()) {
    basis_.combine(exec, last, y_);
    preconditioner_.apply(exec, y_, z_);
    detail::scale(exec, outer.unit(), z_, outer.step(), A_.rows());
    outer.saw();
  }
  return std::nullopt;
}

template <class Exec, class Scalar, class Stored>
GmresIr<Exec, Scalar, Stored>::GmresIr(Exec const& exec, DistributedMatrix<Exec> const& A,
                                       DistributedMatrix<Exec> const& inner,
                                       Preconditioner<Exec, Scalar> const& preconditioner,
                                       KrylovOptions const& options)
    : KrylovMethod<Exec>("GmresIr",
                         std::make_unique<Impl>(exec, A, inner, preconditioner, options)) {}
template <class Exec, class Scalar, class Stored>
GmresIr<Exec, Scalar, Stored>::GmresIr(Exec const& exec, DistributedMatrix<Exec> const& A,
                                       GeometricMultigrid<Exec, Scalar> const& preconditioner,
                                       KrylovOptions const& options)
    : GmresIr(exec, A, preconditioner.matrix(), preconditioner, options) {}

template <class Exec, class Scalar, class Stored>
std::int64_t GmresIr<Exec, Scalar, Stored>::Impl::bytes() const {
  return basis_.bytes() + static_cast<std::int64_t>(2 * outer_.r.extent(0) * sizeof(double) +
                                                    (y_.extent(0) + z_.extent(0)) * sizeof(Scalar));
}

template <class Exec, class Scalar, class Stored>
KrylovReport GmresIr<Exec, Scalar, Stored>::Impl::solve(Exec const& exec, Wide const& b,
                                                        Wide const& x,
                                                        detail::ResidualNorms<Exec> const* norms) {
  Region const region(exec, "strata::sparse::GmresIr::solve");
  detail::OuterIteration<Exec> outer(exec, A_, options_, b, x, outer_, norms);
  bool const is_replayed = replays();
  return outer.run(options_.stall_factor,
                   [&](auto& at) { return cycle(exec, at, x, is_replayed); });
}

#define STRATA_INSTANTIATE_GMRES(Space) \
  template class GmresIr<Space, fp64>;  \
  template class GmresIr<Space, fp32>;  \
  template class GmresIr<Space, fp32, fp16>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_GMRES)

}  // namespace strata::sparse
