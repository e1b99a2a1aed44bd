# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The same exponential field with a nugget, fitted and predicted by R packages:
#   Rscript beside_packages.R FILE.csv [PACKAGE ...]
# The file has x,y,value, as `strata mle --generate` writes it. For each package: processor seconds
# of the fit and of kriging with variances at 10,000 cells, the estimates, and the exact
# log-likelihood there, for up to 4000 places.
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1])
wanted <- if (length(arguments) > 1) arguments[-1] else c("geoR", "gstat", "fields", "GpGp")
places <- as.matrix(data[, c("x", "y")])
values <- data$value
side <- (seq_len(100) - 0.5) / 100
grid <- as.matrix(expand.grid(x = side, y = side))
start <- c(0.9 * var(values), 0.1, 0.1 * var(values))  # sigma2, range, nugget

# Each returns sigma2, range and nugget, and a function that predicts.
packages <- list(
  geoR = function() {
    fit <- suppressWarnings(geoR::likfit(coords = places, data = values, cov.model = "exponential",
                                         ini.cov.pars = start[1:2], nugget = start[3],
                                         messages = FALSE))
    list(theta = c(fit$cov.pars, fit$nugget), predict = function() geoR::krige.conv(
      coords = places, data = values, locations = grid,
      krige = geoR::krige.control(obj.model = fit), output = geoR::output.control(messages = FALSE)))
  },
  gstat = function() {
    field <- data
    sp::coordinates(field) <- ~x + y
    model <- gstat::fit.variogram(gstat::variogram(value ~ 1, field),
                                  gstat::vgm(start[1], "Exp", start[2], start[3]))
    cells <- sp::SpatialPoints(grid)
    list(theta = c(model$psill[2], model$range[2], model$psill[1]),
         predict = function() gstat::krige(value ~ 1, field, cells, model, debug.level = 0))
  },
  fields = function() {
    suppressPackageStartupMessages(library(fields))
    fit <- suppressWarnings(fields::spatialProcess(places, values, smoothness = 0.5,
                                                   mKrig.args = list(m = 1)))
    found <- fit$summary
    list(theta = c(found[["sigma2"]], found[["aRange"]], found[["tau"]]^2), predict = function() {
      stats::predict(fit, grid)
      fields::predictSE(fit, grid)
    })
  },
  GpGp = function() {
    ones <- matrix(1, length(values), 1)
    fit <- GpGp::fit_model(values, places, ones, "exponential_isotropic", m_seq = c(10, 30),
                           silent = TRUE)
    theta <- fit$covparms
    # Without variances, which it draws from simulations.
    list(theta = c(theta[1], theta[2], theta[1] * theta[3]), predict = function()
      GpGp::predictions(fit, grid, matrix(1, nrow(grid), 1), m = 60))
  })

exact <- function(theta) {
  n <- length(values)
  if (n > 4000) return(NA)
  L <- t(chol(theta[1] * exp(-as.matrix(dist(places)) / theta[2]) + diag(theta[3], n)))
  v <- forwardsolve(L, cbind(1, values))
  mean <- sum(v[, 1] * v[, 2]) / sum(v[, 1]^2)
  -n / 2 * log(2 * pi) - sum(log(diag(L))) - sum((v[, 2] - mean * v[, 1])^2) / 2
}
work <- function(time) time[["user.self"]] + time[["sys.self"]]

cat(sprintf("n = %d\n", length(values)))
for (name in wanted) {
  spent <- system.time(found <- packages[[name]]())
  asked <- system.time(found$predict())
  cat(sprintf("%-7s %-8s fit %8.2f s, maps %8.2f s; sigma2 %.5g range %.5g nugget %.5g, log-likelihood %.5f\n",
              name, packageVersion(name), work(spent), work(asked), found$theta[1], found$theta[2],
              found$theta[3], exact(found$theta)))
}
