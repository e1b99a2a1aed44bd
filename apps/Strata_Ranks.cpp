// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/Strata_Ranks.hpp>

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

}  // namespace strata::apps
