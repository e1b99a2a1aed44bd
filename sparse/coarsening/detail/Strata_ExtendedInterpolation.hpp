// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_EXTENDED_INTERPOLATION_HPP
#define STRATA_SPARSE_DETAIL_EXTENDED_INTERPOLATION_HPP

#include <sparse/coarsening/detail/Strata_Splitting.hpp>

namespace strata::sparse::detail {

/// P interpolates in fine rows, and keeps the value of coarse ones. A fine row takes from the
/// coarse rows on which it depends, and from the coarse rows of the fine ones on which it depends:
///
///     W = -D~^-1 (I + T) A_FC,  t_ik = a_ik / (b_k + a_ki),
///     d~_i = a_ii + the weak entries of row i + the sum over k of t_ik a_ki.
///
/// b_k is the sum of row k over its strong coarse entries. An a_ki with the sign of a_kk counts as
/// 0. Up to four entries of a row are kept, the largest, scaled to the row's sum: constants stay
/// where A maps them to 0. Sizes that differ by less than 2^-12 are equal, and the first is taken.
///
/// Columns ascend in the rows of A. A has the rows over the border, too; a row behind two borders
/// may be empty. P has this rank's rows. Fences.
/// Throws   MemoryError.
/// Source   R. Li, B. Sjogreen, U. M. Yang, A new class of AMG interpolation methods based on
///          matrix-matrix multiplications, SISC 43(5), 2021, doi:10.1137/20M134931X (extended+i).
template <class Exec>
LocalCsr<Exec> extended_interpolation(Exec const& exec, LocalCsr<Exec> const& A,
                                      StrongGraph<Exec> const& S, RowAggregates<Exec> const& split,
                                      Border<Exec> const& border = {});
/// Its values anew, in its pattern. Fences. Throws MemoryError.
template <class Exec>
void refill_interpolation(Exec const& exec, LocalCsr<Exec> const& A, StrongGraph<Exec> const& S,
                          RowAggregates<Exec> const& split, LocalCsr<Exec> const& P);

}  // namespace strata::sparse::detail

#endif
