# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause

fit <- function(formula, data, coords = NULL, family = NULL, reml = FALSE, fixed = NULL, start = NULL, lower = NULL, upper = NULL,
                directions = FALSE, metric = NULL, error_variances = NULL, tolerance = 1e-5, max_evaluations = 500,
                standard_errors = TRUE) {
  stopifnot("directions must be TRUE or FALSE" = isTRUE(directions) || isFALSE(directions))
  observed <- observed_of(formula, data, coords, reml, metric, error_variances)
  options <- list(family = family, fixed = fixed_of(fixed), start = covariance_of(start), lower = covariance_of(lower),
                  upper = covariance_of(upper), directions = directions, tolerance = tolerance, max_evaluations = max_evaluations)
  pointer <- .Call(r_fit, observed$data, options)
  pass_on(pointer)
  object <- made_of(pointer, observed, match.call())
  if (standard_errors) object$standard_errors <- shown(.Call(r_standard_errors, pointer), object$family)[names(object$covariance)]
  object
}

# What the library said beside its answer.
pass_on <- function(answer) {
  said <- attr(answer, "message")
  if (!is.null(said)) warning(said, call. = FALSE)
}

evaluate <- function(formula, data, coords = NULL, covariance, reml = FALSE, metric = NULL, error_variances = NULL) {
  observed <- observed_of(formula, data, coords, reml, metric, error_variances)
  made_of(.Call(r_at, observed$data, covariance_of(covariance)), observed, match.call())
}

cross_validate <- function(object, folds = NULL) {
  n <- object$report$n
  if (!is.null(folds)) {
    kept <- object$observed$kept
    if (length(folds) == length(kept)) folds <- folds[kept]
    if (length(folds) != n) stop("folds: ", length(folds), " for ", n, " observations", call. = FALSE)
    if (anyNA(folds)) stop("folds: number ", which(is.na(folds))[1], " of the observations' is missing", call. = FALSE)
    folds <- as.integer(factor(folds))
  }
  found <- .Call(r_cross_validate, model_of(object), folds, n)
  pass_on(found)
  observed <- object$observed$data$values
  data.frame(observed = observed, predicted = observed - found$residual, se = sqrt(found$variance), residual = found$residual,
             z = found$residual / sqrt(found$variance))
}

# "nu=0.5,nugget=0" of c(nu = 0.5, nugget = 0); names alone stay as in the start.
fixed_of <- function(fixed) {
  if (is.null(fixed) || length(fixed) == 0) return(NULL)
  if (is.character(fixed)) return(paste(fixed, collapse = ","))
  if (is.null(names(fixed))) stop("fixed: numbers need the names of parameters, as in c(nu = 0.5)", call. = FALSE)
  paste(names(fixed), vapply(fixed, function(v) format(v, digits = 17, scientific = TRUE, decimal.mark = "."), ""), sep = "=", collapse = ",")
}

covariance_of <- function(given) {
  if (is.null(given)) return(NULL)
  given <- as.list(given)
  known <- c("family", "sigma2", "range", "nu", "nugget", "angle", "ratio", "sigma2_2", "range_2", "nu_2")
  wrong <- setdiff(names(given), known)
  if (is.null(names(given)) || length(wrong) > 0)
    stop("a covariance is a list of ", paste(known, collapse = ", "), if (length(wrong) > 0) c("; there is ", paste(wrong, collapse = ", ")),
         call. = FALSE)
  given
}

# Of nine parameters those that the family has.
shown <- function(parameters, family) {
  families <- strsplit(family, "+", fixed = TRUE)[[1]]
  has_shape <- families %in% c("matern", "powered")
  names <- c("sigma2", "range", if (has_shape[1]) "nu", "nugget", "angle", "ratio",
             if (length(families) == 2) c("sigma2_2", "range_2", if (has_shape[2]) "nu_2"))
  replace(parameters[names], is.nan(parameters[names]), NA_real_)
}

made_of <- function(pointer, observed, call) {
  model <- new.env(parent = emptyenv())
  model$pointer <- pointer
  report <- .Call(r_describe, pointer)
  all <- .Call(r_covariance, pointer)
  family <- attr(all, "family")
  parameters <- shown(all, family)
  if (parameters[["ratio"]] == 1) parameters <- parameters[setdiff(names(parameters), c("angle", "ratio"))]
  b <- .Call(r_coefficients, pointer, report$coefficients)
  names(b$b) <- observed$columns
  dimnames(b$covariance) <- list(observed$columns, observed$columns)
  structure(list(call = call, family = family, covariance = parameters, coefficients = b$b, vcov = b$covariance, report = report,
                 observed = observed, model = model), class = "strata_fit")
}

# The library's model, which is made anew where the object comes from a file.
model_of <- function(object) {
  model <- object$model
  if (!.Call(r_is_there, model$pointer))
    model$pointer <- .Call(r_at, object$observed$data, c(list(family = object$family), as.list(object$covariance)))
  model$pointer
}
