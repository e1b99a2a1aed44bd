// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COMMUNICATOR_HPP
#define STRATA_COMMUNICATOR_HPP

#include <core/Strata_Config.hpp>

#ifdef STRATA_ENABLE_MPI
#include <mpi.h>
#endif

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace strata {

/// The second base class of an exception that all ranks throw at the same point.
/// `Communicator::agree` makes such exceptions.
///
/// Any other exception from a collective call on several ranks concerns this rank alone. A message,
/// a vendor's call or an allocation failed in the middle. The other ranks do not learn of this
/// error and would wait for ever. A program that catches it should say so and end all ranks
/// (MPI_Abort).
struct AgreedError {
  virtual ~AgreedError() = default;
};
/// Whether `error` is one that all ranks throw at this point.
inline bool is_agreed(std::exception const& error) {
  return dynamic_cast<AgreedError const*>(&error) != nullptr;
}

/// The ranks that work together: a duplicate of the caller's communicator, or one rank without MPI.
///
/// A copy refers to the same duplicate, which is freed with the last copy, or by MPI_Finalize. Its
/// errors are returned and thrown as VendorError; the caller's handler is left alone. All members
/// but rank(), size() and send_receive() are collective.
class Communicator {
 public:
  /// One rank; calls no MPI.
  Communicator() = default;
#ifdef STRATA_ENABLE_MPI
  /// A duplicate of `caller`; collective. Throws VendorError.
  explicit Communicator(MPI_Comm caller);
  /// The duplicate.
  MPI_Comm mpi() const;
#endif

  /// The number of this process, from 0.
  int rank() const { return rank_; }
  /// The number of ranks.
  int size() const { return size_; }

  /// The sums over the ranks, in place; each rank gets the same bits.
  void sum(std::span<double> values) const;
  /// The largest value of all ranks, on each.
  double max(double value) const;
  /// The values of rank `root`, in place on all ranks.
  void broadcast(std::span<double> values, int root) const;
  /// The value of each rank.
  std::vector<std::int64_t> gather(std::int64_t value) const;
  /// The values of all ranks, rank by rank; each gives any number of them, all together below 2^31.
  std::vector<double> gather(std::span<double const> values) const;
  /// The text of each rank on rank 0, nothing on the others; all together below 2^31 bytes.
  std::vector<std::string> gather_text(std::string const& text) const;
  /// What rank r gives to `to[this rank]` arrives in [r] of the result; to has size() lists.
  ///
  /// Throws   ValueError on all ranks if one sends or gets 2^31 numbers or more.
  std::vector<std::vector<double>> exchange(std::vector<std::vector<double>> to) const;
  /// Sends numbers to one rank, and at the same time receives numbers from another rank, or from
  /// the same. No message is sent for no numbers. Not collective: both ends of a message make the
  /// call.
  void send_receive(std::span<double const> out, int to, std::span<double> in, int from) const;
  /// Returns when all ranks have called it.
  void barrier() const;

  /// For each rank, the lowest rank that shares its memory.
  std::vector<int> hosts() const;

  /// The ranks 0 to `ranks` - 1 by themselves; nothing on the others.
  std::optional<Communicator> first(int ranks) const;

  /// Call `local` on each rank. If it throws on some, all ranks throw the exception of the lowest
  /// such rank.
  ///
  /// `local` must not communicate. One rank keeps its exception as it is; several get the same
  /// strata type and text, with the rank named, as an AgreedError.
  template <class Local>
  std::invoke_result_t<Local> agree(Local&& local) const {
    using Result = std::invoke_result_t<Local>;
    if constexpr (std::is_void_v<Result>) {
      agree_void(local);
    } else {
      std::optional<Result> result;
      agree_void([&] { result.emplace(local()); });
      return std::move(*result);
    }
  }

  /// Call `local`, which may communicate within `part`, on the ranks that have a part; nothing on
  /// the others. What the part agreed on, all ranks throw. An exception of one of its ranks alone
  /// leaves that one, and the others wait.
  template <class Local>
  std::optional<std::invoke_result_t<Local>> agree_with_part(
      std::optional<Communicator> const& part, Local&& local) const {
    std::optional<std::invoke_result_t<Local>> result;
    std::exception_ptr agreed;
    if (part) {
      try {
        result.emplace(local());
      } catch (std::exception const& error) {
        if (part->size() > 1 && !is_agreed(error)) throw;
        agreed = std::current_exception();
      }
    }
    agree_void([&] {
      if (agreed) std::rethrow_exception(agreed);
    });
    return result;
  }

 private:
  void agree_void(std::function<void()> const& local) const;

  struct Handle;
  std::shared_ptr<Handle> handle_;
  int rank_ = 0, size_ = 1;
};

}  // namespace strata

#endif
