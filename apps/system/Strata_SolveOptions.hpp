// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SOLVE_OPTIONS_HPP
#define STRATA_APPS_SOLVE_OPTIONS_HPP

#include <apps/shared/Strata_Tiles.hpp>
#include <comm/Strata_Communicator.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <geostat/Strata_Matern.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace strata::apps {

class Progress;

/// What the first bytes of a matrix file say.
struct MatrixFile {
  MatrixFileFormat format = MatrixFileFormat::Columns;
  std::string words;  ///< "Matrix Market, coordinate real symmetric", "NumPy <f8, C order"
  std::int64_t rows = 0, cols = 0;  ///< rows and columns, for the formats whose header has them
  bool is_sparse = false;           ///< a list of entries
  std::int64_t entries = 0;         ///< entries that it lists
  MatrixMarketHeader market;        ///< header of such a file
};
/// Throws   IoError as the readers of headers.
MatrixFile probe(std::string const& path);

/// What only the solver of sparse matrices has.
struct SparseSolveOptions {
  std::optional<sparse::ModelProblem> model;  ///< a generated matrix
  sparse::ModelSize size{0, 0, 0};            ///< 0: not given
  std::string coordinates;                    ///< path of the places of the nodes
  std::string near_null_space;                ///< path of vectors, as columns
  std::string vtk;                            ///< path of x at these places
  std::string guess;                          ///< path of columns to begin with
  sparse::SparseOptions solver;
};

/// What the user asked `strata solve` for. Of matrix, locations, kind, matern, saddle and
/// sparse.model exactly one is set.
struct SolveOptions {
  bool force_sparse = false, force_dense = false, out_of_core = false;
  bool symmetric = false;  ///< A is dense and need not be definite
  SparseSolveOptions sparse;
  std::vector<std::string> given;  ///< names of the options on the command line

  std::string matrix;      ///< path of a .mtx, .mtx.gz, .npy or raw file
  MatrixFile file;         ///< what it says, once it is looked at
  std::string file_error;  ///< reason why it can't be read
  std::string locations;   ///< path of a station file
  std::optional<MatrixKind> kind;
  bool matern = false;  ///< generate a Matern covariance of synthetic locations
  bool saddle = false;  ///< the same, bordered by a linear drift: the system of universal kriging
  std::int64_t n = 0;   ///< order of a generated matrix
  GeneratorOptions generator;
  std::optional<geostat::MaternCovariance> covariance;
  std::string rhs;        ///< path of a .npy file
  std::int64_t nrhs = 1;  ///< known vectors, without `rhs`

  std::optional<dense::LayerList> layers;  ///< none: the library's choice
  std::int64_t leaf = 0;                   ///< 0: the library's choice
  bool jitter = false;                     ///< more on the diagonal, where A needs it
  dense::RefinementOptions refinement;
  bool log_determinant = false;

  bool compare = false;
  int repeat = 1;
  std::size_t max_memory = 0;  ///< bytes; 0: what is available

  /// options of out_of_core (--devices, too), as the two below
  TileOptions tiles;
  std::string checkpoint, scratch;           ///< folders; empty: none, the one for temporary files
  std::shared_ptr<Communicator const> comm;  ///< the ranks that have the tiles; empty: one

  std::string output, json, trace;  ///< paths, empty: not wanted
  bool brief = false;               ///< print only the answer of the report
};

/// Memory as --max-memory says, or what is available; `progress`, if there is one, has the part
/// that was read.
ReadOptions read_options(SolveOptions const& options, Progress* progress = nullptr);

/// Add the options of `strata solve` to its sub-command; parsing writes to `options`.
void add_solve_options(CLI::App& command, SolveOptions& options);

/// Look once at the matrix file, if there is one; what is wrong with it is for `check` to say.
void look_at_file(SolveOptions& options);

/// Which solver: the forced one, else the sparse one for its model problems and for coordinate
/// files.
///
/// A file that can't be read counts as sparse: then all ranks say what is wrong with it.
bool is_sparse(SolveOptions const& options);

/// Refuse options that don't go together or not with the kind of the matrix, and results that could
/// not be written.
///
/// Throws   UsageError.
void check(SolveOptions const& options);

}  // namespace strata::apps

#endif
