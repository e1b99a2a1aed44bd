// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PYTHON_WORKED_HPP
#define STRATA_PYTHON_WORKED_HPP

#include <c/runtime/Strata_Held.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <python/detail/Strata_Work.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace strata::python::detail {

/// A Work on an instance `exec`, in Python's hands: one call at a time works with it.
///
/// All that shares a View with it is part of the Work, since Kokkos does not count references to a
/// View for several threads.
template <class Work>
class Worked {
 public:
  template <class... Argument>
  explicit Worked(std::in_place_t, Argument&&... arguments)
      : held_(std::forward<Argument>(arguments)...),
        stream_(c::vendor::stream_of(held_.work().exec)) {}

  /// The instance's stream, as a number; 0 on a host. Whoever has an array on the device gives it
  /// to the array's package, and the stream then waits for what that has enqueued.
  std::uintptr_t stream() const { return stream_; }

 protected:
  /// For constructors, which no other thread knows.
  Work& made() const { return held_.work(); }

 private:
  template <class Object, class Function>
  friend auto work_with(std::shared_ptr<Object> const& object, double flops, Function f);

  void const* identity() const { return this; }

  // f(work, call) or f(work) in the call's turn.
  template <class Function>
  auto use(Call& call, Function& f) {
    std::unique_lock turn(turns_, std::defer_lock);
    while (!turn.try_lock_for(std::chrono::milliseconds(50))) call.require_wanted();
    call.object = identity();
    if constexpr (std::is_invocable_v<Function&, Work&, Call&>)
      return f(held_.work(), call);
    else
      return f(held_.work());
  }

  std::timed_mutex turns_;
  c::Held<Work> held_;
  std::uintptr_t stream_;
};

/// f(work, call) or f(work) with an object's Work, in the call's turn: the one way to it. See
/// `run`; the GIL is free while the call waits, too, and who is interrupted then has done nothing.
///
/// Throws   as `run`; Error in a function that the object's work calls.
template <class Object, class Function>
auto work_with(std::shared_ptr<Object> const& object, double flops, Function f) {
  Callback::require_not_of(object->identity());
  return run(flops,
             [object, f = std::move(f)](Call& call) mutable { return object->use(call, f); });
}

/// What an object has at hand: f(work), in its turn.
template <class Object, class Function>
auto answer(std::shared_ptr<Object> const& object, Function f) {
  return work_with(object, no_flops, std::move(f));
}

/// An instance, made before the work on it.
struct Enqueued {
  c::Instance instance = c::new_instance();
  c::Exec exec = *instance;
};
class Queue : public Worked<Enqueued> {
 public:
  Queue() : Worked(std::in_place) {}
  c::Instance instance() const { return made().instance; }
};

}  // namespace strata::python::detail

#endif
