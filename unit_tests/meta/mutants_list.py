# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that were once made on purpose and that no test saw, and a sample of others: see mutants.py."""
from typing import NamedTuple


class Mutant(NamedTuple):
    """An expression, between the marks, that is made wrong; the tests of a program that have to see it."""

    name: str
    file: str
    where: str
    wrong: str
    program: str
    tests: str
    ranks: int = 0  # 0: without MPI


LOG_DETERMINANT, JACOBI = "dense/log_determinant/Strata_LogDeterminant.cpp", "dense/log_determinant/detail/Strata_Jacobi.hpp"
CONVERGENCE, NORM = "dense/refine/detail/Strata_Convergence.hpp", "dense/refine/detail/Strata_NormEstimate.hpp"
FISHER, DIVERGENCE, LIKELIHOOD = (f"geostat/Strata_{name}.cpp" for name in ("FisherInformation", "Divergence", "Likelihood"))
STANDARD_ERRORS = "geostat/model/Strata_StandardErrors.cpp"
HPGMXP = "sparse/hpgmxp/Strata_Hpgmxp.cpp"
BOUNDS = "*LogDeterminantBounds*:GaussRadau*:BelowSpectrum*"

ONCE_UNSEEN = [
    Mutant("ratio's error with nu", STANDARD_ERRORS, "«-2 * order * std::log(theta.range)»", "2 * order * std::log(theta.range)",
           "geostat", "StandardErrors*"),
    Mutant("ratio's error with nu, halved", STANDARD_ERRORS, "«-2 * order * std::log(theta.range)»", "-order * std::log(theta.range)",
           "geostat", "StandardErrors*"),
    Mutant("penalty above 1", HPGMXP, "return «std::min(1.0, static_cast<double>(fp64.iterations) / static_cast<double>(mixed.iterations))»;",
           "static_cast<double>(fp64.iterations) / static_cast<double>(mixed.iterations)", "sparse", "Hpgmxp.*"),
    Mutant("information of solves that did not converge", FISHER, "result.solve_converged = «solves.converged»", "true",
           "geostat", "FisherInformationTest*Converge*"),
    Mutant("divergence's third term", DIVERGENCE, "weight * «(m.second / 2 - m.third / 3 + m.fourth / 4)» / 2; fourth",
           "m.second / 2 + m.third / 3 + m.fourth / 4", "geostat", "DivergenceOn*"),
    Mutant("divergence's fourth term", DIVERGENCE, "weight * «(m.second / 2 - m.third / 3 + m.fourth / 4)» / 2; fourth",
           "m.second / 2 - m.third / 3", "geostat", "DivergenceOn*"),
    Mutant("divergence's truncation, halved", DIVERGENCE, "norm < 1 ? «fourth / 10 * norm / (1 - norm)»", "fourth / 20 * norm / (1 - norm)",
           "geostat", "DivergenceOn*"),
    Mutant("rounding without log det", LOG_DETERMINANT, "0x1p-52 * «(2 * (root + 8) * norm + root * size)»", "2 * (root + 8) * norm",
           "dense", BOUNDS),
    Mutant("rounding of known units without log det", LOG_DETERMINANT,
           "0x1p-53 * «(operators.rounding_units * norm + 4 * size + root * root * root / 4)»",
           "operators.rounding_units * norm + root * root * root / 4", "dense", BOUNDS),
    Mutant("rounding of known units without the sum's", LOG_DETERMINANT,
           "0x1p-53 * «(operators.rounding_units * norm + 4 * size + root * root * root / 4)»", "operators.rounding_units * norm + 4 * size",
           "dense", BOUNDS),
    Mutant("Radau's last entry is the node", JACOBI, "longer.push_back(«a + square / pivot»)", "a", "dense", BOUNDS),
    Mutant("a tenth of ||E||_F^2", JACOBI, "1 - std::sqrt(«10 * squares»)", "squares", "dense", BOUNDS),
    Mutant("rounding in tiles not divided", "ooc/Strata_TileFactor.cpp",
           "estimate.rounding_error = «rounding_of(exec, matrix, *team.factor, options) / estimate.lowest»",
           "rounding_of(exec, matrix, *team.factor, options)", "ooc", "TileLogDeterminant*"),
    Mutant("rounding not divided", "dense/Strata_CholeskySolve.cpp", "estimate.lowest > 0 ? «rounding / estimate.lowest»", "rounding",
           "dense", BOUNDS),
    Mutant("form's error without the mean's", LIKELIHOOD, "rest += «std::abs(result.coefficients[j]) * residuals[j + 1]»", "0.0",
           "geostat", "LikelihoodBounds*StateWhatASolve*"),
    Mutant("form's error without its rounding", LIKELIHOOD, "4 * rest * norm(X, 0) + «0x1p-51 * std::abs(result.quadratic_form)»", "0.0",
           "geostat", "LikelihoodBounds*"),
    Mutant("block's x without its unit", CONVERGENCE, "x = worst(x, «std::ldexp(best.x_sum, column.exponent - largest)»)", "best.x_sum",
           "dense", "Convergence*"),
    Mutant("block's r without its unit", CONVERGENCE, "r = worst(r, «std::ldexp(best.r_sum, column.exponent - largest)»)", "best.r_sum",
           "dense", "Convergence*"),
    Mutant("SLATE's error without n", CONVERGENCE, "? 0 : «(r / given_norm_) / x / n_»", "(r / given_norm_) / x", "dense", "Convergence*"),
    Mutant("converged without SLATE's threshold", CONVERGENCE, "hpl_scaled(given_error) <= hpl_threshold && «slate <= slate_threshold»", "true",
           "dense", "Convergence*"),
    Mutant("converged without HPL's threshold", CONVERGENCE, "refined_error <= tolerance_ && «hpl_scaled(given_error) <= hpl_threshold»", "true",
           "dense", "Convergence*"),
    Mutant("CG leaves a worse x", "sparse/krylov/detail/Strata_KeptIterate.hpp", "if («has_kept && !(norm <= norm_)»)", "false",
           "sparse", "ConjugateGradientsTest*"),
    Mutant("the first rung is made again", "core/Strata_StepLadder.hpp", "held_ = «now_»;", "std::size_t(0)", "ooc", "OocSolve*"),
    Mutant("this rank's seconds", HPGMXP, "phase.seconds = «comm.max(phase.seconds)»", "phase.seconds", "sparse", "HpgmxpRun*TimesSolves*", 2),
    Mutant("a breakdown is finite", HPGMXP, "is_finite = «is_finite && report.status != KrylovStatus::Breakdown»", "is_finite",
           "sparse", "Hpgmxp.*"),
    Mutant("asymmetry of 160 eps", "core/io/matrix_file/Strata_MatrixBlocks.cpp", "bound = «tolerance * root(row + i) * root(col + j)»",
           "10 * tolerance * root(row + i) * root(col + j)", "core", "MatrixBlocks*"),
    Mutant("pivot of 1e-9", STANDARD_ERRORS, "i == j && !(«sum > 1e-10»)", "sum > 1e-9", "geostat", "StandardErrors*"),
    Mutant("row sums of 1e-10", "sparse/matrix/Strata_MatrixProperties.cpp", "unequal += !(«Kokkos::abs(of.sum[r]) <= 1e-13 * of.size[r]»)",
           "Kokkos::abs(sum) <= 1e-10 * size", "sparse", "SingularTest*SumsOfRows*"),
    Mutant("a globe of 360 degrees", "geostat/fit/Strata_FitDefaults.cpp", "globe ? «std::min(width, 180.0)»", "width", "geostat", "FitOptions*"),
    Mutant("tiles below the diagonal once", "ooc/schedule/Strata_PrecisionMap.cpp", "sum += «(i == j ? 1 : 2)» * squares", "1",
           "ooc", "PrecisionMap*"),
    Mutant("entries below the diagonal once", "ooc/team/detail/Strata_TileKernels.cpp", "square = «2 * square + x * x»", "square + x * x",
           "ooc", "TileMatrixOn*"),
    Mutant("promoted layers with the shift", "dense/detail/Strata_Ladder.hpp", "rung = Rung::HigherLayers; shift = «0»;", "shift",
           "dense", "Ladder*"),
    Mutant("one pass of Gram-Schmidt", "dense/refine/detail/Strata_CorrectionSolvers.hpp", "«kernels_.combine(-1, V_, steps, again, W)»",
           "(void)0", "dense", "FlexibleGmresOn*"),
    Mutant("no second look of the norm's estimate", NORM, "double const seen = «look_at(largest(half - 1), signs_of(V))»", "1e300",
           "dense", "NormEstimate*:ConditionOn*:ConditionErrorOn*"),
    Mutant("no third look", NORM, "if («reached > seen * (1 + 0x1p-40) && std::isfinite(result_.value)») look_at", "false",
           "dense", "NormEstimate*:ConditionOn*:ConditionErrorOn*"),
    Mutant("pivots of rounding", "core/Strata_HessenbergLeastSquares.hpp", "is_dependent = «!(size > 0x1p-52 * std::hypot(size, norm(h, pivots_)))»",
           "false", "core", "HessenbergLeastSquares*"),
    Mutant("tf32's ties away from zero", "core/blas/detail/Strata_FormattedProduct.cpp", "nearest = («magnitude + 0xfffu + ((magnitude >> 13) & 1u)»)",
           "magnitude + 0x1000u", "core", "ProductFormats*"),
    Mutant("a checksum of ten characters", "core/io/matrix_file/detail/Strata_RawSidecar.cpp", "«text.size() == 8» && error", "text.size() >= 8",
           "core", "MatrixBlocks*"),
]

CONDITION, BREAKDOWN, SOLVE = "dense/refine/Strata_Condition.hpp", "dense/refine/detail/Strata_Breakdown.cpp", "dense/Strata_CholeskySolve.cpp"
OUTER, TILE_FACTOR = "sparse/krylov/detail/Strata_OuterIteration.cpp", "ooc/Strata_TileFactor.cpp"
PREDICTION, PROFILE, DEFAULTS = "geostat/kriging/Strata_Prediction.cpp", "geostat/fit/Strata_ProfileInterval.cpp", "geostat/fit/Strata_FitDefaults.cpp"

# Of places that were chosen before their tests were looked at. The tests named are those that saw them.
SAMPLE = [
    Mutant("error of x without u", CONDITION, "residual = «solve.relative_residual == 0 ? 0x1p-53 : solve.relative_residual»", "solve.relative_residual", "dense", "ForwardError*"),
    Mutant("error of x of an unknown condition", CONDITION, "return «error < 1 && condition.converged» ?", "error < 1", "dense", "ConditionOn*"),
    Mutant("digits of natural logarithms", CONDITION, "std::clamp(0.0 - «std::log10(forward_error)»", "std::log(forward_error)", "dense", "BreakdownOn*"),
    Mutant("breakdown by 16 times as much rounding", BREAKDOWN, "error = «units * static_cast<double>(n) * unit»",
           "16 * units * static_cast<double>(n) * unit", "dense", "BreakdownJudgement*"),
    Mutant("breakdown that nothing magnifies", BREAKDOWN, "is_known && «size <= error * (1 + 1 / std::max(least, unit))»", "size <= error", "dense", "BreakdownJudgement*"),
    Mutant("a breakdown's condition without the norm", BREAKDOWN, "condition = «norm / smallest»", "1 / smallest", "dense", "BreakdownJudgement*"),
    Mutant("a ridge without the pivot", BREAKDOWN, "std::log10(«std::max(error, 2 * size)»)", "error", "dense", "BreakdownJudgement*"),
    Mutant("rows that are alike, squared", BREAKDOWN, "breakdown.apart = «std::sqrt(found.val)»", "found.val", "dense", "BreakdownOn*"),
    Mutant("lost columns have converged", "dense/refine/Strata_SpdSolve.cpp", "if («lost == 0») return", "lost >= 0", "dense", "CholeskySolveOn*"),
    Mutant("no doubt without memory", "dense/refine/Strata_SpdSolve.cpp", "if («!obstacle.empty() && doubtful») {", "false", "dense", "CholeskySolveOn*"),
    Mutant("a doubtful solution stays", "dense/refine/Strata_SpdSolve.cpp", "«(!best_.converged || doubtful)») {", "!best_.converged", "dense", "CholeskySolveOn*"),
    Mutant("log det without the scaling's rounding", SOLVE, "estimate.rounding_error += «0x1p-52 * std::abs(of_scaling)»", "0.0", "dense", "LogDeterminantBounds*"),
    Mutant("log det without its own rounding", SOLVE, "estimate.rounding_error += «0x1p-53 * std::abs(estimate.value)»", "0.0", "dense", "LogDeterminantBounds*"),
    Mutant("residual without b", CONVERGENCE, "q.refined_error * «(1 + of_b)»", "1", "dense", "Convergence*"),
    Mutant("standard error of half the variance", LOG_DETERMINANT, "std::sqrt(«2 * all.square» /", "all.square", "dense", "LogDeterminant*"),
    Mutant("a rule that has 4 standard errors fewer", "dense/log_determinant/Strata_LogDeterminant.hpp", "return «4 * standard_error + quadrature_error + rounding_error»",
           "standard_error + quadrature_error + rounding_error", "dense", "CholeskyOn*"),
    Mutant("HPL's residual without n", CONVERGENCE, "return «backward_error / (n_ * 0x1p-52)»", "backward_error / 0x1p-52", "dense", "Convergence*"),
    Mutant("tiles' log det without its logarithms' rounding", TILE_FACTOR, "+ «0x1p-52 * logarithms»", "0.0", "ooc", "TileLogDeterminant*"),
    Mutant("the scaling's sign in tiles", TILE_FACTOR, "sum -= «2 * std::log(d)»", "-2 * std::log(d)", "ooc", "OocCholesky*"),
    Mutant("the operand rule's largest with the row itself", "ooc/schedule/Strata_PrecisionMap.cpp", "of.factor(i, k) * «largest.without(i)»",
           "largest.without(-1)", "ooc", "PrecisionMap*"),
    Mutant("the paper's inequality without the number of tiles", "ooc/schedule/Strata_PrecisionMap.cpp",
           "allowed = «rule.accuracy_each() * of.norms.frobenius() / static_cast<double>(tiles)»", "rule.accuracy_each() * of.norms.frobenius()", "ooc", "PrecisionMap*"),
    Mutant("fewer moduli whatever rows a tile has", "ooc/schedule/Strata_PrecisionMap.cpp", "sum += «ratio[tile_number(i, k, tiles)] * ratio[tile_number(j, k, tiles)]»",
           "0", "ooc", "*TileIntegers*:*IntegerMaps*"),
    Mutant("a tile's integers out of range unseen", "ooc/team/detail/Strata_TileIntegers.cpp", "if («!(*bound <= limit)» && *outgrown == 0)", "false", "ooc", "*TileIntegers*"),
    Mutant("rows' integers out of range unseen", "ooc/team/detail/Strata_TileIntegers.cpp", "if («!(sums[i] <= limit)» && i < least)", "false", "ooc", "*TileIntegers*"),
    Mutant("columns kept whose integers were others'", "ooc/executor/detail/Strata_Executor.cpp", "if («largest_outgrown() > 0») return;", "false", "ooc", "*TileIntegers*"),
    Mutant("sparse error of x below u", OUTER, "return «std::max(error_rate_ * here_.sizes.rows / size, 0x1p-53)»",
           "error_rate_ * here_.sizes.rows / size", "sparse", "DigitsTest*"),
    Mutant("condition by the residual before alone", OUTER, "image = «before.largest + now.largest»", "before.largest", "sparse", "DigitsTest*"),
    Mutant("no second norm", OUTER, "if («!(now.relative > options_.tolerance)») return true", "true", "sparse", "DigitsTest*"),
    Mutant("the best x by the norm of r alone", OUTER, "return «(one.relative / other.relative) * (one.residual / other.residual) < 1»",
           "one.residual / other.residual < 1", "sparse", "ScaledTest*"),
    Mutant("what gave up is at its limit", OUTER, "if («gave_up && is_good_enough()») report", "gave_up", "sparse", "ConjugateGradientsTest*"),
    Mutant("a condition below 1", OUTER, "report.condition = «std::max(1.0, options_.norm_A * inverse_)»", "options_.norm_A * inverse_", "sparse", "DigitsTest*"),
    Mutant("solved at any least squares", "sparse/Strata_SparseSolver.cpp", "«report.relative_residual <= 2 * report.incompatible»", "true", "sparse", "OuterIterationTest*"),
    Mutant("the bound of the condition without ||A||", "sparse/krylov/detail/Strata_ConditionBound.cpp", "«norm_A * size_d / size_image»",
           "size_d / size_image", "sparse", "DigitsTest*"),
    Mutant("a rate of twice the cycles", HPGMXP, "return «cycle * static_cast<double>(phase.iterations) / phase.cycle_iterations / phase.seconds»",
           "2 * cycle * static_cast<double>(phase.iterations) / phase.cycle_iterations / phase.seconds", "sparse", "Hpgmxp*"),
    Mutant("a speed-up without the penalty", HPGMXP, "(validation ? «validation->penalty()» : 1)", "1", "sparse", "Hpgmxp*"),
    Mutant("validated without fp64", "sparse/hpgmxp/Strata_Hpgmxp.hpp", "&& «fp64.status != KrylovStatus::Breakdown»", "true", "sparse", "Hpgmxp*"),
    Mutant("a kriging variance of a known mean", PREDICTION, "variance += «left * left»", "0.0",
           "geostat", "AxesTest*"),
    Mutant("predictions of the last solve", PREDICTION, "result.converged = «result.converged && solve.converged»", "result.converged", "geostat", "PredictionTest*"),
    Mutant("predictions of the first error", PREDICTION, "result.backward_error = «std::max(result.backward_error, solve.backward_error)»",
           "result.backward_error", "geostat", "PredictionTest*"),
    Mutant("an interval of rounding", PROFILE, "is_rounding_ = «found.likelihood.error() > most_error_»", "false", "geostat", "ProfileIntervalTest*"),
    Mutant("an interval of another level", PROFILE, "reach = «std::sqrt(2.0) * boost::math::erf_inv(how.level)»", "boost::math::erf_inv(how.level)",
           "geostat", "ProfileIntervalTest*"),
    Mutant("a range's bound by neighbours alone", DEFAULTS, "«std::min(neighbour / 10, apart / 100)»", "neighbour / 10", "geostat", "FitOptions*"),
    Mutant("no nugget beside copies", DEFAULTS, "has_copies ? «1e-6 * variance» : 0", "0.0", "geostat", "CovarianceFit*"),
    Mutant("extent of all places", DEFAULTS, "std::floor(«0.025 * last»)", "0.0 * last", "geostat", "FitOptions*"),
    Mutant("a likelihood without 2 pi", LIKELIHOOD, "std::log(«2 * std::numbers::pi»)", "1.0", "geostat", "AxesTest*"),
    Mutant("half of the information", FISHER, "result.of_all[j][k] = «trace / 2»", "trace", "geostat", "FisherInformationTest*"),
    Mutant("a decade of a factor of 2", "core/Strata_HessenbergLeastSquares.hpp", "residuals_[first - 1] < «10 * residual()»", "2 * residual()",
           "core", "HessenbergLeastSquares*"),
    Mutant("a dependent column's pivot", "core/Strata_HessenbergLeastSquares.hpp", "pivots_.push_back(«is_dependent ? none : open_.front()»)",
           "open_.front()", "core", "HessenbergLeastSquares*"),
    Mutant("big endian is little", "core/io/matrix_file/detail/Strata_RawSidecar.cpp", "little_endian = «!is_second(path, json, \"endian\", \"little\", \"big\", true)»",
           "true", "core", "MatrixBlocks*"),
    Mutant("a leading dimension below n", "core/io/matrix_file/detail/Strata_RawSidecar.cpp", "size_at(path, json, \"ld\", «std::max<std::int64_t>(1, sidecar.n)»)",
           "1", "core", "MatrixBlocks*"),
]

MUTANTS = ONCE_UNSEEN + SAMPLE
