// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HPP
#define STRATA_SPARSE_HPP

// All of Strata::sparse: sparse matrices over ranks, Krylov methods, multigrid, HPG-MxP.
#include <sparse/Strata_SparseFields.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/choice/Strata_Candidates.hpp>
#include <sparse/choice/Strata_MatrixFacts.hpp>
#include <sparse/choice/Strata_SparseMethods.hpp>
#include <sparse/coarsening/Strata_NearNullSpace.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/direct/Strata_SparseFactor.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>
#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>
#include <sparse/formats/Strata_MatrixOptions.hpp>
#include <sparse/formats/Strata_SlicedEllAssembly.hpp>
#include <sparse/formats/Strata_SlicedEllMatrix.hpp>
#include <sparse/hpgmxp/Strata_Hpgmxp.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpFields.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpFree.hpp>
#include <sparse/hpgmxp/Strata_HpgmxpModel.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/incomplete/Strata_IncompleteFactor.hpp>
#include <sparse/incomplete/Strata_IncompleteReport.hpp>
#include <sparse/krylov/Strata_BiCgStab.hpp>
#include <sparse/krylov/Strata_ConjugateGradients.hpp>
#include <sparse/krylov/Strata_Fgmres.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/Strata_KrylovMethod.hpp>
#include <sparse/krylov/Strata_KrylovReport.hpp>
#include <sparse/krylov/Strata_Minres.hpp>
#include <sparse/krylov/Strata_Preconditioner.hpp>
#include <sparse/matrix/Strata_Colouring.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_GaussSeidel.hpp>
#include <sparse/matrix/Strata_Halo.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_KernelsMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>
#include <sparse/matrix/Strata_StencilProblem.hpp>
#include <sparse/matrix/Strata_SweepOrder.hpp>
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>
#include <sparse/multigrid/Strata_AmgOptions.hpp>
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>
#include <sparse/multigrid/Strata_Transfer.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>
#include <sparse/multigrid/Strata_TrilinearHierarchy.hpp>

#endif
