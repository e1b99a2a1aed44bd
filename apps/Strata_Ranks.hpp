// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_RANKS_HPP
#define STRATA_APPS_RANKS_HPP

#include <sparse/Strata_Communicator.hpp>

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

}  // namespace strata::apps

#endif
