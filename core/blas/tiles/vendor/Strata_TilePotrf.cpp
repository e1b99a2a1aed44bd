// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/tiles/vendor/Strata_TilePotrf.hpp>

#include <core/blas/tiles/vendor/Strata_TileDiagonal.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace strata::vendor {

#ifdef KOKKOS_ENABLE_CUDA
namespace tiles {

/// Each block takes tasks, one by one, in the order of their numbers. The tasks of a column follow
/// one another.
template <class T>
__global__ void __launch_bounds__(threads, 1) factor(Matrices<T> m) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ int turn;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) turn = static_cast<int>(atomicAdd(m.started, 1u) + 1);  // from ~0
    __syncthreads();
    int const task = turn - 1;
    if (task < 0)
      DiagonalTiles<T>(m).run();
    else if (task < m.tile_count())
      TileTask<T>(m, task).run();
    else
      return;
  }
#endif
}

/// Whether the device can run the kernel, and code for it was compiled that is not empty. If so,
/// the kernel may take the shared memory that it needs.
template <class T>
bool prepare(Kokkos::Cuda const& exec) {
  auto const& device = exec.cuda_device_prop();
  constexpr std::size_t own_bytes = 128;  // of `turn` and of the barriers
  if (device.sharedMemPerBlockOptin < DiagonalTiles<T>::numbers * sizeof(T) + own_bytes)
    return false;
  if (device.multiProcessorCount < 2) return false;
  runtime::select(exec);
  cudaFuncAttributes code;
  STRATA_RUNTIME_CALL(FuncGetAttributes, &code, factor<T>);
  if (code.ptxVersion < 90) return false;
  STRATA_RUNTIME_CALL(FuncSetAttribute, factor<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                      static_cast<int>(DiagonalTiles<T>::numbers * sizeof(T)));
  return true;
}

/// The same, which a device is asked once in a process.
template <class T>
bool is_ready(Kokkos::Cuda const& exec) {
  enum Answer : signed char { Unknown, No, Yes };
  static std::array<std::atomic<Answer>, 64> answers{};
  auto const device = static_cast<std::size_t>(exec.cuda_device());
  if (device >= answers.size()) return prepare<T>(exec);
  if (answers[device] == Unknown) answers[device] = prepare<T>(exec) ? Yes : No;
  return answers[device] == Yes;
}

/// All bits are 1: no number is there yet.
inline void unset(Kokkos::Cuda const& exec, void* workspace, std::size_t bytes) {
  STRATA_RUNTIME_CALL(MemsetAsync, workspace, 0xff, bytes, runtime::stream_of(exec));
}

template <class T>
void launch(Kokkos::Cuda const& exec, Matrices<T> const& m, int most_blocks) {
  // Few blocks go on while a device has other work, as beside products in large trees.
  constexpr int most_with_inverse = 64;
  int const multiprocessors = exec.cuda_device_prop().multiProcessorCount;
  int const blocks = std::min({m.V != nullptr ? most_with_inverse : multiprocessors,
                               m.tile_count() + 1, std::max(most_blocks, 2)});
  constexpr std::size_t shared_bytes = DiagonalTiles<T>::numbers * sizeof(T);
  factor<T><<<static_cast<unsigned>(blocks), threads, shared_bytes, runtime::stream_of(exec)>>>(m);
  STRATA_RUNTIME_CALL(GetLastError);
}

}  // namespace tiles
#endif

template <class Exec>
bool tile_potrf(
    [[maybe_unused]] Exec const& exec, [[maybe_unused]] detail::Workspace<Exec>& workspace,
    [[maybe_unused]] MatrixRef<typename Exec::memory_space> const& A,
    [[maybe_unused]] MatrixRef<typename Exec::memory_space> const* inverse,
    [[maybe_unused]] std::int64_t offset,
    [[maybe_unused]] Kokkos::View<std::int64_t, typename Exec::memory_space> const& info,
    [[maybe_unused]] double* largest, [[maybe_unused]] int most_blocks) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    std::int64_t const most_rows =
        inverse ? 1024 : 2048;  // beyond, the vendor's products are faster
    if (A.rows == 0 || A.rows > most_rows || !is_arithmetic(A.precision) || A.scale) return false;
    if (exec.cuda_device_prop().major < 9) return false;
    return with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
      if (!tiles::is_ready<T>(exec)) return false;
      tiles::Matrices<T> m{A.template as<T>(),
                           inverse ? inverse->template as<T>() : nullptr,
                           A.ld,
                           inverse ? inverse->ld : 0,
                           static_cast<int>(A.rows),
                           static_cast<int>((A.rows + tiles::order - 1) / tiles::order),
                           nullptr,
                           nullptr,
                           info.data(),
                           offset,
                           largest};
      std::int64_t const numbers = m.numbers();
      using Frame = typename detail::Workspace<Exec>::Frame;
      std::size_t const bytes = detail::Workspace<Exec>::bytes(A.precision, numbers + 1, 1);
      bool const is_unset = workspace.unset() >= bytes;
      Frame room(workspace, bytes);
      Kokkos::Profiling::ScopedRegion const region("strata::core::tile_potrf");
      m.tiles = room.take(A.precision, numbers + 1, 1).template as<T>();
      m.started = reinterpret_cast<unsigned*>(m.tiles + numbers);
      runtime::select(exec);
      if (!is_unset) tiles::unset(exec, m.tiles, bytes);
      tiles::launch(exec, m, most_blocks);
      if (inverse != nullptr) {  // of the next leaf, which need not wait for it then
        tiles::unset(exec, m.tiles, bytes);
        workspace.leave_unset(bytes);
      }
      return true;
    });
  }
#endif
  return false;
}

#define STRATA_INSTANTIATE(Space)                                                              \
  template bool tile_potrf(                                                                    \
      Space const&, detail::Workspace<Space>&, MatrixRef<typename Space::memory_space> const&, \
      MatrixRef<typename Space::memory_space> const*, std::int64_t,                            \
      Kokkos::View<std::int64_t, typename Space::memory_space> const&, double*, int);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::vendor
