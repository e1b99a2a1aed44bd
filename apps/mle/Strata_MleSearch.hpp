// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_SEARCH_HPP
#define STRATA_APPS_MLE_SEARCH_HPP

#include <apps/mle/Strata_Mle.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Stopwatch.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace strata::apps {

/// A fit on its way. A signal that ends it leaves the best that was found.
class Search {
 public:
  /// Collective, as the factor's options say.
  Search(MleOptions const& asked, Observations const& data,
         geostat::CovarianceFactorOptions const& factor, Progress& progress, MleResult& result);

  /// What `fit(options)` returns, a `geostat::Fit` with more, whose part of a fit goes to the
  /// result. Nothing: a signal ended the search, and the result has the best that was found.
  template <class Work>
  auto run(Work const& fit) {
    using Fitted = decltype(fit(options));
    begin();
    try {
      std::optional<Fitted> fitted = fit(options);
      take(*fitted);
      return fitted;
    } catch (Error const& error) {
      if (!best_ || !is_ended_by(error)) throw;
      end(error.what());
      return std::optional<Fitted>();
    }
  }

  geostat::FitOptions options;  ///< Options of the fit.
  /// Set to false by the first evaluation; nullptr: nobody asks.
  std::shared_ptr<std::atomic<bool>> is_first;

 private:
  void begin();
  void see(geostat::FitStep const& step);
  void tell(geostat::FitStep const& step) const;
  void take(geostat::Fit const& fitted);
  bool is_ended_by(Error const& error) const;
  void end(std::string const& why);

  MleOptions const& asked_;
  Progress& progress_;
  MleResult& result_;
  std::optional<geostat::FitStep> best_;  // none: no evaluation had a likelihood
  std::int64_t evaluations_ = 0, not_positive_definite_ = 0;
  double seconds_ = 0;
  Stopwatch watch_;
};

}  // namespace strata::apps

#endif
