// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_AMG_OPTIONS_HPP
#define STRATA_SPARSE_AMG_OPTIONS_HPP

#include <core/Strata_EnumNames.hpp>
#include <sparse/matrix/Strata_MatrixOptions.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace strata::sparse {

struct NearNullSpace;

/// What a cycle smooths a level's error with, before and after the coarse correction.
enum class Smoother {
  /// Chebyshev on one rank for a symmetric matrix with a positive diagonal, else GaussSeidel
  Automatic,
  GaussSeidel,  ///< a sweep by colours, forward and then backward
  /// steps that make Chebyshev's polynomial, for symmetric matrices with a positive diagonal
  Chebyshev,
  L1Jacobi,  ///< steps with the rows' absolute sums in the place of the diagonal
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(Smoother) {
  return enum_names<Smoother>("smoother", {{Smoother::Automatic, "auto"},
                                           {Smoother::GaussSeidel, "gs"},
                                           {Smoother::Chebyshev, "chebyshev"},
                                           {Smoother::L1Jacobi, "l1-jacobi"}});
}
using strata::name_of;

/// Choices of `make_algebraic_hierarchy`.
struct AmgOptions {
  /// i and j are coupled on the finest level if |a_ij| > strength sqrt(m_i m_j), m_i the largest of
  /// row i off the diagonal; half as much on each coarser one.
  double strength = 0.25;
  int max_levels = 20;             ///< the finest included
  std::int64_t coarse_rows = 300;  ///< solved directly from here on
  /// Unknowns of a node, one after the other, each aggregated by itself, or, with a near-null
  /// space, together; divides n, up to 16. 0: found from the pattern.
  int block_size = 0;
  /// What coarse levels represent, of one rank; none: constants.
  std::shared_ptr<NearNullSpace const> near_null_space;
  /// Keep one rank's patterns in memory, for new values of the same matrix.
  bool keeps_patterns = true;
  Smoother smoother = Smoother::Automatic;  ///< smoother of all levels
  int steps = 2;                            ///< steps of Chebyshev and L1Jacobi, before and after
  /// Storage of the coarse levels; their order is the smoother's.
  MatrixOptions matrix;
  /// Called on each rank after each step with the part of the levels' making that is done, 0 to 1,
  /// as if the steps took what they take for a seven-point stencil.
  std::function<void(double)> on_progress = {};
};

}  // namespace strata::sparse

#endif
