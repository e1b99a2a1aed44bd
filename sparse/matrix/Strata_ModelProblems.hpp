// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MODEL_PROBLEMS_HPP
#define STRATA_SPARSE_MODEL_PROBLEMS_HPP

#include <core/Strata_EnumNames.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <cstdint>
#include <functional>

namespace strata::sparse {

/// Matrices of the kinds that users have, on nx x ny x nz points numbered with x fastest.
enum class ModelProblem {
  Poisson7,     ///< 6 and -1, values fixed outside; SPD
  Poisson27,    ///< 26 and -1: the benchmark's matrix; SPD
  Anisotropic,  ///< seven points, couplings 1, 0.01 and 0.0001 along x, y and z; SPD
  /// seven points, diffusion 1, upwind convection of up to 20 in a vortex; not symmetric
  Convection,
  /// trilinear finite elements, Poisson's ratio 0.3, held at x = 0; three unknowns a point; SPD
  Elasticity,
  /// Laplacian of a random small-world graph of nx vertices, weights over 1 to 100, one grounded;
  /// SPD
  Graph,
};

/// Points of a model problem.
struct ModelSize {
  std::int64_t nx = 1, ny = 1, nz = 1;  ///< points along x, y and z
};

/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(ModelProblem) {
  return enum_names<ModelProblem>("model problem", {{ModelProblem::Poisson7, "poisson7"},
                                                    {ModelProblem::Poisson27, "poisson27"},
                                                    {ModelProblem::Anisotropic, "anisotropic"},
                                                    {ModelProblem::Convection, "convection"},
                                                    {ModelProblem::Elasticity, "elasticity"},
                                                    {ModelProblem::Graph, "graph"}});
}
using strata::name_of;

/// Unknowns of a point, one after the other: 3 for Elasticity, else 1.
int unknowns_per_point(ModelProblem problem);

/// Rows of the whole matrix.
///
/// Throws   ShapeError with the sizes if one is too small (1; Elasticity 2 in y and z; Graph ny =
///          nz = 1), or if there are 2^40 points or more.
std::int64_t model_rows(ModelProblem problem, ModelSize const& size);

/// Rows [first, end), columns ascending but for Graph's. `seed` is Graph's. Throws as `model_rows`;
/// ShapeError if these are no rows of the matrix. `on_progress` hears now and then what part of
/// them is made.
HostRows make_model(ModelProblem problem, ModelSize const& size, std::int64_t first,
                    std::int64_t end, std::uint64_t seed = 1,
                    std::function<void(double)> const& on_progress = {});

}  // namespace strata::sparse

#endif
