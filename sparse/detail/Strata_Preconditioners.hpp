// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_PRECONDITIONERS_HPP
#define STRATA_SPARSE_DETAIL_PRECONDITIONERS_HPP

#include <sparse/choice/Strata_SparseMethods.hpp>
#include <sparse/detail/Strata_AbreastCg.hpp>
#include <sparse/incomplete/Strata_IncompleteReport.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>
#include <sparse/products/detail/Strata_HostCsr.hpp>
#include <sparse/scaling/detail/Strata_WorkMatrix.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace strata::sparse::detail {

/// A preconditioner, and what depends on how it was made.
template <class Exec, class Scalar>
struct MadePreconditioner {
  PreconditionerKind kind = PreconditionerKind::None;
  Precision precision = Precision::fp64;
  Preconditioner<Exec, Scalar> M;
  std::optional<Preconditioner<Exec, fp64>> unrounded;  ///< M with vectors in fp64
  std::int64_t bytes = 0;                               ///< bytes on this rank
  /// Makes M for vectors that go abreast, rounded ones too unless M has fp64; none: it can't be.
  std::function<PreconditionerAbreast<Exec>(Exec const&)> make_abreast;
};

/// What a report says of a preconditioner.
struct PreconditionerFacts {
  /// The matrix of a level, over all ranks.
  struct Level {
    std::int64_t rows = 0, entries = 0;
  };
  PreconditionerKind kind = PreconditionerKind::None;
  std::vector<Level> levels;  ///< the matrix alone if it has no levels
  double operator_complexity = 1;
  bool direct_coarse_solve = false;
  int block_size = 1, modes = 1;  ///< unknowns of a node, and of an aggregate (Amg)
  bool has_old_pattern = false;   ///< aggregates and patterns are an older matrix's (Amg)
  IncompleteReport incomplete;
  bool is_singular = false;  ///< a pivot was too small and was replaced (Direct)
};

/// The preconditioners of a solver's matrix, each made where it is first asked for; the levels of
/// multigrid are kept.
template <class Exec>
class Preconditioners {
 public:
  Preconditioners() = default;
  /// `fill`: of incomplete factors.
  Preconditioners(WorkMatrix<Exec> const& work, AmgOptions const& amg, int fill)
      : work_(work), amg_options_(amg), fill_(fill) {}

  /// The matrix on the host, until the next call: what is made of it meanwhile does not copy it
  /// again.
  void set_block(std::optional<HostCsr> block) { block_ = std::move(block); }
  /// Orders the rows for the direct solver, which takes that order, and counts the flops that
  /// L D L' takes then. The matrix must be symmetric, of one rank. Fences. Throws MemoryError.
  double analyse_direct(Exec const& exec);
  /// What multigrid keeps of an older matrix, for this one; null: nothing.
  void keep(std::shared_ptr<KeptLevels<Exec>> const& kept) { kept_ = kept; }
  /// The same of this matrix, for the next.
  std::shared_ptr<KeptLevels<Exec>> kept() const { return amg_ ? amg_->kept : kept_; }
  /// What is stored in no more than fp32 with `precision` bits, or in fp64 whatever was asked for.
  /// With `unrounded`, too, unless Scalar is fp64.
  ///
  /// Collective; fences. Throws what the preconditioners throw, on all ranks.
  template <class Scalar>
  MadePreconditioner<Exec, Scalar> make(Exec const& exec, PreconditionerKind kind,
                                        Precision precision, bool unrounded);
  /// Facts on the preconditioner that was made last.
  PreconditionerFacts facts() const;

 private:
  TransferHierarchy<Exec> const& hierarchy_of(Exec const& exec, PreconditionerKind kind);
  template <class Scalar>
  void make_cycle(Exec const& exec, bool unrounded, MadePreconditioner<Exec, Scalar>& made);
  template <class Scalar>
  void make_incomplete(Exec const& exec, bool unrounded, MadePreconditioner<Exec, Scalar>& made);

  WorkMatrix<Exec> work_;
  AmgOptions amg_options_;
  int fill_ = 0;
  std::optional<TransferHierarchy<Exec>> amg_, single_;  // of Amg, and of what has one level
  PreconditionerKind last_ = PreconditionerKind::None;
  IncompleteReport incomplete_;
  bool is_singular_ = false;
  std::optional<HostCsr> block_;
  std::vector<std::int32_t> order_;  // of the direct solver; empty: unknown
  std::shared_ptr<KeptLevels<Exec>> kept_;
};

}  // namespace strata::sparse::detail

#endif
