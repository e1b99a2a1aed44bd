// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLAS_THREADS_HPP
#define STRATA_BLAS_THREADS_HPP

#include <string>

namespace strata {

/// While it lives, each product of this thread on a host takes at most so many threads of the BLAS,
/// or of oneDNN.
///
/// Without such an object, a product takes as many threads as its work pays for. A thread needs
/// 2^24 flops (in a factorisation 2^25), or as much time in memory. It never takes more threads
/// than the library would take by itself. So OPENBLAS_NUM_THREADS, MKL_NUM_THREADS, OMP_NUM_THREADS
/// and calls of the library's own functions still hold. Inside a parallel region of OpenMP a
/// product takes one thread. After a product the library has its former number of threads. Threads
/// that work side by side need such objects: each gets its part of the cores. If a thread has
/// several objects, the smallest number holds; they end in the opposite order.
///
/// OpenBLAS, with threads of its own or OpenMP's, and oneMKL can be told their number; another BLAS
/// keeps its own. OpenBLAS with its own threads has one number for the process. The product that
/// began last sets it.
///
/// Throws   ValueError if most < 1.
class BlasThreads {
 public:
  /// Allows this thread's products at most so many threads, until the object ends.
  explicit BlasThreads(int most);
  ~BlasThreads();
  BlasThreads(BlasThreads const&) = delete;
  BlasThreads& operator=(BlasThreads const&) = delete;

  /// The number that holds in this thread; the largest int if there is no object.
  static int most();

 private:
  int outer_;
};

/// The threads of the host's BLAS as they are outside of products.
struct BlasThreading {
  std::string
      kind;  ///< "pthreads", "OpenMP", "oneMKL", "none", or "unknown" for a BLAS that can't be told
  int most = 1;        ///< most threads of one product; 1 where the kind is unknown
  std::string source;  ///< the variable that says so, as "OPENBLAS_NUM_THREADS"; "": the library
};

/// The threads of this process' BLAS.
BlasThreading blas_threading();

/// Advice for a user whose BLAS threads and OpenMP threads wait busily for work on the same cores,
/// which slows both down. Empty where they do not. `wait_policy` is the value of OMP_WAIT_POLICY,
/// empty if it has none.
std::string advice_on_waiting(BlasThreading const& blas, int openmp_threads,
                              std::string wait_policy);

}  // namespace strata

#endif
