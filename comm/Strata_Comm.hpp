// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COMM_HPP
#define STRATA_COMM_HPP

// All of Strata::comm: the communicator of MPI's ranks, what they agree on, how messages travel,
// ScaLAPACK's form.
#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Carrier.hpp>
#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_DeviceMessages.hpp>
#include <comm/Strata_GatherSpans.hpp>
#include <comm/Strata_HaloPattern.hpp>
#include <comm/Strata_Mailbox.hpp>
#include <comm/Strata_Mpi.hpp>
#include <comm/Strata_Together.hpp>
#include <comm/Strata_Transport.hpp>

#endif
