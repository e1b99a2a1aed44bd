// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/mle/Strata_Mle.hpp>
#include <apps/shared/Strata_Ending.hpp>
#include <apps/shared/Strata_Progress.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/shared/Strata_Tiles.hpp>
#include <comm/Strata_Together.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

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

}  // namespace

void Search::see(geostat::FitStep const& step) {
  evaluations = step.evaluation;
  not_positive_definite += step.likelihood.info != 0;
  if (step.likelihood.info == 0 && step.likelihood.log_likelihood == step.best) best = step;
}

void Search::tell(geostat::FitStep const& step, std::int64_t max_evaluations,
                  Progress& progress) const {
  // With the seconds behind it, it must fit into a narrow terminal's line.
  auto const& theta = step.theta;
  progress.phase(text("evaluation %lld: %.2f at %.3g,%.3g,%.3g,%.3g",
                      static_cast<long long>(step.evaluation), step.likelihood.log_likelihood,
                      theta.sigma2, theta.range, theta.nu, theta.nugget));
  auto const done = static_cast<double>(step.evaluation);
  progress.left(seconds / done * (static_cast<double>(max_evaluations) - done), true);
}

void Search::end(std::string const& why, MleResult& result) const {
  geostat::Fit fit;
  fit.theta = best->theta;
  fit.likelihood = best->likelihood;
  fit.reason = words(why, " after ", counted(evaluations, "evaluation"), "; --start ",
                     numbers_of(best->theta), " goes on from the best");
  fit.noise = best->likelihood.error();
  fit.evaluations = evaluations;
  fit.not_positive_definite = not_positive_definite;
  fit.seconds = seconds;
  fit.evaluation_seconds = seconds / static_cast<double>(evaluations);
  result.fit = fit;
  result.theta = fit.theta;
  result.likelihood = fit.likelihood;
  result.is_ended = true;
}

bool is_end_of_all(Communicator const* comm, std::exception const& error) {
  if (!all_have(comm, error)) return false;
  double const ended = has_ended() ? 1 : 0;
  return (comm ? comm->max(ended) : ended) > 0;
}

}  // namespace strata::apps
