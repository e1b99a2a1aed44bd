// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATAPERF_KERNELS_SYSTEM_HPP
#define STRATAPERF_KERNELS_SYSTEM_HPP

#include <sparse/matrix/Strata_HostRows.hpp>

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>

namespace strata::perf {

/// What a solve by Kokkos Kernels came to.
struct KernelsSolve {
  std::int64_t iterations = 0;
  double relative_residual = 0, set_up_seconds = 0, solve_seconds = 0;
};

/// A matrix as Kokkos Kernels holds it, its products, its Gauss-Seidel and solvers made of them, in
/// fp64.
class KernelsSystem {
 public:
  using Exec = Kokkos::DefaultExecutionSpace;
  using Device = Kokkos::Device<Exec, Exec::memory_space>;
  using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, std::size_t>;
  using Vec = Kokkos::View<double*, Device>;

  KernelsSystem(Exec const& exec, sparse::HostRows const& rows);

  Crs const& matrix() const { return A_; }
  /// y = A x.
  void multiply(Vec const& x, Vec const& y) const;
  /// Colour and invert the diagonal, before sweeps.
  void set_up_gauss_seidel(bool symmetric_pattern);
  /// One forward sweep, or a symmetric pair from x = 0.
  void forward_sweep(Vec const& r, Vec const& x);
  void symmetric_sweep_from_zero(Vec const& r, Vec const& x);

  /// CG preconditioned by a symmetric sweep, of KokkosSparse::spmv and KokkosBlas.
  KernelsSolve conjugate_gradients(Vec const& b, Vec const& x, double tolerance,
                                   std::int64_t most_iterations);
  /// KokkosSparse::gmres preconditioned by the same.
  KernelsSolve gmres(Vec const& b, Vec const& x, double tolerance, int restart,
                     std::int64_t most_iterations);
  /// ||b - A x|| / ||b||
  double relative_residual(Vec const& b, Vec const& x) const;

 private:
  using Handle =
      KokkosKernels::Experimental::KokkosKernelsHandle<std::size_t, int, double, Exec,
                                                       Exec::memory_space, Exec::memory_space>;

  Exec exec_;
  Crs A_;
  Handle handle_;
};

}  // namespace strata::perf

#endif
