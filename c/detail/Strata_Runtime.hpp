// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_RUNTIME_HPP
#define STRATA_C_RUNTIME_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_Errors.hpp>

namespace strata::c::detail {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/// Kokkos can't be used: it was ended, or belongs to the process that this one was forked from.
struct NotReady : Error {
  using Error::Error;
};

/// Start Kokkos unless somebody has; what Strata starts it ends when the program exits.
///
/// Throws   NotReady.
void start_kokkos();

/// End Kokkos if Strata started it.
///
/// Throws   NotReady while there are Users.
void stop_kokkos();

/// A call or a handle that needs Kokkos, which does not end as long as there is one.
class User {
 public:
  /// Throws   NotReady.
  User();
  ~User();
  User(User const&) = delete;
  User& operator=(User const&) = delete;
};

/// An instance of its own for each call, so that threads do not wait for one another.
Exec new_instance();

}  // namespace strata::c::detail

#endif
