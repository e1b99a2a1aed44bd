// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/integers/vendor/Strata_VendorInt8Impl.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

namespace strata::vendor {

/// None: the portable product serves hosts.
template <class ExecutionSpace>
struct Int8Gemm<ExecutionSpace>::Impl {
  explicit Impl(ExecutionSpace const&) {}
  bool operator()(Int8Product const&) { return false; }
  int device() const { return 0; }
};

#define STRATA_INSTANTIATE(Space) template class Int8Gemm<Space>;
STRATA_FOR_EACH_HOST_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::vendor
