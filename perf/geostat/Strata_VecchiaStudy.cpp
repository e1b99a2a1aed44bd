// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Vecchia's approximation, step by step: order, neighbours, groups, a likelihood, its derivatives,
// a whole fit and predictions. Each has seconds by the clock and of processor time, which a busy
// machine changes less. --write gives the same data, in the order of conditioning, to others:
// beside_gpgp.R.
#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/neighbours/Strata_MaximinOrder.hpp>
#include <geostat/vecchia/Strata_VecchiaFit.hpp>
#include <geostat/vecchia/Strata_VecchiaPrediction.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::geostat;
using Exec = Kokkos::DefaultExecutionSpace;

struct Request {
  std::int64_t n = 25000, neighbours = 30, places = 10000;
  MaternCovariance theta{1, 0.1, 0.8, 0.1};
  bool grouped = true, nu_is_known = false, fits = true;
  std::string write;
};

// Seconds by the clock, and of all the process' threads; a device's work is not in the latter.
class Timer {
 public:
  void tell(char const* what) {
    auto const now = std::chrono::steady_clock::now();
    std::clock_t const work = std::clock();
    std::printf("%-36s %9.3f s  %9.3f s of processor time\n", what,
                std::chrono::duration<double>(now - start_).count(),
                static_cast<double>(work - work_) / static_cast<double>(CLOCKS_PER_SEC));
    std::fflush(stdout);
    start_ = std::chrono::steady_clock::now();
    work_ = std::clock();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t work_ = std::clock();
};

// A field by 500 random waves: its covariance is the Matern one in the mean, and for any n it takes
// O(n). Frequencies have the density of Matern's spectrum in the plane, (1 + w^2)^(-nu - 1).
constexpr int wave_count = 500;

struct Wave {
  double a, b, phase;
};

struct Waves {
  Kokkos::View<Wave*, Exec> waves;
  Kokkos::View<double*, Exec> x, y, value;
  double height, nugget;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    constexpr double turn = 2 * Kokkos::numbers::pi;
    double sum = 0;
    for (int k = 0; k < wave_count; ++k) {
      Wave const wave = waves(k);
      sum += Kokkos::cos(wave.a * x(i) + wave.b * y(i) + wave.phase);
    }
    auto const number = static_cast<std::uint64_t>(i);
    // normal numbers of Box and Muller
    value(i) = height * sum + Kokkos::sqrt(-2 * nugget * Kokkos::log(uniform(11, number, 0))) *
                                  Kokkos::cos(turn * uniform(11, number, 1));
  }
};

template <class Value>
Kokkos::View<Value*, Exec> copied(std::vector<Value> const& values) {
  Kokkos::View<Value const*, Kokkos::HostSpace> const host(values.data(), values.size());
  Kokkos::View<Value*, Exec> const copy("strata::perf::vecchia::copy", values.size());
  Kokkos::deep_copy(copy, host);
  return copy;
}

std::vector<double> waves(Exec const& exec, Locations const& at, MaternCovariance const& c) {
  constexpr double turn = 2 * std::numbers::pi;
  std::vector<Wave> some;
  for (std::uint64_t k = 0; k < wave_count; ++k) {
    double const w = std::sqrt(std::pow(uniform(7, k, 0), -1 / c.nu) - 1) / c.range;
    double const direction = turn * uniform(7, k, 1), phase = turn * uniform(7, k, 2);
    some.push_back({w * std::cos(direction), w * std::sin(direction), phase});
  }
  Waves const field{copied(some),
                    copied(at.x),
                    copied(at.y),
                    Kokkos::View<double*, Exec>("strata::perf::vecchia::field", at.x.size()),
                    std::sqrt(2 * c.sigma2 / wave_count),
                    c.nugget};
  Kokkos::parallel_for("strata::perf::vecchia::waves",
                       Kokkos::RangePolicy<Exec>(exec, 0, at.size()), field);
  std::vector<double> values(at.x.size());
  Kokkos::View<double*, Kokkos::HostSpace> const host(values.data(), values.size());
  Kokkos::deep_copy(exec, host, field.value);
  exec.fence("strata::perf::vecchia::waves");
  return values;
}

// With the first of the order first, so that others condition on the same neighbours.
void write_in(std::vector<std::int64_t> const& order, Locations const& at,
              std::vector<double> const& y, std::string const& path) {
  Stations ordered;
  for (auto const i : order) {
    auto const k = static_cast<std::size_t>(i);
    ordered.x.push_back(at.x[k]), ordered.y.push_back(at.y[k]), ordered.value.push_back(y[k]);
  }
  write_stations(path, ordered);
}

void fit_and_predict(Exec const& exec, Request const& request, Locations const& at,
                     std::vector<double> const& y, Vecchia<Exec> const& model, Timer& timer) {
  VecchiaFitOptions how;
  how.approximation = {request.neighbours, request.grouped};
  how.exact_up_to = 0;
  auto options = default_fit_options(at, y);
  timer.tell("where the fit starts");
  options.on_step = [](FitStep const& step) {
    std::printf("  evaluation %lld: %.6f, %.3f s\n", static_cast<long long>(step.evaluation),
                step.likelihood.log_likelihood, step.likelihood.seconds);
    std::fflush(stdout);
  };
  if (request.nu_is_known) options.start.nu = request.theta.nu, options.fixed[2] = true;
  auto const found = fit_by_neighbours(exec, at, y, options, how);
  timer.tell("whole fit, order and neighbours too");
  (void)predict(exec, model, found.theta, synthetic_locations(request.places, 9));
  timer.tell("predictions with variances");
  auto const errors =
      standard_errors(found.information, found.theta, {true, true, !request.nu_is_known, true});
  std::printf("log-likelihood %.6f at the estimate; %lld evaluations, %s\n",
              found.likelihood.log_likelihood, static_cast<long long>(found.evaluations),
              found.reason.c_str());
  for (std::size_t k = 0; k < 4; ++k)
    if (!options.fixed[k])
      std::printf("%-8s %.6g +- %.2g\n", std::string(parameter_names[k]).c_str(),
                  parameters_of(found.theta)[k], errors.of[k]);
}

void study(Request const& request) {
  Exec const exec;
  std::printf("%s\nn = %lld, %lld neighbours%s, %s\n",
              ("Strata " + configuration().version).c_str(), static_cast<long long>(request.n),
              static_cast<long long>(request.neighbours), request.grouped ? " in groups" : "",
              to_string(request.theta).c_str());
  std::fflush(stdout);
  Timer timer;
  auto const at = synthetic_locations(request.n, 3);
  timer.tell("locations");
  auto const y = waves(exec, at, request.theta);
  timer.tell("values");
  auto const order = maximin_order(exec, at);
  timer.tell("order");
  if (!request.write.empty()) write_in(order, at, y, request.write);
  auto const neighbours = ordered_neighbours(exec, at, order, request.neighbours);
  timer.tell("neighbours");
  auto const blocks = request.grouped
                          ? grouped_blocks(exec, at, neighbours, order, 2 * request.neighbours + 2)
                          : blocks_of_neighbours(exec, at, neighbours, order);
  timer.tell("groups");
  std::printf("%lld blocks, the largest of order %lld\n", static_cast<long long>(blocks.size()),
              static_cast<long long>(blocks.largest()));
  Vecchia<Exec> const model(exec, at, y, Mean::Constant, blocks);
  timer.tell("data");
  double l = 0;
  for (char const* const which : {"likelihood", "likelihood, once more"}) {
    l = model.log_likelihood(exec, request.theta).log_likelihood;
    timer.tell(which);
  }
  std::printf("log-likelihood %.6f at the truth\n", l);
  for (char const* const which : {"with gradient and information", "both, once more"}) {
    (void)model.gradient(exec, request.theta);
    timer.tell(which);
  }
  if (request.fits) fit_and_predict(exec, request, at, y, model, timer);
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Request request;
  CLI::App app("Vecchia's approximation, step by step");
  app.add_option("--n", request.n, "observations");
  app.add_option("--neighbours", request.neighbours, "neighbours of each");
  app.add_option("--places", request.places, "places to predict at");
  app.add_option("--nu", request.theta.nu, "smoothness");
  app.add_option("--range", request.theta.range, "range");
  app.add_option("--grouped", request.grouped, "whether neighbours are shared");
  app.add_flag("--known-nu", request.nu_is_known, "nu is not fitted");
  app.add_option("--fit", request.fits, "whether to fit and predict");
  app.add_option("--write", request.write, "write the observations to this file");
  CLI11_PARSE(app, argc, argv);
  study(request);
  return 0;
}
