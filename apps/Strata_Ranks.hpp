// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_RANKS_HPP
#define STRATA_APPS_RANKS_HPP

#include <apps/Strata_Exit.hpp>
#include <exception>
#include <sparse/Strata_Communicator.hpp>
#include <string_view>

namespace strata::apps {

/// MPI from here to the end of the object's life, if the program was built with it.
///
/// To be made before Kokkos is initialised, so that each rank gets a device of its own.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(MpiSession const&) = delete;
  MpiSession& operator=(MpiSession const&) = delete;
};

/// All ranks that the program was started with.
sparse::Communicator all_ranks();

/// Tell an error that all ranks have: rank 0 prints it before any rank ends, as launchers kill the others then.
/// Returns `exit`; one rank alone throws on to main.
Exit tell(sparse::Communicator const& comm, Exit exit, std::exception const& error);

/// End all ranks at once, after an error that only this one knows of and that they would wait for.
[[noreturn]] void end_all_ranks(std::string_view message);

}  // namespace strata::apps

#endif
