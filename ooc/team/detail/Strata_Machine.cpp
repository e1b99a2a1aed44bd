// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/detail/Strata_Machine.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <utility>

namespace strata::ooc::detail {

namespace {

template <class Exec>
Worker<Exec>& worker_of(std::vector<std::unique_ptr<Worker<Exec>>>& workers, int device,
                        std::size_t stream) {
  while (workers.size() <= stream) workers.push_back(std::make_unique<Worker<Exec>>(device));
  return *workers[stream];
}

}  // namespace

template <class Exec>
Worker<Exec>& Machine<Exec>::worker(std::size_t position, int stream) {
  return worker_of(workers_[position], devices_[position].id, static_cast<std::size_t>(stream));
}

template <class Exec>
Worker<Exec>& Machine<Exec>::near(Exec const& exec) {
  int const id = Lane<Exec>::device_of(exec);
  for (std::size_t d = 0; d < size(); ++d)
    if (devices_[d].id == id) return worker(d);
  return worker_of(others_[id], id, 0);
}

template <class Exec>
bool Machine<Exec>::link(std::size_t position, std::size_t other) {
  int& link = links_[position][other];
  if (link < 0) link = Lane<Exec>::link(devices_[position].id, devices_[other].id) ? 1 : 0;
  return link == 1;
}

template <class Exec>
template <class Function>
void Machine<Exec>::for_each_worker(Function const& f) const {
  for (auto const& workers : workers_)
    for (auto const& worker : workers) f(*worker);
  for (auto const& [id, workers] : others_)
    for (auto const& worker : workers) f(*worker);
}

template <class Exec>
int Machine<Exec>::threads() const {
  int count = 0;
  for_each_worker([&](Worker<Exec> const& worker) { count += worker.thread.is_here(); });
  return count;
}

template <class Exec>
std::size_t Machine<Exec>::bytes() const {
  std::size_t bytes = 0;
  for (Pool const& pool : pools_) bytes += pool.bytes();
  for_each_worker([&](Worker<Exec> const& worker) { bytes += worker.bytes(); });
  return bytes;
}

template <class Exec>
Machine<Exec>::~Machine() {
  typename Lane<Exec>::Visit const visit;
  pools_.clear();
  workers_.clear();
  others_.clear();
}

// As nothing was asked for yet.
template <class Exec>
void Machine<Exec>::clear() {
  pools_.assign(size(), {});
  workers_.clear();
  workers_.resize(size());
  others_.clear();
  links_.assign(size(), std::vector<int>(size(), -1));
  exchange = {};
}

template <class Exec>
void Machine<Exec>::release() {
  std::lock_guard const lock(mutex_);
  STRATA_REQUIRE(ValueError, depth_ == 0, "device team: it is used, and can't be released");
  typename Lane<Exec>::Visit const visit;
  clear();
}

template <class Exec>
void Machine<Exec>::enter() {
  std::lock_guard const lock(mutex_);
  auto const me = std::this_thread::get_id();
  STRATA_REQUIRE(ValueError, depth_ == 0 || user_ == me,
                 "device team: another thread uses it; give each thread a team of its own");
  user_ = me;
  ++depth_;
}

template <class Exec>
void Machine<Exec>::leave() {
  constexpr std::size_t most = std::size_t(1) << 30;  // bytes of one piece that are kept
  std::lock_guard const lock(mutex_);
  if (--depth_ > 0) return;
  for (Pool& pool : pools_) pool.trim(most);
  for_each_worker([](Worker<Exec>& worker) { worker.trim(most); });
  exchange.trim(most);
}

#define STRATA_INSTANTIATE(Exec) template class Machine<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
