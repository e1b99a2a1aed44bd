// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Ranks.hpp"

strata::sparse::Communicator strata::test::test_ranks() { return {}; }
