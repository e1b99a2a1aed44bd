/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* A program in C: Strata starts Kokkos when it is first needed and ends it when asked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata.h>
#include <strata_each.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, char const* what) {
  if (!holds) {
    printf("not so: %s (%s)\n", what, strata_message());
    ++failures;
  }
}

static double residual(int64_t n, double const* A, double const* b, double const* x) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    double r = b[i];
    for (int64_t j = 0; j < n; ++j) r -= (i >= j ? A[i + j * n] : A[j + i * n]) * x[j];
    worst = fabs(r) > worst ? fabs(r) : worst;
  }
  return worst;
}

/* Three systems of two unknowns, of which the second is indefinite. */
static void solve_batch(void) {
  double A[3][4] = {{2, 1, 0, 2}, {1, 2, 0, 1}, {4, 0, 0, 1}}, b[3][2] = {{3, 3}, {1, 1}, {4, 1}};
  int64_t info[3] = {-1, -1, -1};
  expect(strata_dposv_batched('L', 2, 1, &A[0][0], 2, 4, &b[0][0], 2, 2, 3, info) ==
             STRATA_NOT_POSITIVE_DEFINITE,
         "one system of the batch is indefinite");
  expect(strstr(strata_message(), "in system 1") != NULL, "and the message says which");
  expect(info[0] == 0 && info[1] == 2 && info[2] == 0, "and info its minor");
  expect(fabs(b[0][0] - 1) + fabs(b[0][1] - 1) < 1e-14 && b[2][0] == 1 && b[2][1] == 1,
         "the others are solved");
}

/* The first leading minor of {{1, 2}, {2, 1}} is positive, the second is not. */
static void test_definiteness(void) {
  double const A[4] = {1, 2, 2, 1};
  int64_t info = -1;
  expect(strata_is_positive_definite('U', 1, A, 2, &info) == STRATA_SUCCESS && info == 0,
         "the first is");
  expect(strata_is_positive_definite('U', 2, A, 2, &info) == STRATA_SUCCESS && info == 2,
         "both are not");
}

/* 4 x = 8, and 2 x + y = 4, x + 2 y = 5. */
static void test_each(void) {
  int64_t const n[2] = {1, 2}, nrhs[2] = {1, 1};
  double const A1[1] = {4}, A2[4] = {2, 1, 1, 2};
  double const* const A[2] = {A1, A2};
  double b1[1] = {8}, b2[2] = {4, 5}, logarithms[2] = {0, 0};
  double* const B[2] = {b1, b2};
  int64_t info[2] = {-1, -1};
  expect(strata_dposv_each('L', 2, n, nrhs, A, n, B, n, logarithms, info) == STRATA_SUCCESS,
         "systems of two orders are solved");
  expect(info[0] == 0 && info[1] == 0 && b1[0] == 2 && fabs(b2[0] - 1) + fabs(b2[1] - 2) < 1e-14,
         "the solutions are right");
  expect(fabs(logarithms[1] - log(3.0)) < 1e-15, "so is a determinant");
}

#if defined(__has_include)
#if __has_include(<strata_geostat.h>)
#include <strata_geostat.h>
#define HAS_GEOSTAT
#endif
#endif

/* Two places one range apart: log det S = log(1 - e^-2), and kriging in the middle. */
static void test_geostat(void) {
#ifdef HAS_GEOSTAT
  double const pi = 3.14159265358979323846, x[2] = {0, 1}, y[2] = {0, 0}, z[2] = {0, 0};
  double const middle[2] = {0.5, 0};
  double mean = -1, variance = -1;
  strata_observations data = {.struct_size = sizeof data, .n = 2, .x = x, .y = y, .values = z};
  strata_covariance given = {
      .struct_size = sizeof given, .family = "exponential", .sigma2 = 1, .range = 1};
  strata_geostat_report report = {.struct_size = sizeof report};
  strata_geostat* model = NULL;
  data.zero_mean = 1;
  expect(strata_geostat_at(&data, &given, &model) == STRATA_SUCCESS, "there is a likelihood");
  expect(strata_geostat_describe(model, &report) == STRATA_SUCCESS, "it is described");
  expect(fabs(report.log_likelihood + log(2 * pi) + log(1 - exp(-2.0)) / 2) < 1e-14, "it is right");
  expect(strata_geostat_predict(model, 1, &middle[0], &middle[1], NULL, 1, 0, &mean, &variance) ==
             STRATA_SUCCESS,
         "it predicts");
  expect(mean == 0 && fabs(variance - 1 + 2 * exp(-1.0) / (1 + exp(-1.0))) < 1e-14,
         "with the variance that is known");
  strata_geostat_destroy(model);
#endif
}

int main(int argc, char** argv) {
  enum { n = 300 };
  double *A = malloc(sizeof(double) * n * n), *b = malloc(sizeof(double) * n),
         *x = malloc(sizeof(double) * n);
  strata_factor* factor = NULL;
  strata_options options = {.struct_size = sizeof options};
  strata_solve_report report = {.struct_size = sizeof report};
  strata_factor_report made = {.struct_size = sizeof made};

  if (A == NULL || b == NULL || x == NULL) return 2;
  for (int64_t j = 0; j < n; ++j) {
    b[j] = 1;
    for (int64_t i = j; i < n; ++i) A[i + j * n] = exp(-(double)(i - j) / 20) + (i == j ? 0.1 : 0);
  }
  options.layers = "fp16,fp16,fp32";
  expect(strata_cholesky('L', n, A, n, &options, &factor) == STRATA_SUCCESS, "it is factored");
  expect(strata_solve(factor, 1, b, n, x, n, NULL, &report) == STRATA_SUCCESS, "it is solved");
  expect(residual(n, A, b, x) < 1e-12, "the residual is small");
  expect(report.converged == 1 && report.iterations > 0, "the report is filled");
  expect(strata_factor_describe(factor, &made) == STRATA_SUCCESS, "it is described");
  expect(strcmp(made.layers, "fp16,fp16,fp32") == 0 && made.n == n, "the layers are those asked");
  solve_batch();
  test_definiteness();
  test_each();
  test_geostat();
  expect(strata_finalize() == STRATA_NOT_READY, "a factor keeps Kokkos alive");
  printf("%s\n%s: backward error %g after %lld iterations\n", strata_configuration(), made.layers,
         report.backward_error, (long long)report.iterations);

  /* With an argument the program ends without cleaning up, which has to be clean as well. */
  if (argc > 1 && strcmp(argv[1], "leave") == 0) return failures != 0;

  strata_factor_destroy(factor);
  expect(strata_finalize() == STRATA_SUCCESS, "Kokkos is ended");
  expect(strata_finalize() == STRATA_SUCCESS, "again is no error");
  expect(strata_cholesky('L', n, A, n, NULL, &factor) == STRATA_NOT_READY && factor == NULL,
         "nothing can be done after that");
  expect(strstr(strata_message(), "was ended") != NULL, "and the message says so");
  expect(strata_initialize() == STRATA_NOT_READY, "nor started again");
  free(A);
  free(b);
  free(x);
  return failures != 0;
}
