// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/device/vendor/Strata_DeviceInt8Gemm.hpp>

#include <core/instances/Strata_Replay.hpp>
#include <core/integers/vendor/Strata_VendorInt8Impl.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <bit>
#include <limits>
#include <mutex>

namespace strata::vendor {

namespace {

constexpr std::int64_t alignment = 16;
constexpr int most_candidates = 16;
constexpr double worth_timing = 0x1p33;                          // operations of one modulus
constexpr bool serves_others = STRATA_CUDA_OR_HIP(true, false);  // an algorithm other shapes

int logarithm(std::int64_t extent) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(extent)));
}

bool is_success(STRATA_CUDA_OR_HIP(cublasStatus_t, hipblasStatus_t) status) {
  return status == STRATA_CUDA_OR_HIP(CUBLAS_STATUS_SUCCESS, HIPBLAS_STATUS_SUCCESS);
}

}  // namespace

DeviceInt8Gemm::DeviceInt8Gemm(Exec const& exec)
    : exec_(runtime::select(exec)), handle_(STRATA_LT_TEXT(Create)), workspace_(exec) {}

DeviceInt8Gemm::Plan::Plan(Shape const& s)
    : description(STRATA_LT_TEXT(MatmulDescCreate),
                  STRATA_CUDA_OR_HIP(CUBLAS_COMPUTE_32I, HIPBLAS_COMPUTE_32I),
                  STRATA_CUDA_OR_HIP(CUDA_R_32I, HIP_R_32I)),
      a(STRATA_LT_TEXT(MatrixLayoutCreate), STRATA_CUDA_OR_HIP(CUDA_R_8I, HIP_R_8I), s.k, s.m,
        s.lda),
      b(STRATA_LT_TEXT(MatrixLayoutCreate), STRATA_CUDA_OR_HIP(CUDA_R_8I, HIP_R_8I), s.k, s.n,
        s.ldb),
      c(STRATA_LT_TEXT(MatrixLayoutCreate), STRATA_CUDA_OR_HIP(CUDA_R_32I, HIP_R_32I), s.m, s.n,
        s.ldc) {
  lt::set<std::int32_t>(
      description, STRATA_CUDA_OR_HIP(CUBLASLT_MATMUL_DESC_TRANSA, HIPBLASLT_MATMUL_DESC_TRANSA),
      STRATA_CUDA_OR_HIP(CUBLAS_OP_T, HIPBLAS_OP_T));
  lt::set_batch(a, s.count, s.plane_a);
  lt::set_batch(b, s.count, s.plane_b);
  lt::set_batch(c, s.count, s.plane_c);
}

auto DeviceInt8Gemm::candidates(Plan const& plan) const -> std::vector<Candidate> {
  lt::Preference const preference(STRATA_LT_TEXT(MatmulPreferenceCreate));
  lt::prefer(preference, workspace_bytes, alignment);
  STRATA_LT(MatmulHeuristicResult_t) results[most_candidates] = {};
  int found = 0;
  auto const status =
      STRATA_LT(MatmulAlgoGetHeuristic)(handle_, plan.description, plan.a, plan.b, plan.c, plan.c,
                                        preference, most_candidates, results, &found);
  std::vector<Candidate> algorithms;
  if (status == STRATA_CUDA_OR_HIP(CUBLAS_STATUS_NOT_SUPPORTED, HIPBLAS_STATUS_NOT_SUPPORTED))
    return algorithms;
  check(status, STRATA_LT_TEXT(MatmulAlgoGetHeuristic));
  for (int i = 0; i < found; ++i)
    if (is_success(results[i].state)) algorithms.push_back({results[i].algo});
  return algorithms;
}

bool DeviceInt8Gemm::enqueue(Plan const& plan, lt::Algorithm const& algorithm,
                             Int8Product const& p) {
  std::int32_t const one = 1, old = p.accumulate ? 1 : 0;
  return is_success(STRATA_LT(Matmul)(
      handle_, plan.description, &one, p.a, plan.a, p.b, plan.b, &old, p.c, plan.c, p.c, plan.c,
      &algorithm, workspace_.reserve(workspace_bytes), workspace_bytes, runtime::stream_of(exec_)));
}

// Each runs once to be loaded, then once to be timed.
auto DeviceInt8Gemm::fastest(Plan const& plan, std::vector<Candidate> const& candidates,
                             Int8Product const& product) -> Candidate {
  runtime::Event const begin(STRATA_RUNTIME(EventDefault)), end(STRATA_RUNTIME(EventDefault));
  auto const stream = runtime::stream_of(exec_);
  float least = std::numeric_limits<float>::infinity();
  Candidate best = candidates.front();
  for (Candidate const& candidate : candidates) {
    if (!enqueue(plan, candidate.algorithm, product)) continue;
    STRATA_RUNTIME_CALL(EventRecord, begin, stream);
    (void)enqueue(plan, candidate.algorithm, product);
    STRATA_RUNTIME_CALL(EventRecord, end, stream);
    STRATA_RUNTIME_CALL(EventSynchronize, end);
    float milliseconds = 0;
    STRATA_RUNTIME_CALL(EventElapsedTime, &milliseconds, begin, end);
    if (milliseconds >= least) continue;
    least = milliseconds;
    best = candidate;
  }
  return best;
}

#ifdef KOKKOS_ENABLE_CUDA
bool DeviceInt8Gemm::takes(Plan const& plan, lt::Algorithm const& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  auto const status = cublasLtMatmulAlgoCheck(handle_, plan.description, plan.a, plan.b, plan.c,
                                              plan.c, &algorithm, &result);
  return is_success(status) && result.workspaceSize <= workspace_bytes;
}
#else
bool DeviceInt8Gemm::takes(Plan const&, lt::Algorithm const&) const { return false; }
#endif

// What is timed overwrites C, which a product that accumulates must not.
void DeviceInt8Gemm::choose(Plan& plan, Kind const& kind, Int8Product const& product) {
  static std::mutex changing;
  static auto& fast = *new std::map<Kind, Candidate>;  // static destructors may need it
  std::lock_guard const lock(changing);
  auto const known = fast.find(kind);
  if (known != fast.end() && takes(plan, known->second.algorithm)) {
    plan.algorithm = known->second.algorithm;
    plan.is_timed = true;
    return;
  }
  auto const all = candidates(plan);
  if (all.empty()) return;
  auto const operations = 2 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                          static_cast<double>(product.k);
  bool const is_large = serves_others && operations >= worth_timing;
  plan.is_timed = !is_large;
  plan.algorithm = all.front().algorithm;
  if (!is_large || product.accumulate || is_captured(exec_)) return;
  Candidate const best = fastest(plan, all, product);
  plan.algorithm = best.algorithm;
  plan.is_timed = true;
  fast.insert_or_assign(kind, best);
}

DeviceInt8Gemm::Plan& DeviceInt8Gemm::plan(Shape const& shape, Int8Product const& product) {
  Plan& found = plans_.try_emplace(shape, shape).first->second;
  Kind const kind{device(), shape.n, logarithm(shape.k), shape.count};
  if (!found.is_timed) choose(found, kind, product);
  return found;
}

bool DeviceInt8Gemm::operator()(Int8Product const& p) {
  runtime::select(exec_);
  Kokkos::Profiling::ScopedRegion const region(STRATA_CUDA_OR_HIP(
      "strata::core::integers::multiply[cublaslt]", "strata::core::integers::multiply[hipblaslt]"));
  Plan const& found =
      plan({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.plane_a, p.plane_b, p.plane_c, p.count}, p);
  if (found.algorithm && enqueue(found, *found.algorithm, p)) return true;
  return p.count > 1 && one_by_one(p);
}

// A library that has no batch of such products.
bool DeviceInt8Gemm::one_by_one(Int8Product const& p) {
  Int8Product one = p;
  for (one.count = 1; one.a != p.a + p.count * p.plane_a;
       one.a += p.plane_a, one.b += p.plane_b, one.c += p.plane_c)
    if (!(*this)(one)) return false;
  return true;
}

template <>
struct Int8Gemm<runtime::Exec>::Impl : DeviceInt8Gemm {
  using DeviceInt8Gemm::DeviceInt8Gemm;
};

template class Int8Gemm<runtime::Exec>;

}  // namespace strata::vendor
