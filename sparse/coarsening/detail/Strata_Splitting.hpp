// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_SPLITTING_HPP
#define STRATA_SPARSE_DETAIL_SPLITTING_HPP

#include <sparse/coarsening/detail/Strata_Aggregates.hpp>

#include <cstdint>

namespace strata::sparse::detail {

/// Row i depends strongly on j if -s a_ij >= strength max over k of -s a_ik, s the sign of a_ii: an
/// entry of the diagonal's sign is never strong. Rows whose entries off the diagonal are together
/// less than a fifth of it depend on none.
///
/// Entries that miss the bound by less than 2^-16 are strong: the last bits of a backend decide
/// nothing. Fences.
/// Throws   MemoryError.
template <class Exec>
StrongGraph<Exec> dependence_graph(Exec const& exec, LocalCsr<Exec> const& A, double strength);

/// A splitting into coarse rows, an aggregate each, and fine ones, without an aggregate (-1). Each
/// fine row on which others depend depends on a coarse one. Of a symmetric graph no two coarse rows
/// depend on each other. Rows on which many depend are taken first, and one on which none depends
/// is fine.
///
/// `S` has the rows over the border too: those on which a row of this rank depends, and those that
/// depend on one.
///
/// Result   depends on the graph of all ranks alone: no backend, no number of threads or ranks.
///          Collective; fences once a round.
/// Throws   MemoryError on all ranks.
/// Source   H. De Sterck, U. M. Yang, J. J. Heys, Reducing complexity in parallel algebraic
///          multigrid preconditioners, SIMAX 27(4), 2006, doi:10.1137/040615729 (PMIS); deviation:
///          a hash of the row's number in the place of a random number.
template <class Exec>
RowAggregates<Exec> splitting(Exec const& exec, StrongGraph<Exec> const& S,
                              Border<Exec> const& border = {});

}  // namespace strata::sparse::detail

#endif
