// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>

#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <algorithm>
#include <vector>

namespace strata::sparse {
namespace {

template <class Exec>
using Rows = Vector<std::int32_t, typename Exec::memory_space>;

template <class Exec, class Scalar>
void prolong(Exec const& exec, Rows<Exec> const& injection,
             Vector<Scalar, typename Exec::memory_space> const& coarse,
             Vector<Scalar, typename Exec::memory_space> const& fine) {
  Region const region(exec, "strata::sparse::prolong");
  Kokkos::parallel_for(
      "strata::sparse::prolong",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(injection.extent(0))),
      KOKKOS_LAMBDA(std::int64_t c) { fine(injection(c)) += coarse(c); });
}

}  // namespace

template <class Exec, class Scalar>
struct GeometricMultigrid<Exec, Scalar>::Impl {
  using Vec = Vector<Scalar, MemorySpace>;
  using Replay = strata::Replay<Exec>;
  struct Work {
    Vec r, x;
    std::shared_ptr<Replay> before, after;  // the two sweeps
  };

  Impl(Exec const& exec, GridHierarchy<Exec> const& hierarchy);

  void cycle(Exec const& exec, std::size_t l, Vec const& r, Vec const& x) const;
  // A sweep of a level, coarse ones replayed where the whole cycle can't be.
  void smooth(Exec const& exec, std::size_t l, Vec const& r, Vec const& x, Guess guess) const;

  GridHierarchy<Exec> hierarchy_;
  std::vector<Work> work_;  // of levels 1, 2, ...
};

template <class Exec, class Scalar>
GeometricMultigrid<Exec, Scalar>::Impl::Impl(Exec const& exec, GridHierarchy<Exec> const& hierarchy)
    : hierarchy_(hierarchy) {
  hierarchy_.levels.front().A.comm().agree([&] {
    for (std::size_t l = 1; l < hierarchy_.levels.size(); ++l) {
      auto const& A = hierarchy_.levels[l].A;
      work_.push_back({A.template allocate<Scalar>(exec, "strata::sparse::GeometricMultigrid::r"),
                       A.template allocate<Scalar>(exec, "strata::sparse::GeometricMultigrid::x"),
                       std::make_shared<Replay>(), std::make_shared<Replay>()});
    }
  });
}

template <class Exec, class Scalar>
void GeometricMultigrid<Exec, Scalar>::Impl::cycle(Exec const& exec, std::size_t l, Vec const& r,
                                                   Vec const& x) const {
  Region const region(exec, "strata::sparse::GeometricMultigrid::level ", l);
  auto const& level = hierarchy_.levels[l];
  smooth(exec, l, r, x, Guess::Zero);
  if (l + 1 == hierarchy_.levels.size()) return;
  auto const& coarse = work_[l];
  level.A.restrict_residual(exec, level.injection, r, x, coarse.r);  // r_c = R (r - A x)
  cycle(exec, l + 1, coarse.r, coarse.x);
  prolong(exec, level.injection.fine_row, coarse.x, x);  // x += R' x_c
  smooth(exec, l, r, x, Guess::Given);
}

template <class Exec, class Scalar>
void GeometricMultigrid<Exec, Scalar>::Impl::smooth(Exec const& exec, std::size_t l, Vec const& r,
                                                    Vec const& x, Guess guess) const {
  auto const& A = hierarchy_.levels[l].A;
  bool const sends = guess == Guess::Given;
  bool const replays =
      l > 0 && Replay::is_possible() && !A.is_enqueued() && !(sends && A.order().free_rows > 0);
  if (!replays) return A.gauss_seidel(exec, r, x, Sweep::Forward, guess);
  auto const& work = work_[l - 1];
  if (sends) A.fill_halo(exec, x);
  (sends ? work.after : work.before)->run(exec, [&] {
    A.sweep(exec, r, x, Sweep::Forward, guess);
  });
}

template <class Exec, class Scalar>
GeometricMultigrid<Exec, Scalar>::GeometricMultigrid(Exec const& exec,
                                                     GridHierarchy<Exec> const& hierarchy)
    : impl_("GeometricMultigrid", std::make_shared<Impl const>(exec, hierarchy)) {}

template <class Exec, class Scalar>
DistributedMatrix<Exec> const& GeometricMultigrid<Exec, Scalar>::matrix() const {
  return hierarchy().levels.front().A;
}
template <class Exec, class Scalar>
GridHierarchy<Exec> const& GeometricMultigrid<Exec, Scalar>::hierarchy() const {
  return impl_->hierarchy_;
}

template <class Exec, class Scalar>
bool GeometricMultigrid<Exec, Scalar>::is_enqueued() const {
  auto const& levels = hierarchy().levels;
  return std::all_of(levels.begin(), levels.end(),
                     [](auto const& level) { return level.A.is_enqueued(); });
}

template <class Exec, class Scalar>
void GeometricMultigrid<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                             Vector<Scalar, MemorySpace> const& x) const {
  Region const region(exec, "strata::sparse::GeometricMultigrid::apply");
  impl_->cycle(exec, 0, r, x);
}

#define STRATA_INSTANTIATE_MULTIGRID(Space)       \
  template class GeometricMultigrid<Space, fp64>; \
  template class GeometricMultigrid<Space, fp32>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_MULTIGRID)

}  // namespace strata::sparse
