// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Mailbox.hpp>

#include <core/Strata_Errors.hpp>

#include <comm/Strata_Mpi.hpp>

#include <climits>
#include <utility>
#include <vector>

namespace strata {

#ifdef STRATA_ENABLE_MPI

using detail::check_mpi;

namespace {

constexpr int tag = 19;

int count_of(std::size_t bytes) {
  STRATA_REQUIRE(ValueError, bytes <= INT_MAX, "a message of ", bytes,
                 " bytes: MPI counts to 2^31; take smaller tiles");
  return static_cast<int>(bytes);
}

}  // namespace

struct Mailbox::State {
  struct Message {
    std::int64_t number;
    bool is_receive;
  };
  Communicator comm;
  std::vector<MPI_Request> requests;
  std::vector<Message> messages;  // of the requests
};

Mailbox::Mailbox(Communicator const& comm) : state_(std::make_unique<State>(State{comm, {}, {}})) {}
Mailbox::~Mailbox() = default;

void Mailbox::send(std::int64_t number, void const* data, std::size_t bytes, int to) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Issend(data, count_of(bytes), MPI_BYTE, to, tag, state_->comm.mpi(), &request),
            "MPI_Issend");
  state_->requests.push_back(request);
  state_->messages.push_back({number, false});
}

void Mailbox::receive(std::int64_t number, void* data, std::size_t bytes, int from) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(data, count_of(bytes), MPI_BYTE, from, tag, state_->comm.mpi(), &request),
            "MPI_Irecv");
  state_->requests.push_back(request);
  state_->messages.push_back({number, true});
}

bool Mailbox::poll(std::function<void(std::int64_t)> const& sent,
                   std::function<void(std::int64_t, std::size_t)> const& received) {
  auto& [comm, requests, messages] = *state_;
  if (requests.empty()) return false;
  std::vector<int> ended(requests.size());
  std::vector<MPI_Status> statuses(requests.size());
  int count = 0;
  check_mpi(MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, ended.data(),
                         statuses.data()),
            "MPI_Testsome");
  if (count == MPI_UNDEFINED || count == 0) return false;
  auto const done = std::exchange(messages, {});
  std::vector<MPI_Request> left;
  for (std::size_t m = 0; m < requests.size(); ++m) {
    if (requests[m] == MPI_REQUEST_NULL) continue;
    left.push_back(requests[m]);
    messages.push_back(done[m]);
  }
  requests = std::move(left);  // what the callbacks begin comes behind
  for (int c = 0; c < count; ++c) {
    auto const& message = done[static_cast<std::size_t>(ended[static_cast<std::size_t>(c)])];
    if (!message.is_receive) {
      sent(message.number);
      continue;
    }
    int bytes = 0;
    check_mpi(MPI_Get_count(&statuses[static_cast<std::size_t>(c)], MPI_BYTE, &bytes),
              "MPI_Get_count");
    received(message.number, static_cast<std::size_t>(bytes));
  }
  return true;
}

std::size_t Mailbox::open() const { return state_->requests.size(); }

#else

struct Mailbox::State {};
Mailbox::Mailbox(Communicator const& /*comm*/) {}
Mailbox::~Mailbox() = default;
void Mailbox::send(std::int64_t /*number*/, void const* /*data*/, std::size_t /*bytes*/, int to) {
  throw ValueError(detail::message("a message to rank ", to, " in a build without MPI"));
}
void Mailbox::receive(std::int64_t /*number*/, void* /*data*/, std::size_t /*bytes*/, int from) {
  throw ValueError(detail::message("a message from rank ", from, " in a build without MPI"));
}
bool Mailbox::poll(std::function<void(std::int64_t)> const& /*sent*/,
                   std::function<void(std::int64_t, std::size_t)> const& /*received*/) {
  return false;
}
std::size_t Mailbox::open() const { return 0; }

#endif

}  // namespace strata
