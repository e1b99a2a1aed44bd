// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_Halo.hpp>

#include <comm/Strata_DeviceMessages.hpp>
#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace strata::sparse {

namespace {

void check_rows(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                std::vector<std::int64_t> const& halo) {
  comm.agree([&] {
    auto const rank = static_cast<std::size_t>(comm.rank());
    for (auto const row : halo)
      STRATA_REQUIRE(ValueError,
                     row >= 0 && row < first_row.back() &&
                         (row < first_row[rank] || row >= first_row[rank + 1]),
                     "halo: row ", row, " of a matrix of ", first_row.back(),
                     " rows is not another rank's");
  });
}

}  // namespace

#ifdef STRATA_ENABLE_MPI

using strata::detail::check_mpi;

namespace {

using Neighbours = std::vector<HaloPattern::Neighbour>;

// Ascending global rows lie owner by owner.
Neighbours owners(std::vector<std::int64_t> const& first_row,
                  std::vector<std::int64_t> const& halo) {
  Neighbours result;
  for (std::size_t k = 0; k < halo.size(); ++k) {
    auto const above = std::upper_bound(first_row.begin(), first_row.end(), halo[k]);
    int const owner = static_cast<int>(above - first_row.begin()) - 1;
    auto const at = static_cast<std::int64_t>(k);
    if (result.empty() || result.back().rank != owner) result.push_back({owner, at, at});
    result.back().end = at + 1;
  }
  return result;
}

}  // namespace

HaloPattern discover_halo(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                          std::vector<std::int64_t> const& halo) {
  check_rows(comm, first_row, halo);
  auto const ranks = static_cast<std::size_t>(comm.size()),
             rank = static_cast<std::size_t>(comm.rank());
  HaloPattern pattern;
  pattern.rows = first_row[rank + 1] - first_row[rank];
  pattern.halo = static_cast<std::int64_t>(halo.size());
  if (ranks == 1) return pattern;
  pattern.from = owners(first_row, halo);
  std::vector<int> asked(ranks), asking(ranks), asked_at(ranks + 1), asking_at(ranks + 1);
  for (auto const& owner : pattern.from)
    asked[static_cast<std::size_t>(owner.rank)] = static_cast<int>(owner.end - owner.begin);
  check_mpi(MPI_Alltoall(asked.data(), 1, MPI_INT, asking.data(), 1, MPI_INT, comm.mpi()),
            "MPI_Alltoall");
  std::partial_sum(asked.begin(), asked.end(), asked_at.begin() + 1);
  std::partial_sum(asking.begin(), asking.end(), asking_at.begin() + 1);
  pattern.wanted.resize(static_cast<std::size_t>(asking_at[ranks]));
  check_mpi(
      MPI_Alltoallv(halo.data(), asked.data(), asked_at.data(), MPI_INT64_T, pattern.wanted.data(),
                    asking.data(), asking_at.data(), MPI_INT64_T, comm.mpi()),
      "MPI_Alltoallv");
  for (auto& row : pattern.wanted) row -= first_row[rank];
  for (std::size_t other = 0; other < ranks; ++other)
    if (asking[other] > 0)
      pattern.to.push_back({static_cast<int>(other), asking_at[other], asking_at[other + 1]});
  return pattern;
}

namespace {

template <class Exec, class Scalar>
void pack(Exec const& exec, Vector<std::int32_t, typename Exec::memory_space> const& rows,
          Scalar const* x, Scalar* buffer) {
  Kokkos::parallel_for(
      "strata::sparse::halo::pack",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) { buffer[k] = x[rows(k)]; });
}

template <class Exec, class Scalar>
void unpack(Exec const& exec, std::int64_t count, Scalar const* buffer, Scalar* halo) {
  Kokkos::parallel_for(
      "strata::sparse::halo::unpack", detail::RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) { halo[k] = buffer[k]; });
}

}  // namespace

// The exchange runs on an instance of its own, whose small kernels get in between those that it
// runs beside. Pinned buffers are read and written by kernels, so that staging needs no copy more
// than the wire does.
template <class Exec>
struct Halo<Exec>::Exchange {
  using Device = Kokkos::View<double*, MemorySpace>;
  using Pinned = Kokkos::View<double*, PinnedSpace>;

  Communicator comm;
  HaloPattern pattern;
  Link<Exec> link;
  std::shared_ptr<Exec const> instance;  // of the exchange
  Vector<std::int32_t, MemorySpace> rows;
  Device device_send;
  Pinned pinned_send, pinned_receive;
  std::vector<MPI_Request> requests;
  Recorder::Clock::time_point posted;

  Exec const& exec() const { return *instance; }
  bool staged() const { return link.transport == Transport::Staged; }
  bool enqueued() const { return link.messages != nullptr; }
  void* send_buffer() const {
    return staged() ? static_cast<void*>(pinned_send.data())
                    : static_cast<void*>(device_send.data());
  }

  template <class Scalar>
  void require_halo(Vector<Scalar, MemorySpace> const& x) const {
    detail::require_entries("halo", "x", x, pattern.rows + pattern.halo);
  }

  // Room for fp64 taken as room for Scalar.
  template <class Scalar>
  static Scalar* numbers(void* buffer) {
    return static_cast<Scalar*>(buffer);
  }

  template <class Scalar>
  void post(Scalar* halo) {
    MPI_Datatype const type = sizeof(Scalar) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
    auto* const receive = staged() ? numbers<Scalar>(pinned_receive.data()) : halo;
    auto const* const send = static_cast<Scalar const*>(send_buffer());
    requests.clear();
    posted = Recorder::Clock::now();
    for (auto const& other : pattern.from)
      check_mpi(MPI_Irecv(receive + other.begin, static_cast<int>(other.end - other.begin), type,
                          other.rank, 0, comm.mpi(), &requests.emplace_back()),
                "MPI_Irecv");
    for (auto const& other : pattern.to)
      check_mpi(MPI_Isend(send + other.begin, static_cast<int>(other.end - other.begin), type,
                          other.rank, 0, comm.mpi(), &requests.emplace_back()),
                "MPI_Isend");
  }

  // Pack what was enqueued before; on a host MPI's messages are on their way.
  template <class Scalar>
  void send(Exec const& lane, Vector<Scalar, MemorySpace> const& x) {
    {
      Span const span(Track{"halo"}, lane, staged() ? "pack to host" : "pack");
      pack(lane, rows, static_cast<Scalar const*>(x.data()), static_cast<Scalar*>(send_buffer()));
    }
    if (!enqueued() && strata::runs_on_host<Exec>) post(x.data() + pattern.rows);
  }

  // Let what was packed on `lane` go, and the halo come, when the device gets there.
  template <class Scalar>
  void enqueue_messages(Exec const& lane, Vector<Scalar, MemorySpace> const& x) {
    if (!enqueued()) return;
    Span const span(Track{"messages"}, lane, "messages");
    link.messages->exchange(lane, pattern, static_cast<Scalar const*>(send_buffer()),
                            x.data() + pattern.rows);
  }

  // Wait for what was packed on `lane` and for MPI's messages.
  template <class Scalar>
  void receive(Exec const& lane, Vector<Scalar, MemorySpace> const& x) {
    if (enqueued()) return;
    Scalar* const halo = x.data() + pattern.rows;
    if (!strata::runs_on_host<Exec>) {
      lane.fence("strata::sparse::halo::packed");
      post(halo);
    }
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
    if (auto* const recorder = Recorder::current()) {
      Recorder::Stamp const arrived{Recorder::Clock::now(), {}};
      recorder->add("messages", "messages", {posted, {}}, arrived);
    }
    if (!staged()) return;
    Span const span(Track{"halo"}, lane, "unpack from host");
    unpack(lane, pattern.halo, static_cast<Scalar const*>(numbers<Scalar>(pinned_receive.data())),
           halo);
  }
};

template <class Exec>
Halo<Exec>::Halo() {}  // hipcc takes a defaulted one for a device function too

template <class Exec>
Halo<Exec>::Halo(Exec const& exec, Communicator const& comm, HaloPattern const& pattern,
                 Vector<std::int32_t, MemorySpace> const& new_row, Link<Exec> const& link) {
  if (pattern.from.empty() && pattern.to.empty()) return;
  auto const count = static_cast<std::int64_t>(pattern.wanted.size());
  exchange_ = std::make_shared<Exchange>(
      Exchange{comm, pattern, link, strata::urgent_instance(exec), {}, {}, {}, {}, {}, {}});
  auto& own = *exchange_;
  own.rows = strata::allocate<Vector<std::int32_t, MemorySpace>>(exec, "strata::sparse::halo::rows",
                                                                 count);
  if (own.staged()) {
    own.pinned_send =
        strata::allocate<typename Exchange::Pinned>(exec, "strata::sparse::halo::send", count);
    own.pinned_receive = strata::allocate<typename Exchange::Pinned>(
        exec, "strata::sparse::halo::receive", pattern.halo);
  } else {
    own.device_send =
        strata::allocate<typename Exchange::Device>(exec, "strata::sparse::halo::send", count);
  }
  auto const host = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, new_row);
  Kokkos::deep_copy(exec, host, new_row);
  exec.fence("strata::sparse::halo::new_row");
  std::vector<std::int32_t> rows(pattern.wanted.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = host(pattern.wanted[k]);
  Kokkos::View<std::int32_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const list(
      rows.data(), rows.size());
  Kokkos::deep_copy(exec, own.rows, list);
  exec.fence("strata::sparse::halo::rows");
}

template <class Exec>
bool Halo<Exec>::active() const {
  return exchange_ != nullptr;
}

template <class Exec>
template <class Scalar>
void Halo<Exec>::start(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const {
  if (!active()) return;
  auto& own = *exchange_;
  own.require_halo(x);
  strata::enqueue_wait(own.exec(), exec);
  own.send(own.exec(), x);
  strata::enqueue_wait(exec, own.exec());
  own.enqueue_messages(own.exec(), x);
}

template <class Exec>
template <class Scalar>
void Halo<Exec>::finish(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const {
  if (!active()) return;
  auto& own = *exchange_;
  Span const span(Track{"waits"}, exec, waiting_span);
  own.receive(own.exec(), x);
  if (own.staged() || own.enqueued()) strata::enqueue_wait(exec, own.exec());
}

template <class Exec>
template <class Scalar>
void Halo<Exec>::fill(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const {
  if (!active()) return;
  exchange_->require_halo(x);
  exchange_->send(exec, x);
  Span const span(Track{"waits"}, exec, waiting_span);
  exchange_->enqueue_messages(exec, x);
  exchange_->receive(exec, x);
}

#else  // one rank

HaloPattern discover_halo(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                          std::vector<std::int64_t> const& halo) {
  check_rows(comm, first_row, halo);
  HaloPattern pattern;
  pattern.rows = first_row[1] - first_row[0];
  return pattern;
}

template <class Exec>
struct Halo<Exec>::Exchange {};
template <class Exec>
Halo<Exec>::Halo() {}  // hipcc takes a defaulted one for a device function too
template <class Exec>
Halo<Exec>::Halo(Exec const&, Communicator const&, HaloPattern const&,
                 Vector<std::int32_t, MemorySpace> const&, Link<Exec> const&) {}
template <class Exec>
bool Halo<Exec>::active() const {
  return false;
}
template <class Exec>
template <class Scalar>
void Halo<Exec>::start(Exec const&, Vector<Scalar, MemorySpace> const&) const {}
template <class Exec>
template <class Scalar>
void Halo<Exec>::finish(Exec const&, Vector<Scalar, MemorySpace> const&) const {}
template <class Exec>
template <class Scalar>
void Halo<Exec>::fill(Exec const&, Vector<Scalar, MemorySpace> const&) const {}

#endif

#define STRATA_INSTANTIATE_HALO_SCALAR(Space, Scalar)                                         \
  template void Halo<Space>::start(Space const&, Vector<Scalar, Space::memory_space> const&)  \
      const;                                                                                  \
  template void Halo<Space>::finish(Space const&, Vector<Scalar, Space::memory_space> const&) \
      const;                                                                                  \
  template void Halo<Space>::fill(Space const&, Vector<Scalar, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_HALO(Space)        \
  template class Halo<Space>;                 \
  STRATA_INSTANTIATE_HALO_SCALAR(Space, fp64) \
  STRATA_INSTANTIATE_HALO_SCALAR(Space, fp32)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_HALO)

}  // namespace strata::sparse
