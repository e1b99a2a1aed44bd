#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Picture of products of integers: what a factor's error is by the number of moduli, and how fast it is made by order.

    integers.py OUT --program build/debian/apps/strata [--n 1000] [--cond 1e2 1e6]
        [--potrf potrf.json] [--gemm gemm.json] [--emulated emulated.json]

Errors are backward errors of `strata solve --refine none`. Rates are medians of what the benchmarks wrote with --benchmark_out:
`strata_dense_benchmark` its tree_potrf by --layers and the vendor's, `strata_core_benchmark` its core/gemm, in fp64, and once more where
cuBLAS emulates fp64 (CUBLAS_EMULATE_DOUBLE_PRECISION=1 CUBLAS_EMULATION_STRATEGY=eager). Writes OUT.json and OUT.svg, and prints the
numbers as Markdown. Without matplotlib there is no picture.
"""
import argparse
import json
import pathlib
import re
import statistics

from paper_a import medians, series
from paper_b_divergence import strata

MODULI = range(6, 17)
BESIDE = ["fp32", "fp16_split", "fp64"]


def errors(program, n, conditions):
    """{condition: {layers: backward error}}"""
    found = {}
    for condition in conditions:
        found[condition] = {}
        for layers in [f"int8x{moduli}" for moduli in MODULI] + BESIDE:
            report = strata(program, "solve", "--generate", "geometric", "--n", n, "--cond", condition, "--layers", layers, "--refine", "none")
            if report["backward_error"] is not None:  # few moduli may find a hard matrix indefinite
                found[condition][layers] = report["backward_error"]
    return found


def potrf_rates(path):
    """{layers or "cuSOLVER": [(n, TF), ...]}"""
    lines = series(medians(json.loads(path.read_text())), "tree_potrf", "flop_per_s") if path else {}
    return {"cuSOLVER" if layers == "vendor" else layers: [(n, rate / 1e12) for n, rate in line] for layers, line in lines.items()}


def dgemm_rate(path):
    """TF of the vendor's fp64 product at the largest depth, or None."""
    rates = {}
    for row in json.loads(path.read_text())["benchmarks"] if path else []:
        found = re.fullmatch(r"core/gemm/\w+/vendor/fp64[\w,]*/n:\d+/k:(\d+)/manual_time", row["run_name"])
        if found and row["run_type"] == "iteration":
            rates.setdefault(int(found[1]), []).append(row["flop_per_s"])
    return statistics.median(rates[max(rates)]) / 1e12 if rates else None


def table(of):
    conditions = list(of["errors"])
    lines = ["| | " + " | ".join(f"K = {condition}" for condition in conditions) + " |", "| --- " * (len(conditions) + 1) + "|"]
    for layers in [f"int8x{moduli}" for moduli in MODULI] + BESIDE:
        cells = [of["errors"][condition].get(layers) for condition in conditions]
        lines.append(f"| {layers} | " + " | ".join("-" if cell is None else f"{cell:.1e}" for cell in cells) + " |")
    for layers, line in of["potrf"].items():
        lines.append(f"{layers}: " + ", ".join(f"{rate:.1f} TF at {n}" for n, rate in line))
    lines += [f"{name}: {of[name]:.1f} TF" for name in ("dgemm", "emulated") if of[name]]
    return lines


def mark(axes, level, label):
    """A dotted line across, with its name at the left."""
    axes.axhline(level, ls=":", color="grey")
    axes.annotate(label, (axes.get_xlim()[0], level), fontsize=7, va="bottom")


def draw_rates(axes, of):
    """TF against n, a line for each list of layers."""
    for layers, line in sorted(of["potrf"].items(), key=lambda entry: -entry[1][-1][1]):
        axes.semilogx(*zip(*line), base=2, marker="o", ms=4, label=layers, color="black" if layers == "cuSOLVER" else None)
    axes.set_xlabel("n")
    axes.set_ylabel("TF of POTRF")
    axes.legend(fontsize=7)


def draw_rates_by_moduli(axes, of):
    """TF against S, a line for each order."""
    orders = sorted({n for line in of["potrf"].values() for n, _ in line})
    for n in orders:
        points = [(moduli, rate) for moduli in MODULI for m, rate in of["potrf"].get(f"int8x{moduli}", []) if m == n]
        if points:
            axes.plot(*zip(*points), marker="o", ms=4, label=f"n = {n}")
    for layers in ("cuSOLVER", "fp16_split"):
        for n, rate in of["potrf"].get(layers, [])[-1:]:
            mark(axes, rate, f"{layers} at {n}")
    axes.set_xlabel("moduli S")
    axes.set_ylabel("TF of POTRF")
    if axes.lines:
        axes.legend(fontsize=7)


def draw(plt, of, path):
    panels = 3 if of["potrf"] else 1
    figure, all_axes = plt.subplots(ncols=panels, figsize=(5.5 * panels, 4), layout="constrained", squeeze=False)
    axes = all_axes[0][0]
    for (condition, found), marker in zip(of["errors"].items(), "osD^v"):
        points = [(moduli, found[f"int8x{moduli}"]) for moduli in MODULI if f"int8x{moduli}" in found]
        axes.semilogy(*zip(*points), marker=marker, label=f"K = {condition}")
    for layers, side in zip(BESIDE, ("bottom", "top", "top")):
        if layers in found:
            axes.axhline(found[layers], ls=":", lw=0.8, color="grey")
            axes.annotate(layers, (max(MODULI), found[layers]), fontsize=7, ha="right", va=side)
    axes.set_xlabel("moduli S")
    axes.set_ylabel("backward error, without refinement")
    axes.set_title(f"n = {of['n']}")
    axes.legend(fontsize=8)
    for axes, draw_panel in zip(all_axes[0][1:], (draw_rates, draw_rates_by_moduli)):
        draw_panel(axes, of)
        for name, label in (("dgemm", "dgemm"), ("emulated", "dgemm as cuBLAS emulates it")):
            if of[name]:
                mark(axes, of[name], label)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", default="strata")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--cond", nargs="+", default=["1e2", "1e6"])
    for name in ("potrf", "gemm", "emulated"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    options = parser.parse_args()
    of = {"n": options.n, "errors": errors(options.program, options.n, options.cond), "potrf": potrf_rates(options.potrf),
          "dgemm": dgemm_rate(options.gemm), "emulated": dgemm_rate(options.emulated)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(of, indent=1) + "\n")
    print("\n".join(table(of)))
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib, no picture")
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    import matplotlib.pyplot as plt
    draw(plt, of, options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
