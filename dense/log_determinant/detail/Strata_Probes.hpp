// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_PROBES_HPP
#define STRATA_DENSE_DETAIL_PROBES_HPP

#include <core/kokkos_ext/Strata_ForEachElement.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

// Vectors by which the trace of a matrix is estimated, or had. Enqueued.
namespace strata::dense::detail {

/// a(i, c) = +-value, a fair coin that depends on (seed, i, c) only: their bits are mixed by the
/// finaliser of MurmurHash3, one round per word.
template <class Exec, class Block>
void random_signs(Exec const& exec, std::uint64_t seed, double value, Block const& A) {
  for_each_element(
      "strata::dense::log_determinant::random_signs", exec, static_cast<std::int64_t>(A.extent(0)),
      static_cast<std::int64_t>(A.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        std::uint64_t bits = 0;
        for (auto const word :
             {seed, static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(i)}) {
          bits += word + 0x9e3779b97f4a7c15u;
          bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdu;
          bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53u;
          bits ^= bits >> 33;
        }
        A(i, c) = bits & 1u ? value : -value;
      });
}

/// The first columns of the identity, times value.
template <class Exec, class Block>
void unit_vectors(Exec const& exec, double value, Block const& A) {
  for_each_element(
      "strata::dense::log_determinant::unit_vectors", exec, static_cast<std::int64_t>(A.extent(0)),
      static_cast<std::int64_t>(A.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) { A(i, c) = i == c ? value : 0; });
}

}  // namespace strata::dense::detail

#endif
