// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a machine does in a second, for simulations: from a file, or measured here.
#include "Strata_OocStudy.hpp"
#include <comm/Strata_Mailbox.hpp>
#include <core/Strata_Errors.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/info/Strata_Version.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace strata::study {

using Json = nlohmann::json;

namespace {

constexpr char const* schema = "strata.machine_rates/1";

// Between the orders that are there, by the logarithm of the order; the nearest beyond them.
double rate_at(Json const& by_order, std::int64_t order, std::string const& what) {
  std::map<double, double> rates;
  for (auto const& [text, rate] : by_order.items()) {
    double const at = std::strtod(text.c_str(), nullptr);
    STRATA_REQUIRE(ValueError, at >= 1 && rate.is_number() && rate.get<double>() > 0,
                   "rates: ", what, " at order \"", text, "\" is ", rate.dump());
    rates[at] = rate.get<double>();
  }
  STRATA_REQUIRE(ValueError, !rates.empty(), "rates: none of ", what);
  auto const above = rates.lower_bound(static_cast<double>(order));
  if (above == rates.begin()) return above->second;
  if (above == rates.end()) return rates.rbegin()->second;
  auto const below = std::prev(above);
  double const part =
      std::log(static_cast<double>(order) / below->first) / std::log(above->first / below->first);
  return below->second + part * (above->second - below->second);
}

double positive(Json const& object, char const* key) {
  double const value = object.at(key).get<double>();
  STRATA_REQUIRE(ValueError, value > 0, "rates: ", key, " is ", value, ", must be positive");
  return value;
}

}  // namespace

Json read_rates(std::string const& path) {
  std::ifstream file(path);
  STRATA_REQUIRE(IoError, file.good(), "can't read ", path);
  Json const document = Json::parse(file, nullptr, false);
  STRATA_REQUIRE(ValueError, document.is_object() && document.value("schema", "") == schema, path,
                 " is no JSON of the schema ", schema);
  return document;
}

ooc::Rates rates_at(Json const& document, std::int64_t tile) {
  ooc::Rates rates;
  try {
    Json const &flops = document.at("flop_per_s"), &bytes = document.at("bytes_per_s");
    char const* const names[] = {"fp64", "fp32", "fp16", "fp8"};
    for (std::size_t form = 0; form < 4; ++form)
      rates.product_flop_per_s[form] = form > 0 && !flops.contains(names[form])
                                           ? rates.product_flop_per_s[form - 1]
                                           : rate_at(flops.at(names[form]), tile, names[form]);
    rates.solve_flop_per_s = rate_at(flops.at("trsm"), tile, "trsm");
    rates.factor_flop_per_s = rate_at(flops.at("potrf"), tile, "potrf");
    rates.in_bytes_per_s = positive(bytes, "in");
    rates.out_bytes_per_s = positive(bytes, "out");
    rates.peer_bytes_per_s = bytes.contains("peer") ? positive(bytes, "peer") : 0;
    if (bytes.contains("network")) rates.network_bytes_per_s = positive(bytes, "network");
    rates.message_seconds = document.value("message_seconds", 0.0);
  } catch (Json::exception const& error) {
    throw ValueError(std::string("rates: ") + error.what());
  }
  return rates;
}

namespace {

// Seconds of one message there or back between ranks 0 and 1, of so many bytes.
double message_seconds(Communicator const& comm, std::size_t bytes) {
  constexpr int turns = 6;
  std::vector<std::byte> data(bytes);
  Mailbox mailbox(comm);
  std::int64_t messages = 0;  // from this rank
  comm.barrier();
  Kokkos::Timer const timer;
  for (int turn = 0; comm.rank() < 2 && turn < turns; ++turn) {
    if (turn % 2 == comm.rank())
      mailbox.send(0, data.data(), bytes, 1 - comm.rank(), messages++);
    else
      mailbox.receive(0, data.data(), bytes, 1 - comm.rank());
    while (mailbox.open() > 0)
      (void)mailbox.poll([](std::int64_t) {}, [](std::int64_t, std::size_t) {});
  }
  return comm.max(comm.rank() < 2 ? timer.seconds() / turns : 0);
}

// Seconds of spans by the first word of their names, of all ranks together.
std::map<std::string, double> seconds_by_word(std::vector<RecordedSpan> const& spans,
                                              Communicator const& comm) {
  std::map<std::string, double> seconds;
  for (char const* word : {"gemm", "syrk", "trsm", "round", "potrf", "in", "out"}) {
    double sum = 0;
    for (RecordedSpan const& span : spans)
      if (span.name.substr(0, span.name.find(' ')) == word)
        sum += std::chrono::duration<double>(span.end - span.start).count();
    comm.sum({&sum, 1});
    seconds[word] = sum;
  }
  return seconds;
}

// Flops of all tiles: products, TRSM, POTRF.
std::array<double, 3> flops_of(ooc::TileMatrix<Exec> const& matrix) {
  std::array<double, 3> flops{};
  for (std::int64_t j = 0; j < matrix.tiles(); ++j)
    for (std::int64_t i = j; i < matrix.tiles(); ++i) {
      std::int64_t const m = matrix.rows(i), n = matrix.rows(j), before = j * matrix.tile_size();
      flops[0] += static_cast<double>(i == j ? syrk_flops(m, before) : gemm_flops(m, n, before));
      flops[i == j ? 2 : 1] += static_cast<double>(i == j ? potrf_flops(m) : trsm_flops(n, m));
    }
  return flops;
}

}  // namespace

// On a host one thread copies and works. A copy in counts as part of the products. A copy out and
// the norm of the final tile count as part of TRSM.
Json rates_of_run(ooc::TileMatrix<Exec> const& matrix, std::vector<RecordedSpan> const& spans,
                  Communicator const& comm) {
  auto const seconds = seconds_by_word(spans, comm);
  auto const flops = flops_of(matrix);
  double const products = seconds.at("gemm") + seconds.at("syrk") + seconds.at("in"),
               solves = seconds.at("trsm") + seconds.at("round") + seconds.at("out");
  STRATA_REQUIRE(ValueError, products > 0 && solves > 0 && flops[0] > 0, "--measure: of ",
                 matrix.tiles(), " tile rows there are no products");
  std::string const order = std::to_string(matrix.tile_size());
  double const free = 1e18;
  auto const bytes = static_cast<std::size_t>(matrix.tile_size() * matrix.tile_size()) * 8;
  Json document{{"schema", schema},
                {"machine", strata::devices().host.model + ", " + Exec::name()},
                {"flop_per_s",
                 {{"fp64", {{order, flops[0] / products}}},
                  {"trsm", {{order, flops[1] / solves}}},
                  {"potrf", {{order, flops[2] / seconds.at("potrf")}}}}},
                {"bytes_per_s", {{"in", free}, {"out", free}}}};
  if (comm.size() == 1) return document;
  (void)message_seconds(comm, bytes);
  double const none = message_seconds(comm, 0), whole = message_seconds(comm, bytes);
  document["message_seconds"] = none;
  document["bytes_per_s"]["network"] =
      static_cast<double>(bytes) / std::max(whole - none, 1e-3 * whole);
  return document;
}

}  // namespace strata::study
