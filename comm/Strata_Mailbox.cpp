// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Mailbox.hpp>

#include <comm/Strata_Carrier.hpp>
#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>

#include <climits>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace strata {

using Sent = std::function<void(std::int64_t)>;
using Received = std::function<void(std::int64_t, std::size_t)>;

struct Mailbox::State {
  virtual ~State() = default;
  virtual void send(std::int64_t number, void const* data, std::size_t bytes, int to,
                    std::int64_t nth) = 0;
  virtual void receive(std::int64_t number, void* data, std::size_t bytes, int from) = 0;
  virtual std::int64_t awaited(int to) = 0;
  virtual bool poll(Sent const& sent, Received const& received) = 0;
  virtual std::size_t open() const = 0;
};

#ifdef STRATA_ENABLE_MPI

using detail::check_mpi;

namespace {

// The nth receive from a rank has the nth of the tags that MPI has at least, in turn. So messages
// that are so many apart must begin in order.
constexpr int first_tag = 100, tags = 32767 - first_tag;
static_assert(tags > Mailbox::most_apart);
int tag_of(std::int64_t nth) { return first_tag + static_cast<int>(nth % tags); }
constexpr int there = 19;  // the tag by which a receive is told

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

struct Mailbox::ByMpi final : State {
  ByMpi(Communicator const& ranks, int most) : comm(ranks), piece(most) {}
  ~ByMpi() override {
    for (MPI_Request& request : told) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  void send(std::int64_t number, void const* data, std::size_t bytes, int to,
            std::int64_t nth) override {
    MPI_Request request = MPI_REQUEST_NULL;
    in_pieces(bytes, piece, [&](int count, MPI_Datatype type) {
      check_mpi(MPI_Issend(data, count, type, to, tag_of(nth), comm.mpi(), &request), "MPI_Issend");
    });
    requests.push_back(request);
    messages.push_back({number, to});
  }

  void receive(std::int64_t number, void* data, std::size_t bytes, int from) override {
    MPI_Request request = MPI_REQUEST_NULL;
    int const tag = tag_of(receives[from]++);
    in_pieces(bytes, piece, [&](int count, MPI_Datatype type) {
      check_mpi(MPI_Irecv(data, count, type, from, tag, comm.mpi(), &request), "MPI_Irecv");
    });
    requests.push_back(request);
    messages.push_back({number, here});
    for (int is_sent = 1; is_sent && !told.empty();) {
      check_mpi(MPI_Test(&told.front(), &is_sent, MPI_STATUS_IGNORE), "MPI_Test");
      if (is_sent) told.pop_front();
    }
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, from, there, comm.mpi(),
                        &told.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Isend");
  }

  std::int64_t awaited(int to) override {
    for (int has_come = 1; has_come;) {
      check_mpi(MPI_Iprobe(to, there, comm.mpi(), &has_come, MPI_STATUS_IGNORE), "MPI_Iprobe");
      if (has_come) hear_of_one(to);
    }
    return receives_there[to];
  }
  void hear_of_one(int to) {
    check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, to, there, comm.mpi(), MPI_STATUS_IGNORE), "MPI_Recv");
    ++receives_there[to];
  }

  bool poll(Sent const& sent, Received const& received) override {
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
      if (message.to != here) {
        // its receive has begun and is told: not to the next mailbox of these ranks
        if (receives_there[message.to] < ++ended_sends[message.to]) hear_of_one(message.to);
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

  std::size_t open() const override { return requests.size(); }

  static constexpr int here = -1;
  struct Message {
    std::int64_t number;
    int to;  // here: what it receives
  };
  Communicator comm;
  int piece;
  std::vector<MPI_Request> requests;
  std::vector<Message> messages;                         // of the requests
  std::map<int, std::int64_t> receives, receives_there;  // that have begun, from and at each rank
  std::map<int, std::int64_t> ended_sends;               // to each rank
  std::deque<MPI_Request> told;  // to other ranks, of receives here: those that have not left
};

// The sender knows how many receives are there, and begins a message by an envelope. Both ends
// begin the transfers of two ranks in the order of the envelopes.
struct Mailbox::ByCarrier final : State {
  ByCarrier(Communicator const& ranks, std::shared_ptr<Carrier> way)
      : envelopes(ranks, 1 << 30), carrier(std::move(way)) {}

  void send(std::int64_t number, void const* data, std::size_t bytes, int to,
            std::int64_t nth) override {
    outs[to].waiting[nth] = {number, data, bytes};
    ++count;
  }

  void receive(std::int64_t number, void* data, std::size_t bytes, int from) override {
    In& in = ins[from];
    in.receives.push_back({number, data, bytes});
    Envelope& envelope = in.envelopes.emplace_back();
    envelopes.receive(last, &envelope.text, sizeof envelope.text, from);
    to_come[last++] = &envelope;
    ++count;
  }

  std::int64_t awaited(int to) override { return envelopes.awaited(to); }

  bool poll(Sent const& sent, Received const& received) override {
    bool moved = envelopes.poll([](std::int64_t) {},
                                [&](std::int64_t envelope, std::size_t) {
                                  to_come.at(envelope)->is_here = true;
                                  to_come.erase(envelope);
                                });
    for (auto& [to, out] : outs) moved = begin(to, out) || moved;
    for (auto& [from, in] : ins) moved = begin(from, in) || moved;
    for (auto& [to, out] : outs)
      moved = end(out.begun, [&](Transfer const& one) { sent(one.number); }) || moved;
    for (auto& [from, in] : ins)
      moved = end(in.begun, [&](Transfer const& one) { received(one.number, one.bytes); }) || moved;
    return moved;
  }

  std::size_t open() const override { return count + envelopes.open(); }

 private:
  struct Envelope {
    struct Text {
      std::int64_t nth = 0;
      std::uint64_t bytes = 0;
    } text;
    bool is_here = false;
  };
  struct Send {
    std::int64_t number;
    void const* data;
    std::size_t bytes;
  };
  struct Receive {
    std::int64_t number;
    void* data;
    std::size_t room;
  };
  struct Transfer {
    std::int64_t number;
    std::size_t bytes;
    std::size_t carried;  // the carrier's number, if there are bytes
  };
  struct Out {
    std::map<std::int64_t, Send> waiting;  // by their receives
    std::deque<Envelope::Text> texts;      // of envelopes, which stay where they are
    std::deque<Transfer> begun;
  };
  struct In {
    std::vector<Receive> receives;
    std::deque<Envelope> envelopes;  // that have not come, in their order
    std::deque<Transfer> begun;
  };

  // Those whose receives are there.
  bool begin(int to, Out& out) {
    if (out.waiting.empty()) return false;
    bool began = false;
    std::int64_t const receives = awaited(to);
    while (!out.waiting.empty() && out.waiting.begin()->first < receives) {
      auto const [nth, message] = *out.waiting.begin();
      out.waiting.erase(out.waiting.begin());
      out.begun.push_back({message.number, message.bytes,
                           message.bytes > 0 ? carrier->send(message.data, message.bytes, to) : 0});
      auto const& text = out.texts.emplace_back(Envelope::Text{nth, message.bytes});
      envelopes.send(-1, &text, sizeof text, to, static_cast<std::int64_t>(out.texts.size()) - 1);
      began = true;
    }
    return began;
  }
  // Those whose envelopes are here.
  bool begin(int from, In& in) {
    bool began = false;
    for (; !in.envelopes.empty() && in.envelopes.front().is_here; in.envelopes.pop_front()) {
      auto const [nth, bytes] = in.envelopes.front().text;
      Receive const& receive = in.receives.at(static_cast<std::size_t>(nth));
      STRATA_REQUIRE(VendorError, bytes <= receive.room, "a message of ", bytes,
                     " bytes for a receive of ", receive.room);
      in.begun.push_back(
          {receive.number, bytes, bytes > 0 ? carrier->receive(receive.data, bytes, from) : 0});
      began = true;
    }
    return began;
  }
  template <class Tell>
  bool end(std::deque<Transfer>& begun, Tell const& tell) {
    bool ended = false;
    while (!begun.empty() &&
           (begun.front().bytes == 0 || carrier->has_ended(begun.front().carried))) {
      Transfer const one = begun.front();
      begun.pop_front();
      --count;
      tell(one);
      ended = true;
    }
    return ended;
  }

  ByMpi envelopes;
  std::shared_ptr<Carrier> carrier;
  std::map<int, Out> outs;  // by the other rank
  std::map<int, In> ins;
  std::map<std::int64_t, Envelope*> to_come;  // by the number of their receive
  std::int64_t last = 0;
  std::size_t count = 0;  // of messages that have not ended
};

Mailbox::Mailbox(Communicator const& comm, int piece)
    : state_(std::make_unique<ByMpi>(comm, piece)) {}

Mailbox::Mailbox(Communicator const& comm, std::shared_ptr<Carrier> carrier)
    : state_(carrier ? std::unique_ptr<State>(std::make_unique<ByCarrier>(comm, std::move(carrier)))
                     : std::make_unique<ByMpi>(comm, 1 << 30)) {}

#else

struct Mailbox::ByMpi final : State {
  void send(std::int64_t /*number*/, void const* /*data*/, std::size_t /*bytes*/, int to,
            std::int64_t /*nth*/) override {
    throw ValueError(detail::message("a message to rank ", to, " in a build without MPI"));
  }
  void receive(std::int64_t /*number*/, void* /*data*/, std::size_t /*bytes*/, int from) override {
    throw ValueError(detail::message("a message from rank ", from, " in a build without MPI"));
  }
  std::int64_t awaited(int /*to*/) override { return 0; }
  bool poll(Sent const& /*sent*/, Received const& /*received*/) override { return false; }
  std::size_t open() const override { return 0; }
};
Mailbox::Mailbox(Communicator const& /*comm*/, int /*piece*/) : state_(std::make_unique<ByMpi>()) {}
Mailbox::Mailbox(Communicator const& /*comm*/, std::shared_ptr<Carrier> /*carrier*/)
    : state_(std::make_unique<ByMpi>()) {}

#endif

Mailbox::~Mailbox() = default;
void Mailbox::send(std::int64_t number, void const* data, std::size_t bytes, int to,
                   std::int64_t nth) {
  state_->send(number, data, bytes, to, nth);
}
void Mailbox::receive(std::int64_t number, void* data, std::size_t bytes, int from) {
  state_->receive(number, data, bytes, from);
}
std::int64_t Mailbox::awaited(int to) const { return state_->awaited(to); }
bool Mailbox::poll(Sent const& sent, Received const& received) {
  return state_->poll(sent, received);
}
std::size_t Mailbox::open() const { return state_->open(); }

}  // namespace strata
