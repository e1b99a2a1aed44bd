# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# The same fit by the R package GpGp: Rscript beside_gpgp.R FILE.csv [NEIGHBOURS], the file from
# strata_vecchia_study --write. Seconds by the clock and of processor time.
library(GpGp)
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1])
m <- if (length(arguments) > 1) as.integer(arguments[2]) else 30
time <- system.time(
  fit <- fit_model(data$value, as.matrix(data[, c("x", "y")]), matrix(1, nrow(data), 1),
                   "matern_isotropic", m_seq = c(10, m), silent = TRUE))
cat(sprintf("GpGp %s: %.2f s, %.2f s of processor time\n", packageVersion("GpGp"),
            time[["elapsed"]], time[["user.self"]] + time[["sys.self"]]))
# Its nugget is a multiple of the variance.
cat(sprintf("sigma2 %.6g range %.6g nu %.6g nugget %.6g log-likelihood %.6f\n", fit$covparms[1],
            fit$covparms[2], fit$covparms[3], fit$covparms[1] * fit$covparms[4], fit$loglik))
