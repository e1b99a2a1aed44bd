// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_Milestones.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

#include <deque>

namespace strata::vendor {

template <>
struct Milestones<runtime::Exec>::Impl {
  std::deque<runtime::Event> events;
  std::size_t reached = 0;
};

template <>
Milestones<runtime::Exec>::Milestones() : impl_(std::make_unique<Impl>()) {}
template <>
Milestones<runtime::Exec>::~Milestones() = default;

template <>
void Milestones<runtime::Exec>::set(runtime::Exec const& exec) {
  runtime::select(exec);
  auto const& event = impl_->events.emplace_back(STRATA_RUNTIME(EventDisableTiming));
  STRATA_RUNTIME_CALL(EventRecord, event, runtime::stream_of(exec));
}

template <>
std::size_t Milestones<runtime::Exec>::reached() const {
  for (; impl_->reached < impl_->events.size(); ++impl_->reached) {
    auto const status = STRATA_RUNTIME(EventQuery)(impl_->events[impl_->reached]);
    if (status == STRATA_RUNTIME(ErrorNotReady)) {
      (void)STRATA_RUNTIME(
          GetLastError)();  // else the next launch would take it for an error of its own
      break;
    }
    runtime::check(status, STRATA_RUNTIME_TEXT(EventQuery));
  }
  return impl_->reached;
}

template <>
void Milestones<runtime::Exec>::await(std::size_t count) const {
  if (count <= impl_->reached) return;
  STRATA_RUNTIME_CALL(EventSynchronize, impl_->events[count - 1]);
  impl_->reached = count;
}

template class Milestones<runtime::Exec>;

}  // namespace strata::vendor
