# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The same likelihood and the same fit by the R package GpGp:
#   Rscript beside_gpgp.R FILE.csv [NEIGHBOURS [SIGMA2 RANGE NU NUGGET]]
# A NU of 0.5 is not fitted but its exponential covariance, as by --known-nu there.
# The file is from strata_vecchia_study --write, whose rows are in the order of conditioning. The
# likelihood at these parameters is then that of strata_vecchia_study --grouped 0. Seconds by the
# clock and of processor time.
library(GpGp)
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1])
m <- if (length(arguments) > 1) as.integer(arguments[2]) else 30
theta <- if (length(arguments) > 5) as.numeric(arguments[3:6]) else c(1, 0.1, 0.8, 0.1)
places <- as.matrix(data[, c("x", "y")])
ones <- matrix(1, nrow(data), 1)
tell <- function(what, time) {
  cat(sprintf("%-44s %9.2f s  %9.2f s of processor time\n", what, time[["elapsed"]],
              time[["user.self"]] + time[["sys.self"]]))
}
cat(sprintf("GpGp %s, n = %d, %d neighbours\n", packageVersion("GpGp"), nrow(data), m))
# Its nugget is a multiple of the variance.
is_exponential <- theta[3] == 0.5
covariance <- if (is_exponential) "exponential_isotropic" else "matern_isotropic"
its <- c(theta[1:2], if (!is_exponential) theta[3], theta[4] / theta[1])
# The nearest of those before, without the noise that find_ordered_nn adds against ties.
nearest_before <- function(places, m) {
  n <- nrow(places)
  result <- matrix(NA_integer_, n, m + 1)
  result[, 1] <- seq_len(n)
  left <- 2:n
  k <- 2 * m
  while (length(left) > 0) {
    k <- min(k, n)
    near <- FNN::get.knnx(places, places[left, , drop = FALSE], k)$nn.index
    done <- logical(length(left))
    for (j in seq_along(left)) {
      before <- near[j, near[j, ] < left[j]]
      wanted <- min(m, left[j] - 1)
      done[j] <- length(before) >= wanted
      if (done[j]) result[left[j], 1 + seq_len(wanted)] <- before[seq_len(wanted)]
    }
    left <- left[!done]
    k <- 2 * k
  }
  result
}
nearest <- nearest_before(places, m)
tell("likelihood", system.time(
  l <- vecchia_profbeta_loglik(its, covariance, data$value, ones, places, nearest)))
cat(sprintf("log-likelihood %.6f at sigma2 %g range %g nu %g nugget %g\n", l$loglik, theta[1],
            theta[2], theta[3], theta[4]))
tell("whole fit, order, neighbours and groups too", system.time(
  fit <- fit_model(data$value, places, ones, covariance, m_seq = c(10, m), silent = TRUE)))
found <- fit$covparms
if (is_exponential) found <- append(found, 0.5, 2)
cat(sprintf("sigma2 %.6g range %.6g nu %.6g nugget %.6g log-likelihood %.6f\n", found[1], found[2],
            found[3], found[1] * found[4], fit$loglik))
