// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ROW_EXCHANGE_HPP
#define STRATA_SPARSE_DETAIL_ROW_EXCHANGE_HPP

#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::sparse::detail {

/// Append row `row` to a message: its length, columns and values, all as fp64 (columns below 2^53).
void pack_row(HostRows const& rows, std::int64_t row, std::vector<double>& message);
/// Append the rows of a message.
void unpack_rows(std::vector<double> const& message, HostRows& rows);

/// The first row of each rank, and the end, where this rank has `rows`. Collective.
std::vector<std::int64_t> partition_of(Communicator const& comm, std::int64_t rows);

/// The rank that has a row.
std::size_t owner_of(std::vector<std::int64_t> const& first_row, std::int64_t row);

/// The columns outside [first, end) that the rows have, ascending, each once.
std::vector<std::int64_t> columns_outside(HostRows const& rows, std::int64_t first,
                                          std::int64_t end);

/// The rows `wanted` (global, ascending, none of them this rank's) of a matrix spread as
/// `first_row` says, of which this rank has `own`. Collective. Throws MemoryError on all ranks.
HostRows fetched(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                 std::vector<std::int64_t> const& wanted, HostRows const& own);

/// The rows of other ranks with columns of this one, ascending; rows and columns are spread alike.
/// Collective. Throws MemoryError on all ranks.
std::vector<std::int64_t> rows_that_refer(Communicator const& comm,
                                          std::vector<std::int64_t> const& first_row,
                                          HostRows const& rows);

/// The numbers of the rows that `to` gives each rank, of `size` numbers for each row of `from`; a
/// rank takes rows that follow its own, or gives all away. Collective. Throws MemoryError on all
/// ranks.
std::vector<double> moved(Communicator const& comm, std::vector<std::int64_t> const& from,
                          std::vector<std::int64_t> const& to, std::vector<double> const& own,
                          std::size_t size);

/// The transpose of a matrix whose rows are spread as `rows` and whose columns are spread as
/// `cols`; columns ascending. Collective. Throws MemoryError on all ranks.
HostRows transposed(Communicator const& comm, std::vector<std::int64_t> const& rows,
                    std::vector<std::int64_t> const& cols, HostRows const& own);

}  // namespace strata::sparse::detail

#endif
