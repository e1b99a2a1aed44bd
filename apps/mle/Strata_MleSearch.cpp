// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_MleSearch.hpp>

#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/shared/Strata_Tiles.hpp>
#include <comm/Strata_Together.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <string_view>
#include <utility>

namespace strata::apps {

std::shared_ptr<std::atomic<bool>> watch_factors(geostat::CovarianceFactorOptions& how,
                                                 std::int64_t n, std::string const& of,
                                                 Progress& progress) {
  auto watched = std::make_shared<std::atomic<bool>>(true);
  std::int64_t const tile =
      how.tile_size > 0 ? how.tile_size
                        : ooc::TileMatrix<Kokkos::DefaultExecutionSpace>::automatic_tile_size(
                              n, how.devices.front().budget_bytes);
  progress.phase("filling tiles" + of);
  how.on_fill = [=, &progress](double part) {
    end_if_asked("");
    if (!*watched) return;
    part < 1 ? progress.done(part) : progress.phase("factoring" + of);
  };
  how.on_task = [watched,
                 count = count_tasks((n + tile - 1) / tile, how.comm ? how.comm->size() : 1,
                                     progress)](ooc::Task const& task) {
    end_if_asked("");
    if (*watched) count(task);
  };
  how.on_silence = warn_of_silence(how.comm.get(), progress);
  return watched;
}

namespace {

// As --start takes them.
std::string numbers_of(geostat::Covariance const& theta) {
  geostat::Covariance first = theta;
  first.second.reset();
  std::string all = to_string(first);
  all = all.substr(all.find(':') + 1);
  if (!theta.second) return all;
  std::string const both = to_string(theta);
  return all + "+" + both.substr(both.rfind(':') + 1);
}

// The same in three digits: with the seconds behind it, it must fit into a narrow terminal's line.
std::string in_short(geostat::Covariance const& theta) {
  auto const of = [](geostat::Family family, double sigma2, double range, double nu) {
    return text("%.3g,%.3g", sigma2, range) + (has_shape(family) ? text(",%.3g", nu) : "");
  };
  std::string const nugget = text(",%.3g", theta.nugget);
  std::string const first = of(theta.family, theta.sigma2, theta.range, theta.nu) + nugget;
  if (!theta.second) return first;
  auto const& second = *theta.second;
  return first + "+" + of(second.family, second.sigma2, second.range, second.nu);
}

}  // namespace

Search::Search(MleOptions const& asked, Observations const& data,
               geostat::CovarianceFactorOptions const& factor, Progress& progress,
               MleResult& result)
    : options(together(factor.comm.get(), [&] { return fit_options(asked, data); })),
      asked_(asked),
      progress_(progress),
      result_(result) {
  options.factor = factor;
}

void Search::begin() {
  result_.asked = options;
  options.on_step = [this](geostat::FitStep const& step) {
    if (is_first) *is_first = false;
    see(step);
    tell(step);
    end_if_asked("");
  };
  result_.has_default_lower = !asked_.lower;
  result_.has_default_upper = !asked_.upper;
  watch_ = {};
}

void Search::see(geostat::FitStep const& step) {
  bool const is_defined = step.likelihood.info == 0;
  result_.log_likelihoods.push_back(is_defined ? step.likelihood.log_likelihood : std::nan(""));
  seconds_ += watch_.lap();
  evaluations_ = step.evaluation;
  not_positive_definite_ += is_defined ? 0 : 1;
  if (is_defined && step.likelihood.log_likelihood == step.best) best_ = step;
}

void Search::tell(geostat::FitStep const& step) const {
  progress_.phase(text("evaluation %lld: %.2f at ", static_cast<long long>(step.evaluation),
                       step.likelihood.log_likelihood) +
                  in_short(step.theta));
  auto const done = static_cast<double>(step.evaluation);
  progress_.left(seconds_ / done * (static_cast<double>(asked_.max_evaluations) - done), true);
}

void Search::take(geostat::Fit const& fitted) {
  result_.fit = fitted;
  result_.theta = fitted.theta;
  result_.likelihood = fitted.likelihood;
}

// Whether an error that all ranks have came of a signal that any of them got. Collective.
bool Search::is_ended_by(Error const& error) const {
  Communicator const* const comm = options.factor.comm.get();
  if (!all_have(comm, error)) return false;
  double const ended = has_ended() ? 1 : 0;
  return (comm ? comm->max(ended) : ended) > 0;
}

void Search::end(std::string const& why) {
  geostat::Fit fit;
  fit.theta = best_->theta;
  fit.likelihood = best_->likelihood;
  fit.reason = words(why, " after ", counted(evaluations_, "evaluation"), "; --start ",
                     numbers_of(best_->theta), " goes on from the best");
  fit.noise = best_->likelihood.error();
  fit.evaluations = evaluations_;
  fit.not_positive_definite = not_positive_definite_;
  fit.seconds = seconds_;
  fit.evaluation_seconds = seconds_ / static_cast<double>(evaluations_);
  take(fit);
  result_.is_ended = true;
}

}  // namespace strata::apps
