// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_DATA_HPP
#define STRATA_APPS_MLE_DATA_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <core/io/Strata_Csv.hpp>
#include <geostat/Strata_Locations.hpp>

#include <string>
#include <vector>

namespace strata::apps {

class Progress;

/// As --distance says, else great circles where the columns are longitude and latitude.
///
/// Throws   UsageError for distances on the sphere without these columns.
geostat::Metric metric_of(Stations const& stations, MleOptions const& options);

/// Where the stations are, with the coordinates beyond y, which are the first of `also`.
geostat::Locations locations_of(Stations const& stations, MleOptions const& options);

/// The columns of x, y and the value among those of --columns, and others.
StationColumns plane_columns(std::vector<std::string> names, std::vector<std::string> also);

/// Read the station file, without what is not to be counted; copies and warnings go to `result`.
///
/// Throws   what `read_stations` throws.
Observations read_observations(MleOptions const& options, Progress& progress, MleResult& result);

}  // namespace strata::apps

#endif
