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

/// Bytes that go from rank to rank beside other work, for one thread of each rank, the one that calls MPI.
///
/// A message is for one of the receives that its receiver has begun or will begin, and leaves its sender when that is there:
/// nobody keeps what nobody asked for. Between two ranks messages may begin in another order than their receives, up to 32,000 apart.
/// All members throw VendorError.
class Mailbox {
 public:
  /// Messages between two ranks whose receives are so many apart begin in the order of these.
  static constexpr std::int64_t most_apart = 32000;

  /// `comm` must outlive it. `piece`: messages of more bytes are one element of MPI, which counts to 2^31, made of such
  /// pieces.
  explicit Mailbox(Communicator const& comm, int piece = 1 << 30);
  /// By MPI the receiver tells that a receive is there, and the sender which message begins, of how many bytes, which the carrier
  /// then takes. All ranks have one, or none.
  Mailbox(Communicator const& comm, std::shared_ptr<Carrier> carrier);
  /// Every message has ended: MPI, or the carrier, may still write to its memory.
  ~Mailbox();
  Mailbox(Mailbox const&) = delete;
  Mailbox& operator=(Mailbox const&) = delete;

  /// Begin to send so many bytes. `number`: what `poll` calls the message by. `nth`: of the receives from this rank that
  /// rank `to` begins, from 0, the one that it is for; each gets one.
  void send(std::int64_t number, void const* data, std::size_t bytes, int to, std::int64_t nth);
  /// Begin to receive at most so many bytes.
  void receive(std::int64_t number, void* data, std::size_t bytes, int from);

  /// How many receives from this rank have begun at rank `to`, as far as is known here: messages for these can leave.
  std::int64_t awaited(int to) const;

  /// `sent` and `received` of what has ended since; whether there was any.
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
