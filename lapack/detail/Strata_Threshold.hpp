// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_LAPACK_THRESHOLD_HPP
#define STRATA_LAPACK_THRESHOLD_HPP

#include <cstdint>

namespace strata::lapack::detail {

/// What a build is for.
enum class Target { Hosts, Gpus };

/// The threshold where no setting has one. From this order on, Strata saves more time than it costs
/// to begin; on a GPU the copies there and back count. docs/interoperability.md and strata.h have
/// these numbers.
constexpr std::int64_t default_threshold(Target target) {
  return target == Target::Hosts ? 512 : 1024;
}

}  // namespace strata::lapack::detail

#endif
