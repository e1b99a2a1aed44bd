// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/host/vendor/Strata_ThreadControl.hpp>

#include <core/Strata_Errors.hpp>
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/detail/Strata_Symbol.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <string>

namespace strata {

namespace {

thread_local int most_of_thread = std::numeric_limits<int>::max();

}  // namespace

BlasThreads::BlasThreads(int most) : outer_(most_of_thread) {
  STRATA_REQUIRE(ValueError, most >= 1, "BLAS: at most ", most, " threads, must be at least 1");
  most_of_thread = std::min(most, outer_);
}
BlasThreads::~BlasThreads() { most_of_thread = outer_; }

int BlasThreads::most() { return most_of_thread; }

BlasThreading blas_threading() {
  auto const& control = vendor::blas_control();
  auto const set = std::find_if(
      control.variables.begin(), control.variables.end(), [](std::string const& variable) {
        char const* const value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe)
        return value && std::atoi(value) > 0;  // NOLINT(cert-err34-c): as the libraries read it
      });
  return {control.kind, control.most(), set == control.variables.end() ? "" : *set};
}

std::string advice_on_waiting(BlasThreading const& blas, int openmp_threads,
                              std::string wait_policy) {
  for (char& letter : wait_policy)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (blas.kind != "pthreads" || blas.most < 2 || openmp_threads < 2 || wait_policy == "passive")
    return "";
  return "these and OpenMP's wait busily on the same cores: "
         "link OpenBLAS for OpenMP, or set OMP_WAIT_POLICY=passive";
}

}  // namespace strata

namespace strata::vendor {

namespace {

using strata::detail::symbol;

// The functions of what is linked, whatever that is: no library is needed for its control.
struct Symbols {
  int (*openblas_get)() = symbol<int()>("openblas_get_num_threads");
  void (*openblas_set)(int) = symbol<void(int)>("openblas_set_num_threads");
  int (*openblas_kind)() = symbol<int()>("openblas_get_parallel");
  int (*mkl_get)() = symbol<int()>("MKL_Get_Max_Threads");
  int (*mkl_exchange)(int) = symbol<int(int)>("MKL_Set_Num_Threads_Local");
  int (*omp_get)() = symbol<int()>("omp_get_max_threads");
  void (*omp_set)(int) = symbol<void(int)>("omp_set_num_threads");
  int (*omp_inside)() = symbol<int()>("omp_in_parallel");
};

Symbols const& symbols() {
  static Symbols const found;
  return found;
}

int exchange_openblas(int threads) {
  int const before = symbols().openblas_get();
  symbols().openblas_set(threads);
  return before;
}

int exchange_openmp(int threads) {
  int const before = symbols().omp_get();
  symbols().omp_set(threads);
  return before;
}

}  // namespace

ThreadControl& onednn_control() {
  Symbols const& has = symbols();
  static ThreadControl openmp("OpenMP", ThreadControl::Scope::Thread, has.omp_get, exchange_openmp,
                              {"OMP_NUM_THREADS"});
  static ThreadControl unknown;
  return has.omp_get && has.omp_set ? openmp : unknown;
}

ThreadControl& blas_control() {
  using Scope = ThreadControl::Scope;
  Symbols const& has = symbols();
  static ThreadControl openblas("pthreads", Scope::Process, has.openblas_get, exchange_openblas,
                                {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"});
  static ThreadControl mkl("oneMKL", Scope::Thread, has.mkl_get, has.mkl_exchange,
                           {"MKL_NUM_THREADS", "OMP_NUM_THREADS"});
  static ThreadControl serial("none", Scope::Thread, nullptr, nullptr, {});
  static ThreadControl unknown;
  if (has.openblas_get && has.openblas_set && has.openblas_kind) {
    enum : std::uint8_t { Serial = 0, OpenMP = 2 };
    if (has.openblas_kind() == Serial) return serial;
    return has.openblas_kind() == OpenMP ? onednn_control() : openblas;
  }
  return has.mkl_get && has.mkl_exchange ? mkl : unknown;
}

int ThreadControl::begin(int wanted) {
  if (!get_) return 0;
  if (scope_ == Scope::Thread) return exchange_(std::min(wanted, get_()));
  std::lock_guard const lock(mutex_);
  if (products_++ == 0) original_ = get_();
  return exchange_(std::min(wanted, original_));
}

void ThreadControl::end(int before) noexcept {
  if (!get_) return;
  if (scope_ == Scope::Thread) return void(exchange_(before));
  std::lock_guard const lock(mutex_);
  if (--products_ == 0) exchange_(original_);
}

namespace {

// A thread is worth its start and its wait for this many flops, less than a millisecond. A number
// from memory takes as long as 16 flops.
constexpr double flops_of_thread = 16777216, flops_of_number = 16;

int worth(double flops, double numbers) {
  double const threads = std::max(flops, flops_of_number * numbers) / flops_of_thread;
  return static_cast<int>(std::clamp(threads, 1.0, 65536.0));
}

}  // namespace

ProductThreads::ProductThreads(ThreadControl& control, double flops, double numbers)
    : control_(control) {
  bool const is_inside = symbols().omp_inside && symbols().omp_inside();
  before_ = control.begin(is_inside ? 1 : std::min(worth(flops, numbers), BlasThreads::most()));
}

}  // namespace strata::vendor
