// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Strata's tiles over the ranks of MPI beside ScaLAPACK's pdpotrf and pdpotrs on the same ranks.
// Both take the same covariance matrix and right-hand sides by the same descriptors. The table has
// seconds, also of the way into tiles and back, and backward errors that are computed in one way
// for both.
#include "Strata_BlacsGrid.hpp"
#include <comm/Strata_Communicator.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/io/files/Strata_TextFile.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_BlockCyclicTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Fortran has the length of a string behind the other arguments.
extern "C" {
void pdpotrf_(char const* uplo, int const* n, double* A, int const* row, int const* col,
              int const* description, int* info, std::size_t);
void pdpotrs_(char const* uplo, int const* n, int const* nrhs, double const* A, int const* row,
              int const* col, int const* description, double* B, int const* B_row, int const* B_col,
              int const* B_description, int* info, std::size_t);
}

namespace {

using namespace strata;
using namespace strata::perf;
using Exec = Kokkos::DefaultHostExecutionSpace;  // ScaLAPACK works on hosts
using Factor = ooc::TileFactor<Exec>;
using Block = Factor::Block;
using Json = nlohmann::json;

struct Request {
  std::vector<std::int64_t> n{4096, 8192}, tile{0}, block{64, 128};
  std::int64_t nrhs = 1;
  double range = 0.1, nugget = 0.01;
  int repeat = 1;
  std::string json;
};

struct Times {
  double factor = 0, solve = 0;
  double take = 0, give = 0;  // from ScaLAPACK's form into tiles, and of the factor back into it
  double sum() const { return factor + solve; }
  double all() const { return take + sum() + give; }
};

// The system that both solve.
struct System {
  std::int64_t n;
  ooc::TileGenerator<Exec> tiles;
  Block B;
};

System make_system(std::int64_t n, Request const& request) {
  geostat::MaternCovariance const covariance{1, request.range, 0.5, request.nugget};
  System system{n, geostat::matern_tiles(Exec(), covariance, geostat::synthetic_locations(n)),
                Block("strata::perf::B", n, request.nrhs)};
  for (std::int64_t j = 0; j < request.nrhs; ++j)
    for (std::int64_t i = 0; i < n; ++i) system.B(i, j) = 2 * uniform(3, i, j) - 1;
  return system;
}

// Seconds of a step that all ranks do, of the slowest.
template <class Step>
double seconds_of(Communicator const& comm, Step const& step) {
  comm.barrier();
  Kokkos::Timer const timer;
  step();
  return comm.max(timer.seconds());
}

// What one method came to, at one size of its blocks.
struct Measured {
  std::string method;
  std::int64_t block = 0;
  Times seconds;
  std::int64_t iterations = 0;  // of the refinement
  Block X;                      // whole on each rank
  double backward_error = 0;
};

// --- the matrix and the right-hand sides, as both take them ---

// The lower triangle: what is above is not read.
void fill(Distributed& A, System const& system, std::int64_t block) {
  std::vector<double> buffer(static_cast<std::size_t>(block * block));
  A.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    if (row < col) return;
    system.tiles(Exec(), row, col,
                 ooc::TileView<Exec>(buffer.data(), std::size_t(rows), std::size_t(cols)));
    Exec().fence("strata::perf::scalapack");
    for (int j = 0; j < cols; ++j)
      std::copy_n(buffer.data() + std::ptrdiff_t(j) * rows, rows, at + std::ptrdiff_t(j) * A.ld());
  });
}
void fill(Distributed& B, Block const& whole) {
  B.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) at[i + j * B.ld()] = whole(row + i, col + j);
  });
}

// On each rank.
Block whole(Communicator const& comm, Distributed& X, System const& system) {
  Block const all("strata::perf::X", system.B.extent(0), system.B.extent(1));
  X.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) all(row + i, col + j) = at[i + j * X.ld()];
  });
  comm.sum({all.data(), all.size()});  // of one number and zeros
  return all;
}

// --- ScaLAPACK ---

Measured by_scalapack(Communicator const& comm, Grid const& grid, System const& system,
                      std::int64_t block) {
  std::int64_t const columns = static_cast<std::int64_t>(system.B.extent(1));
  Distributed A(grid, system.n, system.n, block), B(grid, system.n, columns, block);
  fill(A, system, block);
  fill(B, system.B);
  Measured measured;
  measured.method = "ScaLAPACK, fp64";
  measured.block = block;
  int const n = static_cast<int>(system.n), nrhs = static_cast<int>(columns), one = 1;
  int info = 0;
  measured.seconds.factor =
      seconds_of(comm, [&] { pdpotrf_("L", &n, A.data(), &one, &one, A.description(), &info, 1); });
  STRATA_REQUIRE(ValueError, info == 0, "pdpotrf: ", info);
  measured.seconds.solve = seconds_of(comm, [&] {
    pdpotrs_("L", &n, &nrhs, A.data(), &one, &one, A.description(), B.data(), &one, &one,
             B.description(), &info, 1);
  });
  STRATA_REQUIRE(ValueError, info == 0, "pdpotrs: ", info);
  measured.X = whole(comm, B, system);
  return measured;
}

// --- Strata ---

struct Strata {
  Measured measured;
  std::unique_ptr<Distributed> A;  // of which residuals are made
  Factor factor;
};

// From blocks of this size.
Strata by_strata(std::shared_ptr<Communicator const> const& comm, Grid const& grid,
                 System const& system, std::int64_t block, bool in_fp32, std::int64_t tile) {
  ooc::TileMatrixOptions options;
  if (in_fp32) {  // but for the diagonal
    options.rule.accuracy = 0.5;
    options.rule.precisions = {Precision::fp64, Precision::fp32};
    options.rule.operand_rule = false;
  }
  auto A = std::make_unique<Distributed>(grid, system.n, system.n, block);
  Distributed B(grid, system.n, static_cast<std::int64_t>(system.B.extent(1)), block);
  Distributed L(grid, system.n, system.n, block);
  fill(*A, system, block);
  fill(B, system.B);
  Measured measured;
  measured.method = in_fp32 ? "Strata, fp32 tiles, refined" : "Strata, fp64, refined";
  measured.block = tile > 0 ? tile : ooc::TileMatrix<Exec>::automatic_tile_size(system.n);
  auto const a = A->view(comm), b = B.view(comm), l = L.view(comm);
  std::optional<ooc::TileMatrix<Exec>> matrix;
  measured.seconds.take = seconds_of(
      *comm, [&] { matrix.emplace(ooc::from_block_cyclic(Exec(), a, measured.block, options)); });
  ooc::DeviceTeam<Exec> const team(ooc::make_devices(1));
  std::optional<Factor> factor;
  measured.seconds.factor =
      seconds_of(*comm, [&] { factor.emplace(ooc::cholesky(team, std::move(*matrix))); });
  bool converged = false;
  measured.seconds.solve = seconds_of(*comm, [&] {
    auto const report = ooc::solve(Exec(), *factor, b, b);
    measured.iterations = report.iterations;
    converged = report.converged;
  });
  STRATA_REQUIRE(ValueError, converged, measured.method, ": the refinement did not converge");
  measured.seconds.give = seconds_of(*comm, [&] { copy_factor(*factor, l); });
  measured.X = whole(*comm, B, system);
  return {std::move(measured), std::move(A), std::move(*factor)};
}

// --- both ---

// ||B - A X|| / (||A|| ||X|| + ||B||) in the norm of the largest row, of the worst column.
double backward_error(Factor const& factor, System const& system, Block const& X) {
  Block const Y("strata::perf::product", X.extent(0), X.extent(1));
  factor.apply(Exec(), X, Y);
  double worst = 0;
  for (std::size_t j = 0; j < X.extent(1); ++j) {
    double residual = 0, x = 0, b = 0;
    for (std::size_t i = 0; i < X.extent(0); ++i) {
      residual = std::max(residual, std::abs(system.B(i, j) - Y(i, j)));
      x = std::max(x, std::abs(X(i, j)));
      b = std::max(b, std::abs(system.B(i, j)));
    }
    worst = std::max(worst, residual / (factor.matrix().given_norm_inf() * x + b));
  }
  return worst;
}

// The fastest of several runs with several sizes of blocks.
template <class Run>
auto best_of(std::vector<std::int64_t> const& blocks, int repeat, Run const& run) {
  std::optional<decltype(run(blocks.front()))> best;
  auto const seconds = [](auto const& made) {
    if constexpr (requires { made.measured; })
      return made.measured.seconds.sum();
    else
      return made.seconds.sum();
  };
  for (std::int64_t const block : blocks)
    for (int r = 0; r < repeat; ++r) {
      auto made = run(block);
      if (!best || seconds(made) < seconds(*best)) best.emplace(std::move(made));
    }
  return std::move(*best);
}

// The fastest of each method, at one n.
std::vector<Measured> compare(std::shared_ptr<Communicator const> const& comm, Grid const& grid,
                              std::int64_t n, Request const& request) {
  System const system = make_system(n, request);
  std::vector<Measured> rows;
  rows.push_back(best_of(request.block, request.repeat, [&](std::int64_t block) {
    return by_scalapack(*comm, grid, system, block);
  }));
  for (bool const in_fp32 : {false, true}) {
    auto made = best_of(request.tile, request.repeat, [&](std::int64_t tile) {
      return by_strata(comm, grid, system, rows.front().block, in_fp32, tile);
    });
    rows.push_back(std::move(made.measured));
    if (in_fp32)  // products with A are of its blocks, whatever the tiles
      for (Measured& row : rows) row.backward_error = backward_error(made.factor, system, row.X);
  }
  return rows;
}

Json to_json(std::int64_t n, Measured const& row, Times const& beside) {
  return {{"n", n},
          {"method", row.method},
          {"block", row.block},
          {"take_seconds", row.seconds.take},
          {"factor_seconds", row.seconds.factor},
          {"solve_seconds", row.seconds.solve},
          {"give_seconds", row.seconds.give},
          {"seconds", row.seconds.sum()},
          {"seconds_of_all", row.seconds.all()},
          {"scalapack_over_this", beside.sum() / row.seconds.sum()},
          {"scalapack_over_all_of_this", beside.all() / row.seconds.all()},
          {"iterations", row.iterations},
          {"backward_error", row.backward_error}};
}

void print(std::int64_t n, Measured const& row, Times const& beside) {
  Times const& seconds = row.seconds;
  std::printf("%7lld  %-28s %5lld  %9.3f  %9.3f  %6.2f  %8.3f  %8.3f  %6.2f  %5lld  %9.1e\n",
              static_cast<long long>(n), row.method.c_str(), static_cast<long long>(row.block),
              seconds.factor, seconds.solve, beside.sum() / seconds.sum(), seconds.take,
              seconds.give, beside.all() / seconds.all(), static_cast<long long>(row.iterations),
              row.backward_error);
  std::fflush(stdout);
}

int run(Request const& request) {
  auto const comm = std::make_shared<Communicator const>(MPI_COMM_WORLD);
  Grid const grid(comm->size());
  bool const reports = comm->rank() == 0;
  Json document{{"schema", "strata.scalapack_comparison/2"},
                {"strata_commit", configuration().commit},
                {"host", devices().host.model},
                {"ranks", comm->size()},
                {"grid", {grid.rows(), grid.cols()}},
                {"execution_space", Exec::name()},
                {"concurrency", Exec().concurrency()},
                {"nrhs", request.nrhs},
                {"range", request.range},
                {"nugget", request.nugget},
                {"repeat", request.repeat},
                {"rows", Json::array()}};
  if (reports)
    std::printf(
        "%s, %d ranks, ScaLAPACK's in %d x %d; of %d runs of each block the fastest\n"
        "%7s  %-28s %5s  %9s  %9s  %6s  %8s  %8s  %6s  %5s  %9s\n",
        devices().host.model.c_str(), comm->size(), grid.rows(), grid.cols(), request.repeat, "n",
        "", "block", "factor s", "solve s", "ratio", "take s", "give s", "of all", "iter.",
        "error");
  bool wrong = false;
  for (std::int64_t const n : request.n) {
    auto const rows = compare(comm, grid, n, request);
    for (Measured const& row : rows) {
      Times const& beside = rows.front().seconds;
      wrong = wrong || !(row.backward_error < 1e-13);
      document["rows"].push_back(to_json(n, row, beside));
      if (reports) print(n, row, beside);
    }
    if (reports && !request.json.empty())
      write_text_file(request.json,
                      document.dump(1) + "\n");  // what is there survives an end by force
  }
  if (wrong && reports) std::printf("FAILED: a backward error is above 1e-13\n");
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tiles over ranks beside ScaLAPACK: mpirun -n 2 strata_scalapack_comparison");
  Request request;
  app.add_option("--n", request.n, "orders")->delimiter(',')->capture_default_str();
  app.add_option("--tile", request.tile, "of Strata's tiles, 0: its own choice; the fastest counts")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--block", request.block, "of ScaLAPACK's blocks; the fastest counts")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--nrhs", request.nrhs, "right-hand sides")->capture_default_str();
  app.add_option("--range", request.range, "of the exponential covariance")->capture_default_str();
  app.add_option("--nugget", request.nugget, "on its diagonal")->capture_default_str();
  app.add_option("--repeat", request.repeat, "runs of each, the fastest counts")
      ->capture_default_str();
  app.add_option("--json", request.json, "file for the numbers");
  CLI11_PARSE(app, argc, argv);
  int provided = MPI_THREAD_SINGLE, code = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  try {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    code = run(request);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the other ranks may wait for this one
  }
  MPI_Finalize();
  return code;
}
