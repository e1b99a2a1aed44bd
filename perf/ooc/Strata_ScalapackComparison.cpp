// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Strata's tiles over the ranks of MPI beside ScaLAPACK's pdpotrf and pdpotrs on the same ranks, for the same covariance
// matrix and right-hand sides: seconds, and backward errors that are computed in the same way for both.
#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_TextFile.hpp>
#include <core/problems/Strata_Random.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>
#include <comm/Strata_Communicator.hpp>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What C programs call of BLACS and ScaLAPACK, whose Fortran has the length of a string behind the other arguments.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, char const* order, int rows, int cols);
void Cblacs_gridinfo(int context, int* rows, int* cols, int* row, int* col);
void Cblacs_gridexit(int context);
int numroc_(int const* n, int const* block, int const* at, int const* first, int const* ranks);
void descinit_(int* description, int const* rows, int const* cols, int const* row_block,
               int const* col_block, int const* first_row, int const* first_col, int const* context,
               int const* ld, int* info);
void pdpotrf_(char const* uplo, int const* n, double* A, int const* row, int const* col,
              int const* description, int* info, std::size_t);
void pdpotrs_(char const* uplo, int const* n, int const* nrhs, double const* A, int const* row,
              int const* col, int const* description, double* B, int const* B_row, int const* B_col,
              int const* B_description, int* info, std::size_t);
}

namespace {

using namespace strata;
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
  double sum() const { return factor + solve; }
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

// --- Strata ---

struct Strata {
  Measured measured;
  Factor factor;
};

Strata by_strata(std::shared_ptr<Communicator const> const& comm, System const& system,
                 bool in_fp32, std::int64_t tile) {
  ooc::TileMatrixOptions options;
  options.comm = comm;
  options.anywhere = true;
  if (in_fp32) {  // but for the diagonal
    options.rule.accuracy = 0.5;
    options.rule.precisions = {Precision::fp64, Precision::fp32};
    options.rule.operand_rule = false;
  }
  Measured measured;
  measured.method = in_fp32 ? "Strata, fp32 tiles, refined" : "Strata, fp64, refined";
  measured.block = tile > 0 ? tile : ooc::TileMatrix<Exec>::automatic_tile_size(system.n);
  auto matrix =
      ooc::TileMatrix<Exec>::generate(Exec(), system.n, measured.block, system.tiles, options);
  ooc::DeviceTeam<Exec> const team(ooc::make_devices(1));
  std::optional<Factor> factor;
  measured.seconds.factor =
      seconds_of(*comm, [&] { factor.emplace(ooc::cholesky(team, std::move(matrix))); });
  measured.X = Block("strata::perf::X", system.B.extent(0), system.B.extent(1));
  bool converged = false;
  measured.seconds.solve = seconds_of(*comm, [&] {
    auto const report = factor->solve(Exec(), system.B, measured.X);
    measured.iterations = report.iterations;
    converged = report.converged;
  });
  STRATA_REQUIRE(ValueError, converged, measured.method, ": the refinement did not converge");
  return {std::move(measured), std::move(*factor)};
}

// --- ScaLAPACK ---

// Ranks in rows and columns, as square as can be.
class Grid {
 public:
  explicit Grid(int ranks) {
    for (int rows = 1; rows * rows <= ranks; ++rows)
      if (ranks % rows == 0) rows_ = rows;
    cols_ = ranks / rows_;
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows_, cols_);
    Cblacs_gridinfo(context_, &rows_, &cols_, &row_, &col_);
  }
  ~Grid() { Cblacs_gridexit(context_); }
  Grid(Grid const&) = delete;
  Grid& operator=(Grid const&) = delete;
  int context() const { return context_; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int row() const { return row_; }
  int col() const { return col_; }

 private:
  int context_ = 0, rows_ = 1, cols_ = 1, row_ = 0, col_ = 0;
};

// One rank's blocks of an n x m matrix.
class Distributed {
 public:
  Distributed(Grid const& grid, std::int64_t n, std::int64_t m, std::int64_t block)
      : grid_(grid),
        n_(static_cast<int>(n)),
        m_(static_cast<int>(m)),
        block_(static_cast<int>(block)) {
    int const first = 0, row = grid.row(), col = grid.col(), P = grid.rows(), Q = grid.cols();
    int const rows = numroc_(&n_, &block_, &row, &first, &P),
              cols = numroc_(&m_, &block_, &col, &first, &Q);
    ld_ = std::max(1, rows);
    values_.resize(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(std::max(1, cols)));
    int const context = grid.context();
    int info = 0;
    descinit_(description_.data(), &n_, &m_, &block_, &block_, &first, &first, &context, &ld_,
              &info);
    STRATA_REQUIRE(ValueError, info == 0, "descinit: ", info);
  }

  // f(first row, first column, rows, columns, address) for each block that is here.
  template <class F>
  void for_each_block(F const& f) {
    for (int j = grid_.col(); j * block_ < m_; j += grid_.cols())
      for (int i = grid_.row(); i * block_ < n_; i += grid_.rows()) {
        double* const at = values_.data() + std::ptrdiff_t(i / grid_.rows()) * block_ +
                           std::ptrdiff_t(j / grid_.cols()) * block_ * ld_;
        f(i * block_, j * block_, std::min(block_, n_ - i * block_),
          std::min(block_, m_ - j * block_), at);
      }
  }
  double* data() { return values_.data(); }
  int const* description() const { return description_.data(); }
  int ld() const { return ld_; }

 private:
  Grid const& grid_;
  int n_, m_, block_, ld_ = 1;
  std::vector<double> values_;
  std::array<int, 9> description_{};
};

Measured by_scalapack(Communicator const& comm, Grid const& grid, System const& system,
                      std::int64_t block) {
  std::int64_t const columns = static_cast<std::int64_t>(system.B.extent(1));
  Distributed A(grid, system.n, system.n, block), B(grid, system.n, columns, block);
  std::vector<double> buffer(static_cast<std::size_t>(block * block));
  A.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    if (row < col) return;  // its upper triangle is not read
    system.tiles(Exec(), row, col,
                 ooc::TileView<Exec>(buffer.data(), std::size_t(rows), std::size_t(cols)));
    Exec().fence("strata::perf::scalapack");
    for (int j = 0; j < cols; ++j)
      std::copy_n(buffer.data() + std::ptrdiff_t(j) * rows, rows, at + std::ptrdiff_t(j) * A.ld());
  });
  B.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) at[i + j * B.ld()] = system.B(row + i, col + j);
  });
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
  measured.X = Block("strata::perf::X", system.B.extent(0), system.B.extent(1));
  B.for_each_block([&](int row, int col, int rows, int cols, double* at) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) measured.X(row + i, col + j) = at[i + j * B.ld()];
  });
  comm.sum({measured.X.data(), measured.X.size()});  // of one number and zeros
  return measured;
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

// Of several runs of several sizes of blocks the fastest.
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
    auto made = best_of(request.tile, request.repeat,
                        [&](std::int64_t tile) { return by_strata(comm, system, in_fp32, tile); });
    rows.push_back(std::move(made.measured));
    if (in_fp32)  // products with A are those of its generator, whatever the tiles
      for (Measured& row : rows) row.backward_error = backward_error(made.factor, system, row.X);
  }
  return rows;
}

Json to_json(std::int64_t n, Measured const& row, double beside) {
  return {{"n", n},
          {"method", row.method},
          {"block", row.block},
          {"factor_seconds", row.seconds.factor},
          {"solve_seconds", row.seconds.solve},
          {"seconds", row.seconds.sum()},
          {"scalapack_over_this", beside / row.seconds.sum()},
          {"iterations", row.iterations},
          {"backward_error", row.backward_error}};
}

void print(std::int64_t n, Measured const& row, double beside) {
  std::printf("%7lld  %-28s %5lld  %9.3f  %9.3f  %9.3f  %6.2f  %5lld  %9.1e\n",
              static_cast<long long>(n), row.method.c_str(), static_cast<long long>(row.block),
              row.seconds.factor, row.seconds.solve, row.seconds.sum(), beside / row.seconds.sum(),
              static_cast<long long>(row.iterations), row.backward_error);
  std::fflush(stdout);
}

int run(Request const& request) {
  auto const comm = std::make_shared<Communicator const>(MPI_COMM_WORLD);
  Grid const grid(comm->size());
  bool const reports = comm->rank() == 0;
  Json document{{"schema", "strata.scalapack_comparison/1"},
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
        "%7s  %-28s %5s  %9s  %9s  %9s  %6s  %5s  %9s\n",
        devices().host.model.c_str(), comm->size(), grid.rows(), grid.cols(), request.repeat, "n",
        "", "block", "factor s", "solve s", "both s", "ratio", "iter.", "error");
  bool wrong = false;
  for (std::int64_t const n : request.n) {
    auto const rows = compare(comm, grid, n, request);
    for (Measured const& row : rows) {
      double const beside = rows.front().seconds.sum();
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
