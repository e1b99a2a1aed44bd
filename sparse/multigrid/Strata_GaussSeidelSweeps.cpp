// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/scaling/detail/Strata_DiagonalScales.hpp>

namespace strata::sparse {

template <class Exec, class Scalar>
struct GaussSeidelSweeps<Exec, Scalar>::Impl {
  Impl(Exec const& exec, DistributedMatrix<Exec> const& A, Precision precision, int sweeps,
       Sweep sweep);

  DistributedMatrix<Exec> A_;  // d_i a_ij d_j
  int sweeps_;
  Sweep sweep_;
  bool permutes_;                              // vectors come in another order
  Vector<Scalar, MemorySpace> scale_, r_, x_;  // x_: where it permutes
};

template <class Exec, class Scalar>
GaussSeidelSweeps<Exec, Scalar>::Impl::Impl(Exec const& exec, DistributedMatrix<Exec> const& given,
                                            Precision precision, int sweeps, Sweep sweep)
    : sweeps_(sweeps), sweep_(sweep), permutes_(given.order().is_natural) {
  Region const region(exec, "strata::sparse::GaussSeidelSweeps::set_up");
  auto const& comm = given.comm();
  comm.agree([&] {
    STRATA_REQUIRE(ValueError, sweeps >= 1, "Gauss-Seidel: ", sweeps,
                   " sweeps, must be at least 1");
  });
  detail::require_diagonal(exec, given, diagonal(exec, given));
  auto const A = given.coloured(exec);
  Vector<double, MemorySpace> d, spare;
  comm.agree([&] {
    d = A.template allocate<double>(exec, "strata::sparse::GaussSeidelSweeps::d");
    spare = A.template allocate<double>(exec, "strata::sparse::GaussSeidelSweeps::spare");
    scale_ = A.template allocate<Scalar>(exec, "strata::sparse::GaussSeidelSweeps::scale");
    r_ = A.template allocate<Scalar>(exec, "strata::sparse::GaussSeidelSweeps::r");
    if (permutes_) x_ = A.template allocate<Scalar>(exec, "strata::sparse::GaussSeidelSweeps::x");
  });
  detail::find_power_scales(exec, diagonal(exec, A), A.rows(), d, spare);
  A.fill_halo(exec, d);
  Kokkos::deep_copy(exec, spare, 0.0);
  Kokkos::deep_copy(exec, scale_, Scalar(1));
  detail::scale_by(exec, d, scale_, scale_, A.rows());
  A_ = A.modified(exec, d, spare).stored_in(exec, precision);
  exec.fence("strata::sparse::GaussSeidelSweeps::set_up");
}

template <class Exec, class Scalar>
GaussSeidelSweeps<Exec, Scalar>::GaussSeidelSweeps(Exec const& exec,
                                                   DistributedMatrix<Exec> const& A,
                                                   Precision precision, int sweeps, Sweep sweep)
    : impl_("GaussSeidelSweeps", std::make_shared<Impl const>(exec, A, precision, sweeps, sweep)) {}

template <class Exec, class Scalar>
std::int64_t GaussSeidelSweeps<Exec, Scalar>::bytes() const {
  std::size_t const numbers = impl_->scale_.extent(0) + impl_->r_.extent(0) + impl_->x_.extent(0);
  return impl_->A_.bytes() + static_cast<std::int64_t>(numbers * sizeof(Scalar));
}

template <class Exec, class Scalar>
bool GaussSeidelSweeps<Exec, Scalar>::is_enqueued() const {
  return impl_->A_.is_enqueued();
}

template <class Exec, class Scalar>
void GaussSeidelSweeps<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                            Vector<Scalar, MemorySpace> const& z) const {
  Region const region(exec, "strata::sparse::GaussSeidelSweeps::apply");
  auto const& own = *impl_;
  auto const& rows = own.A_.order().old_row;
  auto const& x = own.permutes_ ? own.x_ : z;
  if (own.permutes_)
    detail::gather_scaled(exec, rows, own.scale_, r, own.r_);
  else
    detail::scale_by(exec, own.scale_, r, own.r_, own.A_.rows());
  for (int sweep = 0; sweep < own.sweeps_; ++sweep)
    own.A_.gauss_seidel(exec, own.r_, x, own.sweep_, sweep == 0 ? Guess::Zero : Guess::Given);
  if (own.permutes_)
    detail::scatter_scaled(exec, rows, own.scale_, x, z);
  else
    detail::scale_by(exec, own.scale_, z, z, own.A_.rows());
}

#define STRATA_INSTANTIATE_SWEEPS(Space)         \
  template class GaussSeidelSweeps<Space, fp64>; \
  template class GaussSeidelSweeps<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_SWEEPS)

}  // namespace strata::sparse
