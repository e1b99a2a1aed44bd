# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause

coef.strata_fit <- function(object, ...) object$coefficients

vcov.strata_fit <- function(object, ...) object$vcov

formula.strata_fit <- function(x, ...) formula(x$observed$terms)

nobs.strata_fit <- function(object, ...) object$report$n

logLik.strata_fit <- function(object, ...) {
  structure(object$report$log_likelihood, df = object$report$parameters + object$report$coefficients, nobs = object$report$n,
            class = "logLik")
}

fitted.strata_fit <- function(object, ...) {
  data <- object$observed$data
  .Call(r_predict, model_of(object), data$x, data$y, data$trend, FALSE, FALSE)$mean
}

residuals.strata_fit <- function(object, ...) object$observed$data$values - fitted(object)

predict.strata_fit <- function(object, newdata, se.fit = FALSE, coords = object$observed$coords, exact = FALSE, ...) {
  if (missing(newdata)) {
    data <- object$observed$data
    found <- .Call(r_predict, model_of(object), data$x, data$y, data$trend, exact, se.fit)
    return(if (se.fit) list(fit = found$mean, se.fit = sqrt(found$variance)) else found$mean)
  }
  table <- table_of(newdata, coords, "newdata")
  about <- object$observed
  terms <- delete.response(about$terms)
  frame <- if (length(attr(terms, "variables")) == 1) table$frame[, 0, drop = FALSE]
           else model.frame(terms, table$frame, na.action = na.pass, xlev = about$xlevels)
  if (!is.null(about$data$trend)) stats::.checkMFClasses(attr(terms, "dataClasses"), frame)
  kept <- stats::complete.cases(table$places, if (ncol(frame) > 0) frame)
  trend <- if (!is.null(about$data$trend)) model.matrix(terms, frame[kept, , drop = FALSE], contrasts.arg = about$contrasts)
  if (!is.null(trend) && !identical(colnames(trend), about$columns))
    stop("newdata: columns of the trend differ from the fit's: ", paste(colnames(trend), collapse = ", "), call. = FALSE)
  found <- .Call(r_predict, model_of(object), as.double(table$places[kept, 1]), as.double(table$places[kept, 2]),
                 if (!is.null(trend)) trend + 0, exact, se.fit)
  mean <- replace(rep(NA_real_, length(kept)), kept, found$mean)
  error <- if (se.fit) replace(rep(NA_real_, length(kept)), kept, sqrt(found$variance))
  beside(newdata, mean, error)
}

# Predictions in what the new places came as: columns of an sf or SpatVector, layers of a SpatRaster, else numbers.
beside <- function(newdata, mean, error) {
  if (inherits(newdata, "SpatRaster")) {
    layers <- terra::setValues(terra::rast(newdata, nlyrs = 1 + !is.null(error)), cbind(mean, error))
    names(layers) <- c("fit", if (!is.null(error)) "se.fit")
    return(layers)
  }
  if (inherits(newdata, c("sf", "SpatVector"))) {
    newdata$fit <- mean
    if (!is.null(error)) newdata$se.fit <- error
    return(newdata)
  }
  if (is.null(error)) mean else list(fit = mean, se.fit = error)
}

print.strata_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  if (length(x$coefficients) > 0) {
    cat("Coefficients:\n")
    print(x$coefficients, digits = digits)
    cat("\n")
  }
  cat("Covariance (", x$family, "):\n", sep = "")
  print(x$covariance, digits = digits)
  cat("\nLog-likelihood (", if (x$observed$data$reml) "REML" else "ML", "): ", format(x$report$log_likelihood, digits = 10), ", ",
      x$report$n, " observations\n", sep = "")
  invisible(x)
}

summary.strata_fit <- function(object, ...) {
  error <- sqrt(diag(object$vcov))
  z <- object$coefficients / error
  coefficients <- cbind(Estimate = object$coefficients, "Std. Error" = error, "z value" = z, "Pr(>|z|)" = 2 * pnorm(-abs(z)))
  errors <- object$standard_errors
  covariance <- cbind(Estimate = object$covariance, "Std. Error" = if (is.null(errors)) NA_real_ else errors)
  structure(c(object[c("call", "family", "report")], list(coefficients = coefficients, covariance = covariance,
              reml = object$observed$data$reml, omitted = object$observed$omitted, logLik = logLik(object))), class = "summary.strata_fit")
}

print.summary.strata_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  if (nrow(x$coefficients) > 0) {
    cat("Coefficients:\n")
    printCoefmat(x$coefficients, digits = digits)
    cat("\n")
  }
  cat("Covariance (", x$family, "):\n", sep = "")
  print(x$covariance, digits = digits, na.print = "-")
  if (nzchar(x$report$at_bound)) cat("At a bound: ", x$report$at_bound, "\n", sep = "")
  if (nzchar(x$report$reason)) cat(x$report$evaluations, " evaluations: ", x$report$reason, "\n", sep = "")
  if (x$omitted > 0) cat(x$omitted, "rows with missing values were left out\n")
  cat("\nLog-likelihood (", if (x$reml) "REML" else "ML", "): ", format(x$report$log_likelihood, digits = 10), " on ",
      attr(x$logLik, "df"), " parameters, ", x$report$n, " observations; AIC ", format(stats::AIC(x$logLik), digits = 6), "\n", sep = "")
  invisible(x)
}
