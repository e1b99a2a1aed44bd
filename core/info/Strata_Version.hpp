// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VERSION_HPP
#define STRATA_VERSION_HPP

#include <core/Strata_Precision.hpp>
#include <core/blas/host/Strata_BlasThreads.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace strata {

/// A library that is linked in.
struct Library {
  std::string name;  ///< "OpenBLAS", "oneDNN", "cuBLAS", ...
  /// version that the library itself says at run time; "unknown" if it says none
  std::string version;
};

/// How this library was built, and with what.
struct Configuration {
  std::string version;  ///< Strata's version: "major.minor.patch"
  std::string
      commit;  ///< git commit when the build was configured, "-dirty" after it; or "unknown"
  std::string compiler;        ///< "GNU 14.2.0", ...
  std::string build_type;      ///< "Release", ...; "none" if it had none
  std::string kokkos;          ///< version
  std::string kokkos_kernels;  ///< version
  std::vector<std::string>
      backends;  ///< Kokkos' enabled execution spaces: "Serial", "OpenMP", "Cuda", "HIP"
  std::vector<Library> libraries;  ///< libraries in use, BLAS first
  BlasThreading blas_threads;      ///< how the host's BLAS uses threads
};

/// The version and configuration of this library, at run time (xSDK policy M8).
Configuration configuration();

/// The machine's own processors.
struct Host {
  std::string model;                   ///< the processor's name, or its architecture
  int cores;                           ///< logical processors that this process may run on
  std::size_t memory_bytes;            ///< physical memory
  std::size_t memory_available_bytes;  ///< see `available_memory_bytes`
  /// The matrix units that the processor has and the system lets programs use. They are among
  /// amx_bf16, amx_int8, amx_fp16, avx512_bf16, avx512_fp16, sme, sve_bf16, neon_bf16 and
  /// neon_fp16.
  std::vector<std::string> matrix_units;
};

/// A GPU of the enabled backend that this process can see.
struct Accelerator {
  int id;                    ///< number that the backend gives the device
  std::string backend;       ///< "Cuda", "HIP"
  std::string name;          ///< "NVIDIA H200", ...
  std::string architecture;  ///< "sm_90", "gfx942", ...
  std::size_t memory_bytes;  ///< all of the device's memory
  std::string identity;      ///< the same for all processes of this machine that see it
};

/// What there is to calculate on.
struct Devices {
  Host host;  ///< processors of the host
  /// GPUs of the enabled backend; none for a host's backend
  std::vector<Accelerator> accelerators;
};

/// The processors and GPUs of this machine.
///
/// Throws   VendorError if the GPUs' runtime fails.
Devices devices();

/// Whether products on the host multiply such numbers on matrix units, many times as fast as fp32.
/// This needs a processor with AMX and a build with oneDNN. A process that was forked from one that
/// had made such products has none.
bool host_has_matrix_units(Precision precision);

/// Memory that this process can take without swapping. It is the least of what the system has
/// available, and what the control group's limit (a container's, a batch job's) and the limit on
/// address space (`ulimit -v`) leave. Threads that call the BLAS take a part of the address space,
/// which is subtracted.
std::size_t available_memory_bytes();

/// Logical processors that this process may run on, by its affinity.
int available_cores();

}  // namespace strata

#endif
