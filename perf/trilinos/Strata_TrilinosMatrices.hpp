// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_TRILINOS_MATRICES_HPP
#define STRATA_APPS_TRILINOS_MATRICES_HPP

#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <Teuchos_Comm.hpp>
#include <Tpetra_CrsMatrix_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::perf {

struct TrilinosCase {
  std::string name;
  Teuchos::RCP<Tpetra::CrsMatrix<double>> A;
  int unknowns = 1;             // of a point, one after the other
  std::string muelu_type = {};  // MueLu's name for problems of this kind, if it has one
};

/// A model problem on points^3 points, dealt out in even blocks. Throws as `sparse::model_rows`.
TrilinosCase model_case(Teuchos::RCP<Teuchos::Comm<int> const> const& comm,
                        sparse::ModelProblem model, std::int64_t points);

/// The square matrices in a folder's .mtx files, by name, read by Tpetra. Throws IoError if there
/// are none.
std::vector<TrilinosCase> cases_in(Teuchos::RCP<Teuchos::Comm<int> const> const& comm,
                                   std::string const& folder);

}  // namespace strata::perf

#endif
