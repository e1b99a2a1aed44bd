// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TRILINOS_TPETRA_PRECONDITIONER_HPP
#define STRATA_TRILINOS_TPETRA_PRECONDITIONER_HPP

#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <trilinos/Strata_RefinedGmres.hpp>
#include <trilinos/Strata_TpetraMatrix.hpp>

#include <Tpetra_Operator.hpp>

#include <string>

namespace strata::trilinos {

/// A preconditioner of Strata's as a Tpetra::Operator: Y = alpha M^-1 X + beta Y, for Belos or
/// anyone.
///
/// The matrix is copied at construction and rounded to the options' precision; vectors are fp64 for
/// each precision. So M is one linear operator to fp64's rounding, and no method of Belos needs to
/// be a flexible one. One `apply` at a time.
template <class LO = Tpetra::Operator<>::local_ordinal_type,
          class GO = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class TpetraPreconditioner final : public Tpetra::Operator<double, LO, GO, Node> {
 public:
  /// The execution space in which it works.
  using Exec = typename Node::execution_space;
  /// A map of rows.
  using Map = Tpetra::Map<LO, GO, Node>;
  /// What it is applied to.
  using Vectors = TpetraVectors<LO, GO, Node>;

  /// Collective; fences `exec`, on which `apply` will run: the instance that Tpetra works on (its
  /// default one).
  ///
  /// Throws   as `make_matrix` and `make_preconditioner`.
  TpetraPreconditioner(Exec const& exec, TpetraMatrix<LO, GO, Node> const& A,
                       PreconditionerOptions const& options = {})
      : exec_(exec),
        map_(A.getRowMap()),
        A_(make_matrix(exec, A, matrix_options(exec, options))),
        M_(make_preconditioner<Exec, double>(exec, A_, options)) {
    A_.comm().agree([&] {
      r_ = A_.template allocate<double>(exec, "strata::trilinos::TpetraPreconditioner::r");
      z_ = A_.template allocate<double>(exec, "strata::trilinos::TpetraPreconditioner::z");
    });
  }
  /// The same, described by `preconditioner_parameters`.
  TpetraPreconditioner(Exec const& exec, TpetraMatrix<LO, GO, Node> const& A,
                       Teuchos::ParameterList const& parameters)
      : TpetraPreconditioner(exec, A, preconditioner_options(parameters)) {}

  /// The map of the matrix' rows.
  Teuchos::RCP<Map const> getDomainMap() const override { return map_; }
  /// The map of the matrix' rows.
  Teuchos::RCP<Map const> getRangeMap() const override { return map_; }
  /// False: the transpose is not applied.
  bool hasTransposeApply() const override { return false; }

  /// Y = alpha M^-1 X + beta Y, vector by vector; Y may be X. Collective.
  ///
  /// Throws   ValueError for a transpose; ShapeError as `require_vectors`.
  void apply(Vectors const& X, Vectors& Y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             double alpha = 1, double beta = 0) const override {
    Region const region(exec_, "strata::trilinos::TpetraPreconditioner::apply");
    STRATA_REQUIRE(ValueError, mode == Teuchos::NO_TRANS,
                   "Strata's preconditioners have no transpose");
    require_vectors(A_.comm(), *map_, X, Y);
    for (std::size_t j = 0; j < X.getNumVectors(); ++j) {
      gather(exec_, A_, X, j, r_);
      M_.apply(exec_, r_, z_);
      scatter(exec_, A_, alpha, z_, beta, Y, j);
    }
  }

  /// The matrix as Strata has it.
  sparse::DistributedMatrix<Exec> const& matrix() const { return A_; }

 private:
  Exec exec_;
  Teuchos::RCP<Map const> map_;
  sparse::DistributedMatrix<Exec> A_;
  sparse::Preconditioner<Exec, double> M_;
  sparse::Vector<double, typename Exec::memory_space> r_, z_;
};

}  // namespace strata::trilinos

#endif
