// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/instances/Strata_Lent.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/kokkos_ext/Strata_DeviceRuntime.hpp>

namespace strata::vendor {

namespace {

struct UrgentInstance {
  explicit UrgentInstance(int device) : stream(device, true), exec(stream) {}
  runtime::Stream stream;
  runtime::Exec exec;
};

// On a stream as Kokkos makes it, in order with the default stream.
struct OwnInstance {
  explicit OwnInstance(runtime::Exec const& like)
      : exec(Kokkos::Experimental::partition_space(like, 1)[0]) {}
  runtime::Exec exec;
};

// Given back when the work on it has ended.
template <class Instance>
struct Loan {
  template <class Argument>
  Loan(int device, Argument const& argument) : lent(device, argument) {}
  ~Loan() {
    if (!strata::detail::fence_at_end(lent->exec, "strata::vendor::instance::release"))
      lent.forsake();
  }
  Lent<Instance> lent;
};

template <class Instance>
std::shared_ptr<runtime::Exec const> lend(int device, auto const& argument) {
  auto const loan = std::make_shared<Loan<Instance>>(device, argument);
  return {loan, &loan->lent->exec};
}

}  // namespace

template <>
std::shared_ptr<runtime::Exec const> urgent_instance(runtime::Exec const& exec) {
  return lend<UrgentInstance>(runtime::device_of(exec), runtime::device_of(exec));
}

template <>
std::shared_ptr<runtime::Exec const> own_instance(runtime::Exec const& exec) {
  return lend<OwnInstance>(runtime::device_of(exec), exec);
}

template <>
void enqueue_wait(runtime::Exec const& waiting, runtime::Exec const& awaited) {
  runtime::select(awaited);
  runtime::Event const event(STRATA_RUNTIME(EventDisableTiming));
  STRATA_RUNTIME_CALL(EventRecord, event, runtime::stream_of(awaited));
  STRATA_RUNTIME_CALL(StreamWaitEvent, runtime::stream_of(waiting), event, 0);
}

}  // namespace strata::vendor
