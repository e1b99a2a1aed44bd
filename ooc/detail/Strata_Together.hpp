// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TOGETHER_HPP
#define STRATA_TOGETHER_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <comm/Strata_Communicator.hpp>

namespace strata::ooc::detail {

/// Call `local`, which does not communicate; if there are ranks and it throws on one, all throw the same.
template <class Local>
auto together(Communicator const* comm, Local const& local) {
  if (!comm) return local();
  return comm->agree([&] { return name_bad_alloc("tiles", local); });
}

}  // namespace strata::ooc::detail

#endif
