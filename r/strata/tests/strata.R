# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The package beside dense algebra in R, and what it refuses.
library(strata)

near <- function(a, b, tolerance) stopifnot(length(a) == length(b), max(abs(a - b)) <= tolerance * max(1, abs(b)))
refuses <- function(expression, words) {
  said <- tryCatch({ expression; "nothing" }, error = conditionMessage)
  if (!grepl(words, said, fixed = TRUE)) stop("it said '", said, "', not '", words, "'")
}

set.seed(1)
n <- 70
d <- data.frame(x = runif(n), y = runif(n))
d$elev <- d$x + rnorm(n)
d$soil <- factor(sample(c("clay", "sand", "peat"), n, TRUE))
correlation <- function(a, b, range) exp(-sqrt(outer(a$x, b$x, "-")^2 + outer(a$y, b$y, "-")^2) / range)
S <- 2 * correlation(d, d, 0.2) + diag(0.5, n)
d$z <- 3 + 0.5 * d$elev + drop(crossprod(chol(S), rnorm(n)))
given <- list(family = "exponential", sigma2 = 2, range = 0.2, nugget = 0.5)

# Likelihoods, coefficients, universal kriging and leave-one-out by their formulas.
new <- data.frame(x = runif(9), y = runif(9), elev = rnorm(9), soil = factor(rep(c("clay", "peat", "sand"), 3)))
for (trend in list(z ~ elev + soil, z ~ 1, z ~ 0)) for (reml in c(FALSE, TRUE)) {
  m <- evaluate(trend, d, ~ x + y, given, reml = reml)
  F <- model.matrix(trend, d)
  k <- ncol(F)
  P <- solve(S)
  if (k > 0) {
    A <- crossprod(F, P %*% F)
    b <- drop(solve(A, crossprod(F, P %*% d$z)))
    near(coef(m), b, 1e-11)
    near(vcov(m), solve(A), 1e-11)
    stopifnot(identical(names(coef(m)), colnames(F)))
  }
  r <- if (k > 0) d$z - drop(F %*% b) else d$z
  log_det <- function(M) as.numeric(determinant(M)$modulus)
  l <- -0.5 * ((n - reml * k) * log(2 * pi) + log_det(S) + sum(r * (P %*% r)) + if (reml && k > 0) log_det(A) - log_det(crossprod(F)) else 0)
  near(as.numeric(logLik(m)), l, 1e-11)
  stopifnot(attr(logLik(m), "df") == k, nobs(m) == n)
  C <- 2 * correlation(d, new, 0.2)
  Fn <- model.matrix(delete.response(terms(trend)), new)
  p <- predict(m, new, se.fit = TRUE)
  D <- if (k > 0) Fn - crossprod(C, P %*% F) else 0
  near(p$fit, drop((if (k > 0) Fn %*% b else 0) + crossprod(C, P %*% r)), 1e-11)
  near(p$se.fit^2, 2 - colSums(C * (P %*% C)) + if (k > 0) rowSums(D * (D %*% solve(A))) else 0, 1e-10)
  near(predict(m, new), p$fit, 1e-11)
  near(fitted(m) + residuals(m), d$z, 1e-12)
  left <- cross_validate(m)
  i <- 5
  near(left$predicted[i], predict(evaluate(trend, d[-i, ], ~ x + y, given), d[i, ]), 1e-9)
  near(predict(m, exact = TRUE), d$z, 1e-10)
}

# Fits: a maximum, fixed parameters, standard errors, what is saved.
m <- fit(z ~ elev, d, coords = c("x", "y"), family = "exponential")
at <- function(...) as.numeric(logLik(evaluate(z ~ elev, d, ~ x + y, modifyList(c(list(family = "exponential"), as.list(m$covariance)), list(...)))))
near(at(), as.numeric(logLik(m)), 1e-10)
for (name in names(m$covariance)) for (factor in c(0.95, 1.05))
  stopifnot(do.call(at, setNames(list(m$covariance[[name]] * factor), name)) <= as.numeric(logLik(m)) + 1e-7)
stopifnot(m$report$converged, m$standard_errors > 0, attr(logLik(m), "df") == 5, all(is.finite(confint(m))), is.finite(BIC(m)))
held <- fit(z ~ elev, d, ~ x + y, fixed = c(nu = 0.5, nugget = 0.1), reml = TRUE)
stopifnot(held$covariance[["nu"]] == 0.5, held$covariance[["nugget"]] == 0.1, is.na(held$standard_errors[["nu"]]))
stopifnot(any(grepl("REML", capture.output(print(held)))), any(grepl("AIC", capture.output(print(summary(held))))))
file <- tempfile()
saveRDS(m, file)
stopifnot(identical(predict(readRDS(file), new), predict(m, new)))

# Missing values: rows are left out, predictions are missing.
gaps <- d
gaps$z[3] <- NA
gaps$x[8] <- NA
m <- evaluate(z ~ elev, gaps, ~ x + y, given)
near(as.numeric(logLik(m)), as.numeric(logLik(evaluate(z ~ elev, d[-c(3, 8), ], ~ x + y, given))), 0)
some <- new
some$elev[2] <- NA
stopifnot(identical(is.na(predict(m, some)), seq_len(9) == 2), length(predict(m, new[0, ])) == 0)
groups <- replace(rep(1:7, 10), 3, NA)
stopifnot(identical(cross_validate(m, groups), cross_validate(m, groups[-c(3, 8)])))
refuses(cross_validate(m, replace(groups, 5, NA)), "folds: number 4 of the observations' is missing")
refuses(cross_validate(m, groups[-1]), "69 for 68")

# What the others do not tell is missing, with a warning.
alone <- evaluate(z ~ I(elev == elev[5]), d, ~ x + y, given)
said <- ""
left <- withCallingHandlers(cross_validate(alone), warning = function(w) { said <<- conditionMessage(w); invokeRestart("muffleWarning") })
stopifnot(grepl("1 observations have no prediction", said), identical(which(is.nan(left$residual)), 5L))

# Lengths, columns and types, before the library reads.
refuses(evaluate(cbind(z, elev) ~ 1, d, ~ x + y, given), "the response must be one column, it has 2")
near(coef(evaluate(scale(z) ~ 1, d, ~ x + y, given)), coef(evaluate(drop(scale(z)) ~ 1, d, ~ x + y, given)), 0)
m <- evaluate(z ~ elev, d, ~ x + y, given)
for (wrong in list(list(x = 1), list(y = 1:70), list(error_variances = numeric(3)), list(values = numeric(71))))
  refuses(.Call(strata:::r_at, modifyList(m$observed$data, wrong), given), "data of different lengths")
refuses(.Call(strata:::r_at, modifyList(m$observed$data, list(trend = diag(2))), given), "the trend is 2 x 2, must be 70 x 2")
refuses(.Call(strata:::r_at, modifyList(m$observed$data, list(names = "elev")), given), "2 columns of the trend need as many names")
pointer <- m$model$pointer
refuses(.Call(strata:::r_predict, pointer, c(0, 1), c(0, 1), matrix(1, 2, 3), FALSE, FALSE), "the trend is 2 x 3, must be 2 x 2")
refuses(.Call(strata:::r_predict, pointer, c(0, 1), c(0, 1), matrix(1, 1, 2), FALSE, FALSE), "the trend is 1 x 2, must be 2 x 2")
refuses(.Call(strata:::r_predict, pointer, c(0, 1), 0, matrix(1, 2, 2), FALSE, FALSE), "data of different lengths")
refuses(.Call(strata:::r_cross_validate, pointer, 1:3, 70), "70 integers")
refuses(predict(m, transform(new, elev = soil)), "elev")
two <- d
two$M <- cbind(a = d$elev, b = d$elev^2)
m <- evaluate(z ~ M, two, ~ x + y, given)
other <- new
other$M <- cbind(a = new$elev, b = new$elev^2)
near(predict(m, other), predict(evaluate(z ~ elev + I(elev^2), d, ~ x + y, given), new), 1e-11)
colnames(other$M) <- c("b", "a")
refuses(predict(m, other), "newdata: columns of the trend differ from the fit's: (Intercept), Mb, Ma")

# Options.
refuses(fit(z ~ 1, d, ~ x + y, family = c("matern", "gaussian")), "family must be one string")
refuses(fit(z ~ 1, d, ~ x + y, family = NA_character_), "family must be one string")
refuses(evaluate(z ~ 1, d, ~ x + y, given, metric = 1), "metric must be one string")
refuses(evaluate(z ~ 1, d, ~ x + y, given, reml = NA), "reml must be TRUE or FALSE")
refuses(fit(z ~ 1, d, ~ x + y, reml = "REML"), "reml must be TRUE or FALSE")
refuses(fit(z ~ 1, d, ~ x + y, directions = c(TRUE, FALSE)), "directions must be TRUE or FALSE")
refuses(fit(z ~ 1, d, ~ x + y, max_evaluations = NA), "max_evaluations must be a number")
refuses(fit(z ~ 1, d, ~ x + y, max_evaluations = -Inf), "max_evaluations")
near(logLik(fit(z ~ 1, d, ~ x + y, family = "exponential", max_evaluations = Inf, standard_errors = FALSE)),
     logLik(fit(z ~ 1, d, ~ x + y, family = "exponential", standard_errors = FALSE)), 0)
comma <- options(OutDec = ",")
held <- fit(z ~ 1, d, ~ x + y, fixed = c(nu = 1.5), standard_errors = FALSE)
options(comma)
stopifnot(held$covariance[["nu"]] == 1.5)

# The page's formula of nlme's likelihood, by its own terms.
m <- evaluate(z ~ elev, d, ~ x + y, given, reml = TRUE)
F <- model.matrix(z ~ elev, d)
near(m$report$log_det_columns, log_det(crossprod(F)), 1e-11)

# Refusals.
refuses(fit(z ~ elev, d), "coords is missing")
refuses(fit(z ~ elev, d, c("x", "northing")), "no column northing")
refuses(fit(z ~ elev + I(2 * elev), d, ~ x + y), "I(2 * elev)")
refuses(fit(z ~ elev, d[1, ], ~ x + y), "strata_geostat_fit")
refuses(fit(z ~ elev, d[0, ], ~ x + y), "strata_geostat_fit")
refuses(fit(z ~ elev, d, ~ x + y, family = "cubic"), "cubic")
refuses(fit(z ~ elev, d, ~ x + y, fixed = 0.5), "fixed")
refuses(fit(z ~ offset(elev), d, ~ x + y), "offset")
refuses(evaluate(z ~ 1, d, ~ x + y, list(sill = 2)), "sill")
refuses(evaluate(z ~ 1, rbind(d, d[4, ]), ~ x + y, list(family = "exponential", sigma2 = 1, range = 1)), "71")
refuses(evaluate(z ~ 1, d, ~ x + y, modifyList(given, list(range = Inf))), "range")
stopifnot(inherits(tryCatch(fit(z ~ 1, rbind(d, d[4, ]), ~ x + y), warning = identity), "warning"))

# Objects of sf and terra, where these are.
if (requireNamespace("sf", quietly = TRUE)) {
  points <- sf::st_as_sf(d, coords = c("x", "y"))
  m <- evaluate(z ~ elev, points, covariance = given)
  there <- predict(m, sf::st_as_sf(new, coords = c("x", "y")), se.fit = TRUE)
  stopifnot(inherits(there, "sf"), identical(there$fit, predict(evaluate(z ~ elev, d, ~ x + y, given), new)), there$se.fit > 0)
  degrees <- evaluate(z ~ 1, sf::st_as_sf(d, coords = c("x", "y"), crs = 4326), covariance = given)
  stopifnot(degrees$observed$data$metric == "great-circle")
} else cat("sf is not installed: its objects are not tested\n")
if (requireNamespace("terra", quietly = TRUE)) {
  cells <- terra::rast(nrows = 3, ncols = 4, xmin = 0, xmax = 1, ymin = 0, ymax = 1, crs = "local")
  terra::values(cells) <- c(NA, rnorm(11))
  names(cells) <- "elev"
  m <- evaluate(z ~ elev, terra::vect(d, geom = c("x", "y")), covariance = given)
  map <- predict(m, cells, se.fit = TRUE)
  frame <- data.frame(terra::xyFromCell(cells, 1:12), elev = terra::values(cells)[, 1])
  stopifnot(identical(names(map), c("fit", "se.fit")), identical(unname(terra::values(map)[, 1]), predict(m, frame, coords = ~ x + y)),
            is.na(terra::values(map)[1, ]))
} else cat("terra is not installed: its objects are not tested\n")
cat("all is well\n")
