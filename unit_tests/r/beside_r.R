# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Strata beside nlme, geoR and gstat, of these what is installed: log-likelihoods by ML and REML at the same parameters, universal
# kriging and its variances, fits. Rscript beside_r.R [--write HEADER]: with geoR and nlme also write what they give for data made here,
# which unit_tests/geostat compares without R.
suppressPackageStartupMessages(library(strata))

has <- function(...) all(vapply(c(...), requireNamespace, NA, quietly = TRUE))
arguments <- commandArgs(trailingOnly = TRUE)
worst <- list()  # by peer and quantity: the largest difference

differs <- function(peer, what, of, ours, theirs, tolerance, scale = 1) {
  difference <- max(abs(ours - theirs) / pmax(scale, 1e-300))
  key <- paste(peer, what)
  worst[[key]] <<- max(worst[[key]], difference)
  if (!is.finite(difference) || difference > tolerance) {
    cat(sprintf("%s, %s of %s: off by %.3g, at most %.3g\n", peer, what, of, difference, tolerance))
    failed <<- TRUE
  }
}
failed <- FALSE

# ---- the data: x, y, z and covariates, of which a trend is made ----

made <- function(name, places, trend, noise, ...) {
  set.seed(20261129)
  d <- data.frame(x = round(places[, 1], 3), y = round(places[, 2], 3))
  d$elev <- round(2 * d$x + rnorm(nrow(d)), 3)
  root <- chol(exp(-as.matrix(dist(d[c("x", "y")])) / 0.3) + diag(noise, nrow(d)))
  d$z <- round(5 + d$x - 0.5 * d$elev + drop(crossprod(root, rnorm(nrow(d)))), 3)
  list(name = name, data = d, trend = trend, ...)
}
set.seed(1)
lattice <- expand.grid((0:6) / 6, (0:6) / 6)
clusters <- cbind(rep(c(0.2, 0.7, 0.5), each = 14), rep(c(0.3, 0.4, 0.9), each = 14)) + matrix(rnorm(84, sd = 0.07), 42)
scattered <- matrix(runif(100), 50)
line <- cbind(sort(runif(45, 0, 3)), 0)
of_formulas <- list(
  made("lattice", lattice, z ~ elev, 0.2, family = "exponential", theta = c(1.1, 0.3, 0.5, 0.2)),
  made("clusters", clusters, z ~ 1, 0.1, family = "matern", theta = c(0.9, 0.12, 1.5, 0.15)),
  made("scattered", scattered, z ~ x + y, 0.3, family = "spherical", theta = c(1.3, 0.6, 0.5, 0.25)),
  made("line", line, z ~ x, 0.2, family = "gaussian", theta = c(0.8, 0.25, 0.5, 0.3)),
  made("powered", scattered[1:40, ], z ~ elev + x, 0.2, family = "powered", theta = c(1.2, 0.35, 1.3, 0.1)))

# Those of packages; theta is near a fit's.
set <- function(name, x, y, z, elev, trend, family, theta) {
  list(name = name, data = data.frame(x = x, y = y, z = z, elev = elev), trend = trend, family = family, theta = theta)
}
data_of <- function(name, package) get(utils::data(list = name, package = package, envir = environment()))
of_packages <- list()
if (has("sp")) of_packages$meuse <- with(data_of("meuse", "sp"), set("meuse", x, y, log(zinc), sqrt(dist), z ~ elev, "exponential",
                                                                    c(0.15, 190, 0.5, 0.05)))
if (has("MASS")) of_packages$topo <- with(MASS::topo, set("topo", x, y, z, x, z ~ x + y, "matern", c(2700, 1.2, 1.5, 40)))
near_fiji <- datasets::quakes[!duplicated(datasets::quakes[c("lat", "long")]), ][1:200, ]
of_packages$quakes <- with(near_fiji, set("quakes", long, lat, mag, depth / 100, z ~ elev, "exponential", c(0.05, 1.5, 0.5, 0.1)))
cells <- expand.grid(x = seq(2, 87, 7), y = seq(2, 61, 7))
of_packages$volcano <- set("volcano", cells$x, cells$y, datasets::volcano[as.matrix(cells)], cells$x, z ~ x + y, "spherical",
                           c(700, 40, 0.5, 5))
if (has("nlme")) of_packages$wheat <- with(nlme::Wheat2[1:112, ], set("wheat", longitude, latitude, yield, longitude,
                                           z ~ x, "gaussian", c(25, 4, 0.5, 20)))
if (has("geoR")) {
  s100 <- data_of("s100", "geoR")
  of_packages$s100 <- set("s100", s100$coords[, 1], s100$coords[, 2], s100$data, s100$coords[, 1], z ~ 1, "exponential", c(0.8, 0.2, 0.5, 0.05))
  ca20 <- data_of("ca20", "geoR")
  of_packages$ca20 <- set("ca20", ca20$coords[, 1], ca20$coords[, 2], ca20$data, ca20$covariate$altitude, z ~ elev, "spherical",
                          c(100, 300, 0.5, 10))
  parana <- data_of("parana", "geoR")
  of_packages$parana <- set("parana", parana$coords[, 1], parana$coords[, 2], parana$data, parana$coords[, 1], z ~ x + y, "matern",
                            c(800, 120, 0.8, 400))
}

new_places <- function(one) {
  d <- one$data
  k <- round(seq(2, nrow(d) - 1, length.out = 4))
  data.frame(x = (d$x[k] + d$x[k + 1]) / 2, y = (d$y[k] + d$y[k + 1]) / 2, elev = (d$elev[k] + d$elev[k + 1]) / 2)
}

# ---- what the peers say ----

given <- function(one, theta = one$theta) list(family = one$family, sigma2 = theta[1], range = theta[2], nu = theta[3], nugget = theta[4])
ours <- function(one, reml = FALSE, theta = one$theta) evaluate(one$trend, one$data, ~ x + y, given(one, theta), reml = reml)
geor_model <- c(exponential = "exponential", matern = "matern", spherical = "spherical", gaussian = "gaussian", powered = "powered.exponential")
right_side <- function(one, data) {
  if (length(all.vars(one$trend)) == 1) return("cte")
  f <- stats::delete.response(terms(one$trend))
  environment(f) <- list2env(data)
  stats::formula(f)
}
quiet <- function(expression) { utils::capture.output(value <- suppressWarnings(suppressMessages(expression))); value }
geodata <- function(one) geoR::as.geodata(one$data, coords.col = 1:2, data.col = which(names(one$data) == "z"))

geor_likelihood <- function(one, reml, theta = one$theta) {
  quiet(geoR::loglik.GRF(geodata(one), cov.model = geor_model[[one$family]], cov.pars = theta[1:2], nugget = theta[4], kappa = theta[3],
                         trend = right_side(one, one$data), method.lik = if (reml) "REML" else "ML", compute.dists = TRUE))
}
geor_kriging <- function(one, at) {
  how <- geoR::krige.control(type.krige = "ok", trend.d = right_side(one, one$data), trend.l = right_side(one, at),
                             cov.model = geor_model[[one$family]], cov.pars = one$theta[1:2], nugget = one$theta[4], kappa = one$theta[3])
  quiet(geoR::krige.conv(geodata(one), locations = at[c("x", "y")], krige = how, output = geoR::output.control(signal = TRUE)))
}

# gls profiles the sill: its parameters with the sill that is the best.
gls_of <- function(one, reml) {
  make <- list(exponential = nlme::corExp, gaussian = nlme::corGaus, spherical = nlme::corSpher)[[one$family]]
  share <- one$theta[4] / (one$theta[1] + one$theta[4])
  fitted <- nlme::gls(one$trend, one$data, make(c(one$theta[2], share), form = ~ x + y, nugget = TRUE, fixed = TRUE),
                      method = if (reml) "REML" else "ML")
  list(theta = c(fitted$sigma^2 * (1 - share), one$theta[2], 0.5, fitted$sigma^2 * share), coefficients = coef(fitted),
       log_likelihood = as.numeric(stats::logLik(fitted)))
}
# nlme leaves log det F'F out, by which REML changes with a covariate's unit.
as_nlme <- function(m) as.numeric(stats::logLik(m)) - if (m$observed$data$reml) m$report$log_det_columns / 2 else 0

gstat_kriging <- function(one, at) {
  name <- c(exponential = "Exp", spherical = "Sph", gaussian = "Gau")[[one$family]]
  model <- gstat::vgm(one$theta[1], name, one$theta[2], add.to = gstat::vgm(one$theta[4], "Err", 0))
  point <- function(d) sf::st_as_sf(d, coords = c("x", "y"), remove = FALSE)
  quiet(gstat::krige(one$trend, point(one$data), point(at), model))
}

compare <- function(one) {
  at <- new_places(one)
  n <- nrow(one$data)
  p <- predict(ours(one), at, se.fit = TRUE)
  spread <- diff(range(one$data$z))
  for (reml in c(FALSE, TRUE)) {
    criterion <- if (reml) "log-likelihood (REML)" else "log-likelihood (ML)"
    if (has("geoR")) {
      peer <- geor_likelihood(one, reml)
      differs("geoR", criterion, one$name, as.numeric(stats::logLik(ours(one, reml))), peer, 1e-8)
    }
    if (has("nlme") && one$family %in% c("exponential", "gaussian", "spherical")) {
      peer <- gls_of(one, reml)
      mine <- ours(one, reml, peer$theta)
      differs("nlme", criterion, one$name, as_nlme(mine), peer$log_likelihood, 1e-8)
      differs("nlme", "coefficients", one$name, coef(mine), peer$coefficients, 1e-9, abs(peer$coefficients))
    }
  }
  if (has("geoR")) {
    peer <- geor_kriging(one, at)
    differs("geoR", "predictions", one$name, p$fit, peer$predict, 1e-10, spread)
    differs("geoR", "variances", one$name, p$se.fit^2, peer$krige.var, 1e-8, peer$krige.var)
  }
  if (has("gstat", "sf") && one$family %in% c("exponential", "gaussian", "spherical")) {
    peer <- gstat_kriging(one, at)
    differs("gstat", "predictions", one$name, p$fit, peer$var1.pred, 1e-10, spread)
    differs("gstat", "variances", one$name, p$se.fit^2, peer$var1.var, 1e-8, peer$var1.var)
  }
}

# Fits from the same start: no peer's maximum is above ours (a spherical likelihood has kinks, where a search by gradients may end), and
# theirs has the log-likelihood that they say.
compare_fits <- function(one) for (reml in c(FALSE, TRUE)) {
  mine <- suppressWarnings(fit(one$trend, one$data, ~ x + y, start = given(one), reml = reml, standard_errors = FALSE,
                               fixed = if (one$family %in% c("matern", "powered")) c(nu = one$theta[3])))
  said <- as.numeric(stats::logLik(mine))
  if (has("geoR")) {
    peer <- tryCatch(quiet(geoR::likfit(geodata(one), ini.cov.pars = one$theta[1:2], nugget = one$theta[4], cov.model = geor_model[[one$family]],
                               kappa = one$theta[3], trend = right_side(one, one$data), lik.method = if (reml) "REML" else "ML")),
                     error = function(e) NULL)
    if (is.null(peer)) next  # its optim leaves what has a likelihood
    if (peer$sigmasq == 0) next  # no field, which evaluate refuses
    there <- as.numeric(stats::logLik(ours(one, reml, c(peer$sigmasq, peer$phi, one$theta[3], peer$tausq))))
    differs("geoR", "log-likelihood at likfit's estimate", one$name, there, peer$loglik, 1e-8)
    differs("geoR", "maximum above Strata's", one$name, max(0, peer$loglik - said), 0, if (one$family == "spherical") 1e-3 else 1e-6)
  }
  if (has("nlme") && one$family == "exponential") {
    share <- one$theta[4] / (one$theta[1] + one$theta[4])
    peer <- tryCatch(nlme::gls(one$trend, one$data, nlme::corExp(c(one$theta[2], share), form = ~ x + y, nugget = TRUE),
                               method = if (reml) "REML" else "ML"), error = function(e) NULL)
    if (!is.null(peer)) differs("nlme", "maximum above Strata's", one$name, max(0, as.numeric(stats::logLik(peer)) - as_nlme(mine)), 0, 1e-6)
  }
}

for (one in c(of_formulas, of_packages)) {
  compare(one)
  compare_fits(one)
}
for (package in c("nlme", "geoR", "gstat"))
  cat(if (has(package)) sprintf("%s %s\n", package, utils::packageVersion(package)) else sprintf("not installed, not compared: %s\n", package))
cat(length(of_formulas) + length(of_packages), "sets of data:", vapply(c(of_formulas, of_packages), function(one) one$name, ""), "\n")
for (key in names(worst)) cat(sprintf("%-50s at most %.2g apart\n", key, worst[[key]]))

# ---- the numbers that the tests of a push compare with ----

number <- function(v) paste(formatC(v, digits = 17, format = "g"), collapse = ", ")
short <- function(v) paste(format(v, digits = 15, trim = TRUE, scientific = FALSE, drop0trailing = TRUE), collapse = ", ")
column <- function(m) sprintf("{%s}", paste(apply(unname(m), 2, function(v) sprintf("{%s}", short(v))), collapse = ", "))
cpp <- function(one) {
  at <- new_places(one)
  F <- model.matrix(one$trend, one$data)
  F0 <- model.matrix(stats::delete.response(terms(one$trend)), at)
  kriged <- geor_kriging(one, at)
  gls <- if (one$family %in% c("exponential", "gaussian", "spherical")) lapply(c(FALSE, TRUE), function(reml) gls_of(one, reml))
  sprintf("    {\"%s\", geostat::Family::%s, {%s}, {%s}, {%s}, {%s}, %s, {%s}, {%s}, %s, {%s}, {%s}, {%s}, {%s}, {%s}},", one$name,
          c(exponential = "Exponential", matern = "Matern", spherical = "Spherical", gaussian = "Gaussian", powered = "PoweredExponential")[[one$family]],
          short(one$theta), short(one$data$x), short(one$data$y), short(one$data$z), column(F), short(at$x), short(at$y), column(F0),
          number(c(geor_likelihood(one, FALSE), geor_likelihood(one, TRUE))), number(kriged$predict), number(kriged$krige.var),
          if (is.null(gls)) "" else number(vapply(gls, function(g) sum(g$theta[c(1, 4)]), 0)),
          if (is.null(gls)) "" else number(vapply(gls, function(g) g$log_likelihood, 0)))
}
if (length(arguments) == 2) {
  stopifnot(arguments[1] == "--write", has("geoR", "nlme"))
  template <- readLines(textConnection("// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_TEST_BESIDE_R_HPP
#define STRATA_TEST_BESIDE_R_HPP

#include <geostat/model/Strata_Family.hpp>

#include <array>
#include <vector>

namespace strata::test {

/// Data, and what R's packages give for them. Written by unit_tests/r/beside_r.R --write, with
/// @VERSIONS.
struct BesideR {
  char const* name;
  geostat::Family family;
  std::array<double, 4> theta;  ///< sigma2, range, nu, nugget
  std::vector<double> x, y, z;
  std::vector<std::vector<double>> columns;
  std::vector<double> new_x, new_y;
  std::vector<std::vector<double>> new_columns;
  std::array<double, 2> geor;        ///< geoR's log-likelihoods by ML and REML
  std::vector<double> mean, variance;  ///< geoR's at the new places
  /// sills that nlme's gls finds by ML and REML, and its log-likelihoods; empty: not its family
  std::vector<double> nlme_sills, nlme;
};

inline std::vector<BesideR> const beside_r = {
@SETS
};

}  // namespace strata::test

#endif"))
  versions <- sprintf("geoR %s and nlme %s", utils::packageVersion("geoR"), utils::packageVersion("nlme"))
  template <- sub("@VERSIONS", versions, template)
  k <- which(template == "@SETS")
  writeLines(c(template[seq_len(k - 1)], vapply(of_formulas, cpp, ""), template[(k + 1):length(template)]), arguments[2])
}
quit(status = if (failed) 1 else 0)
