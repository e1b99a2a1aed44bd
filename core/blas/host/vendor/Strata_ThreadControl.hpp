// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_THREAD_CONTROL_HPP
#define STRATA_THREAD_CONTROL_HPP

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace strata::vendor {

/// How a library is told its number of threads, by functions that are found in it at run time.
class ThreadControl {
 public:
  enum class Scope : std::uint8_t { Thread, Process };  ///< owner of the number
  using Get = int (*)();
  using Exchange = int (*)(int);  ///< sets a number and returns what sets the one before again

  ThreadControl() = default;  ///< a library whose number can't be set
  ThreadControl(std::string kind, Scope scope, Get get, Exchange exchange,
                std::vector<std::string> variables)
      : kind(std::move(kind)),
        variables(std::move(variables)),
        scope_(scope),
        get_(get),
        exchange_(exchange) {}

  /// The most that a product of this thread may take now.
  int most() const { return get_ ? get_() : 1; }

  std::string kind = "unknown";
  /// environment variables that the library reads; the first that is set holds
  std::vector<std::string> variables;

 private:
  friend class ProductThreads;
  int begin(int wanted);
  void end(int before) noexcept;

  Scope scope_ = Scope::Thread;
  Get get_ = nullptr;
  Exchange exchange_ = nullptr;
  std::mutex mutex_;  // of what follows, where the number is the process'
  int products_ = 0;  // that run now
  int original_ = 0;  // what the library had before the first of them
};

/// The control of the BLAS, and the one of oneDNN where oneDNN uses OpenMP's threads.
ThreadControl& blas_control();
ThreadControl& onednn_control();

/// While it lives, the thread's products use as many threads as their flops and numbers pay for;
/// see BlasThreads.
class ProductThreads {
 public:
  ProductThreads(ThreadControl& control, double flops, double numbers);
  ~ProductThreads() { control_.end(before_); }
  ProductThreads(ProductThreads const&) = delete;
  ProductThreads& operator=(ProductThreads const&) = delete;

 private:
  ThreadControl& control_;
  int before_;
};

}  // namespace strata::vendor

#endif
