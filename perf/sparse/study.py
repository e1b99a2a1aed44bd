#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Processor seconds of set-up and solve of each of Strata's methods over a list of matrices, what `auto` loses, and PETSc beside it.

Each line of the list names a matrix (see study_matrices.py). Its right-hand side is A times a random vector; a run counts if the true
residual is at most ten times --tolerance of b's. Of each contestant the least of --repeat runs counts, set-up from SciPy's CSR included;
one thread (set OMP_NUM_THREADS=1). Regret is auto's time over that of the best of Strata's own choices, or 1 where it is within --slack
seconds of it.

--peers adds PETSc's, if petsc4py is there: CG or GMRES(50) with ICC(0) or ILU(0), GAMG, BoomerAMG, where PETSc has hypre.
--json FILE keeps all times, and --from FILE takes them in place of a run. --picture FILE draws a performance profile (Dolan and More,
Mathematical Programming 91, 2002): for each contestant the share of matrices that it solves within a factor of the fastest one's time.
"""
import argparse
import json
import math
import pathlib
import sys
import time
import warnings

import numpy as np
import strata
import study_matrices

SYMMETRIC = ("cg+ic", "cg+amg", "cg+gs", "cg+jacobi", "minres+none", "direct")
GENERAL = ("gmres+ilu", "bicgstab+ilu", "gmres+amg", "gmres+gs", "direct")


def true_residual(A, b, x):
    r = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    return float(r) if np.isfinite(r) else math.inf


def by_strata(A, b, choice, tolerance):
    """x, and what the report says."""
    solver, _, preconditioner = choice.partition("+")
    options = {"solver": solver, "preconditioner": preconditioner or "auto"} if choice != "auto" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = strata.sparse.Solver(A, tolerance=tolerance, **options)
            x = made.solve(b)
        except strata.NotConverged as failure:
            return failure.x, ""
    steps = [f"{a.solver}+{a.preconditioner}" for a in made.last_solve.attempts]
    return x, " > ".join(dict.fromkeys(steps))


def by_petsc(A, b, choice, tolerance, symmetric):
    from petsc4py import PETSc

    P = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data))
    solver = PETSc.KSP().create()
    solver.setOperators(P)
    solver.setType("cg" if symmetric else "gmres")
    if symmetric:
        solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    else:
        solver.setGMRESRestart(50)
        solver.setPCSide(PETSc.PC.Side.RIGHT)
    solver.pc.setType({"petsc ic/ilu": "icc" if symmetric else "ilu", "petsc gamg": "gamg", "petsc boomeramg": "hypre"}[choice])
    solver.setTolerances(rtol=tolerance, max_it=3000 if symmetric else 1000)
    right, x = P.createVecs()
    right.setArray(b)
    solver.solve(right, x)
    return x.getArray().copy(), ""


def timed(run, repeat, seconds):
    best, found = math.inf, None
    end = time.process_time() + seconds
    for _ in range(repeat):
        start = time.process_time()
        found = run()
        best = min(best, time.process_time() - start)
        if time.process_time() > end:
            break
    return best, found


def compare(name, A, b, options):
    """Times of all contestants, infinite where they fail, and how auto went."""
    symmetric = abs(A - A.T).max() <= 1e-12 * abs(A).max()
    positive = symmetric and A.diagonal().min() > 0
    own = SYMMETRIC if positive else GENERAL + ("minres+none",) if symmetric else GENERAL
    own = [choice for choice in own if choice != "direct" or A.shape[0] <= options.direct_rows]
    peers = ("petsc ic/ilu", "petsc gamg", "petsc boomeramg") if options.peers else ()
    times, notes = {}, {}
    for choice in ("auto", *own, *peers):
        solve = by_petsc if choice in peers else by_strata
        more = (positive,) if choice in peers else ()
        try:
            seconds, (x, notes[choice]) = timed(lambda: solve(A, b, choice, options.tolerance, *more), options.repeat, options.limit)
            residual = true_residual(A, b, x)
        except Exception as failure:  # a contestant that can't is one that fails
            seconds, residual, notes[choice] = math.inf, math.inf, str(failure).split("\n")[0][:80]
        times[choice] = seconds if residual <= 10 * options.tolerance else math.inf
    return {"name": name, "rows": A.shape[0], "entries": int(A.nnz), "times": times, "notes": notes}


def regret(result, slack):
    own = {k: t for k, t in result["times"].items() if not k.startswith("petsc") and k != "auto"}
    best = min(own, key=own.get)
    auto, least = result["times"]["auto"], own[best]
    return best, 1.0 if auto <= least + slack else auto / least if math.isfinite(least) else 1.0


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(results, slack):
    regrets = [regret(r, slack)[1] for r in results]
    print(f"regret of auto: mean {mean(regrets):.2f}, worst {max(regrets):.2f}; fails on {sum(r['times']['auto'] == math.inf for r in results)}")
    ratios, failed, with_peers = [], 0, 0
    for r in results:
        peers = [t for k, t in r["times"].items() if k.startswith("petsc")]
        if not peers:
            continue
        with_peers += 1
        least = min(peers)
        failed += least == math.inf
        if math.isfinite(least):
            ratios.append(min(10, least / r["times"]["auto"] if r["times"]["auto"] < math.inf else 0.1))
    if with_peers:
        print(f"best peer's time over auto's: mean {mean(ratios):.2f} of {len(ratios)}; all peers fail on {failed}")


METHODS = {"auto": ("auto",), "incomplete factors": ("cg+ic", "gmres+ilu"), "multigrid": ("cg+amg", "gmres+amg"),
           "Gauss-Seidel": ("cg+gs", "gmres+gs"), "direct": ("direct",), "PETSc's IC, ILU": ("petsc ic/ilu",),
           "PETSc's GAMG": ("petsc gamg",), "BoomerAMG": ("petsc boomeramg",)}


def profiles(results):
    """method -> its times over the fastest one's, least first, of the matrices that it solves."""
    ratios = {method: [] for method in METHODS}
    for times in (r["times"] for r in results):
        fastest = min(times.values())
        for method, choices in METHODS.items():
            least = min(times.get(choice, math.inf) for choice in choices)
            if math.isfinite(least):
                ratios[method].append(least / fastest)
    return {method: sorted(found) for method, found in ratios.items() if found}


def draw(results, path):
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4))
    last = 32
    for method, found in profiles(results).items():
        share = np.arange(1, len(found) + 1) / len(results)
        axes.step([1, *found, max(last, found[-1])], [0, *share, share[-1]], where="post", label=method,
                  linewidth=2.5 if method == "auto" else 1.2, linestyle="--" if "PETSc" in method or method == "BoomerAMG" else "-")
    axes.set_xscale("log", base=2)
    axes.set_xlim(1, last)
    axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("time over the fastest method's")
    axes.set_ylabel(f"share of {len(results)} matrices")
    axes.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def table(results, slack):
    """Lines of Markdown: a row a matrix, milliseconds of the processor."""
    def cell(times, *choices):
        least = min(times.get(choice, math.inf) for choice in choices)
        return f"{1e3 * least:.3g}" if math.isfinite(least) else "-"

    peers = any(k.startswith("petsc") for r in results for k in r["times"])
    names = [name for name in METHODS if peers or not ("PETSc" in name or name == "BoomerAMG")]
    yield "| matrix | rows | " + " | ".join(names) + " | regret |"
    yield "|---" * (len(names) + 3) + "|"
    for r in results:
        cells = " | ".join(cell(r["times"], *METHODS[name]) for name in names)
        yield f"| {r['name']} | {r['rows']} | {cells} | {regret(r, slack)[1]:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).parent
    parser.add_argument("--list", default=here / "study_matrices.txt", help="of matrices [%(default)s]")
    parser.add_argument("--only", nargs="*", default=[], help="names that begin with one of these")
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--limit", type=float, default=2, help="seconds after which a contestant is not run again [%(default)s]")
    parser.add_argument("--direct-rows", type=int, default=30000, help="the direct solver is left out beyond [%(default)s]")
    parser.add_argument("--slack", type=float, default=0.002)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--from", dest="kept", nargs="+", default=[])
    parser.add_argument("--picture")
    parser.add_argument("--table", action="store_true", help="print the times as Markdown, in milliseconds")
    options = parser.parse_args()
    results = [r for file in options.kept for r in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))]
    for name, family, arguments in study_matrices.read_list(options.list):
        if options.kept or options.only and not name.startswith(tuple(options.only)):
            continue
        A = study_matrices.make(family, arguments, options.seed)
        b = A @ np.random.default_rng(options.seed + 1).standard_normal(A.shape[0])
        results.append(compare(name, A, b, options))
        result = results[-1]
        best, lost = regret(result, options.slack)
        cells = "  ".join(f"{k} {t:.4f}" for k, t in result["times"].items() if k != "auto")
        print(f"{name:16}{A.shape[0]:8}{A.nnz:9}  auto {result['times']['auto']:.4f} ({result['notes']['auto']}) regret {lost:.2f} of {best} | {cells}")
        sys.stdout.flush()
        if options.json:  # after each matrix: a run that is cut off leaves what it has
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    if results:
        summary(results, options.slack)
    if options.table:
        print("\n".join(table(results, options.slack)))
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()
