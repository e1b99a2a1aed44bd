// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The out-of-core study: variants, budgets, devices and precisions on Matern matrices (nu = 1/2), as
// paper B has them, to a table and JSON for perf/figures/paper_b.py.
#include "Strata_OocStudy.hpp"

#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_TextFile.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

namespace {

using namespace strata;
using namespace strata::study;
using Json = nlohmann::json;

std::string shown(Json const& row, char const* key) {
  if (!row.contains(key)) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.2e", row[key].get<double>());
  return text;
}

void print(Json const& row, double gemm) {
  if (row.contains("error")) {
    std::printf("| %ld | %ld | %s | %.3g | refused: %s |\n", row["n"].get<long>(),
                row["tile_size"].get<long>(), row["variant"].get<std::string>().c_str(),
                row["budget_bytes"].get<double>() / 1e9, row["error"].get<std::string>().c_str());
    return;
  }
  auto const histogram = row["histogram"].get<std::vector<long>>();
  std::printf(
      "| %ld | %ld | %s | %d | %d | %.3g | %.3g | %.0e | %ld/%ld/%ld/%ld | %.3f | %.3f | %.3f | "
      "%.3f | %.3f | %.3f | %s | %s |\n",
      row["n"].get<long>(), row["tile_size"].get<long>(), row["variant"].get<std::string>().c_str(),
      row["devices"].get<int>(), row["streams"].get<int>(), row["budget_bytes"].get<double>() / 1e9,
      row["range"].get<double>(), row["accuracy"].get<double>(), histogram[0], histogram[1],
      histogram[2], histogram[3], row["factor_seconds"].get<double>(),
      row["flop_per_s"].get<double>() * 1e-12, row["flop_per_s"].get<double>() / gemm,
      row["bytes_in"].get<double>() / 1e9, row["bytes_out"].get<double>() / 1e9,
      row["bytes_peer"].get<double>() / 1e9, shown(row, "backward_error").c_str(),
      shown(row, "kl").c_str());
  std::fflush(stdout);
}

/// f(case) for all combinations, matrices outermost.
template <class Function>
void for_each_case(Request const& r, Function const& f) {
  for (auto const n : r.n)
    for (auto const tile : r.tile)
      for (double const range : r.range)
        for (double const accuracy : r.accuracy)
          for (auto const block : r.column_block)
            for (int const devices : r.devices)
              for (double const budget : r.budget_bytes)
                for (auto const variant : r.variants)
                  for (int k = 0; k < r.repetitions; ++k)
                    f(Case{n, tile, range, accuracy, variant, devices, budget, block});
}

void write_json(Request const& request, GemmRates const& gemm, GemmRates const& gemm_tile,
                Json const& rows) {
  if (request.json.empty()) return;
  auto const machine = devices();
  Json document{{"schema", "strata.ooc_study/1"},
                {"strata_commit", configuration().commit},
                {"host", machine.host.model},
                {"execution_space", Exec::name()},
                {"gemm_n", request.gemm_n},
                {"gemm_flop_per_s", gemm.best},
                {"gemm_sustained_flop_per_s", gemm.sustained},
                {"gemm_tile_flop_per_s", gemm_tile.best},
                {"gemm_tile_sustained_flop_per_s", gemm_tile.sustained},
                {"nu", 0.5},
                {"nugget", request.nugget},
                {"precisions", request.precisions},
                {"rows", rows}};
  if (!machine.accelerators.empty()) document["device"] = machine.accelerators.front().name;
  write_text_file(request.json, document.dump(1) + "\n");
}

int run(Request const& request) {
  bool const simulated = !request.rates.empty();
  GemmRates const known =
      simulated ? GemmRates{request.rates[0] * 1e12, request.rates[0] * 1e12} : GemmRates();
  auto const measured = [&](std::int64_t n) {
    GemmRates const rates = simulated ? known : gemm_rates(n, request.gemm_seconds);
    std::printf("dgemm, n = %ld: %.3f Tflop/s at best, %.3f sustained\n", static_cast<long>(n),
                rates.best * 1e-12, rates.sustained * 1e-12);
    return rates;
  };
  GemmRates const gemm = measured(request.gemm_n), gemm_tile = measured(request.tile.front());
  std::printf(
      "\n| n | tile | variant | devices | streams | budget GB | range | accuracy | fp64/32/16/8 "
      "tiles | seconds | Tflop/s | of dgemm | GB in | GB out | GB peer | backward error | KL |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  Runner runner(request);
  Json rows = Json::array();
  bool failed = false;
  for_each_case(request, [&](Case const& one) {
    rows.push_back(simulated ? runner.simulate(one) : runner.run(one));
    Json const& row = rows.back();
    print(row, gemm.best);
    failed |= row.value("refined", true) == false && row["info"] == 0;
    write_json(request, gemm, gemm_tile, rows);  // what is there survives an end by force
  });
  if (failed) std::fprintf(stderr, "a solution was not refined to fp64 accuracy\n");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Out-of-core Cholesky: variants, budgets, devices and precisions");
  Request request;
  std::vector<std::string> variants = {"v4"};
  app.add_option("--n", request.n, "orders")->delimiter(',')->capture_default_str();
  app.add_option("--tile", request.tile, "tile sizes")->delimiter(',')->capture_default_str();
  app.add_option("--budget", request.budget_bytes, "bytes of tiles on each device; 0: what is free")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--variant", variants, "sync, async, v1, v2, v3, v4, or all")->delimiter(',');
  app.add_option("--devices", request.devices, "numbers of devices")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--same-device", request.same_device, "all of them are device 0");
  app.add_flag("--no-peer", request.no_peer, "fetch from the host only");
  app.add_option("--streams", request.streams, "of each device; 0: automatic");
  app.add_option("--lookahead", request.lookahead, "updates that v4 fetches ahead")
      ->capture_default_str();
  app.add_option("--column-block", request.column_block,
                 "columns of tiles factored together; 0: automatic")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--range", request.range, "of the Matern covariance")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--nugget", request.nugget, "added to its diagonal");
  app.add_option("--accuracy", request.accuracy, "thresholds of the precision rule; 0: fp64")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--precisions", request.precisions, "from high to low")->delimiter(',');
  app.add_flag("--refine", request.refine, "solve, refine, and judge the backward error");
  app.add_flag(
      "--kl", request.kl,
      "the divergence of a factor in low precision from the fp64 one, which comes before it: "
      "--accuracy 0,...");
  app.add_option("--repetitions", request.repetitions, "of each case");
  app.add_option("--gemm-n", request.gemm_n, "order of the product that rates are compared with")
      ->capture_default_str();
  app.add_option("--gemm-seconds", request.gemm_seconds, "of such products, for the sustained rate")
      ->capture_default_str();
  app.add_option("--simulate", request.rates,
                 "run nothing, but play it on a machine with these rates: Tflop/s of products in "
                 "fp64, fp32, fp16, fp8 and of solves, GB/s in, out and between devices")
      ->delimiter(',')
      ->expected(8);
  app.add_option(
      "--checkpoint", request.checkpoint,
      "keep finished columns in this folder, and go on from those that are there; for one "
      "case");
  app.add_option("--json", request.json, "write the rows here");
  app.add_option("--trace", request.trace, "write Perfetto traces here, the variant in the name");
  app.add_option("--map", request.map, "write precision maps (PPM) to files that begin so");
  CLI11_PARSE(app, argc, argv);
  try {
    request.variants.clear();
    for (auto const& name : variants) {
      if (name == "all")
        request.variants.assign(enum_values<ooc::Variant>.begin(), enum_values<ooc::Variant>.end());
      else
        request.variants.push_back(from_name<ooc::Variant>(name));
    }
    bool const one = request.n.size() * request.tile.size() * request.range.size() *
                         request.accuracy.size() * request.column_block.size() *
                         request.devices.size() * request.budget_bytes.size() *
                         request.variants.size() * static_cast<std::size_t>(request.repetitions) ==
                     1;
    STRATA_REQUIRE(
        ValueError, !request.kl || (request.accuracy.front() == 0 && request.rates.empty()),
        "--kl compares with the fp64 factor, which comes first: --accuracy 0,..., without "
        "--simulate");
    STRATA_REQUIRE(ValueError, request.checkpoint.empty() || one,
                   "--checkpoint is for one case, these are several");
    Kokkos::ScopeGuard const kokkos(argc, argv);
    return run(request);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "strata_ooc_study: %s\n", error.what());
    return 1;
  }
}
