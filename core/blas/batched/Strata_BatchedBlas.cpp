// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/batched/Strata_BatchedBlas.hpp>

#include <core/Strata_Backends.hpp>
#include <core/Strata_EnumNames.hpp>
#include <core/blas/basics/vendor/Strata_VendorBatched.hpp>
#include <core/blas/batched/detail/Strata_BatchedLanes.hpp>
#include <core/blas/batched/detail/Strata_BatchedOneByOne.hpp>
#include <core/blas/batched/detail/Strata_BatchedTeams.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>

namespace strata {
namespace {

template <class Matrix>
std::string shape(char name, Matrix const& A, std::int64_t stride) {
  return detail::message(name, " ", A.rows, " x ", A.cols, " (ld ", A.ld, ", stride ", stride, ")");
}

// The matrices fit, and those that are written do not overlap.
template <class Matrix>
void require(char const* call, char name, Matrix const& A, Batch const& batch, std::int64_t stride,
             bool fits) {
  bool const written = !std::is_const_v<std::remove_pointer_t<decltype(A.data)>>;
  std::int64_t const least = written && A.rows > 0 && A.cols > 0 ? (A.cols - 1) * A.ld + A.rows : 0;
  STRATA_REQUIRE(ShapeError, batch.count >= 0, call, ": a batch of ", batch.count, " systems");
  STRATA_REQUIRE(ShapeError, fits && A.is_valid(), call,
                 ": extents don't fit: ", shape(name, A, stride));
  STRATA_REQUIRE(ShapeError, batch.count < 2 || stride >= least, call,
                 ": systems overlap: ", shape(name, A, stride), ", must be ", least, " apart");
  STRATA_REQUIRE(ValueError, is_arithmetic(A.precision) && A.scale == nullptr, call, ": takes ",
                 "fp64 or fp32 without scale, not ", traits(A.precision).name,
                 A.scale != nullptr ? " with one" : "");
}

template <class InfoView>
void require_info(char const* call, Batch const& batch, InfoView const& info) {
  STRATA_REQUIRE(ShapeError, static_cast<std::int64_t>(info.extent(0)) == batch.count, call,
                 ": info has ", info.extent(0), " numbers for ", batch.count, " systems");
}

template <class T, class Memory>
detail::BatchedSystems<T> systems_of(Uplo uplo, ConstMatrixRef<Memory> const& A,
                                     MatrixRef<Memory> const* B, Batch const& batch,
                                     std::int64_t* info) {
  bool const lower = uplo == Uplo::Lower;
  detail::BatchedSystems<T> s;
  s.A = const_cast<T*>(A.template as<T>());  // read alone where there is no info
  s.info = info;
  s.count = batch.count;
  s.n = A.rows;
  s.row_stride = lower ? 1 : A.ld;
  s.column_stride = lower ? A.ld : 1;
  s.stride_a = batch.stride_a;
  if (B == nullptr) return s;
  s.B = B->template as<T>();
  s.columns = B->cols;
  s.ld_b = B->ld;
  s.stride_b = batch.stride_b;
  return s;
}

template <class T, class Exec>
void run_lanes(Exec const& exec, detail::Workspace<Exec>& workspace,
               detail::BatchedSystems<T> const& systems) {
  using Policy = Kokkos::TeamPolicy<Exec>;
  detail::BatchedLanes<T> const lanes;
  auto const groups = (systems.count + lanes.lanes() - 1) / lanes.lanes();
  auto const turns = std::min<std::int64_t>(groups, exec.concurrency());
  std::size_t const bytes = lanes.room_bytes(systems.n);
  workspace.ensure(static_cast<std::size_t>(turns) * bytes);
  std::byte* const rooms = workspace.data();
  auto const kernel = lanes.kernel();
  Kokkos::parallel_for("strata::core::batched::lanes", Policy(exec, static_cast<int>(turns), 1),
                       [=](typename Policy::member_type const& member) {
                         std::int64_t const turn = member.league_rank();
                         auto* const room = rooms + static_cast<std::size_t>(turn) * bytes;
                         kernel(systems, turn, turns, reinterpret_cast<T*>(room));
                       });
}

template <int width, int columns, class T, class Exec>
void launch_systems(Exec const& exec, detail::BatchedSystems<T> const& systems, int threads) {
  using Kernel = detail::BatchedTeams<T, width, columns>;
  // Threads of the largest order, who have 128 registers each: enough, and of small teams four fit.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 1>>;
  int const shared = std::max(1, 128 / threads);  // systems a team
  auto const teams = static_cast<int>((systems.count + shared - 1) / shared);
  Policy policy(exec, teams, threads * shared);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(shared))));
  Kokkos::parallel_for("strata::core::batched::teams", policy, Kernel{systems, threads, shared});
}

// Threads in multiples of 32 leave no device's groups that run in step half empty, but for the
// least.
template <int columns, class T, class Exec>
void run_teams(Exec const& exec, detail::BatchedSystems<T> const& systems) {
  constexpr int few = 16, unit = 32;
  auto const n = static_cast<int>(systems.n);
  if (n <= few)
    launch_systems<few, columns>(exec, systems, few);
  else
    launch_systems<unit, columns>(exec, systems, (n + unit - 1) / unit * unit);
}

}  // namespace

template <class Exec>
struct BatchedBlas<Exec>::Impl {
  Impl(Exec const& space, BlasPath which) : exec(space), path(which), workspace(space) {}

  template <class T>
  void run_portable(detail::BatchedSystems<T> const& systems) {
    if constexpr (runs_on_host<Exec>)
      run_lanes(exec, workspace, systems);
    else if (systems.columns > 1)
      run_teams<4>(exec, systems);
    else
      run_teams<1>(exec, systems);
  }

  // Whether Strata's kernels shall do it.
  bool is_portable(char const* call, std::int64_t n, Precision precision,
                   std::int64_t count) const {
    STRATA_REQUIRE(ValueError, path != BlasPath::KokkosKernels, call,
                   ": the Kokkos Kernels path has no such operation");
    bool const takes = n <= largest_order || runs_on_host<Exec>;
    STRATA_REQUIRE(ValueError, path != BlasPath::Portable || takes, call, ": the portable path ",
                   "takes orders up to ", largest_order, ", not ", n);
    return path == BlasPath::Portable ||
           (path == BlasPath::Automatic && is_faster(n, precision, count));
  }
  // On hosts LAPACK is the faster where most lanes were empty, or where L leaves the caches and no
  // other thread of Kokkos' would run.
  bool is_faster(std::int64_t n, Precision precision, std::int64_t count) const {
    if constexpr (!runs_on_host<Exec>) return n <= largest_order;
    if (!vendor_libraries<Exec>.factorisation) return true;
    std::int64_t const lanes = precision == Precision::fp64 ? detail::BatchedLanes<double>().lanes()
                                                            : detail::BatchedLanes<float>().lanes();
    return 2 * count >= lanes && n <= (exec.concurrency() > 1 ? largest_order : largest_order / 2);
  }
  vendor::Batched<Exec>& vendors() {
    if (!vendor) vendor.emplace(exec);
    return *vendor;
  }
  detail::BatchedOneByOne<Exec> one_by_one() {
    if (!leaf) leaf.emplace(exec);
    return {*leaf};
  }

  void factor(char const* call, Uplo uplo, Matrix const& A, Batch const& batch,
              InfoView const& info) {
    if (vendors().potrf(uplo, A, batch, info)) return;
    require_automatic(call);
    one_by_one().factor(exec, uplo, A, batch, info);
  }
  void solve(char const* call, Uplo uplo, ConstMatrix const& A, Matrix const& B, Batch const& batch,
             InfoView const& info) {
    if (vendors().potrs(uplo, A, B, batch, info)) return;
    require_automatic(call);
    one_by_one().solve(exec, uplo, A, B, batch, info);
  }
  void require_automatic(char const* call) const {
    STRATA_REQUIRE(ValueError, path == BlasPath::Automatic, call, ": the ", name_of(path),
                   " path has no such operation in this build");
  }

  Exec exec;
  BlasPath path;
  detail::Workspace<Exec> workspace;
  std::optional<vendor::Batched<Exec>> vendor;  // made at the first call that needs them
  std::optional<LeafBlas<Exec>> leaf;
};

template <class Exec>
BatchedBlas<Exec>::BatchedBlas(Exec const& exec, BlasPath path)
    : impl_(std::make_unique<Impl>(exec, path)) {}
template <class Exec>
BatchedBlas<Exec>::~BatchedBlas() = default;
template <class Exec>
BatchedBlas<Exec>::BatchedBlas(BatchedBlas&&) noexcept = default;
template <class Exec>
BatchedBlas<Exec>& BatchedBlas<Exec>::operator=(BatchedBlas&&) noexcept = default;

template <class Exec>
Exec const& BatchedBlas<Exec>::exec() const {
  return impl_->exec;
}

template <class Exec>
void BatchedBlas<Exec>::potrf(Uplo uplo, Matrix const& A, Batch const& batch,
                              InfoView const& info) {
  require("potrf", 'A', A, batch, batch.stride_a, A.rows == A.cols);
  require_info("potrf", batch, info);
  bool const portable = impl_->is_portable("potrf", A.rows, A.precision, batch.count);
  if (batch.count == 0) return;
  if (A.rows == 0) return Kokkos::deep_copy(impl_->exec, info, 0);
  if (!portable) return impl_->factor("potrf", uplo, A, batch, info);
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    impl_->run_portable(systems_of<T, memory_space>(uplo, A, nullptr, batch, info.data()));
  });
}

template <class Exec>
void BatchedBlas<Exec>::potrs(Uplo uplo, ConstMatrix const& A, Matrix const& B,
                              Batch const& batch) {
  require("potrs", 'A', A, batch, batch.stride_a, A.rows == A.cols);
  require("potrs", 'B', B, batch, batch.stride_b, A.rows == B.rows && A.precision == B.precision);
  bool const portable = impl_->is_portable("potrs", A.rows, A.precision, batch.count);
  if (batch.count == 0 || B.rows == 0 || B.cols == 0) return;
  if (!portable) return impl_->solve("potrs", uplo, A, B, batch, {});
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    impl_->run_portable(systems_of<T, memory_space>(uplo, A, &B, batch, nullptr));
  });
}

template <class Exec>
void BatchedBlas<Exec>::posv(Uplo uplo, Matrix const& A, Matrix const& B, Batch const& batch,
                             InfoView const& info) {
  require("posv", 'A', A, batch, batch.stride_a, A.rows == A.cols);
  require("posv", 'B', B, batch, batch.stride_b, A.rows == B.rows && A.precision == B.precision);
  require_info("posv", batch, info);
  bool const portable = impl_->is_portable("posv", A.rows, A.precision, batch.count);
  if (batch.count == 0) return;
  if (B.rows == 0 || B.cols == 0) return potrf(uplo, A, batch, info);
  if (!portable) {
    impl_->factor("posv", uplo, A, batch, info);
    return impl_->solve("posv", uplo, A, B, batch, info);
  }
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    impl_->run_portable(systems_of<T, memory_space>(uplo, A, &B, batch, info.data()));
  });
}

#define STRATA_INSTANTIATE(Space) template class BatchedBlas<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata
