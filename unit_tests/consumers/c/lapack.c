/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* A program in C that calls LAPACK by its Fortran name, linked to the drop-in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata.h>

void dpotrf_(char const* uplo, int const* n, double* A, int const* lda, int* info);

int main(void) {
  int const n = 600;
  int info = -1;
  int64_t by_strata = 0, by_system = 0;
  double* A = malloc(sizeof(double) * (size_t)n * (size_t)n);

  if (A == NULL) return 2;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) A[i + (size_t)j * (size_t)n] = exp(-abs(i - j) / 20.0) + (i == j);
  dpotrf_("L", &n, A, &n, &info);
  strata_lapack_calls("dpotrf", &by_strata, &by_system);
  printf("info %d, l_11 %g, calls by Strata %lld, by the system %lld\n", info, A[0],
         (long long)by_strata, (long long)by_system);
  info |= fabs(A[0] - sqrt(2.0)) > 1e-15;
  free(A);
  return info != 0 || by_strata != 1;
}
