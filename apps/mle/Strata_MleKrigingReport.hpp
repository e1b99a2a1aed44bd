// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_KRIGING_REPORT_HPP
#define STRATA_APPS_MLE_KRIGING_REPORT_HPP

#include <apps/mle/Strata_Mle.hpp>

#include <string>

namespace strata::apps {

/// Two digits, since an error has no more: "13000", "0.092".
std::string two_digits(double value);

/// The trend's coefficients, with errors that the covariance's own uncertainty is not in.
void show_trend(Report& report, MleResult const& result);

/// How well the observations predict each other, and their variogram.
void show_validation(Report& report, MleResult const& result);

/// What was predicted, in short.
void show_prediction(Report& report, MleResult const& result);

}  // namespace strata::apps

#endif
