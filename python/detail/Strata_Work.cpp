// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <python/detail/Strata_Work.hpp>

#include <atomic>

namespace strata::python::detail {

namespace {
std::atomic<int> running{0};  // asked for in steps: a lock could be held while the process forks
}

Running::Running() noexcept { ++running; }
Running::~Running() { --running; }

void Running::wait_for_all() {
  while (running > 0) {
    {
      nb::gil_scoped_release const released;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void Running::forget() { running = 0; }

}  // namespace strata::python::detail
