/* SPDX-FileCopyrightText: The Strata authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* strata_geostat.h for R: lists in, lists out. Errors are R's, with strata_message() as their text.
 * No R function that may jump out runs while the library is on the stack. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <stdint.h>
#include <strata_geostat.h>
#include <string.h>

static SEXP member(SEXP list, char const* name) {
  SEXP const names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t k = 0; k < XLENGTH(list); ++k)
    if (strcmp(CHAR(STRING_ELT(names, k)), name) == 0) return VECTOR_ELT(list, k);
  return R_NilValue;
}

/* NULL where the list has none. */
static double const* reals(SEXP list, char const* name) {
  SEXP const found = member(list, name);
  return Rf_isReal(found) && XLENGTH(found) > 0 ? REAL(found) : NULL;
}
static char const* text(SEXP list, char const* name) {
  SEXP const found = member(list, name);
  if (found == R_NilValue) return NULL;
  if (!Rf_isString(found) || XLENGTH(found) != 1 || STRING_ELT(found, 0) == NA_STRING)
    Rf_errorcall(R_NilValue, "%s must be one string", name);
  return CHAR(STRING_ELT(found, 0));
}
static double number(SEXP list, char const* name) {
  SEXP const found = member(list, name);
  return found == R_NilValue ? 0 : Rf_asReal(found);
}
/* Inf is the largest there is; what is negative stays so. */
static int64_t count(SEXP list, char const* name) {
  double const found = number(list, name);
  if (ISNAN(found)) Rf_errorcall(R_NilValue, "%s must be a number", name);
  return found >= 9223372036854775808.0 ? INT64_MAX : found < 0 ? -1 : (int64_t)found;
}

/* Their names in a list for R, in the order of its numbers. */
static char const* const parameter_names[9] = {"sigma2", "range",    "nu",      "nugget", "angle",
                                               "ratio",  "sigma2_2", "range_2", "nu_2"};
static double* parameter(strata_covariance* c, int k) {
  double* const all[9] = {&c->sigma2, &c->range,    &c->nu,      &c->nugget, &c->angle,
                          &c->ratio,  &c->sigma2_2, &c->range_2, &c->nu_2};
  return all[k];
}

static strata_covariance covariance(SEXP list) {
  strata_covariance c;
  char const* const family = text(list, "family");
  memset(&c, 0, sizeof c);
  c.struct_size = sizeof c;
  if (family != NULL) strncpy(c.family, family, sizeof c.family - 1);
  for (int k = 0; k < 9; ++k) *parameter(&c, k) = number(list, parameter_names[k]);
  return c;
}

static SEXP parameters(strata_covariance* c) {
  SEXP const values = PROTECT(Rf_allocVector(REALSXP, 9)),
             names = PROTECT(Rf_allocVector(STRSXP, 9));
  for (int k = 0; k < 9; ++k) {
    REAL(values)[k] = *parameter(c, k);
    SET_STRING_ELT(names, k, Rf_mkChar(parameter_names[k]));
  }
  Rf_setAttrib(values, R_NamesSymbol, names);
  UNPROTECT(2);
  return values;
}

static void need_numbers(SEXP found, R_xlen_t n) {
  if (!Rf_isReal(found) || XLENGTH(found) != n)
    Rf_errorcall(R_NilValue, "data of different lengths");
}
static void need_matrix(SEXP found, R_xlen_t rows, int64_t columns) {
  if (!Rf_isReal(found) || Rf_nrows(found) != rows || Rf_ncols(found) != columns)
    Rf_errorcall(R_NilValue, "the trend is %d x %d, must be %lld x %lld", Rf_nrows(found),
                 Rf_ncols(found), (long long)rows, (long long)columns);
}

/* The list lives as long as what it returns. */
static strata_observations observations(SEXP list) {
  strata_observations o;
  SEXP const trend = member(list, "trend"), names = member(list, "names");
  memset(&o, 0, sizeof o);
  o.struct_size = sizeof o;
  o.n = Rf_xlength(member(list, "values"));
  need_numbers(member(list, "values"), o.n);
  need_numbers(member(list, "x"), o.n);
  need_numbers(member(list, "y"), o.n);
  if (member(list, "error_variances") != R_NilValue)
    need_numbers(member(list, "error_variances"), o.n);
  o.x = reals(list, "x");
  o.y = reals(list, "y");
  o.values = reals(list, "values");
  o.metric = text(list, "metric");
  o.error_variances = reals(list, "error_variances");
  o.zero_mean = number(list, "zero_mean") != 0;
  o.reml = number(list, "reml") != 0;
  if (trend == R_NilValue) return o;
  o.trend_columns = Rf_ncols(trend);
  need_matrix(trend, o.n, o.trend_columns);
  if (!Rf_isString(names) || XLENGTH(names) != o.trend_columns)
    Rf_errorcall(R_NilValue, "%lld columns of the trend need as many names",
                 (long long)o.trend_columns);
  o.trend = REAL(trend);
  char const** const called = (char const**)R_alloc((size_t)o.trend_columns, sizeof(char const*));
  for (int64_t k = 0; k < o.trend_columns; ++k) called[k] = CHAR(STRING_ELT(names, k));
  o.names = called;
  return o;
}

static void finalize(SEXP pointer) {
  strata_geostat_destroy((strata_geostat*)R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static strata_geostat* model_of(SEXP pointer) {
  strata_geostat* const model = (strata_geostat*)R_ExternalPtrAddr(pointer);
  if (model == NULL) Rf_errorcall(R_NilValue, "the model is not there any more");
  return model;
}

static void check(strata_status status) {
  if (status != STRATA_SUCCESS) Rf_errorcall(R_NilValue, "%s", strata_message());
}

static void look_for_interrupt(void* context) {
  (void)context;
  R_CheckUserInterrupt();
}
static int is_interrupted(void* context, int64_t evaluation, double log_likelihood) {
  (void)evaluation;
  (void)log_likelihood;
  *(int*)context = !R_ToplevelExec(look_for_interrupt, NULL);
  return *(int*)context;
}

/* What the call said, where it is more than its status, as an attribute of its answer. */
static void keep_message(SEXP answer, strata_status status) {
  char const* const message = strata_message();
  if (status != STRATA_SUCCESS || strcmp(message, strata_status_name(STRATA_SUCCESS)) != 0)
    Rf_setAttrib(answer, Rf_install("message"), Rf_mkString(message));
}

/* A pointer that owns the model. */
static SEXP owned(strata_geostat* model, strata_status status) {
  SEXP const pointer = PROTECT(R_MakeExternalPtr(model, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalize, TRUE);
  keep_message(pointer, status);
  UNPROTECT(1);
  return pointer;
}

static SEXP r_at(SEXP data, SEXP given) {
  strata_observations const o = observations(data);
  strata_covariance const c = covariance(given);
  strata_geostat* model = NULL;
  check(strata_geostat_at(&o, &c, &model));
  return owned(model, STRATA_SUCCESS);
}

static SEXP r_fit(SEXP data, SEXP options) {
  strata_observations const o = observations(data);
  strata_fit_options how;
  strata_covariance bounds[3];
  char const* const names[3] = {"start", "lower", "upper"};
  strata_covariance const** const members[3] = {&how.start, &how.lower, &how.upper};
  strata_geostat* model = NULL;
  memset(&how, 0, sizeof how);
  how.struct_size = sizeof how;
  how.family = text(options, "family");
  how.fixed = text(options, "fixed");
  how.directions = number(options, "directions") != 0;
  how.tolerance = number(options, "tolerance");
  how.max_evaluations = count(options, "max_evaluations");
  int interrupted = 0;
  how.on_step = is_interrupted;
  how.context = &interrupted;
  for (int k = 0; k < 3; ++k)
    if (member(options, names[k]) != R_NilValue) {
      bounds[k] = covariance(member(options, names[k]));
      *members[k] = &bounds[k];
    }
  strata_status const status = strata_geostat_fit(&o, &how, &model);
  if (interrupted) Rf_errorcall(R_NilValue, "the fit was interrupted");
  if (model == NULL) Rf_errorcall(R_NilValue, "%s", strata_message());
  return owned(model, status);
}

static SEXP r_covariance(SEXP pointer) {
  strata_covariance c;
  c.struct_size = sizeof c;
  check(strata_geostat_covariance(model_of(pointer), &c));
  SEXP const values = PROTECT(parameters(&c));
  Rf_setAttrib(values, Rf_install("family"), Rf_mkString(c.family));
  UNPROTECT(1);
  return values;
}

static SEXP r_standard_errors(SEXP pointer) {
  strata_covariance c;
  c.struct_size = sizeof c;
  check(strata_geostat_standard_errors(model_of(pointer), &c));
  return parameters(&c);
}

static strata_geostat_report report_of(SEXP pointer) {
  strata_geostat_report r;
  memset(&r, 0, sizeof r);
  r.struct_size = sizeof r;
  check(strata_geostat_describe(model_of(pointer), &r));
  return r;
}

static SEXP r_describe(SEXP pointer) {
  strata_geostat_report const r = report_of(pointer);
  char const* names[] = {
      "n",       "coefficients",   "parameters",    "log_likelihood",  "noise",
      "log_det", "quadratic_form", "log_det_trend", "log_det_columns", "evaluations",
      "seconds", "nugget_below",   "converged",     "at_bound",        "reason",
      ""};
  double const values[12] = {(double)r.n,
                             (double)r.coefficients,
                             (double)r.parameters,
                             r.log_likelihood,
                             r.noise,
                             r.log_det,
                             r.quadratic_form,
                             r.log_det_trend,
                             r.log_det_columns,
                             (double)r.evaluations,
                             r.seconds,
                             r.nugget_below};
  SEXP const list = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int k = 0; k < 12; ++k) SET_VECTOR_ELT(list, k, Rf_ScalarReal(values[k]));
  SET_VECTOR_ELT(list, 12, Rf_ScalarLogical(r.converged));
  SET_VECTOR_ELT(list, 13, Rf_mkString(r.at_bound));
  SET_VECTOR_ELT(list, 14, Rf_mkString(r.reason));
  UNPROTECT(1);
  return list;
}

static SEXP r_coefficients(SEXP pointer, SEXP count) {
  int const k = Rf_asInteger(count);
  char const* names[] = {"b", "covariance", ""};
  SEXP const list = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, k));
  SET_VECTOR_ELT(list, 1, Rf_allocMatrix(REALSXP, k, k));
  check(strata_geostat_coefficients(model_of(pointer), REAL(VECTOR_ELT(list, 0)),
                                    REAL(VECTOR_ELT(list, 1)), k > 0 ? k : 1));
  UNPROTECT(1);
  return list;
}

static SEXP r_predict(SEXP pointer, SEXP x, SEXP y, SEXP trend, SEXP exact, SEXP variances) {
  R_xlen_t const m = XLENGTH(x);
  need_numbers(y, m);
  if (trend != R_NilValue) need_matrix(trend, m, report_of(pointer).coefficients);
  int const wanted = Rf_asLogical(variances);
  char const* names[] = {"mean", "variance", ""};
  SEXP const list = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, m));
  if (wanted) SET_VECTOR_ELT(list, 1, Rf_allocVector(REALSXP, m));
  check(strata_geostat_predict(model_of(pointer), m, REAL(x), REAL(y),
                               trend == R_NilValue ? NULL : REAL(trend), m > 0 ? m : 1,
                               Rf_asLogical(exact), REAL(VECTOR_ELT(list, 0)),
                               wanted ? REAL(VECTOR_ELT(list, 1)) : NULL));
  UNPROTECT(1);
  return list;
}

static SEXP r_cross_validate(SEXP pointer, SEXP folds, SEXP count) {
  R_xlen_t const n = (R_xlen_t)Rf_asReal(count);
  char const* names[] = {"residual", "variance", ""};
  int64_t* groups = NULL;
  SEXP const list = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, n));
  SET_VECTOR_ELT(list, 1, Rf_allocVector(REALSXP, n));
  if (folds != R_NilValue) {
    if (!Rf_isInteger(folds) || XLENGTH(folds) != n)
      Rf_errorcall(R_NilValue, "folds: %lld integers are needed", (long long)n);
    groups = (int64_t*)R_alloc((size_t)n, sizeof(int64_t));
    for (R_xlen_t i = 0; i < n; ++i) groups[i] = INTEGER(folds)[i];
  }
  check(strata_geostat_cross_validate(model_of(pointer), groups, REAL(VECTOR_ELT(list, 0)),
                                      REAL(VECTOR_ELT(list, 1))));
  keep_message(list, STRATA_SUCCESS);
  UNPROTECT(1);
  return list;
}

static SEXP r_is_there(SEXP pointer) {
  return Rf_ScalarLogical(R_ExternalPtrAddr(pointer) != NULL);
}
static SEXP r_configuration(void) { return Rf_mkString(strata_configuration()); }

static R_CallMethodDef const calls[] = {{"r_at", (DL_FUNC)&r_at, 2},
                                        {"r_fit", (DL_FUNC)&r_fit, 2},
                                        {"r_covariance", (DL_FUNC)&r_covariance, 1},
                                        {"r_standard_errors", (DL_FUNC)&r_standard_errors, 1},
                                        {"r_describe", (DL_FUNC)&r_describe, 1},
                                        {"r_coefficients", (DL_FUNC)&r_coefficients, 2},
                                        {"r_predict", (DL_FUNC)&r_predict, 6},
                                        {"r_cross_validate", (DL_FUNC)&r_cross_validate, 3},
                                        {"r_is_there", (DL_FUNC)&r_is_there, 1},
                                        {"r_configuration", (DL_FUNC)&r_configuration, 0},
                                        {NULL, NULL, 0}};

void R_init_strata(DllInfo* library) {
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
