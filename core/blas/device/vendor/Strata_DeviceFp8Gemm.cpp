// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/device/vendor/Strata_DeviceFp8Gemm.hpp>

#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/blas/device/vendor/Strata_Fp8Operand.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <string_view>

namespace strata::vendor {

namespace {

constexpr bool is_ocp(Precision p) { return p == Precision::fp8_e4m3 || p == Precision::fp8_e5m2; }
constexpr bool is_e5m2(Precision p) {
  return p == Precision::fp8_e5m2 || p == Precision::fp8_e5m2fnuz;
}

}  // namespace

DeviceFp8Gemm::DeviceFp8Gemm(Exec const& exec, DeviceBuffer<Exec>& workspace)
    : exec_(exec),
      units_(units_of(exec)),
      handle_(STRATA_LT_TEXT(Create)),
      workspace_(workspace),
      packed_(exec) {}

#ifdef KOKKOS_ENABLE_CUDA
DeviceFp8Gemm::Units DeviceFp8Gemm::units_of(Exec const& exec) {
  runtime::Properties const& device = exec.cuda_device_prop();
  return 10 * device.major + device.minor >= 89 ? Units::Ocp : Units::None;
}
#else
DeviceFp8Gemm::Units DeviceFp8Gemm::units_of(Exec const& exec) {
  std::string_view const name = exec.hip_device_prop().gcnArchName;
  if (name.starts_with("gfx942")) return Units::Fnuz;
  return name.starts_with("gfx950") || name.starts_with("gfx12") ? Units::Ocp : Units::None;
}
#endif

bool DeviceFp8Gemm::takes(Precision a, Precision b) const {
  bool const fp8 = traits(a).bytes == 1 && traits(b).bytes == 1;
  bool const one_kind = is_ocp(a) == is_ocp(b) && (is_ocp(a) || units_ == Units::Fnuz);
  return units_ != Units::None && fp8 && one_kind && !(is_e5m2(a) && is_e5m2(b));
}

Recoding DeviceFp8Gemm::recoding_of(Precision precision) const {
  if (units_ != Units::Fnuz || !is_ocp(precision)) return Recoding::None;
  return is_e5m2(precision) ? Recoding::E5m2ToFnuz : Recoding::E4m3ToFnuz;
}

DeviceFp8Gemm::DataType DeviceFp8Gemm::type_of(Precision precision) const {
#ifdef KOKKOS_ENABLE_HIP
  if (units_ == Units::Fnuz) return is_e5m2(precision) ? HIP_R_8F_E5M2_FNUZ : HIP_R_8F_E4M3_FNUZ;
#endif
  return is_e5m2(precision) ? STRATA_CUDA_OR_HIP(CUDA_R_8F_E5M2, HIP_R_8F_E5M2)
                            : STRATA_CUDA_OR_HIP(CUDA_R_8F_E4M3, HIP_R_8F_E4M3);
}

DeviceFp8Gemm::Plan::Plan(Shape const& s)
    : description(STRATA_LT_TEXT(MatmulDescCreate),
                  STRATA_CUDA_OR_HIP(CUBLAS_COMPUTE_32F, HIPBLAS_COMPUTE_32F),
                  STRATA_CUDA_OR_HIP(CUDA_R_32F, HIP_R_32F)),
      a(STRATA_LT_TEXT(MatrixLayoutCreate), s.a, s.k, s.m, s.lda),
      b(STRATA_LT_TEXT(MatrixLayoutCreate), s.b, s.k, s.n, s.ldb),
      c(STRATA_LT_TEXT(MatrixLayoutCreate), STRATA_CUDA_OR_HIP(CUDA_R_32F, HIP_R_32F), s.m, s.n,
        s.ldc) {
  lt::set<std::int32_t>(
      description, STRATA_CUDA_OR_HIP(CUBLASLT_MATMUL_DESC_TRANSA, HIPBLASLT_MATMUL_DESC_TRANSA),
      STRATA_CUDA_OR_HIP(CUBLAS_OP_T, HIPBLAS_OP_T));
  if (s.scale)
    lt::set<void const*>(description,
                         STRATA_CUDA_OR_HIP(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                            HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER),
                         s.scale);
}

std::optional<DeviceFp8Gemm::Algorithm> DeviceFp8Gemm::choose(Plan const& plan) const {
  lt::Preference const preference(STRATA_LT_TEXT(MatmulPreferenceCreate));
  lt::prefer(preference, workspace_bytes, fp8_unit);
  STRATA_LT(MatmulHeuristicResult_t) best{};
  int found = 0;
  auto const status = STRATA_LT(MatmulAlgoGetHeuristic)(
      handle_, plan.description, plan.a, plan.b, plan.c, plan.c, preference, 1, &best, &found);
  if (status == STRATA_CUDA_OR_HIP(CUBLAS_STATUS_NOT_SUPPORTED, HIPBLAS_STATUS_NOT_SUPPORTED))
    return std::nullopt;
  check(status, STRATA_LT_TEXT(MatmulAlgoGetHeuristic));
  bool const works =
      best.state == STRATA_CUDA_OR_HIP(CUBLAS_STATUS_SUCCESS, HIPBLAS_STATUS_SUCCESS);
  if (found == 0 || !works) return std::nullopt;
  return best.algo;
}

DeviceFp8Gemm::Plan const& DeviceFp8Gemm::plan(Shape const& shape) {
  auto const [entry, is_new] = plans_.try_emplace(shape, shape);
  if (is_new) entry->second.algorithm = choose(entry->second);
  return entry->second;
}

bool DeviceFp8Gemm::operator()(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                               ConstMatrix const& B, double beta, Matrix const& C,
                               DeviceScalars<Exec>& scalars) {
  std::int64_t const depth = op_a == Op::NoTrans ? A.cols : A.rows;
  std::int64_t const m = round_up(C.rows, fp8_unit), n = C.cols, k = round_up(depth, fp8_unit);
  Fp8Operand<Exec> const a(A, transposed(op_a), k, m, recoding_of(A.precision)),
      b(B, op_b, k, n, recoding_of(B.precision));
  double const halves = a.recoding == Recoding::None ? 1 : 4;  // both operands are halved, or none
  if (!strata::detail::is_representable(Precision::fp32, halves * alpha)) return false;
  bool const direct = C.precision == Precision::fp32 && C.rows == m &&
                      is_fp8_aligned(C.data, C.ld * static_cast<std::int64_t>(sizeof(float)));
  float const* scale = nullptr;  // *A.scale * *B.scale, on the device; else the store applies it
  if (direct && (A.scale || B.scale)) scale = scalars.product<float>(1, A.scale, B.scale, 0).alpha;
  Plan const& plan = this->plan(
      {type_of(A.precision), type_of(B.precision), scale, m, n, k, a.ld, b.ld, direct ? C.ld : m});
  if (!plan.algorithm) return false;

  Kokkos::Profiling::ScopedRegion const region(
      STRATA_CUDA_OR_HIP("strata::core::gemm[cublaslt]", "strata::core::gemm[hipblaslt]"));
  std::size_t const product_bytes = direct ? 0 : static_cast<std::size_t>(m * n) * sizeof(float);
  void* const workspace = workspace_.reserve(workspace_bytes);
  char* room = static_cast<char*>(packed_.reserve(a.bytes() + b.bytes() + product_bytes));
  void const* const a_data = a.pack(exec_, room);
  void const* const b_data = b.pack(exec_, room);
  void* const c_data = direct ? C.data : room;
  auto const factor = static_cast<float>(halves * alpha);
  float const old = direct ? static_cast<float>(beta) : 0.0f;
  check(STRATA_LT(Matmul)(handle_, plan.description, &factor, a_data, plan.a, b_data, plan.b, &old,
                          c_data, plan.c, c_data, plan.c, &*plan.algorithm, workspace,
                          workspace_bytes, runtime::stream_of(exec_)),
        STRATA_LT_TEXT(Matmul));
  if (!direct)
    with_type(C.precision, [&]<class T>(std::type_identity<T>) {
      store_product<T>(exec_, strata::detail::Factor{1, A.scale, B.scale},
                       static_cast<float const*>(c_data), m, beta, C);
    });
  return true;
}

}  // namespace strata::vendor
