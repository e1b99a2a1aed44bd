// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_TrilinosMatrices.hpp"

#include <core/Strata_Errors.hpp>

#include <MatrixMarket_Tpetra.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace strata::perf {

using Matrix = Tpetra::CrsMatrix<double>;
using Map = Tpetra::Map<>;
using Communicator = Teuchos::RCP<Teuchos::Comm<int> const>;

namespace {

using sparse::ModelProblem;

std::string muelu_type(ModelProblem model) {
  switch (model) {
    case ModelProblem::Poisson7:
    case ModelProblem::Poisson27:
    case ModelProblem::Anisotropic:
      return "Poisson-3D";
    case ModelProblem::Convection:
      return "ConvectionDiffusion";
    case ModelProblem::Elasticity:
      return "Elasticity-3D";
    case ModelProblem::Graph:
      break;
  }
  return {};
}

// The rows, of which those of one point are on one rank.
Teuchos::RCP<Map const> map_of(Communicator const& comm, std::int64_t rows, int unknowns) {
  auto const count = static_cast<std::size_t>(unknowns);
  Map const points(static_cast<Tpetra::global_size_t>(rows) / count, 0, comm);
  return Teuchos::rcp(new Map(static_cast<Tpetra::global_size_t>(rows),
                              points.getLocalNumElements() * count, 0, comm));
}

}  // namespace

TrilinosCase model_case(Communicator const& comm, ModelProblem model, std::int64_t points) {
  using Global = Matrix::global_ordinal_type;
  sparse::ModelSize size{points, points, points};
  if (model == ModelProblem::Graph) size = {points * points * points, 1, 1};
  int const unknowns = sparse::unknowns_per_point(model);
  auto const map = map_of(comm, sparse::model_rows(model, size), unknowns);
  auto const first = static_cast<std::int64_t>(map->getMinGlobalIndex());
  auto const mine = sparse::make_model(
      model, size, first, first + static_cast<std::int64_t>(map->getLocalNumElements()));
  auto const A = Teuchos::rcp(new Matrix(map, 27 * static_cast<std::size_t>(unknowns)));
  for (std::int64_t i = 0; i < mine.rows(); ++i) {
    auto const begin = static_cast<std::size_t>(mine.begin[static_cast<std::size_t>(i)]),
               end = static_cast<std::size_t>(mine.begin[static_cast<std::size_t>(i) + 1]);
    std::vector<Global> const columns(mine.column.begin() + static_cast<std::ptrdiff_t>(begin),
                                      mine.column.begin() + static_cast<std::ptrdiff_t>(end));
    A->insertGlobalValues(
        static_cast<Global>(first + i), Teuchos::arrayViewFromVector(columns),
        Teuchos::ArrayView<double const>(mine.value.data() + begin,
                                         static_cast<Teuchos::Ordinal>(end - begin)));
  }
  A->fillComplete();
  std::string const name(sparse::name_of(model));
  return {name + ", " + std::to_string(points) + "^3", A, unknowns, muelu_type(model)};
}

std::vector<TrilinosCase> cases_in(Communicator const& comm, std::string const& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (auto const& entry : std::filesystem::directory_iterator(folder, failure))
    if (entry.path().extension() == ".mtx") files.push_back(entry.path());
  STRATA_REQUIRE(IoError, !failure, folder, ": ", failure.message());
  STRATA_REQUIRE(IoError, !files.empty(), folder, ": no file ends in .mtx");
  std::sort(files.begin(), files.end());
  std::vector<TrilinosCase> cases;
  for (auto const& file : files)
    cases.push_back(
        {.name = file.stem().string(),
         .A = Tpetra::MatrixMarket::Reader<Matrix>::readSparseFile(file.string(), comm)});
  return cases;
}

}  // namespace strata::perf
