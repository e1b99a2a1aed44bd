// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLAS_THREADS_HPP
#define STRATA_BLAS_THREADS_HPP

#include <string>

namespace strata {

/// While it lives, each product that this thread computes on a host takes at most so many of the threads of the BLAS, or of
/// oneDNN.
///
/// Without one a product takes as many as its work pays for: one for each 2^24 flops (of a factorisation 2^25), or as long for
/// memory. It never takes more than the library would by itself, so that OPENBLAS_NUM_THREADS, MKL_NUM_THREADS,
/// OMP_NUM_THREADS and calls of the library's own functions hold, and inside a parallel region of OpenMP it takes one. Afterwards
/// the library has the number that it had. For threads that work side by side: each with its part of the cores. Of objects in one thread
/// the smallest number holds; they end in the opposite order.
///
/// OpenBLAS, with threads of its own or OpenMP's, and oneMKL can be told; another BLAS does as it does. OpenBLAS with threads
/// of its own has one number for the process, that of the product that began last.
///
/// Throws   ValueError if most < 1.
class BlasThreads {
 public:
  /// Until its end, at most so many threads in this thread's products.
  explicit BlasThreads(int most);
  ~BlasThreads();
  BlasThreads(BlasThreads const&) = delete;
  BlasThreads& operator=(BlasThreads const&) = delete;

  /// What holds in this thread; the largest int where there is no object.
  static int most();

 private:
  int outer_;
};

/// The threads of the host's BLAS as they are outside of products.
struct BlasThreading {
  std::string
      kind;  ///< "pthreads", "OpenMP", "oneMKL", "none", or "unknown" for a BLAS that can't be told
  int most = 1;        ///< for one product; 1 where the kind is unknown
  std::string source;  ///< the variable that says so, as "OPENBLAS_NUM_THREADS"; "": the library
};

/// The threads of this process' BLAS.
BlasThreading blas_threading();

/// What to tell a user where the threads of such a BLAS and so many of Kokkos' OpenMP backend wait busily for work on the same
/// cores, which slows both down; empty where they do not. `wait_policy` is the value of OMP_WAIT_POLICY, empty if it has none.
std::string advice_on_waiting(BlasThreading const& blas, int openmp_threads,
                              std::string wait_policy);

}  // namespace strata

#endif
