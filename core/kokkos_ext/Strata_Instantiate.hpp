// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_INSTANTIATE_HPP
#define STRATA_DETAIL_INSTANTIATE_HPP

#include <core/Strata_Backends.hpp>

/// Expand f(Space) for the enabled execution spaces that run on the host.
#define STRATA_FOR_EACH_HOST_SPACE(f) STRATA_FOR_SERIAL(f) STRATA_FOR_OPENMP(f)

/// Expand f(Space) for every enabled execution space: the library's templates are compiled once for
/// each.
#define STRATA_FOR_EACH_EXECUTION_SPACE(f) \
  STRATA_FOR_EACH_HOST_SPACE(f) STRATA_FOR_CUDA(f) STRATA_FOR_HIP(f)

#endif
