// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_GEOSTAT_HPP
#define STRATA_GEOSTAT_HPP

// All of Strata::geostat: Matern covariances, likelihoods with gradients, fits with the errors of
// their parameters, and kriging; for many observations all these by Vecchia's approximation.
#include <geostat/Strata_CovarianceFactor.hpp>
#include <geostat/Strata_Divergence.hpp>
#include <geostat/Strata_FisherInformation.hpp>
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_LikelihoodGradient.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/Strata_Matern.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <geostat/fit/Strata_Fit.hpp>
#include <geostat/fit/Strata_GeostatFields.hpp>
#include <geostat/fit/Strata_ProfileInterval.hpp>
#include <geostat/kriging/Strata_CrossValidation.hpp>
#include <geostat/kriging/Strata_MapFiles.hpp>
#include <geostat/kriging/Strata_Prediction.hpp>
#include <geostat/kriging/Strata_PredictionGrid.hpp>
#include <geostat/kriging/Strata_Simulation.hpp>
#include <geostat/kriging/Strata_SyntheticField.hpp>
#include <geostat/kriging/Strata_Variogram.hpp>
#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/Strata_Family.hpp>
#include <geostat/model/Strata_StandardErrors.hpp>
#include <geostat/model/Strata_Trend.hpp>
#include <geostat/neighbours/Strata_ConditioningBlocks.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/neighbours/Strata_OrderedNeighbours.hpp>
#include <geostat/vecchia/Strata_Vecchia.hpp>
#include <geostat/vecchia/Strata_VecchiaFields.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>
#include <geostat/vecchia/Strata_VecchiaSimulation.hpp>
#include <geostat/vecchia/Strata_VecchiaValidation.hpp>

#endif
