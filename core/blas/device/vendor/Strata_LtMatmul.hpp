// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LT_MATMUL_HPP
#define STRATA_LT_MATMUL_HPP

#include <core/blas/device/vendor/Strata_DeviceHandles.hpp>

#include <cstddef>
#include <cstdint>

/// cublasLt<name> or hipblasLt<name>
#define STRATA_LT(name) STRATA_CUDA_OR_HIP(cublasLt##name, hipblasLt##name)
#define STRATA_LT_TEXT(name) STRATA_CUDA_OR_HIP("cublasLt" #name, "hipblasLt" #name)

// The descriptors of cublasLt and hipBLASLt.
namespace strata::vendor::lt {

using DataType = STRATA_CUDA_OR_HIP(cudaDataType_t, hipDataType);
using Algorithm = STRATA_LT(MatmulAlgo_t);
using LibraryHandle = Handle<STRATA_LT(Handle_t), STRATA_LT(Create), STRATA_LT(Destroy)>;
using Description =
    Handle<STRATA_LT(MatmulDesc_t), STRATA_LT(MatmulDescCreate), STRATA_LT(MatmulDescDestroy)>;
using Layout = Handle<STRATA_LT(MatrixLayout_t), STRATA_LT(MatrixLayoutCreate),
                      STRATA_LT(MatrixLayoutDestroy)>;
using Preference = Handle<STRATA_LT(MatmulPreference_t), STRATA_LT(MatmulPreferenceCreate),
                          STRATA_LT(MatmulPreferenceDestroy)>;

template <class Value>
void set(STRATA_LT(MatmulDesc_t) description, STRATA_LT(MatmulDescAttributes_t) attribute,
         Value value) {
  check(STRATA_LT(MatmulDescSetAttribute)(description, attribute, &value, sizeof value),
        STRATA_LT_TEXT(MatmulDescSetAttribute));
}

template <class Value>
void set(STRATA_LT(MatmulPreference_t) preference,
         STRATA_LT(MatmulPreferenceAttributes_t) attribute, Value value) {
  check(STRATA_LT(MatmulPreferenceSetAttribute)(preference, attribute, &value, sizeof value),
        STRATA_LT_TEXT(MatmulPreferenceSetAttribute));
}

template <class Value>
void set(STRATA_LT(MatrixLayout_t) layout, STRATA_LT(MatrixLayoutAttribute_t) attribute,
         Value value) {
  check(STRATA_LT(MatrixLayoutSetAttribute)(layout, attribute, &value, sizeof value),
        STRATA_LT_TEXT(MatrixLayoutSetAttribute));
}

/// Algorithms with so much workspace, for operands that are aligned to so many bytes.
inline void prefer(Preference const& preference, std::size_t workspace,
                   [[maybe_unused]] std::int64_t alignment) {
  set<std::uint64_t>(preference,
                     STRATA_CUDA_OR_HIP(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                        HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES),
                     workspace);
#ifdef KOKKOS_ENABLE_CUDA
  for (auto const operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set<std::uint32_t>(preference, operand, static_cast<std::uint32_t>(alignment));
#endif
}

/// `count` products of one shape, operands `stride` numbers apart.
inline void set_batch(Layout const& layout, std::int32_t count, std::int64_t stride) {
  set<std::int32_t>(
      layout,
      STRATA_CUDA_OR_HIP(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT),
      count);
  set<std::int64_t>(layout,
                    STRATA_CUDA_OR_HIP(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET),
                    stride);
}

}  // namespace strata::vendor::lt

#endif
