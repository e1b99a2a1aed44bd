// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/info/Strata_Version.hpp>

#include <core/Strata_Config.hpp>
#include <core/blas/host/vendor/Strata_HostOnednn.hpp>
#include <core/info/detail/Strata_BuildInfo.hpp>
#include <core/info/detail/Strata_HostInfo.hpp>
#include <core/info/vendor/Strata_VendorInfo.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/detail/Strata_HostThreads.hpp>

#include <KokkosKernels_config.h>
#include <Kokkos_Core.hpp>

#include <algorithm>

// The build type is a bare word, as quotes in definitions do not survive every compiler wrapper.
#define STRATA_QUOTE_WORD(word) #word
#define STRATA_QUOTE(word) STRATA_QUOTE_WORD(word)

namespace strata {

namespace {

// Kokkos and Kokkos Kernels count 5.0.2 as 50002.
std::string dotted(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

std::vector<std::string> backends() {
  std::vector<std::string> names;
#define STRATA_ADD_NAME(Space) names.emplace_back(Space::name());
  STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_ADD_NAME)
#undef STRATA_ADD_NAME
  return names;
}

}  // namespace

Configuration configuration() {
  Configuration result;
  result.version = STRATA_VERSION_STRING;
  result.commit = STRATA_GIT_COMMIT;
  result.compiler = STRATA_COMPILER;
  result.build_type = STRATA_QUOTE(STRATA_BUILD_TYPE);
  if (result.build_type.empty()) result.build_type = "none";
  result.kokkos = dotted(KOKKOS_VERSION);
  result.kokkos_kernels = dotted(KOKKOSKERNELS_VERSION);
  result.backends = backends();
  result.libraries = vendor::libraries();
  result.blas_threads = blas_threading();
  return result;
}

Devices devices() { return {detail::host(), vendor::accelerators()}; }

bool host_has_matrix_units(Precision precision) {
  static auto const units = detail::matrix_units();
  auto const name = "amx_" + std::string(traits(precision).name);
  return std::find(units.begin(), units.end(), name) != units.end() &&
         vendor::OnednnMatmul::has_instructions(precision) && vendor::OnednnMatmul::has_threads();
}

std::size_t available_memory_bytes() { return detail::available_memory_bytes(); }

int available_cores() { return detail::host_threads(); }

}  // namespace strata
