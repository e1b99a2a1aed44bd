// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <python/detail/Strata_Work.hpp>

#include <core/Strata_Errors.hpp>

#include <atomic>
#include <utility>

namespace strata::python::detail {

namespace {

// Asked for in steps, not waited for: a lock could be held while the process forks.
std::atomic<int> running{0};
std::atomic<int> asking{0};  // threads that are about to have the GIL
std::atomic<bool> ending{false};

thread_local void const* asked_by = nullptr;  // the object whose work calls Python on this thread

// Either end_work sees that this thread asks, or the thread sees that Python ends.
bool ask() {
  ++asking;
  if (!ending) return true;
  --asking;
  return false;
}

bool has_gil() {
#ifdef Py_LIMITED_API  // of Python 3.12 and later, where only the thread that has the GIL has a state
  return PyThreadState_GetDict() != nullptr;
#else
  return PyGILState_Check() != 0;
#endif
}

}  // namespace

Gil::Gil() : held_(has_gil() || ask()) {
  if (!held_) return;
  bool const asked = !has_gil();
  state_ = PyGILState_Ensure();
  if (asked) --asking;
}
Gil::~Gil() {
  if (held_) PyGILState_Release(state_);
}

WithoutGil::WithoutGil() : state_(ending ? nullptr : PyEval_SaveThread()) {}
WithoutGil::~WithoutGil() {
  if (state_ == nullptr) return;
  while (!ask()) std::this_thread::sleep_for(std::chrono::hours(1));
  PyEval_RestoreThread(state_);
  --asking;
}

Running::Running() noexcept { ++running; }
Running::~Running() { --running; }

void Call::require_wanted() const {
  if (is_left_) throw Error("the work was interrupted");
  if (is_apart_) return;
  Gil const gil;
  if (gil.held() && PyErr_CheckSignals() != 0) throw nb::python_error();
}

Callback::Callback(Call const& call) : before_(asked_by) {
  if (!gil_.held()) throw Error("Python has ended");
  asked_by = call.object;
}
Callback::~Callback() { asked_by = before_; }

void Callback::require_not_of(void const* object) {
  if (asked_by == object)
    throw Error("a function that the work of an object calls can't use that object");
}

double& seconds_of_work() noexcept {
  thread_local double seconds = 0;
  return seconds;
}

void end_work() {
  ending = true;
  while (running > 0 || asking > 0) {
    PyThreadState* const state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void forget_work() { running = asking = 0; }

}  // namespace strata::python::detail
