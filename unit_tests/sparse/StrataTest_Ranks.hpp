// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RANKS_HPP
#define STRATATEST_RANKS_HPP

#include <sparse/comm/Strata_Communicator.hpp>

namespace strata::test {

/// All ranks that the test program was started with; the program without MPI has one.
sparse::Communicator test_ranks();

}  // namespace strata::test

#endif
