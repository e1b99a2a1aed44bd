// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COMM_HPP
#define STRATA_COMM_HPP

// All of Strata::comm: the communicator of MPI's ranks, what they agree on, bytes that go beside other work, ScaLAPACK's form.
#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_GatherSpans.hpp>
#include <comm/Strata_Mailbox.hpp>
#include <comm/Strata_Mpi.hpp>
#include <comm/Strata_Together.hpp>

#endif
