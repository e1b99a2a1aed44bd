// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MAILBOX_HPP
#define STRATA_MAILBOX_HPP

#include <comm/Strata_Communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace strata {

class Carrier;

/// Bytes that go from rank to rank beside other work, for one thread of each rank, the one that
/// calls MPI.
///
/// Each message names the receive that it matches, and is sent only after that receive has begun.
/// So no rank buffers a message that it did not ask for. Between two ranks messages may begin in
/// another order than their receives, up to 32,000 apart. All members throw VendorError.
class Mailbox {
 public:
  /// Two messages between the same ranks, whose receives are so many apart, begin in the order of
  /// the receives.
  static constexpr std::int64_t most_apart = 32000;

  /// Sends by MPI. `comm` must outlive the mailbox. MPI counts up to 2^31: a message of more than
  /// `piece` bytes is one element of a type made of such pieces.
  explicit Mailbox(Communicator const& comm, int piece = 1 << 30);
  /// Sends by the carrier. By MPI the receiver tells that a receive has begun, and the sender tells
  /// which message begins and how many bytes it has. All ranks have a carrier, or none has one.
  Mailbox(Communicator const& comm, std::shared_ptr<Carrier> carrier);
  /// Every message must have ended before: MPI, or the carrier, may still write to its memory.
  ~Mailbox();
  Mailbox(Mailbox const&) = delete;
  Mailbox& operator=(Mailbox const&) = delete;

  /// Begin to send so many bytes. `number` is the name of the message in `poll`. `nth` counts, from
  /// 0, the receives from this rank that rank `to` begins. The message is for that receive; each
  /// receive gets one.
  void send(std::int64_t number, void const* data, std::size_t bytes, int to, std::int64_t nth);
  /// Begin to receive at most so many bytes.
  void receive(std::int64_t number, void* data, std::size_t bytes, int from);

  /// The number of receives from this rank that are known to have begun at rank `to`. Messages for
  /// these can leave.
  std::int64_t awaited(int to) const;

  /// Calls `sent` and `received` for each message that has ended since the last call. Returns
  /// whether there was one.
  bool poll(std::function<void(std::int64_t number)> const& sent,
            std::function<void(std::int64_t number, std::size_t bytes)> const& received);

  /// Messages that have begun and not ended.
  std::size_t open() const;

 private:
  struct State;
  struct ByMpi;
  struct ByCarrier;
  std::unique_ptr<State> state_;
};

}  // namespace strata

#endif
