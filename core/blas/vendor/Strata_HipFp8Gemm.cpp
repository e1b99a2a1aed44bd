// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <core/blas/detail/Strata_Elementwise.hpp>
#include <core/blas/vendor/Strata_HipFp8Gemm.hpp>
#include <string_view>

namespace strata::vendor {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

template <class Value>
void set(hipblasLtMatmulDesc_t description, hipblasLtMatmulDescAttributes_t attribute,
         Value value) {
  check(hipblasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "hipblasLtMatmulDescSetAttribute");
}

constexpr bool is_ocp(Precision p) { return p == Precision::fp8_e4m3 || p == Precision::fp8_e5m2; }
constexpr bool is_e5m2(Precision p) {
  return p == Precision::fp8_e5m2 || p == Precision::fp8_e5m2fnuz;
}

// hipBLASLt, unlike hipBLAS, has no function for it.
char const* name_of(hipblasStatus_t status) {
  switch (status) {
    case HIPBLAS_STATUS_NOT_INITIALIZED:
      return "HIPBLAS_STATUS_NOT_INITIALIZED";
    case HIPBLAS_STATUS_ALLOC_FAILED:
      return "HIPBLAS_STATUS_ALLOC_FAILED";
    case HIPBLAS_STATUS_INVALID_VALUE:
      return "HIPBLAS_STATUS_INVALID_VALUE";
    case HIPBLAS_STATUS_EXECUTION_FAILED:
      return "HIPBLAS_STATUS_EXECUTION_FAILED";
    case HIPBLAS_STATUS_INTERNAL_ERROR:
      return "HIPBLAS_STATUS_INTERNAL_ERROR";
    case HIPBLAS_STATUS_NOT_SUPPORTED:
      return "HIPBLAS_STATUS_NOT_SUPPORTED";
    case HIPBLAS_STATUS_ARCH_MISMATCH:
      return "HIPBLAS_STATUS_ARCH_MISMATCH";
    case HIPBLAS_STATUS_INVALID_ENUM:
      return "HIPBLAS_STATUS_INVALID_ENUM";
    default:
      return "an unknown status";
  }
}

}  // namespace

void check(hipblasStatus_t status, char const* call) {
  STRATA_REQUIRE(VendorError, status == HIPBLAS_STATUS_SUCCESS, call, ": ", name_of(status));
}

HipFp8Gemm::HipFp8Gemm(Kokkos::HIP const& exec)
    : exec_(runtime::select(exec)), handle_("hipblasLtCreate"), workspace_(exec), packed_(exec) {
  std::string_view const name = exec.hip_device_prop().gcnArchName;
  if (name.starts_with("gfx942")) units_ = Units::Fnuz;
  if (name.starts_with("gfx950") || name.starts_with("gfx12")) units_ = Units::Ocp;
}

bool HipFp8Gemm::takes(Precision a, Precision b) const {
  bool const fp8 = traits(a).bytes == 1 && traits(b).bytes == 1;
  bool const one_kind = is_ocp(a) == is_ocp(b) && (is_ocp(a) || units_ == Units::Fnuz);
  return units_ != Units::None && fp8 && one_kind && !(is_e5m2(a) && is_e5m2(b));
}

Recoding HipFp8Gemm::recoding_of(Precision precision) const {
  if (units_ != Units::Fnuz || !is_ocp(precision)) return Recoding::None;
  return is_e5m2(precision) ? Recoding::E5m2ToFnuz : Recoding::E4m3ToFnuz;
}

hipDataType HipFp8Gemm::type_of(Precision precision) const {
  if (units_ == Units::Fnuz) return is_e5m2(precision) ? HIP_R_8F_E5M2_FNUZ : HIP_R_8F_E4M3_FNUZ;
  return is_e5m2(precision) ? HIP_R_8F_E5M2 : HIP_R_8F_E4M3;
}

HipFp8Gemm::Plan::Plan(Shape const& s)
    : description("hipblasLtMatmulDescCreate", HIPBLAS_COMPUTE_32F, HIP_R_32F),
      a("hipblasLtMatrixLayoutCreate", s.a, s.k, s.m, s.lda),
      b("hipblasLtMatrixLayoutCreate", s.b, s.k, s.n, s.ldb),
      c("hipblasLtMatrixLayoutCreate", HIP_R_32F, s.m, s.n, s.ldc) {
  set<std::int32_t>(description, HIPBLASLT_MATMUL_DESC_TRANSA, HIPBLAS_OP_T);
  if (s.scale) set<void const*>(description, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, s.scale);
}

std::optional<hipblasLtMatmulAlgo_t> HipFp8Gemm::choose(Plan const& plan) const {
  Preference const preference("hipblasLtMatmulPreferenceCreate");
  std::uint64_t const bytes = workspace_bytes;
  check(hipblasLtMatmulPreferenceSetAttribute(preference, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &bytes, sizeof bytes),
        "hipblasLtMatmulPreferenceSetAttribute");
  hipblasLtMatmulHeuristicResult_t best{};
  int found = 0;
  hipblasStatus_t const status = hipblasLtMatmulAlgoGetHeuristic(
      handle_, plan.description, plan.a, plan.b, plan.c, plan.c, preference, 1, &best, &found);
  if (status == HIPBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "hipblasLtMatmulAlgoGetHeuristic");
  if (found == 0 || best.state != HIPBLAS_STATUS_SUCCESS) return std::nullopt;
  return best.algo;
}

HipFp8Gemm::Plan& HipFp8Gemm::plan(Shape const& shape) {
  auto const [entry, is_new] = plans_.try_emplace(shape, shape);
  if (is_new) entry->second.algorithm = choose(entry->second);
  return entry->second;
}

bool HipFp8Gemm::operator()(Op op_a, Op op_b, double alpha, Matrix const& A, Matrix const& B,
                            double beta, Matrix const& C, DeviceScalars<Kokkos::HIP>& scalars) {
  std::int64_t const depth = op_a == Op::NoTrans ? A.cols : A.rows;
  std::int64_t const m = round_up(C.rows, fp8_unit), n = C.cols, k = round_up(depth, fp8_unit);
  Fp8Operand<Kokkos::HIP> const a(A, transposed(op_a), k, m, recoding_of(A.precision)),
      b(B, op_b, k, n, recoding_of(B.precision));
  double const halves = a.recoding == Recoding::None ? 1 : 4;  // both operands are halved, or none
  if (!strata::detail::is_representable(Precision::fp32, halves * alpha)) return false;
  bool const direct = C.precision == Precision::fp32 && C.rows == m &&
                      is_fp8_aligned(C.data, C.ld * static_cast<std::int64_t>(sizeof(float)));
  float const* scale = nullptr;  // *A.scale * *B.scale, on the device
  if (A.scale || B.scale) scale = scalars.product<float>(1, A.scale, B.scale, 0).alpha;
  Plan& plan = this->plan(
      {type_of(A.precision), type_of(B.precision), scale, m, n, k, a.ld, b.ld, direct ? C.ld : m});
  if (!plan.algorithm) return false;

  Kokkos::Profiling::ScopedRegion const region("strata::core::gemm[hipblaslt]");
  std::size_t const product_bytes = direct ? 0 : static_cast<std::size_t>(m * n) * sizeof(float);
  void* const workspace = workspace_.reserve(workspace_bytes);
  char* room = static_cast<char*>(packed_.reserve(a.bytes() + b.bytes() + product_bytes));
  void const* const a_data = a.pack(exec_, room);
  void const* const b_data = b.pack(exec_, room);
  void* const c_data = direct ? C.data : room;
  auto const factor = static_cast<float>(halves * alpha);
  float const old = direct ? static_cast<float>(beta) : 0.0f;
  check(hipblasLtMatmul(handle_, plan.description, &factor, a_data, plan.a, b_data, plan.b, &old,
                        c_data, plan.c, c_data, plan.c, &*plan.algorithm, workspace,
                        workspace_bytes, exec_.hip_stream()),
        "hipblasLtMatmul");
  if (!direct)
    with_type(C.precision, [&]<class T>(std::type_identity<T>) {
      store_product<T>(exec_, static_cast<float const*>(c_data), m, beta, C);
    });
  return true;
}

}  // namespace strata::vendor
