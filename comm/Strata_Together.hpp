// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TOGETHER_HPP
#define STRATA_TOGETHER_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <comm/Strata_Communicator.hpp>

#include <exception>

namespace strata {

/// Call `local`, which does not communicate; if there are ranks and it throws on one, all throw the same. nullptr: one rank.
template <class Local>
auto together(Communicator const* comm, Local const& local) {
  if (!comm) return local();
  return comm->agree([&] { return name_bad_alloc("its part", local); });
}

/// Whether all ranks have this error, and so may go on together.
inline bool all_have(Communicator const* comm, std::exception const& error) {
  return !comm || comm->size() == 1 || is_agreed(error);
}

}  // namespace strata

#endif
