// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_RANKS_HPP
#define STRATA_APPS_RANKS_HPP

#include <apps/shared/Strata_Exit.hpp>
#include <sparse/comm/Strata_Communicator.hpp>

#include <exception>
#include <string_view>
#include <utility>

namespace strata::apps {

/// MPI from here to the end of the object's life, if the program was built with it.
///
/// To be made before Kokkos is initialised, so that each rank gets a device of its own. Only the
/// thread that makes it calls MPI. Throws VendorError if MPI can't have threads beside that one.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(MpiSession const&) = delete;
  MpiSession& operator=(MpiSession const&) = delete;
  int ranks() const;
};

/// All ranks that the program was started with.
sparse::Communicator all_ranks();

/// What this rank may take of the memory that vectors are in.
struct RankMemory {
  double available = 0;  ///< bytes: of a host what is free now; a device's in all
  double installed = 0;  ///< bytes in all
};
/// An equal part for each rank that shares this one's host or, where there are devices, its device.
/// Collective.
RankMemory memory_of_rank(sparse::Communicator const& comm);

/// Tell an error and return `exit`: If all ranks have the same error, rank 0 prints it before any
/// rank ends, as launchers kill the others then. An error of this rank alone ends all ranks. One
/// rank by itself throws on to main.
Exit tell(sparse::Communicator const& comm, Exit exit, std::exception const& error);

/// Call `body`, which ranks run together, and end none of them before all have ended: a launcher
/// ends the others when one ends without success. Errors as `tell` does it.
template <class Body>
Exit on_ranks(sparse::Communicator const& comm, Body const& body) {
  try {
    Exit const exit = body();
    comm.barrier();
    return exit;
  } catch (std::exception const& error) {
    bool const is_usage = dynamic_cast<UsageError const*>(&error) != nullptr;
    return tell(comm, is_usage ? Exit::Usage : Exit::Failed, error);
  }
}

/// End all ranks at once with Exit::Failed, after an error that only this one knows of and that
/// they would wait for.
[[noreturn]] void end_all_ranks(std::string_view message);

/// A UsageError that all ranks have.
struct AgreedUsageError final : UsageError, sparse::AgreedError {
  using UsageError::UsageError;
};

/// As `as_usage`, of what ranks do together: what they have agreed on stays so.
template <class Function>
decltype(auto) as_usage_of_ranks(Function&& f) {
  try {
    return std::forward<Function>(f)();
  } catch (VendorError const&) {
    throw;
  } catch (Error const& error) {
    if (is_of_machine(error)) throw;
    if (sparse::is_agreed(error)) throw AgreedUsageError(error.what());
    throw UsageError(error.what());
  }
}

}  // namespace strata::apps

#endif
