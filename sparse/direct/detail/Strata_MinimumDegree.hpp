// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_MINIMUM_DEGREE_HPP
#define STRATA_SPARSE_DETAIL_MINIMUM_DEGREE_HPP

#include <sparse/products/detail/Strata_HostCsr.hpp>

#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// The order in which rows are eliminated so that the factors of A, pattern of A + A', get few
/// entries: the old row of each new one. Rows of more than max(16, 10 sqrt(n)) entries come last.
///
/// Source   P. Amestoy, T. Davis, I. Duff, An approximate minimum degree ordering algorithm, SIMAX
///          17(4), 1996, doi:10.1137/S0895479894278952: quotient graph, approximate degrees, mass
///          elimination, indistinguishable rows.
std::vector<std::int32_t> minimum_degree(HostCsr const& A);

}  // namespace strata::sparse::detail

#endif
