#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Seconds of one training step of GPyTorch's ExactGP: by its Cholesky, by its default, and with strata.gpytorch.

    exact_gp.py [--n 16384] [--dtype float64] [--device cuda] [--steps 5] [--layers fp64] [--gradient-tolerance G] [--json FILE]

A step is the loss and its gradient at the same parameters, after one step to warm up; the median of --steps is printed, with the loss, and how
far the gradient is from the one by the Cholesky, relative to its largest number. With --parts, what Strata does in a step is timed alone.
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
    def __init__(self, x, y, likelihood, ours):
        super().__init__(x, y, likelihood)
        self.ours = ours
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5))

    def forward(self, x):
        covariance = self.covar_module(x)
        if self.ours:
            covariance = strata.gpytorch.StrataOperator(covariance, *self.ours)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


def problem(ours, n, dtype, device):
    torch.manual_seed(0)
    x = torch.rand(n, 2, dtype=dtype).to(device)
    y = torch.sin(6 * x[:, 0]) * torch.cos(4 * x[:, 1]) + 0.1 * torch.randn(n, dtype=dtype).to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(x)
    return x, y, likelihood, Model(x, y, likelihood, ours).to(x)


def measured(ours, n, dtype, device, steps):
    """`ours`: layers and the gradient's tolerance, or None."""
    x, y, likelihood, model = problem(ours, n, dtype, device)
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
    gradient = [number for parameter in model.parameters() for number in parameter.grad.flatten().tolist()]
    if device == "cuda":
        torch.cuda.empty_cache()
    return {"seconds": statistics.median(seconds[1:]), "loss": value, "gradient": gradient}


def parts(layers, tolerance, n, dtype, device, steps):
    """Seconds of each thing that a step has Strata do, the least of --steps; and the error of the inverse."""
    x, y, likelihood, model = problem(None, n, dtype, device)
    with torch.no_grad():
        A = likelihood(model(x)).lazy_covariance_matrix.to_dense().to(torch.float64)
    b, X = y.to(torch.float64), torch.empty_like(A)
    factor, seconds, error = None, {}, 0.0

    def timed(name, work):
        begin = time.perf_counter()
        result = work()
        seconds[name] = min(seconds.get(name, 1e300), time.perf_counter() - begin)
        return result

    for _ in range(steps + 1):
        del factor
        factor = timed("factor", lambda: strata.cholesky(A, layers))
        timed("logdet", factor.logdet)
        timed("solve", lambda: factor.solve(b))
        timed("whitening_error", factor.whitening_error)
        timed("inverse in fp64", lambda: factor.inverse(X))
        error = timed("inverse with a tolerance", lambda: factor.inverse(X, tolerance=1e-3 if tolerance is None else tolerance)).error
    return {**seconds, "error of the inverse": error}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=16384)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--layers", default="fp64")
    parser.add_argument("--gradient-tolerance", type=float, help="default: StrataOperator's, and for --parts 1e-3")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    how = arguments.n, getattr(torch, arguments.dtype), arguments.device, arguments.steps
    found = {}
    with gpytorch.settings.max_cholesky_size(arguments.n + 1):
        found["GPyTorch, Cholesky"] = measured(None, *how)
        found[f"Strata, {arguments.layers}"] = measured((arguments.layers, arguments.gradient_tolerance), *how)
    with gpytorch.settings.max_cholesky_size(0):
        found["GPyTorch, its default of large n"] = measured(None, *how)
    theirs = found["GPyTorch, Cholesky"]
    largest = max(map(abs, theirs["gradient"]))
    for name, one in found.items():
        one["gradient_difference"] = max(abs(a - b) for a, b in zip(one["gradient"], theirs["gradient"])) / largest
        print(f"{name:34} {one['seconds']:9.4f} s a step ({theirs['seconds'] / one['seconds']:5.2f} x)  loss {one['loss']:.10f}", end="  ")
        print(f"gradient off by {one['gradient_difference']:.1e}")
    if arguments.parts:
        found["parts"] = parts(arguments.layers, arguments.gradient_tolerance, *how)
        print(", ".join(f"{name} {number:.4g}" for name, number in found["parts"].items()))
    if arguments.json:
        arguments.json.write_text(json.dumps({"n": arguments.n, "dtype": arguments.dtype, "device": arguments.device, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
