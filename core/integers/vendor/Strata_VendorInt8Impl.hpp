// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VENDOR_INT8_IMPL_HPP
#define STRATA_VENDOR_INT8_IMPL_HPP

#include <core/integers/vendor/Strata_VendorInt8.hpp>

// `Int8Gemm` by its `Impl`, which a backend's source file specialises before it instantiates
// `Int8Gemm`.
namespace strata::vendor {

template <class ExecutionSpace>
Int8Gemm<ExecutionSpace>::Int8Gemm(ExecutionSpace const& exec)
    : impl_(std::make_unique<Impl>(exec)) {}
template <class ExecutionSpace>
Int8Gemm<ExecutionSpace>::~Int8Gemm() = default;
template <class ExecutionSpace>
Int8Gemm<ExecutionSpace>::Int8Gemm(Int8Gemm&&) noexcept = default;
template <class ExecutionSpace>
bool Int8Gemm<ExecutionSpace>::operator()(Int8Product const& product) {
  return (*impl_)(product);
}
template <class ExecutionSpace>
int Int8Gemm<ExecutionSpace>::device() const {
  return impl_->device();
}

}  // namespace strata::vendor

#endif
