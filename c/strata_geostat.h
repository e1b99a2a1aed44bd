/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* Gaussian fields from C: exact likelihoods, fits by ML and REML, kriging with a trend.
 *
 * What strata.h says of statuses, Kokkos, threads and structs holds here, too. The functions are in
 * libstrata_c, in builds with the module geostat. Arrays are in the host's memory. Messages count
 * observations from 1. */
#ifndef STRATA_GEOSTAT_H
#define STRATA_GEOSTAT_H

#include <strata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The covariance of a field, sigma2 rho(h / range) or the sum of two such structures, observed with
 * independent errors of variance `nugget`. With x = h / range, rho is
 *   matern       2^(1-nu) / Gamma(nu) x^nu K_nu(x), without a factor sqrt(2 nu)
 *   exponential  e^-x, which is Matern's with nu = 1/2
 *   gaussian     e^(-x^2)
 *   spherical    1 - 3/2 x + 1/2 x^3 for x < 1, else 0
 *   powered      e^(-x^nu), 0 < nu <= 2 */
typedef struct strata_covariance {
  size_t struct_size; /* sizeof(strata_covariance) */
  char family[40];    /* one of these, or two: "exponential+spherical" */
  double sigma2;      /* variance of the field, or of its first structure; > 0 */
  double range;       /* range, in the unit of distances; > 0 */
  double nu;          /* smoothness of matern, power of powered; others have none */
  double nugget;      /* variance of the errors; >= 0 */
  double angle;       /* direction of the largest range, in degrees clockwise from y */
  double ratio;       /* range across that direction by `range`; in (0, 1]; 0 is 1: no direction */
  double sigma2_2;    /* variance of the second structure */
  double range_2;     /* range of the second structure */
  double nu_2;        /* nu of the second structure */
} strata_covariance;

/* What was observed, and what is known of its mean. */
typedef struct strata_observations {
  size_t struct_size;            /* sizeof(strata_observations) */
  int64_t n;                     /* observations */
  double const* x;               /* n numbers: x, or degrees of longitude */
  double const* y;               /* n numbers: y, or degrees of latitude */
  double const* values;          /* n numbers */
  char const* metric;            /* "euclidean" (NULL); kilometres: "great-circle", "chordal" */
  double const* error_variances; /* n known variances, added to the nugget; NULL: none */
  int64_t trend_columns;         /* k >= 0; 0: the mean is constant, or zero with zero_mean */
  double const* trend;           /* F, n x k: the mean is F b; a constant is a column of ones */
  int64_t ld_trend;              /* leading dimension of `trend`; 0: n */
  char const* const* names;      /* k names of the columns, for messages; NULL: "column 1", ... */
  int zero_mean;                 /* 1: without columns the mean is zero */
  int reml;                      /* 1: the likelihood of contrasts (REML) in place of ML */
} strata_observations;

/* Choices of a fit; 0 or NULL in a member means the default. */
typedef struct strata_fit_options {
  size_t struct_size;             /* sizeof(strata_fit_options) */
  char const* family;             /* as in strata_covariance; default: the start's, else "matern" */
  strata_covariance const* start; /* where to begin; default: by the observations */
  strata_covariance const* lower; /* lower bounds; default: by the observations */
  strata_covariance const* upper; /* upper bounds; default: by the observations */
  char const* fixed; /* parameters that stay as in the start, or have a value: "nu=0.5,nugget";
                           * sigma2, range, nu, nugget, sigma2_2, range_2, nu_2 */
  int directions;    /* 1: angle and ratio are estimated, too */
  double tolerance;  /* relative, of each parameter; default 1e-5 */
  int64_t max_evaluations; /* most evaluations of the likelihood; default 500 */
  /* Called after each evaluation; other than 0 ends the fit with STRATA_NOT_CONVERGED. It must
   * return: no longjmp, no exception. */
  int (*on_step)(void* context, int64_t evaluation, double log_likelihood);
  void* context; /* handed to on_step */
} strata_fit_options;

/* What is known of a model. */
typedef struct strata_geostat_report {
  size_t struct_size;            /* sizeof(strata_geostat_report) */
  int64_t n;                     /* observations */
  int64_t coefficients;          /* columns of the trend, a constant mean among them */
  int64_t parameters;            /* parameters of the covariance that were estimated */
  double log_likelihood;         /* Gaussian log-likelihood */
  double noise;                  /* error of log_likelihood, which is off by no more */
  double log_det;                /* log-determinant of the covariance matrix S */
  double quadratic_form;         /* (z - F b)' S^-1 (z - F b) */
  double log_det_trend;          /* log det F' S^-1 F - log det F'F by REML, else 0 */
  double log_det_columns;        /* log det F'F, by which R's nlme differs; 0 for a zero mean */
  int converged;                 /* 1: the search converged, or there was none */
  int64_t evaluations;           /* evaluations of the likelihood */
  int64_t not_positive_definite; /* evaluations at parameters without a factor */
  double nugget_below; /* bound at 95 % of a nugget that is 0; NaN: it is not, or unknown */
  double seconds;      /* time of the fit */
  char at_bound[80];   /* parameters that ended at a bound: "range,nu" */
  char reason[256];    /* why the search ended */
} strata_geostat_report;

/* Observations, a covariance and the factor of its matrix; opaque. One thread's at a time. */
typedef struct strata_geostat strata_geostat;

/* The log-likelihood and the factor at a covariance.
 *
 * Shape     n >= 1; with a trend n > k.
 * Result    *model, to be destroyed; NULL where the status is not STRATA_SUCCESS. The arrays may go
 *           afterwards. STRATA_NOT_POSITIVE_DEFINITE: S has no factor in fp64.
 *           STRATA_NOT_FINITE: the message names the first number that is none.
 *           STRATA_INVALID_ARGUMENT: without a nugget the message names two observations at one
 *           place; columns that depend on others are named.
 * Memory    about 4 n^2 bytes. Cost: n^3 / 3 flops. */
STRATA_API strata_status strata_geostat_at(strata_observations const* observations,
                                           strata_covariance const* covariance,
                                           strata_geostat** model);

/* The covariance of largest likelihood, and its factor. Contract as above; n >= 2.
 *
 * Result    STRATA_NOT_CONVERGED with a *model: the evaluations were used up, it is the best found;
 *           with NULL: on_step ended it. With STRATA_SUCCESS the message says what is odd: places
 *           that repeat with the same value, parameters at bounds other than a nugget of 0. options
 *           may be NULL. */
STRATA_API strata_status strata_geostat_fit(strata_observations const* observations,
                                            strata_fit_options const* options,
                                            strata_geostat** model);

/* The likelihood, and how a fit ended. */
STRATA_API strata_status strata_geostat_describe(strata_geostat const* model,
                                                 strata_geostat_report* report);

/* The model's covariance. */
STRATA_API strata_status strata_geostat_covariance(strata_geostat const* model,
                                                   strata_covariance* covariance);

/* Standard errors of what was estimated, by the Fisher information: each in its parameter's place.
 *
 * Result    NaN for a parameter that has none; the message says why of the first four. All are NaN
 *           without a fit.
 * Memory    about 2 n^2 bytes more for each of range and nu. Cost: 6 to 20 likelihoods'. */
STRATA_API strata_status strata_geostat_standard_errors(strata_geostat* model,
                                                        strata_covariance* errors);

/* b, the coefficients of the trend by generalised least squares, of which a constant mean is one,
 * and their k x k covariance (F' S^-1 F)^-1 at this S. Either may be NULL. */
STRATA_API strata_status strata_geostat_coefficients(strata_geostat const* model, double* b,
                                                     double* covariance, int64_t ldc);

/* Kriging: the field at m new places.
 *
 * Shape     x, y: m numbers, m >= 0. trend: the columns there, m x k, ldt >= max(1, m); not read
 *           where the observations had no columns. exact: 1: the nugget is a variation of the
 *           field, and predictions at observations are these; 0: it is an error.
 * Result    mean, and unless it is NULL variance: the field's about it, with the coefficients'
 *           (universal kriging); a new observation's is larger by the nugget.
 * Cost      n^2 flops a place; without variances 2 n. */
STRATA_API strata_status strata_geostat_predict(strata_geostat* model, int64_t m, double const* x,
                                                double const* y, double const* trend, int64_t ldt,
                                                int exact, double* mean, double* variance);

/* Each observation predicted from the others, or from other folds', without a refit.
 *
 * Shape     folds: n numbers, observations of one are left out together; NULL: each alone.
 * Result    residual: observed less predicted, NaN where the others do not tell the trend; its
 *           variance, the nugget among it. Either may be NULL. */
STRATA_API strata_status strata_geostat_cross_validate(strata_geostat* model, int64_t const* folds,
                                                       double* residual, double* variance);

/* NULL is no error. The message stays as it is. */
STRATA_API void strata_geostat_destroy(strata_geostat* model);

#ifdef __cplusplus
}
#endif

#endif
