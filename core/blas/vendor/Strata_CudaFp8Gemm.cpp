// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/vendor/Strata_CudaFp8Gemm.hpp>
#include <core/blas/vendor/Strata_Fp8Operand.hpp>

namespace strata::vendor {

namespace {

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

}  // namespace

CudaFp8Gemm::CudaFp8Gemm(Kokkos::Cuda const& exec, void* workspace, std::size_t workspace_bytes)
    : exec_(exec),
      handle_("cublasLtCreate"),
      workspace_(workspace),
      workspace_bytes_(workspace_bytes),
      packed_(exec) {
  cudaDeviceProp const& device = exec.cuda_device_prop();
  has_units_ = 10 * device.major + device.minor >= 89;
}

bool CudaFp8Gemm::takes(Precision a, Precision b) const {
  auto const fp8 = [](Precision p) { return p == Precision::fp8_e4m3 || p == Precision::fp8_e5m2; };
  bool const both_e5m2 = a == Precision::fp8_e5m2 && b == Precision::fp8_e5m2;
  return has_units_ && fp8(a) && fp8(b) && !both_e5m2;
}

CudaFp8Gemm::Plan::Plan(Shape const& s)
    : description("cublasLtMatmulDescCreate", CUBLAS_COMPUTE_32F, CUDA_R_32F),
      a("cublasLtMatrixLayoutCreate", cuda_type(s.a), s.k, s.m, s.lda),
      b("cublasLtMatrixLayoutCreate", cuda_type(s.b), s.k, s.n, s.ldb),
      c("cublasLtMatrixLayoutCreate", CUDA_R_32F, s.m, s.n, s.ldc) {
  set<std::int32_t>(description, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (s.scale) set<void const*>(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, s.scale);
}

std::optional<cublasLtMatmulAlgo_t> CudaFp8Gemm::choose(Plan const& plan) const {
  Preference const preference("cublasLtMatmulPreferenceCreate");
  set<std::uint64_t>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_);
  for (auto const alignment :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set<std::uint32_t>(preference, alignment, fp8_unit);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  cublasStatus_t const status = cublasLtMatmulAlgoGetHeuristic(
      handle_, plan.description, plan.a, plan.b, plan.c, plan.c, preference, 1, &best, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return best.algo;
}

CudaFp8Gemm::Plan const& CudaFp8Gemm::plan(Shape const& shape) {
  auto const [entry, is_new] = plans_.try_emplace(shape, shape);
  if (is_new) entry->second.algorithm = choose(entry->second);
  return entry->second;
}

bool CudaFp8Gemm::operator()(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B,
                             double beta, Matrix const& C, DeviceScalars<Kokkos::Cuda>& scalars) {
  std::int64_t const depth = op_a == Op::NoTrans ? A.cols : A.rows;
  std::int64_t const m = round_up(C.rows, fp8_unit), n = C.cols, k = round_up(depth, fp8_unit);
  Fp8Operand<Kokkos::Cuda> const a(A, transposed(op_a), k, m), b(B, op_b, k, n);
  bool const direct = C.precision == Precision::fp32 && C.rows == m &&
                      is_fp8_aligned(C.data, C.ld * static_cast<std::int64_t>(sizeof(float)));
  float const* scale = nullptr;  // *A.scale * *B.scale, on the device
  if (A.scale || B.scale) scale = scalars.product<float>(1, A.scale, B.scale, 0).alpha;
  Plan const& plan =
      this->plan({A.precision, B.precision, scale, m, n, k, a.ld, b.ld, direct ? C.ld : m});
  if (!plan.algorithm) return false;

  Kokkos::Profiling::ScopedRegion const region("strata::core::gemm[cublaslt]");
  std::size_t const product_bytes = direct ? 0 : static_cast<std::size_t>(m * n) * sizeof(float);
  char* room = static_cast<char*>(packed_.reserve(a.bytes() + b.bytes() + product_bytes));
  void const* const a_data = a.pack(exec_, room);
  void const* const b_data = b.pack(exec_, room);
  void* const c_data = direct ? C.data : room;
  auto const factor = static_cast<float>(alpha), old = direct ? static_cast<float>(beta) : 0.0f;
  check(cublasLtMatmul(handle_, plan.description, &factor, a_data, plan.a, b_data, plan.b, &old,
                       c_data, plan.c, c_data, plan.c, &*plan.algorithm, workspace_,
                       workspace_bytes_, exec_.cuda_stream()),
        "cublasLtMatmul");
  if (!direct)
    with_type(C.precision, [&]<class T>(std::type_identity<T>) {
      store_product<T>(exec_, static_cast<float const*>(c_data), m, beta, C);
    });
  return true;
}

}  // namespace strata::vendor
