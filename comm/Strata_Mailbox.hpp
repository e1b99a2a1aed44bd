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

/// Bytes that go from rank to rank beside other work, for one thread of each rank, the one that calls MPI.
///
/// Between two ranks messages arrive in the order in which they were sent, at receives in the order of
/// these. A message leaves its sender when its receive is there: nobody keeps what nobody asked for.
/// All members throw VendorError.
class Mailbox {
 public:
  /// `comm` must outlive it. `piece`: messages of more bytes are one element of MPI, which counts to 2^31, made of such
  /// pieces.
  explicit Mailbox(Communicator const& comm, int piece = 1 << 30);
  /// Every message has ended: MPI may still write to its memory.
  ~Mailbox();
  Mailbox(Mailbox const&) = delete;
  Mailbox& operator=(Mailbox const&) = delete;

  /// Begin to send, or to receive at most, so many bytes. `number`: what `poll` calls it by.
  void send(std::int64_t number, void const* data, std::size_t bytes, int to);
  /// The other half of `send`.
  void receive(std::int64_t number, void* data, std::size_t bytes, int from);

  /// `sent` and `received` of what has ended since; whether there was any.
  bool poll(std::function<void(std::int64_t number)> const& sent,
            std::function<void(std::int64_t number, std::size_t bytes)> const& received);

  /// Messages that have begun and not ended.
  std::size_t open() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata

#endif
