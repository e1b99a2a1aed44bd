// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_TrilinosMatrices.hpp"

#include <core/Strata_Errors.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <MatrixMarket_Tpetra.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <filesystem>

namespace strata::apps {

using Matrix = Tpetra::CrsMatrix<double>;
using Map = Tpetra::Map<>;
using Communicator = Teuchos::RCP<Teuchos::Comm<int> const>;

TrilinosCase stencil_case(Communicator const& comm, std::int64_t points) {
  using Global = Matrix::global_ordinal_type;
  sparse::ModelSize const size{points, points, points};
  auto const rows = sparse::model_rows(sparse::ModelProblem::Poisson27, size);
  auto const map = Teuchos::rcp(new Map(static_cast<Tpetra::global_size_t>(rows), 0, comm));
  auto const first = static_cast<std::int64_t>(map->getMinGlobalIndex());
  auto const mine =
      sparse::make_model(sparse::ModelProblem::Poisson27, size, first,
                         first + static_cast<std::int64_t>(map->getLocalNumElements()));
  auto const A = Teuchos::rcp(new Matrix(map, 27));
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
  return {"27-point, " + std::to_string(points) + "^3", A};
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
    cases.push_back({file.stem().string(),
                     Tpetra::MatrixMarket::Reader<Matrix>::readSparseFile(file.string(), comm)});
  return cases;
}

}  // namespace strata::apps
