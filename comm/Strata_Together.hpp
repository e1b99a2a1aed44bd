// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TOGETHER_HPP
#define STRATA_TOGETHER_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <exception>
#include <functional>

namespace strata {

/// Call `local`, which does not communicate; if there are ranks and it throws on one, all throw the
/// same. nullptr: one rank.
template <class Local>
auto together(Communicator const* comm, Local const& local) {
  if (!comm) return local();
  return comm->agree([&] { return name_bad_alloc("its part", local); });
}

/// Tells `hears` how far a call is, if this rank has such a function. Collective: an exception on
/// one rank is thrown on all. comm = nullptr: one rank.
inline void tell_together(Communicator const* comm, std::function<void(double)> const& hears,
                          double value) {
  together(comm, [&] {
    if (hears) hears(value);
  });
}

/// Steps of a pass that do not communicate, between messages that all ranks send and receive. An
/// error of a step is told to all ranks at the end of the pass, so that all messages still arrive.
class LocalSteps {
 public:
  /// Call `step`, unless one before it has thrown here.
  template <class Step>
  void operator()(Step const& step) {
    if (error_) return;
    try {
      step();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  /// If a step of any rank has thrown, all throw the same. Collective.
  void end(Communicator const* comm) const {
    together(comm, [&] {
      if (error_) std::rethrow_exception(error_);
    });
  }

 private:
  std::exception_ptr error_;
};

/// Whether all ranks have this error, and so may go on together.
inline bool all_have(Communicator const* comm, std::exception const& error) {
  return !comm || comm->size() == 1 || is_agreed(error);
}

}  // namespace strata

#endif
