// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_THRESHOLD_HPP
#define STRATA_LAPACK_THRESHOLD_HPP

#include <lapack/detail/Strata_Report.hpp>

#include <cstdint>

namespace strata::lapack::detail {

/// What a build is for.
enum class Target { Hosts, Gpus };

/// The threshold where no setting has one: from this order on Strata's own work is worth more than what it costs to begin. On a
/// GPU dsposv, whose X is small, pays before the others, whose factor goes back to the host. docs/interoperability.md and strata.h
/// have these numbers.
constexpr std::int64_t default_threshold(Target target, Routine routine) {
  if (target == Target::Hosts) return 512;
  return routine == Routine::Dsposv ? 2048 : 4096;
}

}  // namespace strata::lapack::detail

#endif
