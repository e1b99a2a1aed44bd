/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Many systems of different orders in one call, for Gaussian processes by group or kriging by
 * neighbourhoods of any size.
 *
 * What strata.h says of statuses, Kokkos, threads and memory holds here, too. The functions are in
 * libstrata_c. */
#ifndef STRATA_EACH_H
#define STRATA_EACH_H

#include <strata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Factor and solve A_s X_s = B_s for s = 0, ..., count - 1, in fp64 (d) or fp32 (s). X_s overwrites
 * B_s; A_s is not changed. Systems of about one order are done together, as fast as batches of one
 * order are.
 *
 * Shape     A_s = A[s]: n[s] x n[s], of which the triangle `uplo` is read. B_s = B[s]: n[s] x
 *           nrhs[s]. n, nrhs, count >= 0, leading dimensions >= max(1, n[s]). No B_s may overlap
 *           another matrix. The arrays of pointers and numbers are in the host's memory, with
 *           `count` entries; matrices may be in the device's. With nrhs[s] = 0 B[s] may be NULL.
 * Result    info[s]: 0, or the order of the first leading minor of A_s that is not positive, or
 *           NaN; B_s is then as it was. If there is such a system, the status is
 *           STRATA_NOT_POSITIVE_DEFINITE. The message says how many there are and names the first.
 *           All others are solved as if it were not there. log_determinants[s] = log det A_s, NaN
 *           where info[s] is not 0; log_determinants may be NULL.
 *           With any other status but STRATA_INCOMPLETE nothing was written.
 * Memory    32 MiB, or one system where that is larger; builds for GPUs: copies of a host's systems.
 * Error     as for Cholesky in the type given: nothing is scaled or refined. */
STRATA_API strata_status strata_dposv_each(char uplo, int64_t count, int64_t const* n,
                                           int64_t const* nrhs, double const* const* A,
                                           int64_t const* lda, double* const* B, int64_t const* ldb,
                                           double* log_determinants, int64_t* info);
STRATA_API strata_status strata_sposv_each(char uplo, int64_t count, int64_t const* n,
                                           int64_t const* nrhs, float const* const* A,
                                           int64_t const* lda, float* const* B, int64_t const* ldb,
                                           double* log_determinants, int64_t* info);

#ifdef __cplusplus
}
#endif

#endif
