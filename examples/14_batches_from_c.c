/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Many small systems in one call from C: the value between 16 observations of each of 5000 time series, whose covariance is
 * rho^(distance in time) with another rho in each. The two neighbours in time screen the others off, so that the weights
 * are known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata.h>

enum { n = 16, series = 5000, matrix = n * n };

static double rho_of(int64_t b) { return 0.5 + 0.4 * (double)b / series; }

/* C_b and c_b: covariances of observations at 0, 1, ..., n - 1, and with the value at n / 2 - 0.5. */
static void fill(int64_t b, double* C, double* c) {
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) C[i + j * n] = pow(rho_of(b), i - j); /* the lower triangle */
    c[j] = pow(rho_of(b), fabs(j - (n / 2 - 0.5)));
  }
}

int main(void) {
  double *C = malloc(sizeof(double) * matrix * series),
         *L = malloc(sizeof(double) * matrix * series), *c = malloc(sizeof(double) * n * series),
         *w = malloc(sizeof(double) * n * series), *log_dets = malloc(sizeof(double) * series),
         *errors = malloc(sizeof(double) * series);
  int64_t* info = malloc(sizeof(int64_t) * series);
  double wrong = 0, log_wrong = 0, worst = 0;

  if (!C || !L || !c || !w || !log_dets || !errors || !info) return 1; /* no memory */
  for (int64_t b = 0; b < series; ++b) {
    fill(b, C + b * matrix, c + b * n); /* errors are measured with these */
    fill(b, L + b * matrix, w + b * n);
  }

  /* L becomes the factors, w = C^-1 c the weights. */
  if (strata_dposv_batched('L', n, 1, L, n, matrix, w, n, n, series, info) != STRATA_SUCCESS ||
      strata_dlog_determinants_batched('L', n, L, n, matrix, series, info, log_dets) !=
          STRATA_SUCCESS ||
      strata_dbackward_errors_batched('L', n, 1, C, n, matrix, w, n, n, c, n, n, series, errors) !=
          STRATA_SUCCESS) {
    fprintf(stderr, "%s\n", strata_message()); /* also which system is not positive definite */
    return 1;
  }
  for (int64_t b = 0; b < series; ++b) {
    double const rho = rho_of(b), known = sqrt(rho) / (1 + rho);
    for (int i = 0; i < n; ++i)
      wrong = fmax(wrong, fabs(w[i + b * n] - (i == n / 2 - 1 || i == n / 2 ? known : 0)));
    worst = fmax(worst, errors[b]);
    log_wrong = fmax(log_wrong, fabs(log_dets[b] - (n - 1) * log(1 - rho * rho)));
  }
  printf("%d systems of %d unknowns: largest backward error %g\n", series, n, worst);
  printf("largest error of a weight %g, of a log-determinant %g\n", wrong, log_wrong);
  void* all[] = {C, L, c, w, log_dets, errors, info};
  for (int k = 0; k < 7; ++k) free(all[k]);
  return wrong < 1e-13 && log_wrong < 1e-12 ? 0 : 1;
}
