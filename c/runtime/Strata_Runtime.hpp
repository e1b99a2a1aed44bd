// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_RUNTIME_HPP
#define STRATA_C_RUNTIME_HPP

#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_ConcurrentCall.hpp>
#include <core/instances/Strata_SecondInstance.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace strata::c {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/// Kokkos can't be used. It was ended, or it is the program's own and not started yet. Or it
/// belongs to the process from which this one was forked while another thread was in a call.
struct NotReady : Error {
  using Error::Error;
};

/// NaN or infinity in a caller's matrix.
struct NotFinite : ValueError {
  using ValueError::ValueError;
};

/// Version, commit, compiler, Kokkos and its backends, the vendors' libraries.
std::string configuration_line();

/// "the leading minor of order 3 is not positive: ...": LAPACK's `info` in words.
std::string not_positive_definite_text(std::int64_t order);

/// Whether Kokkos has no memory for a View, which it says by its text alone.
bool is_allocation_failure(std::exception const& error);

/// Start Kokkos unless somebody has; what Strata starts it ends when the program exits. A device's
/// Kokkos ends then even if there are handles, in no call.
///
/// Throws   NotReady.
void start_kokkos();

/// End Kokkos if Strata started it.
///
/// Throws   NotReady while there are Users.
void stop_kokkos();

/// Whether Kokkos runs, and in this process: if not, its Views and instances can't even be
/// destroyed.
bool kokkos_is_usable() noexcept;

/// A call (`Caller`) or a handle that needs Kokkos. As long as there is one, Strata does not end
/// Kokkos. Starts Kokkos, unless the program uses it, which then has to start it.
class User {
 public:
  /// Throws   NotReady.
  User();
  ~User();
  User(User const&) = delete;
  User& operator=(User const&) = delete;
};

/// A handle that is in no call. It is a User, and yet a device's Kokkos ends with the program.
class Resting {
 public:
  Resting() noexcept;
  ~Resting();
  Resting(Resting const&) = delete;
  Resting& operator=(Resting const&) = delete;
};

/// A call that needs Kokkos, beside calls of other threads.
class Caller {
 public:
  /// Throws   NotReady.
  Caller() = default;

 private:
  User user_;
  ConcurrentCall call_;
};

/// An instance of its own for each call or handle, so that threads do not wait for one another.
using Instance = std::shared_ptr<Exec const>;
/// It outlives what works on it.
Instance new_instance();

}  // namespace strata::c

#endif
