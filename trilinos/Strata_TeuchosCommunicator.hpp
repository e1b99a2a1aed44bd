// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_TEUCHOS_COMMUNICATOR_HPP
#define STRATA_TRILINOS_TEUCHOS_COMMUNICATOR_HPP

#include <sparse/comm/Strata_Communicator.hpp>

#include <Teuchos_Comm.hpp>

namespace strata::trilinos {

/// The ranks of a Teuchos communicator, in their order: a duplicate of the MPI communicator in it.
/// Collective.
///
/// Throws   ValueError if it is neither a Teuchos::MpiComm nor a Teuchos::SerialComm.
sparse::Communicator communicator_of(Teuchos::Comm<int> const& comm);

}  // namespace strata::trilinos

#endif
