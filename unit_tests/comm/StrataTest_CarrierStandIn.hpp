// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_CARRIER_STAND_IN_HPP
#define STRATATEST_CARRIER_STAND_IN_HPP

#include <comm/Strata_Carrier.hpp>
#include <comm/Strata_Communicator.hpp>

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace strata::test {

/// MPI in NCCL's place, on machines without: between two ranks transfers meet in the order in which
/// they began, and both ends must have the same bytes.
class CarrierStandIn final : public Carrier {
 public:
  /// Makes its own communicator. Collective.
  CarrierStandIn(Communicator const& comm, std::vector<Route> routes)
      : comm_(comm.mpi()), routes_(std::move(routes)) {}

  std::size_t send(void const* data, std::size_t bytes, int to) override {
    return begin({comm_.rank(), to}, 0, bytes, [&](MPI_Request* request) {
      MPI_Issend(data, static_cast<int>(bytes), MPI_BYTE, to, 0, comm_.mpi(), request);
    });
  }
  std::size_t receive(void* data, std::size_t bytes, int from) override {
    return begin({from, comm_.rank()}, bytes, bytes, [&](MPI_Request* request) {
      MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, 0, comm_.mpi(), request);
    });
  }
  bool has_ended(std::size_t transfer) override {
    auto& [request, expected] = begun_[transfer];
    int ended = 0, bytes = 0;
    MPI_Status status;
    MPI_Test(&request, &ended, &status);
    if (!ended) return false;
    ++ended_;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (expected > 0 && expected != static_cast<std::size_t>(bytes))
      throw std::logic_error("a transfer met another one");
    return true;
  }

  std::size_t begun() const { return begun_.size(); }
  std::size_t ended() const { return ended_; }

 private:
  struct Transfer {
    MPI_Request request;
    std::size_t expected;  // of a receive
  };

  template <class Begin>
  std::size_t begin(Route const& route, std::size_t expected, std::size_t bytes,
                    Begin const& begin) {
    if (std::ranges::find(routes_, route) == routes_.end())
      throw std::logic_error("a route that was not asked for");
    if (bytes == 0 || bytes > INT_MAX) throw std::logic_error("a transfer of no bytes, or of many");
    begin(&begun_.emplace_back(MPI_REQUEST_NULL, expected).request);
    return begun_.size() - 1;
  }

  Communicator comm_;
  std::vector<Route> routes_;
  std::vector<Transfer> begun_;
  std::size_t ended_ = 0;
};

}  // namespace strata::test

#endif
