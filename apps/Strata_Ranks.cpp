// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/Strata_Ranks.hpp>
#include <apps/Strata_Text.hpp>

#include <cstdlib>
#include <iostream>

namespace strata::apps {

#ifdef STRATA_ENABLE_MPI
MpiSession::MpiSession() { MPI_Init(nullptr, nullptr); }
MpiSession::~MpiSession() { MPI_Finalize(); }
sparse::Communicator all_ranks() { return sparse::Communicator(MPI_COMM_WORLD); }
#else
MpiSession::MpiSession() = default;
MpiSession::~MpiSession() = default;
sparse::Communicator all_ranks() { return {}; }
#endif

Exit tell(sparse::Communicator const& comm, Exit exit, std::exception const& error) {
  if (comm.size() == 1) throw;
  if (comm.rank() == 0) std::cerr << "strata: " << one_line(error.what()) << std::endl;
  comm.barrier();
  return exit;
}

void end_all_ranks(std::string_view message) {
  std::cerr << "strata: " << one_line(message) << std::endl;
#ifdef STRATA_ENABLE_MPI
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::Failed));
#endif
  std::exit(static_cast<int>(Exit::Failed));
}

}  // namespace strata::apps
