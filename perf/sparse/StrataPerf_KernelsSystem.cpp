// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <StrataPerf_KernelsSystem.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_nrm2.hpp>
#include <KokkosSparse_gauss_seidel.hpp>
#include <KokkosSparse_gmres.hpp>
#include <KokkosSparse_spmv.hpp>

#include <vector>

namespace strata::perf {

namespace {

using Exec = KernelsSystem::Exec;

template <class T>
Kokkos::View<T*, KernelsSystem::Device> copied(Exec const& exec, std::vector<T> const& numbers) {
  Kokkos::View<T*, KernelsSystem::Device> device(
      Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::perf::crs"), numbers.size());
  using Host = Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, device, Host(numbers.data(), numbers.size()));
  exec.fence("strata::perf::copied");
  return device;
}

KernelsSystem::Vec vector_of(Exec const& exec, int n) {
  return KernelsSystem::Vec(Kokkos::view_alloc(exec, "strata::perf::vector"), n);
}

/// The symmetric sweep as KokkosSparse::gmres takes it.
class Sweep : public KokkosSparse::Experimental::Preconditioner<KernelsSystem::Crs> {
 public:
  explicit Sweep(KernelsSystem& system) : system_(system) {}
  void apply(Kokkos::View<double const*, KernelsSystem::Device> const& x,
             KernelsSystem::Vec const& y, char const[], double, double) const override {
    KernelsSystem::Vec const r(Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::perf::r"),
                               x.extent(0));
    Kokkos::deep_copy(Exec(), r, x);
    system_.symmetric_sweep_from_zero(r, y);
  }
  void setParameters() override {}
  void initialize() override {}
  bool isInitialized() const override { return true; }
  void compute() override {}
  bool isComputed() const override { return true; }
  bool hasTransposeApply() const override { return false; }

 private:
  KernelsSystem& system_;
};

}  // namespace

KernelsSystem::KernelsSystem(Exec const& exec, sparse::HostRows const& rows) : exec_(exec) {
  std::vector<std::size_t> const begin(rows.begin.begin(), rows.begin.end());
  std::vector<int> const column(rows.column.begin(), rows.column.end());
  auto const n = static_cast<int>(rows.rows());
  A_ = Crs("strata::perf::A", n, n, column.size(), copied(exec, rows.value), copied(exec, begin),
           copied(exec, column));
}

void KernelsSystem::multiply(Vec const& x, Vec const& y) const {
  KokkosSparse::spmv(exec_, "N", 1.0, A_, x, 0.0, y);
}

void KernelsSystem::set_up_gauss_seidel(bool symmetric_pattern) {
  handle_.create_gs_handle(KokkosSparse::GS_DEFAULT);
  KokkosSparse::gauss_seidel_symbolic(&handle_, A_.numRows(), A_.numCols(), A_.graph.row_map,
                                      A_.graph.entries, symmetric_pattern);
  KokkosSparse::gauss_seidel_numeric(&handle_, A_.numRows(), A_.numCols(), A_.graph.row_map,
                                     A_.graph.entries, A_.values, symmetric_pattern);
}

void KernelsSystem::forward_sweep(Vec const& r, Vec const& x) {
  KokkosSparse::forward_sweep_gauss_seidel_apply(&handle_, A_.numRows(), A_.numCols(),
                                                 A_.graph.row_map, A_.graph.entries, A_.values, x,
                                                 r, false, true, 1.0, 1);
}

void KernelsSystem::symmetric_sweep_from_zero(Vec const& r, Vec const& x) {
  KokkosSparse::symmetric_gauss_seidel_apply(&handle_, A_.numRows(), A_.numCols(), A_.graph.row_map,
                                             A_.graph.entries, A_.values, x, r, true, true, 1.0, 1);
}

double KernelsSystem::relative_residual(Vec const& b, Vec const& x) const {
  Vec const r = vector_of(exec_, A_.numRows());
  Kokkos::deep_copy(exec_, r, b);
  KokkosSparse::spmv(exec_, "N", -1.0, A_, x, 1.0, r);
  return KokkosBlas::nrm2(exec_, r) / KokkosBlas::nrm2(exec_, b);
}

KernelsSolve KernelsSystem::conjugate_gradients(Vec const& b, Vec const& x, double tolerance,
                                                std::int64_t most_iterations) {
  KernelsSolve result;
  Kokkos::Timer timer;
  set_up_gauss_seidel(true);
  exec_.fence("strata::perf::set_up");
  result.set_up_seconds = timer.seconds();
  timer.reset();
  int const n = A_.numRows();
  Vec const r = vector_of(exec_, n), z = vector_of(exec_, n), p = vector_of(exec_, n),
            q = vector_of(exec_, n);
  Kokkos::deep_copy(exec_, r, b);
  KokkosSparse::spmv(exec_, "N", -1.0, A_, x, 1.0, r);
  double const limit = tolerance * KokkosBlas::nrm2(exec_, b);
  for (double rho = 0; result.iterations < most_iterations; ++result.iterations) {
    if (!(KokkosBlas::nrm2(exec_, r) > limit)) break;
    symmetric_sweep_from_zero(r, z);
    double const next = KokkosBlas::dot(exec_, r, z);
    KokkosBlas::axpby(exec_, 1.0, z, rho > 0 ? next / rho : 0.0, p);
    rho = next;
    multiply(p, q);
    double const alpha = rho / KokkosBlas::dot(exec_, p, q);
    KokkosBlas::axpby(exec_, alpha, p, 1.0, x);
    KokkosBlas::axpby(exec_, -alpha, q, 1.0, r);
  }
  exec_.fence("strata::perf::solved");
  result.solve_seconds = timer.seconds();
  result.relative_residual = relative_residual(b, x);
  return result;
}

KernelsSolve KernelsSystem::gmres(Vec const& b, Vec const& x, double tolerance, int restart,
                                  std::int64_t most_iterations) {
  KernelsSolve result;
  Kokkos::Timer timer;
  set_up_gauss_seidel(false);
  exec_.fence("strata::perf::set_up");
  result.set_up_seconds = timer.seconds();
  timer.reset();
  handle_.create_gmres_handle(static_cast<std::size_t>(restart), tolerance,
                              static_cast<std::size_t>(most_iterations / restart));
  Sweep sweep(*this);
  KokkosSparse::Experimental::gmres(&handle_, A_, b, x, &sweep);
  exec_.fence("strata::perf::solved");
  result.solve_seconds = timer.seconds();
  result.iterations = handle_.get_gmres_handle()->get_num_iters();
  result.relative_residual = relative_residual(b, x);
  return result;
}

}  // namespace strata::perf
