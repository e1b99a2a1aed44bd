#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of one training step of GPyTorch's ExactGP: by its Cholesky, by its default, and with strata.gpytorch.

    exact_gp.py [--n 16384] [--dtype float64] [--device cuda] [--steps 5] [--layers fp64] [--json FILE]

A step is the loss and its gradient at the same parameters, after one step to warm up; the median of --steps is printed, with the loss.
"""
import argparse
import json
import pathlib
import statistics
import time

import gpytorch
import strata.gpytorch
import torch


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, layers):
        super().__init__(x, y, likelihood)
        self.layers = layers
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))

    def forward(self, x):
        covariance = self.covar_module(x)
        if self.layers:
            covariance = strata.gpytorch.StrataOperator(covariance, self.layers)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


def measured(layers, n, dtype, device, steps):
    torch.manual_seed(0)
    x = torch.rand(n, 2, dtype=dtype).to(device)
    y = torch.sin(6 * x[:, 0]) * torch.cos(4 * x[:, 1]) + 0.1 * torch.randn(n, dtype=dtype).to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(x)
    model = Model(x, y, likelihood, layers).to(x)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    seconds = []
    for _ in range(steps + 1):
        model.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = -marginal(model(x), y)
        loss.backward()
        value = loss.item()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(seconds[1:]), "loss": value}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=16384)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--layers", default="fp64")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    how = arguments.n, getattr(torch, arguments.dtype), arguments.device, arguments.steps
    found = {}
    with gpytorch.settings.max_cholesky_size(arguments.n + 1):
        found["GPyTorch, Cholesky"] = measured(None, *how)
        found[f"Strata, {arguments.layers}"] = measured(arguments.layers, *how)
    with gpytorch.settings.max_cholesky_size(0):
        found["GPyTorch, its default of large n"] = measured(None, *how)
    theirs = found["GPyTorch, Cholesky"]
    for name, one in found.items():
        print(f"{name:34} {one['seconds']:9.4f} s a step ({theirs['seconds'] / one['seconds']:5.2f} x)  loss {one['loss']:.10f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"n": arguments.n, "dtype": arguments.dtype, "device": arguments.device, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
