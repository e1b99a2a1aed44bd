// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_NEAR_NULL_SPACE_HPP
#define STRATA_SPARSE_NEAR_NULL_SPACE_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace strata::sparse {

/// Vectors that a matrix, but for what holds its unknowns, maps to little or to 0: what smoothing
/// does not reach, so that coarse levels must represent it.
struct NearNullSpace {
  int width = 0;               ///< vectors
  std::vector<double> values;  ///< number of each row in each vector

  /// Numbers of each vector.
  std::int64_t rows() const {
    return width > 0 ? static_cast<std::int64_t>(values.size()) / width : 0;
  }
};

/// `width` vectors: of each row, in the caller's order, its number in each.
///
/// Throws   ShapeError where the numbers are no whole rows; ValueError for none or more than 16
///          vectors, or for a number that is not finite, with its place.
std::shared_ptr<NearNullSpace const> near_null_space(std::span<double const> values, int width);

/// The motions of a rigid body in two or three dimensions: translations, then rotations round the
/// mean of the points, of a size like theirs. `places` has the coordinates of each point; of a
/// point's unknowns, one after the other, the first is the displacement along the first axis.
///
/// Throws   ShapeError unless there are 2 or 3 dimensions, and whole points; ValueError for a
///          number that is not finite, with its place.
std::shared_ptr<NearNullSpace const> rigid_body_modes(std::span<double const> places,
                                                      int dimensions);

}  // namespace strata::sparse

#endif
