// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The accuracy study: every studied layer list on hard matrices, and paper A's figure 8.
#include <core/Strata_MatrixRef.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Quantise.hpp>
#include <geostat/Strata_Matern.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::dense;
using Exec = Kokkos::DefaultExecutionSpace;
using Host = Kokkos::DefaultHostExecutionSpace;
using DeviceMatrix = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space>;
using Json = nlohmann::json;

struct Case {
  std::string name;
  std::function<HostMatrix(std::int64_t n)> matrix;
};

/// {geometric, clustered} x kappa and Matern nu = 1/2 x range, each unscaled and scaled over
/// 1e+-12.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (double const spread : {1.0, 1e12}) {
    std::string const scaled = spread > 1 ? " scaled" : "";
    for (MatrixKind const kind : {MatrixKind::Geometric, MatrixKind::Cluster1}) {
      for (double const condition : {1e1, 1e3, 1e5, 1e7, 1e9, 1e12}) {
        char text[16];
        std::snprintf(text, sizeof text, " %.0e", condition);
        GeneratorOptions const options{.condition = condition, .diagonal_spread = spread};
        all.push_back({std::string(name_of(kind)) + text + scaled,
                       [=](std::int64_t n) { return generate(kind, n, options); }});
      }
    }
    for (double const range : {0.026, 0.079, 0.21})
      all.push_back({"matern " + std::to_string(range).substr(0, 5) + scaled, [=](std::int64_t n) {
                       HostMatrix A = geostat::covariance_matrix({.range = range, .nu = 0.5},
                                                                 geostat::synthetic_locations(n));
                       spread_diagonal(A, spread);
                       return A;
                     }});
  }
  return all;
}

DeviceMatrix to_device(HostMatrix const& A) {
  return Kokkos::create_mirror_view_and_copy(Exec::memory_space(), A);
}

/// ||D (A - L L^T) D||_F / ||D A D||_F over the lower triangle, d_i = a_ii^-1/2; NaN if there is no
/// factor.
double factor_error(HostMatrix const& A, DeviceMatrix const& device, LayerList const& layers,
                    CholeskyOptions options) {
  Exec const exec;
  options.ladder = false;
  auto const factor = cholesky(exec, device, layers, options);
  if (!factor.info().ok()) return std::nan("");
  DeviceMatrix const L("strata::study::L", A.extent(0), A.extent(1));
  factor.copy_factor(exec, matrix_ref(L));
  exec.fence();
  HostMatrix const R("strata::study::R", A.extent(0), A.extent(1));
  Kokkos::deep_copy(R, A);
  auto const L_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), L);
  LeafBlas<Host>(Host()).syrk(Uplo::Lower, Op::NoTrans, -1, matrix_ref(L_host), 1, matrix_ref(R));
  Kokkos::fence("strata::study::residual");
  double error = 0, norm = 0;
  for (std::size_t j = 0; j < A.extent(1); ++j) {
    for (std::size_t i = j; i < A.extent(0); ++i) {
      double const scale = A(i, i) * A(j, j);
      error += R(i, j) * R(i, j) / scale;
      norm += A(i, j) * A(i, j) / scale;
    }
  }
  return std::sqrt(error / norm);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json solve_case(Case const& one, HostMatrix const& A, DeviceMatrix const& device,
                LayerList const& layers, std::int64_t leaf) {
  Exec const exec;
  auto const n = static_cast<std::int64_t>(A.extent(0));
  CholeskyOptions options;
  options.leaf_size = leaf;
  CholeskyOptions unscaled = options;
  unscaled.equilibrate = options.equilibrate = false;
  unscaled.block_scaling = BlockScaling::None;
  double const with_scales = factor_error(A, device, layers, options);
  double const without_scales = factor_error(A, device, layers, unscaled);
  options.equilibrate = true;
  double const equilibrated = factor_error(A, device, layers, options);

  HostMatrix const known = known_solution(n, 1, 7);
  DeviceMatrix const X = to_device(known), B("strata::study::B", A.extent(0), 1),
                     Y("strata::study::Y", A.extent(0), 1);
  LeafBlas<Exec>(exec).symm(Uplo::Lower, 1, matrix_ref(device), matrix_ref(X), 0, matrix_ref(B));
  auto factor = cholesky(exec, device, layers, options);
  Json row{{"case", one.name},
           {"layers", layers.name()},
           {"factor_error", number(equilibrated)},
           {"factor_error_block_scales", number(with_scales)},
           {"factor_error_no_scales", number(without_scales)}};
  if (!factor.info().ok()) {
    row.update({{"converged", false}, {"info", factor.info().order()}});
    return row;
  }
  SolveReport const report = factor.solve(exec, B, Y);
  CholeskyReport const& done = factor.report();
  row.update({{"converged", report.converged},
              {"info", factor.info().order()},
              {"rung", name_of(done.rung)},
              {"layers_used", done.layers.name()},
              {"shift", done.shift},
              {"attempts", done.attempts.size()},
              {"climbs", report.climbs},
              {"iterations", report.iterations},
              {"refine", name_of(report.refinement.method)},
              {"backward_error", number(report.backward_error)},
              {"hpl_scaled_residual", number(report.hpl_scaled_residual)},
              {"slate_error", number(report.slate_error)}});
  return row;
}

/// -log10 of ||L - L64||_F / ||L64||_F on paper A's matrix. It is printed for the factorisation,
/// and for L64 itself rounded once to the layers' blocks. No algorithm that stores these blocks can
/// be more accurate than the second.
Json figure8(LayerList const& layers, std::int64_t n, std::int64_t leaf) {
  Exec const exec;
  DeviceMatrix const A = to_device(generate(MatrixKind::Dominant, n));
  CholeskyOptions options;
  options.leaf_size = leaf;
  options.ladder = false;
  auto const lower = [&](CholeskyFactor<Exec> const& factor) {
    DeviceMatrix const L("strata::study::L", static_cast<std::size_t>(n),
                         static_cast<std::size_t>(n));
    factor.copy_factor(exec, matrix_ref(L));
    exec.fence();
    return L;
  };
  auto const exact = lower(cholesky(exec, A, LayerList{Precision::fp64}, options));
  auto const layered = lower(cholesky(exec, A, layers, options));
  LeafBlas<Exec> blas(exec);
  BlockTree<LayerList, Exec> tree(exec, n, layers, leaf);
  tree.load(exec, Uplo::Lower, matrix_ref(exact));
  tree.quantise_all(blas);
  DeviceMatrix const rounded("strata::study::rounded", static_cast<std::size_t>(n),
                             static_cast<std::size_t>(n));
  tree.store(exec, Uplo::Lower, matrix_ref(rounded));
  exec.fence();
  auto const digits = [&](DeviceMatrix const& L) {
    auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), exact);
    auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), L);
    double error = 0, norm = 0;
    for (std::size_t j = 0; j < a.extent(1); ++j)
      for (std::size_t i = j; i < a.extent(0); ++i) {
        error += (a(i, j) - b(i, j)) * (a(i, j) - b(i, j));
        norm += a(i, j) * a(i, j);
      }
    return error == 0 ? 17.0 : -0.5 * std::log10(error / norm);
  };
  return {{"layers", layers.name()},
          {"n", n},
          {"digits", digits(layered)},
          {"digits_of_storage", digits(rounded)}};
}

/// One line per layer list: how the cases ended.
void print_summary(std::vector<Json> const& rows, std::size_t case_count) {
  std::printf(
      "| layers | solved to fp64 | as asked | shifted | higher layers | fp64 | worst backward "
      "error | "
      "most iterations | median factor error |\n|---|---|---|---|---|---|---|---|---|\n");
  for (LayerList const& layers : studied_layer_lists()) {
    int solved = 0, rungs[4] = {0, 0, 0, 0};
    double worst = 0;
    std::int64_t iterations = 0;
    std::vector<double> errors;
    for (Json const& row : rows) {
      if (row["layers"] != layers.name()) continue;
      solved += row["converged"].get<bool>();
      if (!row.contains("rung")) continue;
      constexpr Rung all[] = {Rung::AsAsked, Rung::Shifted, Rung::HigherLayers, Rung::Fp64};
      for (int r = 0; r < 4; ++r) rungs[r] += row["rung"] == name_of(all[r]);
      if (row["backward_error"].is_number())
        worst = std::max(worst, row["backward_error"].get<double>());
      iterations = std::max(iterations, row["iterations"].get<std::int64_t>());
      if (row["factor_error"].is_number()) errors.push_back(row["factor_error"].get<double>());
    }
    std::sort(errors.begin(), errors.end());
    std::printf("| %s | %d of %zu | %d | %d | %d | %d | %.1e | %ld | %.1e |\n",
                layers.name().c_str(), solved, case_count, rungs[0], rungs[1], rungs[2], rungs[3],
                worst, static_cast<long>(iterations),
                errors.empty() ? std::nan("") : errors[errors.size() / 2]);
  }
}

/// With two-way block scales the error must be below that without, on every badly scaled case and
/// low layer list.
void print_scaling(std::vector<Json> const& rows) {
  int better = 0, worse = 0;
  for (Json const& row : rows) {
    bool const scaled = row["case"].get<std::string>().find("scaled") != std::string::npos;
    auto const layers = LayerList::parse(row["layers"].get<std::string>());
    bool const low = std::any_of(layers.begin(), layers.end(),
                                 [](Precision p) { return block_scale(p, 1) != 1; });
    if (!scaled || !low || !row["factor_error_block_scales"].is_number()) continue;
    bool const broke = !row["factor_error_no_scales"].is_number();
    bool const smaller = broke || row["factor_error_block_scales"].get<double>() <
                                      row["factor_error_no_scales"].get<double>();
    (smaller ? better : worse) += 1;
  }
  std::printf(
      "\nbadly scaled, not equilibrated: block scales gave the smaller factor error (or the only "
      "factor) in %d "
      "cases, not in %d\n\n",
      better, worse);
}

int run(std::int64_t n, std::int64_t leaf, std::int64_t figure8_n, std::string const& path) {
  std::vector<Json> rows;
  auto const all = cases();
  for (Case const& one : all) {
    HostMatrix const A = one.matrix(n);
    DeviceMatrix const device = to_device(A);
    for (LayerList const& layers : studied_layer_lists())
      rows.push_back(solve_case(one, A, device, layers, leaf));
  }
  print_summary(rows, all.size());
  print_scaling(rows);
  Json figure = Json::array();
  std::printf(
      "| layers | digits of L, n = %ld (paper A, figure 8) | digits of L64 stored in these layers "
      "|\n|---|---|---|\n",
      static_cast<long>(figure8_n));
  for (LayerList const& layers : studied_layer_lists()) {
    figure.push_back(figure8(layers, figure8_n, std::max<std::int64_t>(figure8_n / 16, 1)));
    std::printf("| %s | %.1f | %.1f |\n", layers.name().c_str(),
                figure.back()["digits"].get<double>(),
                figure.back()["digits_of_storage"].get<double>());
  }
  if (!path.empty()) {
    auto const machine = devices();
    Json document{{"schema", "strata.accuracy_study/1"},
                  {"strata_commit", configuration().commit},
                  {"n", n},
                  {"leaf_size", leaf},
                  {"host", machine.host.model},
                  {"execution_space", Exec::name()},
                  {"rows", rows},
                  {"figure8", figure}};
    if (!machine.accelerators.empty()) document["device"] = machine.accelerators.front().name;
    std::ofstream file(path);
    file << document.dump(1) << '\n';
    if (!file) throw IoError("cannot write " + path);
  }
  // A solve that failed must say so; one that claims success must be right.
  for (Json const& row : rows) {
    if (row["converged"].get<bool>() && !(row["backward_error"].get<double>() <= 1e-13)) {
      std::fprintf(stderr, "claims success: %s\n", row.dump().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  CLI::App app("Accuracy of every layer list on ill-conditioned, badly scaled and Matern matrices");
  std::int64_t n = 1024, leaf = 64, figure8_n = 2048;
  std::string path;
  app.add_option("--n", n, "order of the matrices")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--leaf", leaf, "leaf size")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--figure8", figure8_n, "order of paper A's matrix")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--json", path, "write all rows here");
  CLI11_PARSE(app, argc, argv);
  return run(n, leaf, figure8_n, path);
}
