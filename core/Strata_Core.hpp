// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_CORE_HPP
#define STRATA_CORE_HPP

// All of Strata::core: number formats, leaf BLAS, files, test matrices, what ran when and what this
// build has.
#include <core/Strata_Backends.hpp>
#include <core/Strata_Config.hpp>
#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Fields.hpp>
#include <core/Strata_Float.hpp>
#include <core/Strata_Ladder.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Pimpl.hpp>
#include <core/Strata_Precision.hpp>
#include <core/Strata_StepLadder.hpp>
#include <core/Strata_Stopwatch.hpp>
#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/blas/Strata_FlopCount.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/blas/batched/Strata_BatchedBlas.hpp>
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/integers/Strata_IntegerBlas.hpp>
#include <core/integers/Strata_Residues.hpp>
#include <core/io/Strata_Csv.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/Strata_Npz.hpp>
#include <core/io/Strata_PetscMatrix.hpp>
#include <core/io/files/Strata_ReadOptions.hpp>
#include <core/io/files/Strata_TextFile.hpp>
#include <core/io/files/Strata_Trace.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>
#include <core/io/matrix_file/Strata_MatrixFileFormat.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <core/problems/Strata_Random.hpp>

#endif
