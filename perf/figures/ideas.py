#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of docs/ideas: runs `strata` on small problems of a host, and prints the numbers as Markdown.

  layers      which block of the tree has which layer (no run)
  refinement  backward errors after each step of a refinement, by condition
  ladder      attempts of a solve by condition
  multigrid   iterations of a sparse solve by the precision of its preconditioner
  likelihood  the error of a log-determinant by epsilon, and what is stated of it

Set OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 for small systems. Writes FOLDER/NAME.svg; exit status 77 without matplotlib.
"""
import argparse
import math
import pathlib
import sys
import tempfile

from paper_b_divergence import strata

SKIPPED = 77
COLOURS = {"fp64": "#b2182b", "fp32": "#f4a582", "bf16": "#5aae61", "fp16": "#92c5de", "fp8": "#2166ac"}
RUNGS = {"as asked": "#2166ac", "shifted": "#92c5de", "higher layers": "#f4a582", "fp64": "#b2182b"}
LAYERS = "fp16x3,fp32"
PROBLEMS = {"poisson7": 32, "poisson27": 32, "anisotropic": 32, "convection": 32, "elasticity": 16, "graph": 32768}
EPSILONS = [1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]


class Book:
    """Where pictures and tables go."""

    def __init__(self, plt, folder):
        self.plt, self.folder, self.lines = plt, folder, []

    def save(self, figure, name):
        figure.tight_layout()
        figure.savefig(self.folder / f"{name}.svg", metadata={"Date": None})
        self.plt.close(figure)

    def table(self, title, heads, rows):
        cells = ["| " + " | ".join(map(str, row)) + " |" for row in [heads, ["---"] * len(heads), *rows]]
        self.lines += [f"**{title}**", "", *cells, ""]


def machine(report):
    configuration = report["configuration"]
    return f"{configuration['host']['model']}, {configuration['default_backend']}, Strata {configuration['commit']}"


def draw_layers(book, _):
    """The tree of sixteen leaves in fp16,fp16,fp32: the off-diagonal block at depth d has the d-th layer, the last one holds on."""
    layers, leaves = ["fp16", "fp16", "fp32"], 16
    figure, axes = book.plt.subplots(figsize=(4.6, 4.6))

    def block(row, column, size, depth):
        layer = layers[min(depth, len(layers) - 1)]
        axes.add_patch(book.plt.Rectangle((column, row), size, size, facecolor=COLOURS[layer], edgecolor="white", linewidth=1.2))
        if size > 1:
            text = f"depth {depth}\n{layer}" if size > 2 else layer
            axes.text(column + size / 2, row + size / 2, text, ha="center", va="center", fontsize=4 + size)

    def node(begin, size, depth):
        if size == 1:
            return block(begin, begin, 1, depth)
        half = size // 2
        block(begin + half, begin, half, depth)
        node(begin, half, depth + 1)
        return node(begin + half, half, depth + 1)

    node(0, leaves, 0)
    axes.set(xlim=(0, leaves), ylim=(leaves, 0), aspect="equal")
    axes.axis("off")
    book.save(figure, "layers")


def dense_solve(arguments, condition):
    words = ["--generate", "geometric", "--n", arguments.n, "--cond", condition, "--layers", LAYERS]
    return strata(arguments.strata, "solve", *words)


def draw_refinement(book, arguments):
    figure, axes = book.plt.subplots(figsize=(6, 3.6))
    rows = []
    for power, condition in enumerate(["1e1", "1e3", "1e4", "1e5"]):
        report = dense_solve(arguments, condition)
        history, refine = report["refine"]["history"], report["refine"]
        name = f"K = {condition}: {refine['method']}, {report['iterations']} iterations"
        axes.semilogy(range(len(history)), history, "o-", color=book.plt.cm.viridis(power / 3.5), label=name)
        rows.append([condition, report["rung"], refine["method"], report["iterations"], ", ".join(f"{error:.1e}" for error in history)])
    axes.axhline(refine["tolerance"], color="black", linestyle="--", linewidth=0.8)
    axes.text(0.02, 1.5 * refine["tolerance"], "sqrt(n) 2^-52", fontsize=8)
    axes.set(xlabel="fp64 residuals after the first solve", ylabel="backward error")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize=7)
    axes.set_title(f"{LAYERS}, n = {arguments.n}; {machine(report)}", fontsize=7)
    book.save(figure, "refinement")
    book.table("refinement", ["K", "rung", "method", "iterations", "backward error after each residual"], rows)


def draw_ladder(book, arguments):
    figure, axes = book.plt.subplots(figsize=(6.4, 3.4))
    rows = []
    for power in range(1, 15):
        report = dense_solve(arguments, f"1e{power}")
        for number, attempt in enumerate(report["attempts"], 1):
            held = attempt["info"] == 0
            axes.plot(power, number, "o" if held else "x", color=RUNGS[attempt["rung"]], markersize=7, markeredgewidth=2)
        seconds = report["seconds"]
        milliseconds = 1e3 * (seconds["factor"] + seconds["solve"])
        errors = [f"{report[name]:.1e}" for name in ("backward_error", "forward_error")]
        counts = [len(report["attempts"]), report["refine"]["climbs"], report["iterations"]]
        rows.append([f"1e{power}", report["rung"], *counts, f"{milliseconds:.0f}", *errors])
    for rung, colour in RUNGS.items():
        axes.plot([], [], "o", color=colour, label=rung)
    axes.plot([], [], "x", color="grey", markeredgewidth=2, label="broke down")
    axes.set(xlabel="condition", ylabel="attempt", xticks=range(1, 15, 2), xticklabels=[f"1e{power}" for power in range(1, 15, 2)])
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize=7, loc="upper left")
    axes.set_title(f"{LAYERS}, n = {arguments.n}; {machine(report)}", fontsize=7)
    book.save(figure, "ladder")
    book.table("ladder", ["K", "rung", "attempts", "climbs", "iterations", "ms", "backward error", "forward error"], rows)


def draw_multigrid(book, arguments):
    formats = ["fp64", "fp32", "bf16", "fp16"]
    figure, axes = book.plt.subplots(figsize=(6.4, 3.2))
    rows = []
    for place, (kind, n) in enumerate(PROBLEMS.items()):
        words = ["--generate", kind, "--n", max(4, n // arguments.shrink)]
        reports = [strata(arguments.strata, "solve", *words, "--precision", name) for name in formats]
        for offset, (name, report) in enumerate(zip(formats, reports)):
            axes.bar(place + 0.2 * (offset - 1.5), report["iterations"], 0.2, color=COLOURS[name], label=None if place else name)
        rows.append([kind, reports[0]["n"], len(reports[0]["levels"]), *(words_of(report) for report in reports)])
    axes.set(ylabel="iterations to 1e-10", xticks=range(len(PROBLEMS)))
    axes.set_xticklabels(PROBLEMS, fontsize=8)
    axes.legend(fontsize=7)
    axes.set_title(machine(report), fontsize=7)
    book.save(figure, "multigrid")
    book.table("multigrid", ["problem", "rows", "levels", *(f"{name}: solver, iterations, MB" for name in formats)], rows)


def words_of(report):
    ended = "" if report["precision"] == report["asked"]["precision"] else f", ended in {report['precision']}"
    return f"{report['solver']}, {report['iterations']}, {report['bytes']['preconditioner'] / 1e6:.2f}{ended}"


def draw_likelihood(book, arguments):
    with tempfile.TemporaryDirectory() as folder:
        field = pathlib.Path(folder) / "field.csv"
        strata(arguments.strata, "mle", "--generate", 2 * arguments.n, "--theta", "weak", "--output", field)
        common = ["mle", "--locations", field, "--theta", "weak", "--evaluate", "--tile", max(8, arguments.n // 10)]
        exact = strata(arguments.strata, *common)
        reports = [strata(arguments.strata, *common, "--epsilon", epsilon, "--kl") for epsilon in EPSILONS]
    truth = exact["log_det"]
    lines = {
        "of the factor alone": [abs(report["kl"]["log_det_factor"] - truth) for report in reports],
        "stated of the corrected": [report["log_det_error"] for report in reports],
        "of the corrected": [abs(report["log_det"] - truth) for report in reports],
    }
    figure, axes = book.plt.subplots(figsize=(6, 3.6))
    for (name, errors), style, colour in zip(lines.items(), ["s-", "^--", "o-"], ["#b2182b", "#f4a582", "#2166ac"]):
        axes.loglog(EPSILONS, [error if error > 0 else math.nan for error in errors], style, color=colour, label=name)
    axes.set(xlabel="epsilon", ylabel="error of log det")
    axes.legend(fontsize=8)
    axes.set_title(f"weak correlation, n = {exact['n']}, tiles of {exact['precisions']['tile_size']}; {machine(exact)}", fontsize=7)
    book.save(figure, "likelihood")
    rows = []
    for epsilon, report, *errors in zip(EPSILONS, reports, *lines.values()):
        tiles = report["precisions"]["tiles"]
        form = abs(report["quadratic_form"] / exact["quadratic_form"] - 1)
        words = [*(f"{error:.1e}" for error in errors), f"{form:.0e}", f"{report['kl']['full']:.1e}"]
        rows.append([f"{epsilon:.0e}", ", ".join(map(str, tiles.values())), *words])
    heads = ["epsilon", "fp64, fp32, fp16, fp8 tiles", "error of the factor's log det", "stated", "error of the corrected",
             "error of the quadratic form", "KL, full"]
    book.table(f"likelihood; log det {truth:.8g}, error {exact['log_det_error']:.0e}", heads, rows)


PICTURES = {"layers": draw_layers, "refinement": draw_refinement, "ladder": draw_ladder, "multigrid": draw_multigrid,
            "likelihood": draw_likelihood}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--strata", default="strata", help="the program")
    parser.add_argument("--n", type=int, default=1024, help="order of the dense systems, half that of the field")
    parser.add_argument("--shrink", type=int, default=1, help="divides the points a side of the sparse systems")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES))
    arguments = parser.parse_args()
    try:
        import matplotlib

        matplotlib.use("Agg")
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "strata", "font.family": "DejaVu Sans, sans-serif"})
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed")
        return SKIPPED
    arguments.folder.mkdir(parents=True, exist_ok=True)
    book = Book(plt, arguments.folder)
    for name in arguments.only:
        PICTURES[name](book, arguments)
    print("\n".join(book.lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
