// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_Exit.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/system/Strata_SolveOptions.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/Strata_Npz.hpp>
#include <core/io/Strata_PetscMatrix.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace strata::apps {

namespace {

// What only one of the two solvers has.
constexpr std::string_view of_dense[] = {
    "--locations", "--covariance",      "--cond",    "--scaling", "--layers", "--leaf-size",
    "--refine",    "--log-determinant", "--compare", "--repeat",  "--trace",  "--out-of-core",
    "--jitter"};
constexpr std::string_view of_tiles[] = {"--precisions",    "--epsilon",    "--devices",
                                         "--device-memory", "--tile",       "--grid",
                                         "--transport",     "--checkpoint", "--scratch"};
constexpr std::string_view of_core[] = {"--leaf-size", "--cond",   "--scaling",
                                        "--compare",   "--repeat", "--jitter"};
constexpr std::string_view of_sparse[] = {"--solver",      "--preconditioner",
                                          "--fill",        "--precision",
                                          "--restart",     "--block-size",
                                          "--strength",    "--nx",
                                          "--ny",          "--nz",
                                          "--coordinates", "--near-null-space",
                                          "--vtk",         "--absolute-tolerance",
                                          "--stop",        "--guess"};

constexpr std::string_view of_cholesky[] = {"--leaf-size", "--jitter", "--out-of-core"};

template <class Names>
void refuse(SolveOptions const& options, Names const& names, char const* solver,
            char const* advice) {
  for (auto const& name : options.given)
    require(std::find(std::begin(names), std::end(names), name) == std::end(names), name,
            " does not apply to ", solver, "; ", advice);
}

void check_out_of_core(SolveOptions const& options) {
  char const* const tiles =
      options.tiles.storage == ooc::TileStorage::Host ? "--out-of-core" : "--devices";
  refuse(options, of_core, tiles, "leave one of them out");
  require(!options.kind || options.kind == MatrixKind::Dominant, tiles, ": the kind ",
          name_of(options.kind.value_or(MatrixKind::Dominant)),
          " of --generate can't be made tile by tile; matern and dominant can");
  bool const asked = std::ranges::find(options.given, "--layers") != options.given.end();
  require(options.layers || !asked, "--layers auto does not apply to ", tiles,
          "; give a list as fp16x6,fp32, or --epsilon");
  check(options.tiles, options.comm.get());
}

void check_symmetric(SolveOptions const& options) {
  char const* const system = "a matrix that need not be definite (--symmetric)";
  refuse(options, of_cholesky, system, "it is for Cholesky's factor");
  refuse(options, of_tiles, system, "in tiles matrices are positive definite");
  require(options.refinement.refine != dense::Refine::Cg,
          "--refine cg needs a positive definite matrix; with --symmetric gmres refines");
}

void check_dense(SolveOptions const& options) {
  if (options.symmetric)
    check_symmetric(options);
  else if (options.out_of_core)
    check_out_of_core(options);
  else
    refuse(options, of_tiles, "a matrix in memory",
           "with --out-of-core, or --devices, it is factored in tiles");
  refuse(options, of_sparse, "dense matrices", "it is for the sparse solver (--sparse)");
  require(options.symmetric || !options.saddle,
          "--generate saddle: this matrix is not positive definite; it goes with --symmetric");
  require(!options.sparse.model, options.symmetric ? "--symmetric" : "--dense",
          ": the kind of --generate is sparse; write it to a file, or leave that option out");
  bool const has_n =
      std::find(options.given.begin(), options.given.end(), "--n") != options.given.end();
  require(!(options.kind || options.matern || options.saddle) || has_n, "--generate needs --n");
  require(options.locations.empty() || options.covariance,
          "--locations needs --covariance matern:SIGMA2,RANGE,NU[,NUGGET]");
  require(!options.covariance || options.matern || options.saddle || !options.locations.empty(),
          "--covariance goes with --locations, --generate matern and --generate saddle");
}

void check_sparse(SolveOptions const& options) {
  require(!options.symmetric,
          "--symmetric is for dense matrices; leave one of --symmetric and --sparse out");
  refuse(options, of_dense, "sparse matrices",
         "a coordinate file can be solved as dense with --dense");
  refuse(options, of_tiles, "sparse matrices", "it is for dense ones in tiles");
  require(!options.kind && !options.matern && !options.saddle,
          "--sparse: the kind of --generate is dense; leave --sparse out");
  bool const sized = options.n > 0 || options.sparse.size.nx > 0;
  require(!options.sparse.model || sized, "--generate of a sparse kind needs --n or --nx");
  require(options.n == 0 || options.sparse.size.nx == 0, "give --n or --nx, not both");
  bool const sides =
      options.sparse.size.nx > 0 || options.sparse.size.ny > 0 || options.sparse.size.nz > 0;
  require(options.sparse.model || !sides, "--nx, --ny and --nz go with --generate");
  require(options.nrhs > 0, "--nrhs: a sparse system is solved for 1 column or more");
  require(options.nrhs == 1 || options.sparse.vtk.empty(), "--vtk has one column; --nrhs is ",
          options.nrhs);
  double const tolerance = options.refinement.tolerance;
  require(tolerance == 0 || tolerance < 1, "--tolerance: ", tolerance, " is not below 1");
}

// Refused now rather than after the run.
void check_output(std::string const& path) {
  if (path.empty()) return;
  try {
    require_matrix_name(path);
  } catch (ValueError const& error) {
    throw apps::UsageError(std::string("--output: ") + error.what());
  }
}

}  // namespace

MatrixFile probe(std::string const& path) {
  MatrixFile file;
  file.format = matrix_file_format(path);
  if (file.format == MatrixFileFormat::Npy) {
    auto const header = read_npy_header(path);
    file.words =
        words("NumPy ", header.dtype, header.fortran_order ? ", Fortran order" : ", C order");
    file.rows = header.rows, file.cols = header.cols;
  } else if (file.format == MatrixFileFormat::MatrixMarket) {
    auto const header = file.market = read_matrix_market_header(path);
    file.words = words("Matrix Market, ",
                       header.format == MatrixMarketFormat::Array ? "array " : "coordinate ",
                       header.field == MatrixMarketField::Integer   ? "integer "
                       : header.field == MatrixMarketField::Pattern ? "pattern "
                                                                    : "real ",
                       header.symmetric ? "symmetric"
                       : header.skew    ? "skew-symmetric"
                                        : "general");
    file.rows = header.rows, file.cols = header.cols;
    file.is_sparse = header.format == MatrixMarketFormat::Coordinate;
    file.entries = header.entries;
  } else if (file.format == MatrixFileFormat::Npz) {
    auto const header = read_npz_header(path);
    file.words = header.is_sparse ? "SciPy, " + header.format : "NumPy, archive";
    file.rows = header.rows, file.cols = header.cols;
    file.is_sparse = header.is_sparse;
    file.entries = header.entries;
  } else if (file.format == MatrixFileFormat::Petsc) {
    auto const header = read_petsc_header(path);
    file.words = words("PETSc, binary ", header.is_vector ? "vector" : "matrix",
                       header.has_wide_indices ? ", 64-bit indices" : "");
    file.rows = header.rows, file.cols = header.cols;
    file.is_sparse = !header.is_vector;
    file.entries = header.entries;
  }
  return file;
}

void look_at_file(SolveOptions& options) {
  if (options.matrix.empty()) return;
  try {
    options.file = probe(options.matrix);
  } catch (Error const& error) {
    options.file_error = error.what();
  }
}

bool is_sparse(SolveOptions const& options) {
  if (options.force_sparse || options.force_dense) return options.force_sparse;
  if (options.symmetric) return false;
  if (options.sparse.model) return true;
  if (options.out_of_core || options.matrix.empty()) return false;
  return !options.file_error.empty() || options.file.is_sparse;
}

void check(SolveOptions const& options) {
  int const sources = !options.matrix.empty() + !options.locations.empty() +
                      options.kind.has_value() + options.matern + options.saddle +
                      options.sparse.model.has_value();
  require(sources == 1, "give exactly one of --matrix, --locations and --generate");
  require(std::isfinite(options.refinement.tolerance),
          "--tolerance: ", options.refinement.tolerance, " is not finite");
  // What is wrong with the file comes before what is wrong with the options for it.
  require(options.file_error.empty(), options.file_error);
  is_sparse(options) ? check_sparse(options) : check_dense(options);
  check_output(options.output);
  check_writable({{"--output", options.output},
                  {"--json", options.json},
                  {"--trace", options.trace},
                  {"--vtk", options.sparse.vtk}});
}

}  // namespace strata::apps
