// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The out-of-core study: variants, budgets, devices and precisions on Matern matrices (nu = 1/2),
// as paper B has them, to a table and JSON for perf/figures/paper_b.py.
#include "Strata_OocStudy.hpp"

#include <core/info/Strata_Version.hpp>
#include <core/io/files/Strata_TextFile.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

#ifdef STRATA_ENABLE_MPI
#include <mpi.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
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

// Their grid, and the columns of its super-panels.
std::string ranks_of(Json const& row) {
  if (row.value("ranks", 1) == 1 && row.value("super_panel", 0) == 0) return "1";
  auto const grid = row["grid"].get<std::vector<int>>();
  auto const text = std::to_string(grid[0]) + " x " + std::to_string(grid[1]);
  long const columns = row["super_panel"].get<long>();
  return columns > 0 ? text + " by " + std::to_string(columns) : text;
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
      "| %ld | %ld | %s | %s | %d | %d | %.3g | %.3g | %.0e | %ld/%ld/%ld/%ld | %.3f | %.3f | %.3f "
      "| "
      "%.3f | %.3f | %.3f | %s | %s |\n",
      row["n"].get<long>(), row["tile_size"].get<long>(), row["variant"].get<std::string>().c_str(),
      ranks_of(row).c_str(), row["devices"].get<int>(), row["streams"].get<int>(),
      row["budget_bytes"].get<double>() / 1e9, row["range"].get<double>(),
      row["accuracy"].get<double>(), histogram[0], histogram[1], histogram[2], histogram[3],
      row["factor_seconds"].get<double>(), row["flop_per_s"].get<double>() * 1e-12,
      row["flop_per_s"].get<double>() / gemm, row["bytes_in"].get<double>() / 1e9,
      row["bytes_out"].get<double>() / 1e9, row["bytes_peer"].get<double>() / 1e9,
      shown(row, "backward_error").c_str(), shown(row, "kl").c_str());
  if (row.contains("simulated_seconds"))
    std::printf("on paper, by the rates of this run: %.3f s, %.3f of it\n",
                row["simulated_seconds"].get<double>(),
                row["simulated_seconds"].get<double>() / row["factor_seconds"].get<double>());
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

// Rates of the machine that is simulated: numbers of the command line, or a file's at this order of
// tiles.
ooc::Rates rates_of(Request const& request, std::int64_t tile) {
  ooc::Rates rates;
  if (request.rates.size() == 1) {
    rates = rates_at(read_rates(request.rates[0]), tile);
  } else {
    std::vector<double> r;
    for (std::string const& text : request.rates) {
      char* end = nullptr;
      r.push_back(std::strtod(text.c_str(), &end));
      STRATA_REQUIRE(ValueError, !text.empty() && *end == 0, "--simulate: \"", text,
                     "\" is no number");
    }
    STRATA_REQUIRE(ValueError, r.size() == 8, "--simulate: ", r.size(),
                   " numbers, must be 8, or a file");
    for (std::size_t form = 0; form < 4; ++form) rates.product_flop_per_s[form] = r[form] * 1e12;
    rates.solve_flop_per_s = r[4] * 1e12;
    rates.in_bytes_per_s = r[5] * 1e9;
    rates.out_bytes_per_s = r[6] * 1e9;
    rates.peer_bytes_per_s = r[7] * 1e9;
  }
  if (!request.network.empty()) {
    rates.network_bytes_per_s = request.network[0] * 1e9;
    rates.message_seconds = request.network[1] * 1e-6;
  }
  return rates;
}

// Many ranks on paper.
int run_ranks(Request const& request) {
  print_rank_heads();
  Runner const runner(request);
  auto const many = rank_cases(request);
  Json rows = Json::array();
  for_each_case(request, [&](Case const& one) {
    ooc::Rates const rates = rates_of(request, one.tile);
    GemmRates const products{rates.product_flop_per_s[0], rates.product_flop_per_s[0]};
    for (RankCase const& ranks : many) {
      rows.push_back(runner.simulate(one, ranks, rates));
      print_rank_row(rows.back());
      write_json(request, products, products, rows);
    }
  });
  return 0;
}

int run(Request const& request, std::shared_ptr<Communicator const> const& comm) {
  bool const simulated = !request.rates.empty();
  bool const is_first = !comm || comm->rank() == 0;
  auto const measured = [&](std::int64_t n) {
    double const known =
        simulated ? rates_of(request, request.tile.front()).product_flop_per_s[0] : 0;
    GemmRates const rates =
        simulated ? GemmRates{known, known} : gemm_rates(n, request.gemm_seconds);
    if (is_first)
      std::printf("dgemm, n = %ld: %.3f Tflop/s at best, %.3f sustained\n", static_cast<long>(n),
                  rates.best * 1e-12, rates.sustained * 1e-12);
    return rates;
  };
  GemmRates const gemm = measured(request.gemm_n), gemm_tile = measured(request.tile.front());
  if (is_first)
    std::printf(
        "\n| n | tile | variant | ranks | devices | streams | budget GB | range | accuracy | "
        "fp64/32/16/8 "
        "tiles | seconds | Tflop/s | of dgemm | GB in | GB out | GB peer | backward error | KL |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  Runner runner(request, comm);
  Json rows = Json::array();
  bool failed = false;
  auto const many = simulated ? std::vector<RankCase>(1) : rank_cases(request);
  for_each_case(request, [&](Case const& one) {
    for (RankCase const& ranks : many) {
      rows.push_back(simulated ? runner.simulate(one, rates_of(request, one.tile))
                               : runner.run(one, ranks));
      Json const& row = rows.back();
      failed |= row.value("refined", true) == false && row["info"] == 0;
      if (!is_first) continue;
      print(row, gemm.best);
      write_json(request, gemm, gemm_tile, rows);  // what is there survives an end by force
    }
  });
  if (failed && is_first) std::fprintf(stderr, "a solution was not refined to fp64 accuracy\n");
  return failed ? 1 : 0;
}

// Runs all, with the ranks of MPI if they were asked for.
int run_all(Request const& request, int argc, char** argv) {
  if (!request.over_ranks) {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    return request.has_ranks() ? run_ranks(request) : run(request, nullptr);
  }
#ifdef STRATA_ENABLE_MPI
  int provided = MPI_THREAD_SINGLE, code = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  try {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    code = run(request, std::make_shared<Communicator const>(MPI_COMM_WORLD));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "strata_ooc_study: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the other ranks may wait for this one
  }
  MPI_Finalize();
  return code;
#else
  throw ValueError("--over-ranks: this build has no MPI");
#endif
}

void check(Request const& request) {
  STRATA_REQUIRE(ValueError,
                 !request.kl || (request.accuracy.front() == 0 && request.rates.empty()),
                 "--kl compares with the fp64 factor, which comes first: --accuracy 0,..., without "
                 "--simulate");
  STRATA_REQUIRE(ValueError, request.ranks.empty() || !request.rates.empty(),
                 "--ranks are of a simulation: --simulate; real ones are mpirun's: --over-ranks");
  STRATA_REQUIRE(ValueError, request.grid.empty() || request.over_ranks || !request.rates.empty(),
                 "--grid is of a simulation, --simulate, or of the ranks of --over-ranks");
  STRATA_REQUIRE(ValueError, !request.over_ranks || request.rates.empty(),
                 "--over-ranks runs, --simulate does not");
  STRATA_REQUIRE(ValueError, request.network.empty() || request.network.size() == 2,
                 "--network: ", request.network.size(), " numbers, must be GB/s and microseconds");
  STRATA_REQUIRE(ValueError,
                 !request.measure || (strata::runs_on_host<Exec> && request.streams == 1),
                 "--measure adds up the times of one thread of a host: --streams 1");
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
  app.add_option(
         "--simulate", request.rates,
         "run nothing, but play it on a machine with these rates: Tflop/s of products in "
         "fp64, fp32, fp16, fp8 and of solves, GB/s in, out and between devices; or a file of "
         "rates, as perf/ooc/rates/h200.json")
      ->delimiter(',');
  app.add_option("--ranks", request.ranks,
                 "with --simulate: numbers of ranks, on a grid that is nearly square")
      ->delimiter(',');
  app.add_option("--grid", request.grid,
                 "grids of ranks, 4x8,..., of --simulate or --over-ranks, there automatic")
      ->delimiter(',');
  app.add_option("--super-panel", request.super_panel,
                 "columns of tiles of a super-panel; 0: whole tasks, on P x 1 ranks, as --simulate "
                 "has them; "
                 "else automatic")
      ->delimiter(',');
  app.add_option("--network", request.network,
                 "for simulated ranks: GB/s of messages into each rank, and out of each, and "
                 "microseconds of one without bytes")
      ->delimiter(',');
  app.add_flag("--over-ranks", request.over_ranks, "by the ranks that mpirun starts");
  app.add_flag("--measure", request.measure,
               "on hosts: take the rates of each run from its own operations, and play it by them");
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
                         request.variants.size() * static_cast<std::size_t>(request.repetitions) *
                         std::max<std::size_t>(1, request.grid.size()) *
                         std::max<std::size_t>(1, request.super_panel.size()) ==
                     1;
    check(request);
    STRATA_REQUIRE(ValueError, request.checkpoint.empty() || one,
                   "--checkpoint is for one case, these are several");
    return run_all(request, argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "strata_ooc_study: %s\n", error.what());
    return 1;
  }
}
