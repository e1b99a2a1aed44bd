// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Ranks.hpp>

#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Terminal.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <core/info/Strata_Version.hpp>

#include <Kokkos_Core.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

namespace strata::apps {

#ifdef STRATA_ENABLE_MPI
MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  // Errors of MPI_Init_thread itself end the program: there is no communicator yet whose handler
  // says otherwise.
  (void)MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (provided >= MPI_THREAD_FUNNELED) return;
  MPI_Finalize();
  throw VendorError(
      "MPI_Init_thread: this MPI has no threads beside the one that calls it "
      "(MPI_THREAD_FUNNELED)");
}
MpiSession::~MpiSession() { MPI_Finalize(); }
int MpiSession::ranks() const {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
sparse::Communicator all_ranks() { return sparse::Communicator(MPI_COMM_WORLD); }
#else
MpiSession::MpiSession() = default;
MpiSession::~MpiSession() = default;
int MpiSession::ranks() const { return 1; }
sparse::Communicator all_ranks() { return {}; }
#endif

RankMemory memory_of_rank(sparse::Communicator const& comm) {
  auto const found = comm.agree([] { return devices(); });
  bool const on_host = found.accelerators.empty();
  std::string identity;  // of what has the memory, on its host
  RankMemory memory{static_cast<double>(found.host.memory_available_bytes),
                    static_cast<double>(found.host.memory_bytes)};
  for (auto const& device : found.accelerators)
    if (device.id == Kokkos::device_id()) {
      memory.available = memory.installed = static_cast<double>(device.memory_bytes);
      identity = device.identity;
    }
  auto const hosts = comm.hosts();
  auto const hash = static_cast<std::int64_t>(std::hash<std::string>{}(identity));
  auto const identities = comm.gather(on_host ? std::int64_t{0} : hash);
  auto const own = static_cast<std::size_t>(comm.rank());
  int sharing = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    sharing += hosts[rank] == hosts[own] && identities[rank] == identities[own];
  return {memory.available / sharing, memory.installed / sharing};
}

Exit tell(sparse::Communicator const& comm, Exit exit, std::exception const& error) {
  if (comm.size() == 1) throw;
  if (!sparse::is_agreed(error)) end_all_ranks(error.what());
  if (comm.max(has_ended() ? 1 : 0) > 0) exit = Exit::Ended;  // on this rank or another
  // In one piece, which a launcher's own lines do not tear apart.
  if (comm.rank() == 0) std::cerr << error_line(one_line(error.what())) << std::flush;
  comm.barrier();
  return exit;
}

#ifdef STRATA_ENABLE_MPI
namespace {

// MPICH's launcher drops what it has not read from a rank when that calls MPI_Abort. It is given
// 0.1 s to read.
void await_reader(int pipe) {
  constexpr int tries = 100, microseconds = 1000;
  int unread = 0;
  for (int i = 0; i < tries && ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0; ++i)
    usleep(microseconds);
}

}  // namespace
#endif

void end_all_ranks(std::string_view message) {
  int rank = 0;
#ifdef STRATA_ENABLE_MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  std::cerr << error_line(words("rank ", rank, " alone: ", one_line(message))) << std::flush;
#ifdef STRATA_ENABLE_MPI
  await_reader(STDERR_FILENO);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::Failed));
#endif
  std::_Exit(static_cast<int>(Exit::Failed));  // no destructor that waits for the other ranks
}

}  // namespace strata::apps
