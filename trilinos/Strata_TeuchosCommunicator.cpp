// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <trilinos/Strata_TeuchosCommunicator.hpp>

#include <core/Strata_Errors.hpp>

#include <Teuchos_DefaultMpiComm.hpp>
#include <Teuchos_DefaultSerialComm.hpp>

namespace strata::trilinos {

sparse::Communicator communicator_of(Teuchos::Comm<int> const& comm) {
  if (auto const* mpi = dynamic_cast<Teuchos::MpiComm<int> const*>(&comm))
    return sparse::Communicator((*mpi->getRawMpiComm())());
  STRATA_REQUIRE(ValueError, dynamic_cast<Teuchos::SerialComm<int> const*>(&comm) != nullptr,
                 "Strata takes a Teuchos::MpiComm or a Teuchos::SerialComm, not ",
                 comm.description());
  return {};
}

}  // namespace strata::trilinos
