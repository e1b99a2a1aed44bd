# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse solves beside SciPy's, preconditioners under SciPy's Krylov methods, formats, errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
import strata
from problems import Array

POINTS = 40
N = POINTS * POINTS


def poisson(shift: float = 0.0) -> Any:
    """Five points on a square, and a flow of that strength, which makes it unsymmetric."""
    one = scipy.sparse.diags([-1.0 - shift, 2.0 + shift, -1.0], [-1, 0, 1], shape=(POINTS, POINTS))
    unit = scipy.sparse.identity(POINTS)
    return (scipy.sparse.kron(one, unit) + scipy.sparse.kron(unit, one)).tocsr()


def neumann() -> Any:
    """Five points on a square whose rim nothing holds."""
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(POINTS, POINTS)).tolil()
    one[0, 0] = one[-1, -1] = 1.0
    return scipy.sparse.kronsum(one, one).tocsr()


def solution(*shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape)


def relative_residual(A: Any, x: Array, b: Array) -> float:
    return float(np.linalg.norm(b - A @ x) / np.linalg.norm(b))


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16"])
@pytest.mark.parametrize("preconditioner", ["auto", "none", "jacobi", "l1-jacobi", "gs", "ilu", "amg", "direct"])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_solves_with_all_preconditioners(shift: float, preconditioner: Any, precision: Any) -> None:
    A, x = poisson(shift), solution(N)
    b = A @ x
    if preconditioner == "ilu" and precision in ("bf16", "fp16"):
        with pytest.raises(ValueError, match=f"not in {precision}"):
            strata.sparse.Solver(A, preconditioner=preconditioner, precision=precision)
        return
    solver = strata.sparse.Solver(A, preconditioner=preconditioner, precision=precision)
    found = solver.solve(b)
    assert relative_residual(A, found, b) <= 1e-10 * (1 + 1e-3)  # and the rounding of this residual
    report = solver.last_solve
    assert report is not None and report.solved and report.symmetric == (shift == 0)
    assert report.relative_residual <= 1e-10
    if shift == 0:
        theirs = scipy.sparse.linalg.spsolve(A.tocsc(), b)
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-10 * np.linalg.norm(b) / 2 / (1 - np.cos(np.pi / (POINTS + 1))))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "lil", "bsr"])
def test_takes_every_format(form: str) -> None:
    A, b = poisson(), solution(N)
    for other in (A.asformat(form), scipy.sparse.csr_array(A).asformat(form)):
        x = strata.sparse.solve(other, b)
        assert relative_residual(A, x, b) <= 1.001e-10


def test_takes_rows_as_they_come_and_leaves_them_so() -> None:
    A, b = poisson(), solution(N)
    wide = A.copy()
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    shuffled = A.tocoo()
    order = np.random.default_rng(1).permutation(A.nnz)
    twice = scipy.sparse.csr_matrix((np.full(2 * A.nnz, 0.0), np.zeros(2 * A.nnz, dtype=int), np.zeros(N + 1, dtype=int)), shape=A.shape)
    # Every entry in two halves, columns in no order.
    rows, columns, values = (np.concatenate([part[order], part[order]]) for part in (shuffled.row, shuffled.col, shuffled.data / 2))
    by_row = np.argsort(rows, kind="stable")
    twice.indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=N))])
    twice.indices, twice.data = columns[by_row], values[by_row]
    before = twice.indices.copy()
    for matrix in (wide, twice):
        assert relative_residual(A, strata.sparse.solve(matrix, b), b) <= 1.001e-10
    np.testing.assert_array_equal(twice.indices, before)
    for part in (A.indptr, A.indices, A.data):
        part.flags.writeable = False
    assert relative_residual(A, strata.sparse.solve(A, b), b) <= 1.001e-10


def test_solves_for_columns_from_a_guess_and_again() -> None:
    A, x = poisson(), solution(N, 3)
    solver = strata.sparse.Solver(A)
    b = A @ x
    for right in (b, np.asfortranarray(b), b[:, ::2], b[:, 1], b[:, :0]):
        found = solver.solve(right)
        assert found.shape == right.shape
        assert np.linalg.norm(right - A @ found) <= 1.001e-10 * np.linalg.norm(right)
    cold = solver.last_solve  # of no columns
    assert cold is None
    solver.solve(b)
    assert solver.last_solve is not None and solver.last_solve.iterations > 3
    solver.solve(b, x)
    assert solver.last_solve.iterations == 0


def test_updates_with_another_matrix() -> None:
    A, b = poisson(), solution(N)
    solver = strata.sparse.Solver(A, precision="fp16")
    for other in (2 * A, poisson(0.5)):
        solver.update(other)
        assert relative_residual(other, solver.solve(b), b) <= 1.001e-10
        assert solver.last_solve is not None and solver.last_solve.attempts[0].precision == "fp16"
    with pytest.raises(strata.ShapeError):
        solver.update(A[:3])
    assert relative_residual(other, solver.solve(b), b) <= 1.001e-10


@pytest.mark.parametrize("n", [0, 1])
def test_small_orders(n: int) -> None:
    A = scipy.sparse.csr_matrix(np.full((n, n), 4.0))
    np.testing.assert_array_equal(strata.sparse.solve(A, np.full(n, 8.0)), np.full(n, 2.0))


@pytest.mark.parametrize("method", ["cg", "minres", "gmres", "fgmres", "bicgstab", "direct"])
def test_solves_with_all_methods(method: Any) -> None:
    A, x = poisson(), solution(N)
    solver = strata.sparse.Solver(A, solver=method)
    assert relative_residual(A, solver.solve(A @ x), A @ x) <= 1e-10 * (1 + 1e-3)
    assert solver.last_solve is not None and solver.last_solve.solver == method


def test_incomplete_factors_tell_what_they_are() -> None:
    A, b = poisson(), solution(N)
    entries, iterations = [], []
    for fill in (0, 1, 2):
        solver = strata.sparse.Solver(A, preconditioner="ic", fill=fill)
        solver.solve(b)
        report = solver.last_solve
        assert report is not None and report.preconditioner == "ic"
        assert (report.factor_shift, report.replaced_pivots) == (0, 0)
        entries.append(report.factor_entries)
        iterations.append(report.iterations)
    assert entries == sorted(entries) and entries[0] < entries[2] and iterations[0] > iterations[2]
    with pytest.raises(ValueError, match="fill 21 must be 0 to 20"):
        strata.sparse.Solver(A, preconditioner="ic", fill=21)


def test_goes_on_to_what_solves_it_and_says_why() -> None:
    n = 1500
    A = scipy.sparse.csr_matrix((1 + 0.1 * (np.arange(n) % 7), (np.arange(n), (np.arange(n) + 37) % n)), shape=(n, n))
    solver = strata.sparse.Solver(A)
    b = solution(n)
    assert relative_residual(A, solver.solve(b), b) <= 1e-10
    report = solver.last_solve
    assert report is not None and all(attempt.reason for attempt in report.attempts)
    assert report.attempts[-1].preconditioner == report.preconditioner == "direct"


def test_reports_say_what_was_chosen() -> None:
    solver = strata.sparse.Solver(poisson(), preconditioner="amg")
    assert solver.shape == (N, N) and solver.last_solve is None
    report = solver.report
    assert (report.solver, report.preconditioner, report.symmetric) == ("cg", "amg", True)
    assert len(report.levels) > 1 and report.levels[0].rows == N and report.operator_complexity > 1
    assert repr(solver) == "<strata.sparse.Solver of order 1600: cg with amg>"
    assert strata.sparse.Solver(poisson(0.5), preconditioner="amg").report.solver == "gmres"
    solver.solve(np.ones(N))
    assert solver.last_solve is not None
    attempt = solver.last_solve.attempts[0]
    assert (attempt.solver, attempt.precision, attempt.outcome) == ("cg", "fp32", "held")


def iterations_of_cg(A: Any, b: Array, M: Any = None) -> int:
    steps: list[int] = []
    x, failed = scipy.sparse.linalg.cg(A, b, rtol=1e-10, M=M, callback=lambda _: steps.append(1))
    assert failed == 0 and relative_residual(A, x, b) <= 1e-9
    return len(steps)


@pytest.mark.parametrize("kind, most", [("amg", 0.15), ("gs", 0.6), ("jacobi", 1.01), ("none", 1), ("ic", 0.5), ("ilu", 0.5), ("chebyshev", 0.5)])
@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16"])
def test_preconditions_scipys_methods(kind: Any, most: float, precision: Any) -> None:
    A, b = poisson(), solution(N)
    if kind in ("ic", "ilu") and precision == "fp16":
        precision = "fp32"
    M = strata.sparse.Preconditioner(A, kind, precision=precision)
    # Of CG without one; the diagonal is constant, which Jacobi can't help, a symmetric sweep about halves the steps.
    assert iterations_of_cg(A, b, M.as_linear_operator()) <= most * iterations_of_cg(A, b)
    y, failed = scipy.sparse.linalg.gmres(A, b, rtol=1e-10, restart=200, M=M.as_linear_operator())
    assert failed == 0 and relative_residual(A, y, b) <= 1e-9


def test_the_solvers_preconditioner() -> None:
    A, b = poisson(), solution(N)
    M = strata.sparse.Solver(A, preconditioner="amg").as_preconditioner()
    assert M.shape == (N, N)
    assert iterations_of_cg(A, b, M) == iterations_of_cg(A, b, strata.sparse.Preconditioner(A).as_linear_operator())


def test_preconditioners_are_linear_and_symmetric() -> None:
    A, r = poisson(), solution(N, 2)
    for kind in ("amg", "ic", "ilu", "gs", "chebyshev", "l1-jacobi", "jacobi", "direct", "none"):
        M = strata.sparse.Preconditioner(A, kind)
        z = M.apply(r)
        np.testing.assert_array_equal(M.apply(r[:, 0]), z[:, 0])
        scale = np.abs(z).max()
        np.testing.assert_allclose(M.apply(r[:, 0] + 3 * r[:, 1]), z[:, 0] + 3 * z[:, 1], rtol=0, atol=1e-13 * scale)
        # The matrices' entries are exact in fp32 but for multigrid's coarse ones.
        assert abs(r[:, 0] @ z[:, 1] - r[:, 1] @ z[:, 0]) <= 1e-6 * np.linalg.norm(r) * np.linalg.norm(z)
        if kind == "none":
            np.testing.assert_array_equal(z, r)


def test_says_when_it_did_not_converge() -> None:
    A, b = poisson(), solution(N)
    with pytest.raises(strata.NotConverged, match="cg with none ended as iteration_limit after 5 iterations") as caught:
        strata.sparse.solve(A, b, preconditioner="none", max_iterations=5)
    assert caught.value.x.shape == b.shape and not caught.value.report.solved
    assert relative_residual(A, caught.value.x, b) == pytest.approx(caught.value.report.relative_residual, rel=1e-6)


def test_says_when_there_is_no_solution() -> None:
    A = scipy.sparse.csr_matrix(np.diag([1.0, 0.0, 1.0]))
    A.eliminate_zeros()
    with pytest.warns(strata.sparse.SparseWarning), pytest.raises(strata.NotConverged, match="there is no solution"):
        strata.sparse.solve(A, np.ones(3))
    with pytest.warns(strata.sparse.SparseWarning, match="row 2 is empty"):
        x = strata.sparse.solve(A, np.array([1.0, 0.0, 2.0]))
    np.testing.assert_allclose(x, [1, 0, 2])


@pytest.mark.parametrize(
    "A, error, text",
    [
        (np.eye(3), TypeError, "A is a ndarray, must be a sparse matrix"),
        (scipy.sparse.identity(3, dtype=np.int32), TypeError, "A is of int32"),
        (scipy.sparse.identity(3, dtype=complex), TypeError, "A is of complex128"),
        (scipy.sparse.csr_matrix((2, 3)), strata.ShapeError, "A is 2 x 3, must be square"),
    ],
)
def test_refuses_what_is_no_sparse_matrix(A: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        strata.sparse.Solver(A)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("known", [True, False])  # to SciPy, whether the columns are sorted
def test_refuses_rows_that_do_not_fit(known: bool, form: str) -> None:
    line, place = ("row", "column") if form == "csr" else ("column", "row")

    def broken(part: str, k: int, value: Any) -> Any:
        A = poisson().asformat(form)
        A = A.copy() if known else type(A)((A.data, A.indices, A.indptr), shape=A.shape)
        assert not known or A.has_canonical_format
        getattr(A, part)[k] = value
        return A

    for A, text in (
        (broken("indices", 4, N), f"{line} 1 has a {place} {N}, there are {N}"),
        (broken("indices", 0, -1), f"{line} 0 has a {place} -1"),
        (broken("indptr", 5, 10**6), f"{line} 4 is from"),
        (broken("indptr", 5, -3), f"{line} 4 is from"),
        (broken("indptr", 0, 1), f"{N + 1} {line} pointers, the last {5 * N - 4 * POINTS}, .* which do not fit"),
        (broken("indptr", N, 7), f"{line} 2 is from 7 to 11 of 7 entries"),
        (broken("indptr", N, -7), "the last -7, .* which do not fit"),
        (broken("indptr", N, 10**6), "the last 1000000, .* which do not fit"),
    ):
        with pytest.raises(strata.ShapeError, match=text):
            strata.sparse.Solver(A)
    for bad in (np.inf, -np.inf, np.nan):
        A = broken("data", 4, bad)
        for call in (strata.sparse.Solver, strata.sparse.Preconditioner):
            with pytest.raises(ValueError, match=f"A: {line} 1 has {bad} in {place} 1, must be finite"):
                call(A)


@pytest.mark.parametrize(
    "form, part, value, text",
    [
        ("bsr", "indptr", 10**6, "block row 2 is from .* to 1000000 of"),
        ("bsr", "indptr", -5, "block row 2 is from .* to -5 of"),
        ("bsr", "indices", 10**5, "A: row 2 has a column 200000"),
        ("coo", "row", 10**8, f"entry 3 has the row 100000000, there are {N}"),
        ("coo", "col", -7, f"entry 3 has the column -7, there are {N}"),
    ],
)
def test_refuses_blocks_and_entries_that_scipy_would_trust(form: str, part: str, value: int, text: str) -> None:
    A = poisson().tobsr(blocksize=(2, 2)) if form == "bsr" else poisson().tocoo()
    getattr(A, part)[3] = value
    with pytest.raises(strata.ShapeError, match=text):
        strata.sparse.Solver(A)
    if part != "indices":
        setattr(A, part, getattr(A, part)[:-1])
        with pytest.raises(strata.ShapeError, match="do not fit"):
            strata.sparse.Solver(A)


def test_takes_values_of_float32() -> None:
    A, b = poisson(), solution(N)
    np.testing.assert_array_equal(strata.sparse.solve(A.astype(np.float32), b), strata.sparse.solve(A, b))
    assert relative_residual(2 * A, strata.sparse.solve((2 * A).astype("f4"), b), b) <= 1.01e-10


def test_takes_rows_with_room_to_spare() -> None:
    A, b = poisson(), solution(N)
    roomy = scipy.sparse.csr_matrix((np.append(A.data, [9.0, 9.0]), np.append(A.indices, [0, 0]), A.indptr), shape=A.shape)
    np.testing.assert_array_equal(strata.sparse.solve(roomy, b), strata.sparse.solve(A, b))


def test_refuses_options_and_vectors_that_do_not_fit() -> None:
    A, b = poisson(), np.ones(N)
    bad: tuple[tuple[dict[str, Any], str], ...] = (
        ({"solver": "lu"}, "no solver 'lu'"),
        ({"preconditioner": "ilut"}, "no preconditioner 'ilut'"),
        ({"precision": "fp8_e4m3"}, "not in fp8_e4m3"),
        ({"precision": "half"}, "no precision 'half'"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"restart": 0}, "restart"),
        ({"block_size": 7}, "block"),
    )
    for options, text in bad:
        with pytest.raises(ValueError, match=text):
            strata.sparse.solve(A, b, **options)
    with pytest.raises(ValueError, match="CG needs a symmetric matrix"):
        strata.sparse.Solver(poisson(0.5), solver="cg")
    solver = strata.sparse.Solver(A)
    for right, x0, error, text in (
        (b[1:], None, strata.ShapeError, f"b is {N - 1}, must have {N} rows"),
        (np.ones((N, 1, 1)), None, strata.ShapeError, "b has 3 dimensions"),
        (b.astype("f4"), None, TypeError, "b is of float32"),
        (scipy.sparse.csr_matrix(b[:, None]), None, TypeError, r"b is sparse: its toarray\(\) makes it dense"),
        (b, b[1:], strata.ShapeError, f"x0 is {N - 1}, must be {N}"),
        (b, b.astype(int), TypeError, "x0 is of int64"),
    ):
        with pytest.raises(error, match=text):
            solver.solve(right, x0)


def test_refuses_vectors_that_are_not_finite() -> None:
    solver, good, bad = strata.sparse.Solver(poisson()), np.ones((N, 2)), np.ones((N, 2))
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="b has nan in row 3, must be finite"):
        solver.solve(bad)
    with pytest.raises(ValueError, match="x0 has nan in row 3, must be finite"):
        solver.solve(good, bad)
    with pytest.raises(ValueError, match="r has inf in row 7, must be finite"):
        strata.sparse.Preconditioner(poisson()).apply(np.where(np.arange(N) == 7, np.inf, 0.0))


class FakeComm:
    def __init__(self, processes: int) -> None:
        self.processes = processes

    def getSize(self) -> int:
        return self.processes


class FakePetsc:
    """PC and Mat of petsc4py, as far as a context of a PC needs them."""

    def __init__(self, A: Any, processes: int = 1, block: int = 1) -> None:
        self.A, self.processes, self.block = A, processes, block

    def getOperators(self) -> tuple[Any, FakePetsc]:
        return object(), self  # it is the second that counts

    def getComm(self) -> FakeComm:
        return FakeComm(self.processes)

    def getSize(self) -> tuple[int, int]:
        return self.A.shape  # type: ignore[no-any-return]

    def getBlockSize(self) -> int:
        return self.block

    def getValuesCSR(self) -> tuple[Array, Array, Array]:
        return self.A.indptr, self.A.indices, self.A.data


class FakeVector:
    def __init__(self, a: Array) -> None:
        self.a = a

    def getArray(self, readonly: int = 0) -> Array:
        view = self.a.view()
        view.flags.writeable = not readonly
        return view


@pytest.mark.parametrize("kind", ["amg", "gs", "jacobi", "none"])
def test_preconditions_for_petsc(kind: Any) -> None:
    A, r = poisson(), solution(N)
    context, pc = strata.sparse.PetscPreconditioner(kind), FakePetsc(A)
    x, y = FakeVector(r), FakeVector(np.full(N, 9.0))
    context.apply(pc, x, y)
    np.testing.assert_array_equal(y.a, strata.sparse.Preconditioner(A, kind).apply(r))
    pc.A = 2 * A
    context.setUp(pc)  # as PETSc does for other values
    context.apply(pc, x, y)
    np.testing.assert_array_equal(y.a, strata.sparse.Preconditioner(2 * A, kind).apply(r))


def test_refuses_matrices_of_petsc_that_it_can_not_take() -> None:
    with pytest.raises(ValueError, match="spread over 3 processes, must be on one"):
        strata.sparse.PetscPreconditioner().setUp(FakePetsc(poisson(), processes=3))
    with pytest.raises(ValueError, match="block"):
        strata.sparse.PetscPreconditioner().setUp(FakePetsc(poisson(), block=7))
    strata.sparse.PetscPreconditioner(block_size=1).setUp(FakePetsc(poisson(), block=7))


@pytest.mark.parametrize("options", [None, {"pc_type": "python", "pc_python_type": "strata.sparse.PetscPreconditioner"}])
def test_preconditions_petscs_methods(options: dict[str, str] | None) -> None:
    PETSc = pytest.importorskip("petsc4py.PETSc")
    A, b = poisson(), solution(N)
    matrix = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), comm=PETSc.COMM_SELF)
    right, x = matrix.createVecs()
    right.setArray(b)

    def iterations(context: Any) -> int:
        solver = PETSc.KSP().create(PETSc.COMM_SELF)
        solver.setOperators(matrix)
        solver.setType("cg")
        solver.setTolerances(rtol=1e-10)
        if context is None:
            solver.getPC().setType("none")
        elif options is None:
            solver.getPC().setType("python")
            solver.getPC().setPythonContext(context)
        else:
            for name, value in options.items():
                PETSc.Options().setValue(name, value)
            solver.setFromOptions()
        solver.solve(right, x)
        assert relative_residual(A, x.getArray(), b) <= 1e-8
        return int(solver.getIterationNumber())

    assert iterations(strata.sparse.PetscPreconditioner()) <= 0.15 * iterations(None)


def test_threads_and_torch() -> None:
    A, b = poisson(), solution(N, 4)
    solver = strata.sparse.Solver(A)
    with ThreadPoolExecutor(4) as pool:
        for j, x in enumerate(pool.map(lambda k: solver.solve(b[:, k]), range(4))):
            assert relative_residual(A, x, b[:, j]) <= 1.001e-10
    torch = pytest.importorskip("torch")
    found = solver.solve(torch.from_numpy(b))
    assert isinstance(found, torch.Tensor)
    assert relative_residual(A, found.numpy(), b) <= 1.001e-10


@pytest.mark.parametrize("penalty", [1e7, 1e12, 1e30])
def test_a_penalty_hides_no_other_row(penalty: float) -> None:
    """FreeFem's way to fix a value that is not 0: "converged" was said of an x that was 9 % wrong."""
    fixed = np.zeros(N)
    fixed[::POINTS] = penalty
    A, b = (poisson() + scipy.sparse.diags(fixed)).tocsr(), 1e-3 + fixed
    wanted = scipy.sparse.linalg.spsolve(A.tocsc(), b)
    solver = strata.sparse.Solver(A)
    np.testing.assert_allclose(solver.solve(b), wanted, rtol=0, atol=1e-8)
    report = solver.last_solve
    assert report is not None
    assert report.digits >= 6
    assert report.condition_at_least > 10


def test_a_right_hand_side_that_nearly_fits_is_projected() -> None:
    A, u = neumann(), solution(N)
    u -= u.mean()
    b = A @ u
    b += 1e-6 * np.linalg.norm(b) / POINTS
    with pytest.warns(strata.sparse.SparseWarning, match="probably singular"):
        solver = strata.sparse.Solver(A)
    with pytest.warns(strata.sparse.SparseWarning, match="the system has no solution") as caught:
        x = solver.solve(b)
    assert caught[0].filename == __file__
    with pytest.warns(strata.sparse.SparseWarning, match="probably singular") as caught:
        strata.sparse.solve(A, A @ u)
    assert caught[0].filename == __file__
    report = solver.last_solve
    assert report is not None
    assert (report.status, report.solved, report.floating_parts) == ("least_squares", True, 1)
    assert report.incompatible == pytest.approx(1e-6, rel=1e-6)
    assert abs(x.mean()) < 1e-13
    np.testing.assert_allclose(x, u, rtol=0, atol=1e-8)


def test_says_that_no_digit_may_be_right() -> None:
    units = scipy.sparse.diags(10 ** np.random.default_rng(0).uniform(-8, 8, N))
    A = (units @ poisson() @ units).tocsr()
    solver = strata.sparse.Solver(A)
    with pytest.warns(strata.sparse.SparseWarning, match="no right digit"):
        solver.solve(A @ solution(N))
    assert solver.last_solve is not None
    assert solver.last_solve.digits == 0
