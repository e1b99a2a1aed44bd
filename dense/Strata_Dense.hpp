// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_HPP
#define STRATA_DENSE_HPP

// All of Strata::dense: Cholesky factorisations in layers of precision, refined solves,
// log-determinants, batches.
#include <dense/Strata_Automatic.hpp>
#include <dense/Strata_BatchedCholesky.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Definiteness.hpp>
#include <dense/Strata_DenseFields.hpp>
#include <dense/Strata_KokkosNames.hpp>
#include <dense/Strata_PosvMixed.hpp>
#include <dense/indefinite/Strata_SymmetricFactor.hpp>
#include <dense/indefinite/Strata_SymmetricFields.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/recursion/Strata_TreePotrf.hpp>
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>
#include <dense/refine/Strata_Condition.hpp>
#include <dense/refine/Strata_Refinement.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_InPlace.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <dense/tree/Strata_LeafSizes.hpp>
#include <dense/tree/Strata_Quantise.hpp>
#include <dense/varied/Strata_SolveEach.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>

#endif
