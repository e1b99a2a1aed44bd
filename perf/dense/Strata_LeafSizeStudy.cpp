// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Measures leaf sizes on the device at hand and writes its rows of the table that the library
// compiles in.
#include <core/Strata_MatrixRef.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using Exec = Kokkos::DefaultExecutionSpace;
using Json = nlohmann::json;
using DeviceMatrix = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space>;
using Times = std::map<std::int64_t, std::map<std::int64_t, double>>;  // by n, by leaf size

struct Options {
  std::vector<std::int64_t> n, most{128, 256, 512, 1024, 2048};
  std::vector<std::string> kinds{"fp64", "fp32", "low"};
  int repetitions = 3;
  double gain = 0.02;
  std::string json, times, table;
};

// The rules that are tried: the current one's units and least size with other shares and bounds.
std::vector<LeafSizeRule> candidates(LeafSizeRule const& current, Options const& options) {
  std::vector<LeafSizeRule> rules{current};
  for (std::int64_t const divisor : {1, 2, 4, 8, 16, 32})
    for (std::int64_t const most : options.most)
      rules.push_back({divisor, current.unit, std::min(current.least, most), most});
  return rules;
}

// Every layer below fp32 that a tree with such leaves has, as `automatic_layers` gives them.
LayerList layers_of(std::string const& kind, std::int64_t n, std::int64_t leaf) {
  if (kind == "fp64") return {Precision::fp64};
  std::vector<Precision> layers;
  for (std::int64_t size = n; kind == "low" && size > leaf; size = half_of_leaves(size, leaf))
    layers.push_back(Precision::fp16);
  layers.push_back(Precision::fp32);
  return LayerList(layers);
}

// Seconds of the fastest factorisation, the first not counted.
double measure(DeviceMatrix const& A, LayerList const& layers, std::int64_t leaf, int repetitions) {
  Exec const exec;
  LeafBlas<Exec> blas(exec);
  BlockTree<LayerList, Exec> tree(exec, static_cast<std::int64_t>(A.extent(0)), layers, leaf);
  Kokkos::View<std::int64_t, Exec::memory_space> const info("strata::study::info");
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= repetitions; ++k) {
    tree.load(exec, Uplo::Lower, matrix_ref(A));
    exec.fence("strata::study::loaded");
    Kokkos::Timer const timer;
    tree_potrf(blas, tree, info);
    exec.fence("strata::study::factored");
    if (k > 0) best = std::min(best, timer.seconds());
  }
  std::int64_t order = 0;
  Kokkos::deep_copy(order, info);
  STRATA_REQUIRE(ValueError, order == 0, "leaf size ", leaf, " of ", A.extent(0),
                 " columns: the minor of order ", order, " is not positive");
  return best;
}

Times measure(std::string const& kind, LeafSizeRule const& current, Options const& options) {
  Times times;
  for (std::int64_t const n : options.n) {
    DeviceMatrix const A("strata::study::A", n, n);
    generate_dominant(Exec(), A, 1);
    std::set<std::int64_t> leaves;
    for (LeafSizeRule const& rule : candidates(current, options)) leaves.insert(rule(n));
    for (std::int64_t const leaf : leaves)
      times[n][leaf] = measure(A, layers_of(kind, n, leaf), leaf, options.repetitions);
  }
  return times;
}

Json to_json(std::string const& kind, Times const& times) {
  Json list = Json::array();
  for (auto const& [n, by_leaf] : times)
    for (auto const& [leaf, seconds] : by_leaf)
      list.push_back({{"kind", kind}, {"n", n}, {"leaf", leaf}, {"seconds", seconds}});
  return list;
}

std::map<std::string, Times> read_times(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw IoError("cannot read " + path);
  std::map<std::string, Times> all;
  Json const document = Json::parse(file);
  for (Json const& one : document.at("times"))
    all[one.at("kind").get<std::string>()][one.at("n").get<std::int64_t>()]
       [one.at("leaf").get<std::int64_t>()] = one.at("seconds").get<double>();
  return all;
}

// Mean of log(seconds), over all orders; infinite if a leaf size was not measured.
double cost(LeafSizeRule const& rule, Times const& times) {
  double sum = 0;
  for (auto const& [n, by_leaf] : times) {
    auto const found = by_leaf.find(rule(n));
    if (found == by_leaf.end()) return std::numeric_limits<double>::infinity();
    sum += std::log(found->second);
  }
  return times.empty() ? 0 : sum / static_cast<double>(times.size());
}

// The fastest rule, or the current one if that gains less than `gain`, which is noise.
LeafSizeRule fastest(LeafSizeRule const& current, Times const& times, Options const& options) {
  LeafSizeRule best = current;
  for (LeafSizeRule const& rule : candidates(current, options))
    if (cost(rule, times) < cost(best, times)) best = rule;
  double const gained = cost(current, times) - cost(best, times);
  return gained > std::log1p(options.gain) ? best : current;
}

std::string key_of(std::string const& architecture, std::string const& kind) {
  return "{\"" + architecture + "\", \"" + kind + "\", ";
}

std::string row_of(std::string const& key, LeafSizeRule const& rule) {
  auto const number = [](std::int64_t x) { return std::to_string(x); };
  return key + '{' + number(rule.divisor) + ", " + number(rule.unit) + ", " + number(rule.least) +
         ", " + number(rule.most) + (rule.whole > 0 || rule.even ? ", " + number(rule.whole) : "") +
         (rule.even ? ", true" : "") + "}},";
}

// The row replaces that with its key, or becomes the last.
void write_row(std::string const& path, std::string const& key, std::string const& row) {
  std::ifstream input(path);
  if (!input) throw IoError("cannot read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  auto const position = std::find_if(lines.begin(), lines.end(), [&](auto const& line) {
    return line.compare(0, key.size(), key) == 0;
  });
  if (position == lines.end())
    lines.push_back(row);
  else
    *position = row;
  std::ofstream output(path);
  for (std::string const& line : lines) output << line << '\n';
  if (!output) throw IoError("cannot write " + path);
}

// A line for each order, the chosen leaf size in brackets.
void print(std::string const& kind, Times const& times, LeafSizeRule const& chosen) {
  for (auto const& [n, by_leaf] : times) {
    std::printf("%-5s %8lld:", kind.c_str(), static_cast<long long>(n));
    for (auto const& [leaf, seconds] : by_leaf)
      std::printf(leaf == chosen(n) ? "  [%lld %.4g s]" : "  %lld %.4g s",
                  static_cast<long long>(leaf), seconds);
    std::printf("\n");
  }
}

int run(Options const& options) {
  std::string const& architecture = leaf_architecture<Exec>();
  auto measured =
      options.times.empty() ? std::map<std::string, Times>{} : read_times(options.times);
  Json document{{"schema", "strata.leaf_sizes/1"},
                {"strata_commit", configuration().commit},
                {"architecture", architecture},
                {"times", Json::array()}};
  for (std::string const& kind : options.kinds) {
    LeafSizeRule current = leaf_size_rule(architecture, kind);
    std::int64_t const whole =
        std::exchange(current.whole, 0);  // the recursion is measured at every order
    bool const even = std::exchange(current.even, false);
    if (options.times.empty()) measured[kind] = measure(kind, current, options);
    Times const& times = measured[kind];
    for (Json const& one : to_json(kind, times)) document["times"].push_back(one);
    LeafSizeRule chosen = fastest(current, times, options);
    print(kind, times, chosen);
    bool const is_new = !(chosen == current);
    chosen.whole = whole;
    chosen.even = even;
    std::string const key = key_of(architecture, kind), row = row_of(key, chosen);
    std::printf("%s%s\n", row.c_str(), is_new ? "" : "  // as it was");
    if (!options.table.empty() && is_new) write_row(options.table, key, row);
  }
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << document.dump(1) << '\n';
    if (!file) throw IoError("cannot write " + options.json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  CLI::App app("Measures leaf sizes of the Cholesky factorisation and prints their table's rows");
  constexpr bool host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;
  Options options;
  options.n = host ? std::vector<std::int64_t>{512, 1024, 2048, 4096}
                   : std::vector<std::int64_t>{2048, 4096, 8192, 16384, 32768};
  app.add_option("--n", options.n, "orders of the matrices")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--most", options.most, "largest leaves that are tried")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--kind", options.kinds, "layers: fp64, fp32, low (fp16 over fp32)")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32", "low"}));
  app.add_option("--repetitions", options.repetitions, "of each factorisation; the fastest counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--gain", options.gain, "mean gain below which a row stays as it is")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--times", options.times, "choose from the times in this JSON, measure nothing");
  app.add_option("--json", options.json, "write the times here");
  app.add_option("--table", options.table,
                 "put the rows that changed here: dense/tree/detail/Strata_LeafSizes.inc");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
