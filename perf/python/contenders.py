# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What beside_others.py compares: one problem, and what each package does with it."""
import numpy as np

SIGMA2, RANGE, NUGGET = 1.0, 0.1, 0.01
HARD = {"smooth": (0.1, 1e-3), "ill": (0.3, 1e-6)}  # range and nugget of a solve with nu = 3/2
MATRIX = ("solve", "system", *HARD)  # these have one in memory before


class Problem:
    """Places, values and, for systems, a covariance matrix of theirs, with nu = 1/2 but in `HARD`; PyTorch's on a GPU, and for its own runs."""

    def __init__(self, n, device, case, who):
        random = np.random.default_rng(1)
        self.places, self.values = random.random((n, 2)), random.standard_normal(n)
        self.device, self.case = device, case
        self.keeps, self.factor = False, None  # of Strata's, from run to run
        self.torch = None
        if device == "cuda" or who in ("torch", "gpytorch"):
            import torch

            self.torch = torch
            self.places_there, self.values_there = (torch.from_numpy(a).to(device) for a in (self.places, self.values))
        if case in MATRIX:
            self.A = self.matrix()
            self.norm = float(abs(self.A[: min(n, 1000)]).sum(1).max())

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def distances(self):
        """PyTorch's, to fp64: those by products, as in its cdist, have half of the digits."""
        (x, y) = self.places_there.T.contiguous()
        h = x[:, None] - x
        return h.square_().add_((y[:, None] - y).square_()).sqrt_()

    def matrix(self):
        if self.torch is not None:
            A = self.distances()
            A.div_(-RANGE).exp_().mul_(SIGMA2).diagonal().add_(NUGGET)
            return A
        from scipy.spatial.distance import cdist

        length, nugget = HARD.get(self.case, (RANGE, NUGGET))
        h = cdist(self.places, self.places) / length
        A = SIGMA2 * np.exp(-h)
        if self.case in HARD:
            A *= 1 + h
        A[np.diag_indices_from(A)] += nugget
        return A

    def right(self):
        return self.values if self.torch is None else self.values_there

    def backward_error(self, x):
        """Normwise, in fp64; the matrix's norm from its first 1000 rows, from below."""
        b = self.right()
        return float(abs(b - self.A @ x).max() / (self.norm * abs(x).max() + abs(b).max()))


def factored(problem, make, given):
    """A new factor, or the one of the run before, updated."""
    if problem.keeps and problem.factor is not None:
        problem.factor.refactor(given)
    else:
        problem.factor = None  # before there is another
        problem.factor = make()
    return problem.factor


def run_strata(problem):
    import strata
    from strata import geostat

    if problem.case in MATRIX:
        factor = factored(problem, lambda: strata.cholesky(problem.A, "fp64" if problem.case == "system" else "auto"), problem.A)
        result = {"x": factor.solve(problem.right()), "layers": factor.report.layers}
        if problem.case != "system":
            return result
        log_det = factor.logdet()
        return {**result, "value": log_det.value, "stated_error": log_det.error}
    covariance = geostat.Matern(SIGMA2, RANGE, 0.5, NUGGET)
    factor = factored(problem, lambda: geostat.Factor(problem.places, covariance), covariance)
    found = factor.loglikelihood(problem.values, "none")
    result = {"value": found.log_likelihood, "stated_error": found.error}
    if problem.case == "gradient":
        result["gradient"] = factor.gradient(problem.values, "none", wanted=["sigma2", "range", "nugget"]).by[[0, 1, 3]].tolist()
    return result


def run_kept(problem):
    problem.keeps = True
    return run_strata(problem)


def run_scipy(problem):
    from scipy.linalg import cho_factor, cho_solve

    c = cho_factor(problem.A, lower=True)
    result = {"x": cho_solve(c, problem.values)}
    return result if problem.case != "system" else {**result, "value": float(2 * np.log(np.diag(c[0])).sum())}


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


def torch_cholesky_solve(torch, L, b):
    try:
        return torch.cholesky_solve(b, L)
    except torch.OutOfMemoryError:  # it copies L
        z = torch.linalg.solve_triangular(L, b, upper=False)
        return torch.linalg.solve_triangular(L.mT, z, upper=True)


def run_torch(problem):
    torch = problem.torch
    if problem.case not in MATRIX:
        return torch_likelihood(problem)
    L, info = torch.linalg.cholesky_ex(problem.A)
    x = torch_cholesky_solve(torch, L, problem.values_there[:, None])[:, 0]
    assert info.item() == 0
    return {"x": x} if problem.case == "solve" else {"x": x, "value": 2 * L.diagonal().log().sum().item()}


def torch_likelihood(problem):
    """As GPyTorch's: the covariance from the places each time, its Cholesky factor, and autograd through both."""
    torch, y = problem.torch, problem.values_there
    with_gradient = problem.case == "gradient"
    theta = [torch.tensor(value, dtype=y.dtype, device=y.device, requires_grad=with_gradient) for value in (SIGMA2, RANGE, NUGGET)]
    sigma2, length, nugget = theta
    K = sigma2 * torch.exp(problem.distances() / -length)
    K.diagonal().add_(nugget)
    L, info = torch.linalg.cholesky_ex(K)
    assert info.item() == 0
    del K
    z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
    value = -0.5 * (z.square().sum() + 2 * L.diagonal().log().sum() + len(y) * float(np.log(2 * np.pi)))
    if not with_gradient:
        return {"value": value.item()}
    value.backward()
    return {"value": value.item(), "gradient": [p.grad.item() for p in theta]}


def gpytorch_model(problem):
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(problem.places_there, problem.values_there, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=0.5))

        def forward(self, places):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(places), self.covar_module(places))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double().to(problem.device)
    model = Model(likelihood).double().to(problem.device)
    model.covar_module.outputscale, model.covar_module.base_kernel.lengthscale, likelihood.noise = SIGMA2, RANGE, NUGGET
    model.train(), likelihood.train()
    return model, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)


def run_gpytorch(problem):
    import gpytorch

    torch, n, settings = problem.torch, len(problem.values), gpytorch.settings
    if not hasattr(problem, "model"):
        problem.model, problem.exact = gpytorch_model(problem)
    model = problem.model
    model.zero_grad()
    with settings.fast_computations(False, False, False), settings.max_cholesky_size(n + 1), torch.set_grad_enabled(problem.case == "gradient"):
        value = problem.exact(model(problem.places_there), problem.values_there) * n
        if problem.case == "gradient":
            value.backward()
            raw = (model.covar_module.raw_outputscale, model.covar_module.base_kernel.raw_lengthscale, model.likelihood.noise_covar.raw_noise)
            # They are softplus of what it searches in, plus bounds.
            return {"value": value.item(), "gradient": [(p.grad / p.detach().sigmoid()).item() for p in raw]}
    return {"value": value.item()}


RUNS = {"strata": run_strata, "kept": run_kept, "scipy": run_scipy, "sklearn": run_sklearn, "torch": run_torch, "gpytorch": run_gpytorch}
