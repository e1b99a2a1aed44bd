// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_DEVICE_TEAM_HPP
#define STRATA_OOC_TEAM_DEVICE_TEAM_HPP

#include <core/Strata_Pimpl.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace strata {
class Communicator;
}  // namespace strata

namespace strata::ooc {

namespace detail {
template <class ExecutionSpace>
class Machine;
template <class ExecutionSpace>
class Loan;
}  // namespace detail

/// A device that takes part: a GPU by its number, or on a host a worker with memory of its own.
struct Device {
  int id = 0;  ///< number of the GPU, or of the worker
  /// Memory for tiles; the libraries' workspaces come on top. 0: what the matrix can use, but at
  /// most 9/10 of what is free, in equal parts where devices share a memory, as workers on a host
  /// do. Workers then factor tiles where they are stored. They need the budget only for rounded
  /// copies.
  std::size_t budget_bytes = 0;
};
/// The devices that take part, in the order in which rows of tiles go round.
using Devices = std::vector<Device>;

/// `count` devices, numbered from 0.
Devices make_devices(int count, std::size_t budget_bytes = 0);

/// The NUMA node next to each device, for `TileMatrixOptions::nodes`. Workers on a host go round
/// its nodes. All the same where there is one, or in a build without libnuma.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
std::vector<int> numa_nodes(Devices const& devices);

/// The number of the device that `exec` works on, which `Device::id` is; 0 on a host.
template <class ExecutionSpace>
int device_of(ExecutionSpace const& exec);
/// Bytes of that device's memory that are free now.
///
/// Throws   VendorError.
template <class ExecutionSpace>
std::size_t free_bytes(ExecutionSpace const& exec);

namespace detail {

/// Streams of each device where it was left open and nothing is known of the matrix: 4 on a GPU, 1
/// on a host.
template <class ExecutionSpace>
int default_streams();

/// Whether a worker works on tiles where they are stored: on a host, where its budget was left
/// open.
template <class ExecutionSpace>
bool works_at_home(Device const& given);

/// For each of these devices, the number of ranks that have its memory, this one included.
/// Collective; nullptr: one rank.
template <class ExecutionSpace>
std::vector<int> ranks_that_share(Devices const& devices, Communicator const* comm);

}  // namespace detail

/// Devices, and what work on them takes: queues, library handles, threads, and memory on the
/// devices and pinned on the host. Factorisations and solves borrow it, so that the second one
/// makes nothing anew.
///
/// Copies are the same team. One thread uses it at a time, and another that tries gets a
/// ValueError. The calls of one thread, for any matrices, may follow one another in any order.
/// After an exception it works as before. It must be gone, or released, before Kokkos is finalized.
/// In a process that was forked while no call used it a team of workers on the host starts new
/// threads. Neither a GPU nor OpenMP can be used there.
///
/// Memory   made at the first use, and kept until `release` or the end of the last copy; but pieces
///          above 1 GiB, which cost nothing beside the work on as much, until the call ends.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class DeviceTeam {
 public:
  /// Throws   ValueError if there is no device; as it first works for a GPU that is not there.
  explicit DeviceTeam(Devices devices);

  /// The devices as they were given.
  Devices const& devices() const;
  /// The number of its threads, one for each stream of each device. They sleep while nothing is
  /// asked of them.
  int threads() const;
  /// Bytes of tiles and vectors that it keeps on its devices.
  std::size_t bytes() const;
  /// Gives back all that the team has.
  ///
  /// Throws   ValueError while the team is used.
  void release();

 private:
  friend class detail::Loan<ExecutionSpace>;
  using Machine = detail::Machine<ExecutionSpace>;
  using Shared = Pimpl<Machine, std::shared_ptr<Machine>>;
  Shared machine_;
};

}  // namespace strata::ooc

#endif
