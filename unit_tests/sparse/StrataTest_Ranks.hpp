// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RANKS_HPP
#define STRATATEST_RANKS_HPP

#include <sparse/Strata_Communicator.hpp>

namespace strata::test {

/// All ranks that the test program was started with; the program without MPI has one.
inline sparse::Communicator test_ranks() {
#ifdef STRATATEST_WITH_MPI
  return sparse::Communicator(MPI_COMM_WORLD);
#else
  return {};
#endif
}

}  // namespace strata::test

#endif
