# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""All that the package makes public, found by looking: each property, method and `repr` of each class, each function.

A public name without a recipe is an error here, as is a recipe without a name.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, is_typeddict

import numpy as np
import problems
import scipy.sparse
import strata
from problems import Array
from strata import geostat, ooc, sparse

# For calls that are to be interrupted, which a wait hears every 50 ms, these can be more.
wide, columns, pause = 200, 320, 0.0

SPECIAL = ("__repr__", "__call__", "__eq__", "__hash__", "__bool__", "__float__")
Recipes = dict[str, Callable[[Any], Any]]
Objects = Iterator[tuple[Any, Recipes]]


class Operation:
    """Something to do that is public, and what it gives when nobody does anything beside it."""

    def __init__(self, subject: str, name: str, call: Callable[[], Any], is_look: bool) -> None:
        self.subject, self.name, self.call, self.is_look = subject, f"{subject}.{name}", call, is_look
        call()
        begin = time.perf_counter()
        self.expected = call()
        self.seconds = time.perf_counter() - begin


def names_of(kind: type) -> dict[str, Any]:
    """What Strata's own classes, this and its bases, define for users."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] == "strata":
            found |= {name: value for name, value in vars(base).items() if name in SPECIAL or not name.startswith("_")}
    return {name: value for name, value in found.items() if value is not None}  # __hash__ of what can't be hashed


def public_names() -> dict[str, Any]:
    """ "strata.ooc.Factor" and the like, with what they are."""
    found: dict[str, Any] = {}
    for name in ("strata.geostat", "strata.ooc", "strata.sparse", "strata.sklearn", "strata.torch", "strata"):
        try:
            module = importlib.import_module(name)
        except ImportError:  # scikit-learn or PyTorch is not installed
            continue
        found |= {f"{name}.{member}": getattr(module, member) for member in module.__all__}
    return found


SMALL = 40
A, B = problems.graded(SMALL, 1e3), np.ones(SMALL)
LINE = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(12, 12))
GRID = scipy.sparse.kronsum(LINE, LINE).tocsr()
ONES = np.ones(GRID.shape[0])
PLACES, NEW = problems.places(SMALL), problems.places(5, seed=9)
COVARIANCE = geostat.Matern(1.0, 0.2, 0.5, 0.1)
VALUES = np.asarray(geostat.synthetic_field(COVARIANCE, PLACES))


def block(rows: slice, cols: slice) -> Array:
    time.sleep(pause)
    i, j = np.arange(rows.start, rows.stop), np.arange(cols.start, cols.stop)
    return np.asarray(np.exp(-abs(i[:, None] - j[None, :]) / 10.0) + (i[:, None] == j[None, :]))


def more_than_solves(a: Array, b: Array) -> Recipes:
    """With a factor in fp64, which all threads share where it stays what it is."""
    precise, first = strata.cholesky(a, "fp64"), b if b.ndim == 1 else b[:, :2]

    def changed(change: Callable[[Any], None]) -> Array:
        factor = strata.cholesky(a, "fp64")
        change(factor)
        return factor.matrix()

    return {
        "promote": lambda f: strata.cholesky(a, "fp32").promote(),
        "whiten": lambda f: (precise.whiten(b), precise.whiten(b, np.empty_like(b))),
        "whiten_transposed": lambda f: precise.whiten_transposed(b),
        "sample": lambda f: precise.sample(b),
        "whitening_error": lambda f: precise.whitening_error() < 1e-9,
        "inverse": lambda f: precise.inverse().value,
        "inverse_diagonal": lambda f: precise.inverse_diagonal().value,
        "inverse_entries": lambda f: precise.inverse_entries([0, 3], [2, 3]).value,
        "quadratic_form": lambda f: (precise.quadratic_form(first).value, precise.quadratic_form(first, diagonal=True).value),
        "rank_update": lambda f: changed(lambda g: g.rank_update(first)),
        "rank_downdate": lambda f: changed(lambda g: g.rank_downdate(1e-3 * first)),
        "append": lambda f: changed(lambda g: g.append(np.append(np.zeros(len(a)), 1.0))),
        "remove": lambda f: changed(lambda g: g.remove([1, 4])),
        "matrix": lambda f: precise.matrix(),
    }


def dense_objects() -> Objects:
    """A factor whose calls are short, one whose solves are long, and what they report."""
    for a, b in (A, B), (problems.graded(wide, 1e3), np.ones((wide, columns))):
        factor = strata.cholesky(a, "fp32")
        factor.solve(b)
        yield factor, more_than_solves(a, b) | {
            "refactor": lambda f, a=a: f.refactor(a.copy()),  # type: ignore[misc]
            "update": lambda f, a=a: f.update(a.copy()),
            "solve": lambda f, b=b: (f.solve(b), f.solve(b, np.empty_like(b))),
            "logdet": lambda f: f.logdet().value,
            "condition": lambda f: f.condition().value,
            "lower_triangle": lambda f: f.lower_triangle(),
            "as_linear_operator": lambda f, b=b: f.as_linear_operator() @ b,
        }
    for value in (factor.report, factor.report.attempts[0], factor.condition(), factor.logdet(), factor.last_solve, strata.is_positive_definite(A)):
        yield value, {}
    yield strata.cholesky(A, "fp64").inverse_diagonal(), {}
    indefinite = strata.symmetric_factor(A - 0.37 * np.eye(SMALL), "fp32")
    indefinite.solve(B)
    yield (
        indefinite,
        {
            "solve": lambda f: f.solve(B),
            "inertia": lambda f: f.inertia().negative,
            "logdet": lambda f: f.logdet().sign,
            "condition": lambda f: f.condition().value > 0,
        },
    )
    for told in (indefinite.report, indefinite.report.attempts[0], indefinite.inertia(), indefinite.logdet()):
        yield told, {}


def tile_objects() -> Objects:
    factor = ooc.cholesky(block, 150, tile_size=50, accuracy=1e-6)
    factor.solve(np.ones(150))
    yield factor, {"solve": lambda f: f.solve(np.ones(150)), "logdet": lambda f: f.logdet().value}
    for value in (factor.report, factor.report.attempts[0]):
        yield value, {}


class PetscMatrix:
    """petsc4py's PC, matrix and communicator, as far as `PetscPreconditioner` asks."""

    def getOperators(self) -> tuple[PetscMatrix, PetscMatrix]:
        return self, self

    def getComm(self) -> Any:
        return types.SimpleNamespace(getSize=lambda: 1)

    def getSize(self) -> Any:
        return GRID.shape

    def getValuesCSR(self) -> tuple[Any, Any, Any]:
        return GRID.indptr, GRID.indices, GRID.data

    def getBlockSize(self) -> int:
        return 1


def petsc_apply(M: Any) -> Array:
    x, y = ONES, np.full_like(ONES, np.nan)  # what PETSc's vector had before
    M.apply(None, types.SimpleNamespace(getArray=lambda readonly: x), types.SimpleNamespace(getArray=lambda: y))
    return y


def sparse_objects() -> Objects:
    solver = sparse.Solver(GRID)
    solver.solve(ONES)
    M = solver.as_preconditioner()
    yield solver, {
        "update": lambda s: s.update(GRID),
        "solve": lambda s: (s.solve(ONES), s.solve(np.ones((len(ONES), 2)), np.ones((len(ONES), 2)))),
        "as_preconditioner": lambda s: (M @ ONES, s.as_preconditioner() @ ONES),
    }
    yield sparse.Preconditioner(GRID), {"apply": lambda M: M.apply(ONES), "as_linear_operator": lambda M: M.as_linear_operator() @ ONES}
    petsc = sparse.PetscPreconditioner("gs")
    petsc.setUp(PetscMatrix())
    yield petsc, {"setUp": lambda M: M.setUp(PetscMatrix()), "apply": petsc_apply}
    assert solver.last_solve is not None
    for value in (solver.last_solve, solver.last_solve.attempts[0], solver.report.levels[0]):
        yield value, {}


def covariance_objects() -> Objects:
    factor = geostat.Factor(PLACES, COVARIANCE)
    yield factor, {
        "refactor": lambda f: f.refactor(COVARIANCE),
        "update": lambda f: f.update(COVARIANCE),
        "logdet": lambda f: f.logdet().value,
        "loglikelihood": lambda f: f.loglikelihood(VALUES, mean="constant").log_likelihood,
        "gradient": lambda f: f.gradient(VALUES, mean="constant").by,
        "fisher_information": lambda f: f.fisher_information().of,
        "standard_errors": lambda f: f.standard_errors().of,
        "predict": lambda f: f.predict(VALUES, NEW, mean="constant").mean,
        "loo": lambda f: f.loo(VALUES).rmse,
        "simulate": lambda f: f.simulate(VALUES, NEW, 2),
    }
    yield COVARIANCE, {"__call__": lambda c: c(np.ones(3)), "__eq__": lambda c: c == geostat.Matern(1.0, 0.2, 0.5, 0.1)}
    looks = (factor.report, factor.loglikelihood(VALUES, mean="constant"), factor.gradient(VALUES, mean="constant"), factor.fisher_information(), factor.standard_errors(), factor.loo(VALUES))
    for value in (*looks, factor.predict(VALUES, NEW, mean="constant")):
        yield value, {}


def fit_objects() -> Objects:
    steps: list[geostat.FitStep] = []
    fit = geostat.fit(PLACES, VALUES, fixed=["nu"], tolerance=1e-2, max_evaluations=30, on_step=steps.append)

    def interval(of: geostat.Fit) -> geostat.ProfileInterval:
        return of.profile_interval("sigma2", level=0.1, tolerance=0.1)

    yield fit, {"predict": lambda f: f.predict(NEW).mean, "standard_errors": lambda f: f.standard_errors().of, "profile_interval": lambda f: interval(f).lower, "plot": drawn, "loo": lambda f: f.loo().rmse, "simulate": lambda f: f.simulate(NEW, 2)}
    near = geostat.fit(PLACES, VALUES, fixed=["nu"], tolerance=1e-2, max_evaluations=30, neighbours=5)
    for value in (fit.report, steps[0], interval(fit), near.approximation, near.exact):
        yield value, {}


def regressor_objects() -> Objects:
    from sklearn.base import clone
    from sklearn.gaussian_process.kernels import RBF
    from strata.sklearn import GaussianProcessRegressor

    X, y = PLACES, np.sin(PLACES[:, 0])
    model = GaussianProcessRegressor(RBF(0.5), alpha=1e-3, optimizer=None).fit(X, y)
    yield model, {
        "fit": lambda m: clone(m).fit(X, y).alpha_,  # to fit an estimator while it predicts has no meaning in scikit-learn
        "predict": lambda m: m.predict(NEW, return_std=True),
        "sample_y": lambda m: m.sample_y(NEW).shape,
        "log_marginal_likelihood": lambda m: m.log_marginal_likelihood(m.kernel_.theta, eval_gradient=True),
    }


def torch_solve() -> Any:
    import torch

    a = torch.from_numpy(A.copy()).requires_grad_()
    (importlib.import_module("strata.torch").solve(a, torch.from_numpy(B)).sum() + importlib.import_module("strata.torch").logdet(a)).backward()
    return a.grad.numpy()


def torch_likelihood() -> Any:
    import torch

    theta = torch.tensor([1.0, 0.2, 0.5, 0.1], dtype=torch.float64, requires_grad=True)
    importlib.import_module("strata.torch").loglikelihood(theta, torch.from_numpy(PLACES), torch.from_numpy(VALUES), mean="constant").backward()
    return theta.grad.numpy()


def forward_error() -> float:
    factor = strata.cholesky(A, "fp32")
    factor.solve(B)
    assert factor.last_solve is not None
    return strata.forward_error(factor.last_solve, factor.condition())


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "strata.cho_factor": lambda: strata.cho_factor(A)[1],
    "strata.cho_solve": lambda: strata.cho_solve(strata.cho_factor(A), B),
    "strata.cholesky": lambda: strata.cholesky(A, "fp16,fp32").info,
    "strata.configuration": strata.configuration,
    "strata.digits": lambda: strata.digits(1e-9),
    "strata.forward_error": forward_error,
    "strata.is_positive_definite": lambda: bool(strata.is_positive_definite(A)),
    "strata.logdet": lambda: float(strata.logdet(A)),
    "strata.solve": lambda: (strata.solve(A, B), strata.solve(A, B, assume_a="sym")),
    "strata.solve_each": lambda: strata.solve_each([A, A[:5, :5]], [B, B[:5]]),
    "strata.symmetric_factor": lambda: strata.symmetric_factor(A).solve(B),
    "strata.geostat.can_fit": geostat.can_fit,
    "strata.geostat.covariance_matrix": lambda: geostat.covariance_matrix(COVARIANCE, PLACES),
    "strata.geostat.Exponential": lambda: geostat.Exponential(1.0, 0.2, 0.1).range,
    "strata.geostat.Gaussian": lambda: geostat.Gaussian(1.0, 0.2, 0.1).range,
    "strata.geostat.PoweredExponential": lambda: geostat.PoweredExponential(1.0, 0.2, 1.5, 0.1).nu,
    "strata.geostat.Spherical": lambda: geostat.Spherical(1.0, 0.2, 0.1).range,
    "strata.geostat.fit": lambda: geostat.fit(PLACES, VALUES, fixed=["nu"], tolerance=1e-1, max_evaluations=5).report.evaluations if geostat.can_fit() else None,
    "strata.geostat.loglikelihood": lambda: geostat.loglikelihood(PLACES, VALUES, COVARIANCE, mean="constant").log_likelihood,
    "strata.geostat.loglikelihood_and_gradient": lambda: geostat.loglikelihood_and_gradient(PLACES, VALUES, COVARIANCE, mean="constant")[1].by,
    "strata.geostat.predict": lambda: geostat.predict(PLACES, VALUES, NEW, COVARIANCE, mean="constant").variance,
    "strata.geostat.variogram": lambda: geostat.variogram(PLACES, VALUES),
    "strata.geostat.synthetic_field": lambda: geostat.synthetic_field(COVARIANCE, PLACES),
    "strata.ooc.cholesky": lambda: ooc.cholesky(block, 90, tile_size=30).info,
    "strata.sparse.solve": lambda: sparse.solve(GRID, ONES),
    "strata.torch.logdet": torch_solve,
    "strata.torch.loglikelihood": torch_likelihood,
    "strata.torch.solve": torch_solve,
}


def drawn(thing: Any) -> str:
    """The title of its picture, on a figure of its own: pyplot's is one for all threads."""
    try:
        figure = importlib.import_module("matplotlib.figure").Figure()
    except ImportError:
        return ""
    return str(thing.plot(figure.subplots()).get_title())


def operation_of(subject: str, thing: Any, name: str, value: Any, recipes: Recipes) -> Operation:
    special: Recipes = {
        "__repr__": repr, "__hash__": hash, "__bool__": bool, "__float__": float, "asdict": lambda report: list(report.asdict()),
        "blocks": lambda report: len(report.blocks()) if callable(report.blocks) else report.blocks, "plot": drawn,
    }  # fmt: skip
    if name in recipes:
        return Operation(subject, name, lambda: recipes[name](thing), False)
    if name in special:
        return Operation(subject, name, lambda: special[name](thing), True)
    if callable(value):
        raise LookupError(f"{subject}.{name} is public and has no recipe in {__file__}")
    return Operation(subject, name, lambda: getattr(thing, name), True)


def operations_of(subject: str, thing: Any, recipes: Recipes) -> list[Operation]:
    """Each name of an object; those of a report or another value, which never changes, as one."""
    names = names_of(type(thing)) | {name: None for name in getattr(thing, "__dict__", {}) if not name.startswith("_")}
    for name in recipes:
        if name not in names:
            raise LookupError(f"{subject}.{name} has a recipe and is not there")
    found = [operation_of(subject, thing, name, value, recipes) for name, value in names.items()]
    if type(thing).__module__ != "strata._core":
        return found
    return [Operation(subject, "*", lambda: [one.call() for one in found], True)]


def operations() -> list[Operation]:
    """All of them.

    Raises
    ------
    LookupError
        Naming a public class, method or function that has no recipe, or a recipe whose name is not there.
    """
    public = public_names()
    kinds = {value: name for name, value in public.items() if inspect.isclass(value) and not is_typeddict(value) and not issubclass(value, BaseException)}
    makers = [dense_objects, tile_objects, sparse_objects, covariance_objects]
    makers += [fit_objects] if geostat.can_fit() else []
    makers += [regressor_objects] if "strata.sklearn.GaussianProcessRegressor" in public else []
    found: list[Operation] = []
    seen = set()
    for thing, recipes in itertools.chain.from_iterable(maker() for maker in makers):
        seen.add(type(thing))
        found += operations_of(kinds[type(thing)], thing, recipes)
    for kind, name in kinds.items():
        if kind not in seen and (geostat.can_fit() or "Fit" not in name and "Interval" not in name):
            raise LookupError(f"{name} is public and has no object in {__file__}")
    functions = {name: value for name, value in public.items() if inspect.isroutine(value)}
    for name in functions:
        if name not in FUNCTIONS:
            raise LookupError(f"{name} is public and has no recipe in {__file__}")
        module, _, last = name.rpartition(".")
        found.append(Operation(module, last, FUNCTIONS[name], False))
    return found
