// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_VECCHIA_FIELDS_HPP
#define STRATA_VECCHIA_FIELDS_HPP

#include <core/Strata_Fields.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>

#include <tuple>

namespace strata::geostat {

/// What is told of an approximation.
constexpr auto fields_of(VecchiaReport const*) {
  using R = VecchiaReport;
  return std::tuple(
      Field("neighbours", &R::neighbours,
            "Number of neighbours that each observation is conditioned on, at least, where there "
            "are so many before it."),
      Field("conditioned_on", &R::conditioned_on,
            "Number of observations that one is conditioned on, the mean: groups share theirs.",
            {.schema = detail::size_schema}),
      Field("blocks", &R::blocks, "Number of small covariance matrices."),
      Field("largest", &R::largest, "Order of the largest of them."),
      Field("order_seconds", &R::order_seconds, "Time to order the observations.", {.unit = "s"}),
      Field("neighbour_seconds", &R::neighbour_seconds, "Time to find neighbours.", {.unit = "s"}),
      Field("block_seconds", &R::block_seconds, "Time to group them.", {.unit = "s"}));
}

/// What is told of the exact likelihood at an approximate estimate.
constexpr auto fields_of(ExactBeside const*) {
  using E = ExactBeside;
  return std::tuple(
      Field("log_likelihood", [](E const& e) { return e.likelihood.log_likelihood; },
            "Exact log-likelihood there.", {.told = Told::InDocuments}),
      Field("likelihood", &E::likelihood, "Exact likelihood there.", {.told = Told::InPython}),
      Field("distance", [](E const& e) { return covariance_of(e.distance); },
            "Step of scoring from there to the exact maximum, nearly, in standard errors.",
            {.told = Told::InDocuments}),
      Field("distance", &E::distance,
            "Step of scoring from there to the exact maximum, nearly, by sigma2, range, nu and "
            "nugget, in standard errors; NaN where one is not estimated.",
            {.told = Told::InPython}),
      Field("reason", &E::reason, "Why there is no distance; empty: there is one."),
      Field("seconds", &E::seconds, "Time of the exact likelihood and its gradient.",
            {.unit = "s"}));
}

}  // namespace strata::geostat

#endif
