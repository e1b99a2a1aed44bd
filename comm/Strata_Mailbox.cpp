// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Mailbox.hpp>

#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>

#include <climits>
#include <utility>
#include <vector>

namespace strata {

#ifdef STRATA_ENABLE_MPI

using detail::check_mpi;

namespace {

constexpr int tag = 19;

// A type of MPI that was made here.
class Type {
 public:
  ~Type() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);  // what began with it ends with it
  }
  Type() = default;
  Type(Type const&) = delete;
  Type& operator=(Type const&) = delete;
  MPI_Datatype* made() { return &type_; }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// begin(count, type) of so many bytes.
template <class Begin>
void in_pieces(std::size_t bytes, int piece, Begin const& begin) {
  auto const size = static_cast<std::size_t>(piece);
  if (bytes <= size) return begin(static_cast<int>(bytes), MPI_BYTE);
  std::size_t const count = bytes / size;
  STRATA_REQUIRE(ValueError, count <= INT_MAX, "a message of ", bytes, " bytes");
  Type pieces, all;
  check_mpi(MPI_Type_contiguous(piece, MPI_BYTE, pieces.made()), "MPI_Type_contiguous");
  int const lengths[] = {static_cast<int>(count), static_cast<int>(bytes % size)};
  MPI_Aint const begins[] = {0, static_cast<MPI_Aint>(count * size)};
  MPI_Datatype const types[] = {pieces.get(), MPI_BYTE};
  check_mpi(MPI_Type_create_struct(2, lengths, begins, types, all.made()),
            "MPI_Type_create_struct");
  check_mpi(MPI_Type_commit(all.made()), "MPI_Type_commit");
  begin(1, all.get());
}

}  // namespace

struct Mailbox::State {
  struct Message {
    std::int64_t number;
    bool is_receive;
  };
  Communicator comm;
  int piece = 0;
  std::vector<MPI_Request> requests{};
  std::vector<Message> messages{};  // of the requests
};

Mailbox::Mailbox(Communicator const& comm, int piece)
    : state_(std::make_unique<State>(State{comm, piece})) {}
Mailbox::~Mailbox() = default;

void Mailbox::send(std::int64_t number, void const* data, std::size_t bytes, int to) {
  MPI_Request request = MPI_REQUEST_NULL;
  in_pieces(bytes, state_->piece, [&](int count, MPI_Datatype type) {
    check_mpi(MPI_Issend(data, count, type, to, tag, state_->comm.mpi(), &request), "MPI_Issend");
  });
  state_->requests.push_back(request);
  state_->messages.push_back({number, false});
}

void Mailbox::receive(std::int64_t number, void* data, std::size_t bytes, int from) {
  MPI_Request request = MPI_REQUEST_NULL;
  in_pieces(bytes, state_->piece, [&](int count, MPI_Datatype type) {
    check_mpi(MPI_Irecv(data, count, type, from, tag, state_->comm.mpi(), &request), "MPI_Irecv");
  });
  state_->requests.push_back(request);
  state_->messages.push_back({number, true});
}

bool Mailbox::poll(std::function<void(std::int64_t)> const& sent,
                   std::function<void(std::int64_t, std::size_t)> const& received) {
  auto& [comm, piece, requests, messages] = *state_;
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
    MPI_Count bytes = 0;
    check_mpi(MPI_Get_elements_x(&statuses[static_cast<std::size_t>(c)], MPI_BYTE, &bytes),
              "MPI_Get_elements_x");
    received(message.number, static_cast<std::size_t>(bytes));
  }
  return true;
}

std::size_t Mailbox::open() const { return state_->requests.size(); }

#else

struct Mailbox::State {};
Mailbox::Mailbox(Communicator const& /*comm*/, int /*piece*/) {}
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
