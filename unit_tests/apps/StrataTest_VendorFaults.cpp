// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// One call of a GPU vendor's library that fails: loaded before the program (LD_PRELOAD), which must
// link those libraries shared. By environment variables, each of which may be missing:
//   STRATATEST_VENDOR=CALL:K       the K-th CALL returns an error without having done anything
//   STRATATEST_VENDOR_REPORT=FILE  at the end, a line "CALL count" for each CALL that was made
// A call's arguments are handed on as they came, registers and stack, without its prototype:
// x86-64, System V ABI.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int out_of_memory = 2, capture_invalidated = 901, unknown = 999;  // cudaError_t
constexpr int cublas_failed = 13, cusolver_failed = 6, nccl_failed = 3;     // *_EXECUTION_FAILED

using Function = void (*)();

struct Call {
  constexpr Call(char const* called, int (*failing)()) : name(called), failure(failing) {}
  constexpr Call(char const* called, int (*failing)(void*, void**))
      : name(called), failure_of_capture(failing) {}

  /// What is called instead.
  Function fault() const {
    return failure ? reinterpret_cast<Function>(failure)
                   : reinterpret_cast<Function>(failure_of_capture);
  }

  char const* name;
  int (*failure)() = nullptr;
  int (*failure_of_capture)(void*, void**) = nullptr;
  std::atomic<Function> real{};
  std::atomic<long> count{};
};

/// A failing call, whatever its arguments.
template <int status>
int returns() {
  return status;
}

template <class Pointer>
Pointer next(char const* name) {
  if (void* const found = dlsym(RTLD_NEXT, name)) return reinterpret_cast<Pointer>(found);
  std::fprintf(stderr, "StrataTest_VendorFaults: no library has %s\n", name);
  std::abort();
}

// An error ends the capture, too: a stream that went on capturing would be another fault.
int ends_capture(void* stream, void** graph) {
  next<int (*)(void*, void**)>("cudaStreamEndCapture")(stream, graph);
  next<int (*)(void*)>("cudaGraphDestroy")(*graph);
  *graph = nullptr;
  return capture_invalidated;
}

}  // namespace

// What Strata and Kokkos call, by the names behind the headers' macros. By cudaGetLastError Kokkos
// learns of a kernel that did not start.
#define STRATATEST_CALLS(F)                                 \
  F(cudaMalloc, returns<out_of_memory>)                     \
  F(cudaMallocAsync, returns<out_of_memory>)                \
  F(cudaMallocHost, returns<out_of_memory>)                 \
  F(cudaHostAlloc, returns<out_of_memory>)                  \
  F(cudaMemcpyAsync, returns<unknown>)                      \
  F(cudaMemsetAsync, returns<unknown>)                      \
  F(cudaMemGetInfo, returns<unknown>)                       \
  F(cudaGetLastError, returns<unknown>)                     \
  F(cudaEventCreateWithFlags, returns<unknown>)             \
  F(cudaEventRecord, returns<unknown>)                      \
  F(cudaEventElapsedTime, returns<unknown>)                 \
  F(cudaStreamCreateWithPriority, returns<unknown>)         \
  F(cudaStreamWaitEvent, returns<unknown>)                  \
  F(cudaStreamBeginCapture, returns<unknown>)               \
  F(cudaStreamEndCapture, ends_capture)                     \
  F(cudaGraphInstantiate, returns<unknown>)                 \
  F(cudaGraphInstantiateWithFlags, returns<unknown>)        \
  F(cudaGraphLaunch, returns<unknown>)                      \
  F(cublasCreate_v2, returns<cublas_failed>)                \
  F(cublasGemmEx_64, returns<cublas_failed>)                \
  F(cublasGemmStridedBatchedEx_64, returns<cublas_failed>)  \
  F(cublasDsyrk_v2_64, returns<cublas_failed>)              \
  F(cublasSsyrk_v2_64, returns<cublas_failed>)              \
  F(cublasDtrsm_v2_64, returns<cublas_failed>)              \
  F(cublasStrsm_v2_64, returns<cublas_failed>)              \
  F(cublasDsymm_v2_64, returns<cublas_failed>)              \
  F(cublasSsymm_v2_64, returns<cublas_failed>)              \
  F(cublasDsymv_v2_64, returns<cublas_failed>)              \
  F(cublasSsymv_v2_64, returns<cublas_failed>)              \
  F(cublasLtMatmulAlgoGetHeuristic, returns<cublas_failed>) \
  F(cublasLtMatmul, returns<cublas_failed>)                 \
  F(cusolverDnXpotrf_bufferSize, returns<cusolver_failed>)  \
  F(cusolverDnXpotrf, returns<cusolver_failed>)             \
  F(ncclCommInitRankConfig, returns<nccl_failed>)           \
  F(ncclAllReduce, returns<nccl_failed>)                    \
  F(ncclSend, returns<nccl_failed>)                         \
  F(ncclRecv, returns<nccl_failed>)                         \
  F(ncclGroupEnd, returns<nccl_failed>)

// Each a symbol NAME that jumps to what stratatest_target says of stratatest_NAME.
#define STRATATEST_DEFINE(NAME, FAILURE)                                                          \
  extern "C" {                                                                                    \
  [[gnu::used, gnu::visibility("hidden")]] constinit Call stratatest_##NAME(#NAME, FAILURE);      \
  }                                                                                               \
  asm(".text\n.globl " #NAME "\n.type " #NAME ", @function\n" #NAME ":\n  leaq stratatest_" #NAME \
      "(%rip), %r11\n  jmp stratatest_jump\n.size " #NAME ", .-" #NAME);
STRATATEST_CALLS(STRATATEST_DEFINE)

namespace {

#define STRATATEST_ADDRESS(NAME, FAILURE) &stratatest_##NAME,
constexpr Call* calls[] = {STRATATEST_CALLS(STRATATEST_ADDRESS)};

[[gnu::destructor]] void report() {
  char const* const path = std::getenv("STRATATEST_VENDOR_REPORT");
  std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  for (Call const* call : calls)
    if (call->count > 0) std::fprintf(file, "%s %ld\n", call->name, call->count.load());
  std::fclose(file);
}

}  // namespace

/// Where this call goes: to the library, or, if it is the one that fails, nowhere.
extern "C" [[gnu::used, gnu::visibility("hidden")]] Function stratatest_target(
    Call* call) noexcept {
  static char const* const fault = std::getenv("STRATATEST_VENDOR");
  long const count = ++call->count;
  std::size_t const length = std::strlen(call->name);
  if (fault && std::strncmp(fault, call->name, length) == 0 && fault[length] == ':' &&
      std::atol(fault + length + 1) == count)
    return call->fault();
  if (!call->real) call->real = next<Function>(call->name);
  return call->real;
}

// What a call's arguments may be in is kept around the question: six general registers, eight
// vector registers, and how many of these are used (rax). The stack's arguments stay where they
// are.
asm(R"(.text
.type stratatest_jump, @function
stratatest_jump:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r10
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq %r11, %rdi
  call stratatest_target
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %r10
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmp *%r11
.size stratatest_jump, .-stratatest_jump
)");
