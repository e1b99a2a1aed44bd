#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Strata beside what Python's users have: seconds to the same solution and the same likelihood, errors, peak memory.

  solve       A x = b:                 scipy.linalg.cho_factor, cho_solve      | torch.linalg.cholesky_ex, cholesky_solve
  system      the same and log det A
  likelihood  of a Matern covariance:  scikit-learn's GaussianProcessRegressor | GPyTorch's exact marginal log-likelihood
  gradient    the same and its gradient in all parameters

The left ones with --device cpu, the right ones with --device cuda, where PyTorch and GPyTorch are there. Each runs in a process of
its own: one run that warms up, then the median of --repeat. Solutions are to fp64; Strata's layers are its automatic ones for `solve`,
and fp64 where the log-determinant is to have all its digits.
"""
import argparse
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

SIGMA2, RANGE, NUGGET = 1.0, 0.1, 0.01
CASES = ("solve", "system", "likelihood", "gradient")
MATRIX = ("solve", "system")  # these have one in memory before
THEIRS = {"cpu": {"solve": "scipy", "system": "scipy", "likelihood": "sklearn", "gradient": "sklearn"},
          "cuda": {"solve": "torch", "system": "torch", "likelihood": "gpytorch", "gradient": "gpytorch"}}
SIZES = {"cpu": [1000, 2000, 4000, 8000], "cuda": [1000, 4000, 8192, 16384, 32768, 65536]}


class Problem:
    """Places, values and, for systems, the covariance matrix with nu = 1/2 of which they are."""

    def __init__(self, n, device, case):
        random = np.random.default_rng(1)
        self.places, self.values = random.random((n, 2)), random.standard_normal(n)
        self.device, self.case = device, case
        if device == "cuda":
            import torch

            self.torch = torch
            self.places_there, self.values_there = (torch.from_numpy(a).cuda() for a in (self.places, self.values))
        if case in MATRIX:
            self.A = self.matrix()
            self.norm = float(abs(self.A[: min(n, 1000)]).sum(1).max())

    def matrix(self):
        if self.device == "cuda":
            A = self.torch.cdist(self.places_there, self.places_there, compute_mode="donot_use_mm_for_euclid_dist")
            A.div_(-RANGE).exp_().mul_(SIGMA2).diagonal().add_(NUGGET)
            return A
        from scipy.spatial.distance import cdist

        A = SIGMA2 * np.exp(-cdist(self.places, self.places) / RANGE)
        A[np.diag_indices_from(A)] += NUGGET
        return A

    def right(self):
        return self.values_there if self.device == "cuda" else self.values

    def backward_error(self, x):
        """Normwise, in fp64; the matrix's norm from its first 1000 rows, from below."""
        b = self.right()
        return float(abs(b - self.A @ x).max() / (self.norm * abs(x).max() + abs(b).max()))


def run_strata(problem):
    import strata
    from strata import geostat

    if problem.case in MATRIX:
        factor = strata.cholesky(problem.A, "auto" if problem.case == "solve" else "fp64")
        result = {"x": factor.solve(problem.right()), "layers": factor.report.layers}
        if problem.case == "solve":
            return result
        log_det = factor.logdet()
        return {**result, "value": log_det.value, "stated_error": log_det.error}
    covariance = geostat.Matern(SIGMA2, RANGE, 0.5, NUGGET)
    factor = geostat.Factor(problem.places, covariance)
    found = factor.loglikelihood(problem.values)
    result = {"value": found.log_likelihood, "stated_error": found.log_det_error / 2}
    if problem.case == "gradient":
        result["gradient"] = factor.gradient(problem.values, wanted=["sigma2", "range", "nugget"]).by[[0, 1, 3]].tolist()
    return result


def run_scipy(problem):
    from scipy.linalg import cho_factor, cho_solve

    c = cho_factor(problem.A, lower=True)
    result = {"x": cho_solve(c, problem.values)}
    return result if problem.case == "solve" else {**result, "value": float(2 * np.log(np.diag(c[0])).sum())}


def run_sklearn(problem):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    if not hasattr(problem, "model"):  # fit() would make the factor twice
        kernel = ConstantKernel(SIGMA2) * Matern(RANGE, nu=0.5) + WhiteKernel(NUGGET)
        problem.model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        problem.model.kernel_ = kernel
        problem.model.X_train_, problem.model.y_train_ = problem.places, problem.values
    theta = problem.model.kernel_.theta
    if problem.case == "likelihood":
        return {"value": float(problem.model.log_marginal_likelihood(theta))}
    value, by_logarithms = problem.model.log_marginal_likelihood(theta, eval_gradient=True)
    return {"value": float(value), "gradient": (by_logarithms / [SIGMA2, RANGE, NUGGET]).tolist()}


def run_torch(problem):
    torch = problem.torch
    L, info = torch.linalg.cholesky_ex(problem.A)
    x = torch.cholesky_solve(problem.values_there[:, None], L)[:, 0]
    assert info.item() == 0
    return {"x": x} if problem.case == "solve" else {"x": x, "value": 2 * L.diagonal().log().sum().item()}


def run_gpytorch(problem):
    import gpytorch

    torch, n = problem.torch, len(problem.values)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(problem.places_there, problem.values_there, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=0.5))

        def forward(self, places):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(places), self.covar_module(places))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double().cuda()
    model = Model(likelihood).double().cuda()
    model.covar_module.outputscale, model.covar_module.base_kernel.lengthscale, likelihood.noise = SIGMA2, RANGE, NUGGET
    model.train(), likelihood.train()
    exact = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    settings = gpytorch.settings
    with settings.fast_computations(False, False, False), settings.max_cholesky_size(n + 1), torch.set_grad_enabled(problem.case == "gradient"):
        value = exact(model(problem.places_there), problem.values_there) * n
        if problem.case == "gradient":
            value.backward()
            parameters = (model.covar_module.raw_outputscale, model.covar_module.base_kernel.raw_lengthscale, likelihood.noise_covar.raw_noise)
            # They are softplus of what it searches in, plus bounds.
            return {"value": value.item(), "gradient": [(p.grad / p.detach().sigmoid()).item() for p in parameters]}
    return {"value": value.item()}


RUNS = {"strata": run_strata, "scipy": run_scipy, "sklearn": run_sklearn, "torch": run_torch, "gpytorch": run_gpytorch}


class PeakMemory:
    """Bytes beyond those before the block, of the process or of the device."""

    def __init__(self, problem):
        self.torch = problem.torch if problem.device == "cuda" else None
        self.peak, self.done = 0, threading.Event()

    def used(self):
        if self.torch is not None:
            free, total = self.torch.cuda.mem_get_info()
            return total - free
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def watch(self):
        while not self.done.wait(0.002):
            self.peak = max(self.peak, self.used())

    def __enter__(self):
        if self.torch is not None:
            self.torch.cuda.empty_cache()
        self.before = self.used()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.peak = max(self.peak, self.used())
        self.done.set()
        self.thread.join()
        self.bytes = max(0, self.peak - self.before)


def measure(case, who, n, device, repeat):
    """In this process: seconds, value, backward error, bytes."""
    problem, run = Problem(n, device, case), RUNS[who]

    def once():
        begin = time.perf_counter()
        result = run(problem)
        if device == "cuda":
            problem.torch.cuda.synchronize()
        return time.perf_counter() - begin, result

    with PeakMemory(problem) as memory:
        first, result = once()
    found = {"first_seconds": first, "peak_bytes": memory.bytes}
    x = result.pop("x", None)
    if x is not None:
        found["backward_error"] = problem.backward_error(x)
    del x
    found["seconds"] = statistics.median(once()[0] for _ in range(repeat))
    return {**found, **result}


def versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "sklearn", "torch", "gpytorch", "strata"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            continue
    return found


def machine(device):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    found = {"cpu": names[0] if names else platform.processor(), "cpus": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    if device == "cuda":
        import torch

        found["device"] = torch.cuda.get_device_name()
    return found


def child(case, who, n, device, repeat):
    command = [sys.executable, __file__, "--one", case, who, "--n", str(n), "--device", device, "--repeat", str(repeat)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}


def compare(case, n, device, repeat):
    ours, theirs = (child(case, who, n, device, repeat) for who in ("strata", THEIRS[device][case]))
    row = {"case": case, "n": n, "theirs_is": THEIRS[device][case], "strata": ours, "theirs": theirs}
    if "failed" not in ours and "failed" not in theirs:
        row["ratio"] = theirs["seconds"] / ours["seconds"]
        if "value" in ours:
            row["relative_difference"] = abs(ours["value"] - theirs["value"]) / abs(theirs["value"])
        if "gradient" in ours and "gradient" in theirs:
            a, b = np.array(ours["gradient"]), np.array(theirs["gradient"])
            row["gradient_difference"] = float((abs(a - b) / abs(b)).max())
    return row


def line_of(row):
    def side(one):
        if "failed" in one:
            return f"{'failed':>10}{'':>20}"
        error = f"{one['backward_error']:.1e}" if "backward_error" in one else ""
        return f"{one['seconds']:>10.4f}{one['peak_bytes'] / 1e6:>10.0f}{error:>10}"

    ratio = f"{row['ratio']:>8.2f}" if "ratio" in row else ""
    ratio += f"{row['relative_difference']:>10.1e}" if "relative_difference" in row else ""
    return f"{row['case']:<12}{row['theirs_is']:<10}{row['n']:>7}{side(row['strata'])}{side(row['theirs'])}{ratio}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", help="orders; by default 1000 to 8000, on a GPU to 65536")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--least", type=float, metavar="RATIO", help="exit status 1 if a ratio is below, or a run failed")
    parser.add_argument("--apart", type=float, metavar="BOUND", help="exit status 1 if values differ by more, relatively, or a run failed")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "WHO"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.n[0], arguments.device, arguments.repeat)))
        return
    there = {case: importlib.util.find_spec(THEIRS[arguments.device][case]) is not None for case in arguments.cases}
    for case in (case for case in there if not there[case]):
        print(f"{case} is left out: {THEIRS[arguments.device][case]} is not installed")
    if not any(there.values()):
        sys.exit(77)
    rows = []
    print(f"{'':<29}{'Strata: s':>10}{'MB':>10}{'error':>10}{'theirs: s':>10}{'MB':>10}{'error':>10}{'ratio':>8}{'apart':>10}")
    for n in arguments.n or SIZES[arguments.device]:
        for case in (case for case in arguments.cases if there[case]):
            rows.append(compare(case, n, arguments.device, arguments.repeat))
            print(line_of(rows[-1]), flush=True)
            for who in ("strata", "theirs"):
                if "failed" in rows[-1][who]:
                    print(f"  {who}: {rows[-1][who]['failed']}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "strata.beside_others.1", "versions": versions(), "machine": machine(arguments.device), "results": rows}, file, indent=1)
    apart = [row.get(name, 0.0 if "ratio" in row else math.inf) for row in rows for name in ("relative_difference", "gradient_difference")]
    if arguments.apart is not None and max(apart) > arguments.apart:
        sys.exit(f"a difference is {max(apart):.3g}, above {arguments.apart}")
    if arguments.least is not None and min((row.get("ratio", -math.inf) for row in rows)) < arguments.least:
        sys.exit(f"a ratio is below {arguments.least}")


if __name__ == "__main__":
    main()
