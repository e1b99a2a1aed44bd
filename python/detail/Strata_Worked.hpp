// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_WORKED_HPP
#define STRATA_PYTHON_WORKED_HPP

#include <c/runtime/Strata_Held.hpp>
#include <c/runtime/Strata_Runtime.hpp>

#include <mutex>
#include <utility>

namespace strata::python::detail {

/// A Work in Python's hands. One call at a time works with it; one that Ctrl-C has left behind is waited for.
template <class Work>
class Worked {
 public:
  template <class... Argument>
  explicit Worked(std::in_place_t, Argument&&... arguments)
      : held_(std::forward<Argument>(arguments)...) {}

  /// f(work), with Kokkos.
  template <class Function>
  auto use(Function const& f) {
    c::Caller const caller;
    std::lock_guard const lock(using_);
    return f(held_.work());
  }

 private:
  std::mutex using_;
  c::Held<Work> held_;
};

/// An instance, made before the work on it: whoever has an array on the device asks for the stream, which then waits for
/// what the array's package has enqueued.
struct Enqueued {
  c::Instance instance = c::new_instance();
};
class Queue : public Worked<Enqueued> {
 public:
  Queue() : Worked(std::in_place) {}
  c::Instance instance() {
    return use([](Enqueued& work) { return work.instance; });
  }
};

}  // namespace strata::python::detail

#endif
