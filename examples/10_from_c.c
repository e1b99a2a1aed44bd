/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Strata from C: factor, solve, and the determinant, for the matrix min(i, j), whose determinant is 1. Kokkos is started
 * by the first call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata.h>

int main(void) {
  const int64_t n = 500;
  const size_t size = (size_t)n;
  double *A = malloc(sizeof(double) * size * size), *b = malloc(sizeof(double) * size),
         *x = malloc(sizeof(double) * size);
  strata_options options = {.struct_size = sizeof options, .layers = "fp32"};
  strata_solve_report report = {.struct_size = sizeof report};
  strata_factor* factor = NULL;
  double log_det = 0, log_det_error = 0, error = 0;

  if (A == NULL || b == NULL || x == NULL) return 1;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) A[i + j * n] = (double)(j + 1); /* the lower triangle is read */
    b[j] = (double)(j + 1); /* the last column of A: x is 0, ..., 0, 1 */
  }

  if (strata_cholesky('L', n, A, n, &options, &factor) != STRATA_SUCCESS ||
      strata_solve(factor, 1, b, n, x, n, NULL, &report) != STRATA_SUCCESS ||
      strata_log_determinant(factor, &log_det, &log_det_error) != STRATA_SUCCESS) {
    fprintf(stderr, "%s\n", strata_message());
    return 1;
  }
  for (int64_t i = 0; i < n; ++i) {
    double off = fabs(x[i] - (i == n - 1 ? 1.0 : 0.0));
    if (!(off <= error)) error = off;
  }
  printf("%lld iterations, backward error %g, largest error %g\n", (long long)report.iterations,
         report.backward_error, error);
  printf("log-determinant %g +- %g\n", log_det, log_det_error);
  strata_factor_destroy(factor);
  free(A);
  free(b);
  free(x);
  if (error < 1e-8 && fabs(log_det) < 0.01) return 0;
  fprintf(stderr, "x or the determinant is wrong\n");
  return 1;
}
