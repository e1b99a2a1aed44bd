/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Strata from C: factor, solve and a log-determinant, for the covariance rho^|i - j| of a time series, of which both are
 * known. Kokkos is started by the first call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata.h>

int main(void) {
  int64_t const n = 500;
  double const rho = 0.9, log_det_known = (double)(n - 1) * log(1 - rho * rho);
  size_t const size = (size_t)n;
  double *A = malloc(sizeof(double) * size * size), *b = malloc(sizeof(double) * size),
         *x = malloc(sizeof(double) * size);
  strata_options options = {.struct_size = sizeof options, .layers = "fp16,fp32"};
  strata_solve_report report = {.struct_size = sizeof report};
  strata_factor* factor = NULL;
  double log_det = 0, log_det_error = 0, error = 0;

  if (A == NULL || b == NULL || x == NULL) return 1; /* no memory */
  for (int64_t j = 0; j < n; ++j) {
    A[j + j * n] = 1; /* the lower triangle is read */
    for (int64_t i = j + 1; i < n; ++i) A[i + j * n] = rho * A[i - 1 + j * n];
    b[j] = 1;
  }

  if (strata_cholesky('L', n, A, n, &options, &factor) != STRATA_SUCCESS ||
      strata_solve(factor, 1, b, n, x, n, NULL, &report) != STRATA_SUCCESS ||
      strata_log_determinant(factor, &log_det, &log_det_error) != STRATA_SUCCESS) {
    fprintf(stderr, "%s\n", strata_message());
    return 1;
  }
  for (int64_t i = 0; i < n; ++i) {
    double known = (i == 0 || i == n - 1 ? 1 : 1 - rho) / (1 + rho);
    error = fmax(error, fabs(x[i] - known));
  }
  printf("%lld iterations, backward error %g, largest error %g\n", (long long)report.iterations,
         report.backward_error, error);
  printf("log-determinant %.9g +- %.2g, off by %.2g\n", log_det, log_det_error,
         fabs(log_det - log_det_known));
  strata_factor_destroy(factor);
  free(A);
  free(b);
  free(x);
  if (error < 1e-12 && fabs(log_det - log_det_known) <= log_det_error && log_det_error < 0.1)
    return 0;
  fprintf(stderr, "x or the determinant is wrong\n");
  return 1;
}
