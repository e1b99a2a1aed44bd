// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_HOST_CSR_HPP
#define STRATA_SPARSE_DETAIL_HOST_CSR_HPP

#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// A number that counts from 0 as the standard library's containers take it.
constexpr std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Compressed rows of a square matrix in ordinary memory, columns ascending in each row: what
/// factorisations work on.
struct HostCsr {
  std::vector<std::int64_t> begin{0};  ///< first entry of each row, and the end
  std::vector<std::int32_t> column;    ///< column of each entry
  std::vector<double> value;           ///< value of each entry

  std::int64_t rows() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t entries() const { return static_cast<std::int64_t>(column.size()); }
};

/// The entries in a rank's own rows and columns, in the caller's order; other ranks' columns are
/// left out. Fences.
///
/// Throws   MemoryError.
template <class Exec>
HostCsr own_block(Exec const& exec, DistributedMatrix<Exec> const& A);

/// A', rows and columns exchanged.
HostCsr transposed(HostCsr const& A);

}  // namespace strata::sparse::detail

#endif
