#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The counterpart of paper B's figure 10: divergence by matrix order, correlation and accuracy; and orderings compared.

Runs `strata mle`: a synthetic field for each order and correlation, then its log-likelihood at the field's own parameters
in fp64 and for each accuracy, with the divergence. Writes RESULT.json after every run, a table as Markdown to standard
output, and, where matplotlib is there, RESULT.png.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

RANGES = {"weak": 0.02627, "medium": 0.078809, "strong": 0.210158}
NAMES = ("fp64", "fp32", "fp16", "fp8_e4m3")


def strata(program, command, *arguments):
    """The JSON report of `strata command arguments...`; the program's own words if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        run = subprocess.run([program, command, *map(str, arguments), "--json", path], capture_output=True, text=True)
        if run.returncode not in (0, 3, 4):
            sys.exit(run.stderr.strip() or f"{program} ended with {run.returncode}")
        return json.loads(path.read_text())


def shares(report):
    """Shares of the tiles below the diagonal, which the rule is about, in per cent."""
    tiles = dict(report["precisions"]["tiles"])
    size = report["precisions"]["tile_size"]
    tiles["fp64"] -= -(-report["n"] // size)
    every = max(1, sum(tiles.values()))
    return {name: 100 * tiles[name] / every for name in NAMES}


def cases(arguments, field):
    for n in arguments.n:
        for correlation, length in RANGES.items():
            theta = f"1,{length},{arguments.nu},{arguments.nugget}"
            strata(arguments.program, "mle", "--generate", n, "--theta", theta, "--output", field)
            common = ["--locations", field, "--evaluate", "--mean", "none", "--theta", theta, "--tile", arguments.tile]
            for ordering in arguments.ordering:
                exact = strata(arguments.program, "mle", *common, "--ordering", ordering)
                for epsilon in arguments.epsilon:
                    report = strata(arguments.program, "mle", *common, "--ordering", ordering, "--epsilon", epsilon, "--kl")
                    yield row(n, correlation, ordering, epsilon, exact, report)


def row(n, correlation, ordering, epsilon, exact, report):
    kl = report["kl"] or {}
    form = exact["quadratic_form"]
    broke = report["status"] == "not_positive_definite"
    return {
        "n": n, "correlation": correlation, "ordering": ordering, "epsilon": epsilon, "status": report["status"],
        "tile_size": report["precisions"]["tile_size"], "shares": shares(report), "kl": kl,
        "log_det": exact["log_det"], "log_det_error_factor": kl.get("log_det_factor", float("nan")) - exact["log_det"],
        "log_det_error_corrected": None if broke else report["log_det"] - exact["log_det"],
        "log_det_error_bar": report["log_det_error"],
        "quadratic_form_error": None if broke else abs(report["quadratic_form"] - form) / form,
        "backward_error": report["backward_error"], "bytes": report["memory"]["used"],
        "bytes_fp64": exact["memory"]["used"],
    }


def table(rows):
    print("| n | correlation | order | accuracy | fp64, fp32, fp16, fp8 below the diagonal | bytes | KL, paper's "
          "| KL, full | log det error: factor's, reported (its bar) | backward error |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        share = ", ".join(f"{r['shares'][name]:.0f}" for name in NAMES) + " %"
        start = f"| {r['n']} | {r['correlation']} | {r['ordering']} | {r['epsilon']:g} | {share} "
        if not r["kl"]:
            print(start + f"| | {r['status']} | | | |")
            continue
        print(start + f"| {100 * r['bytes'] / r['bytes_fp64']:.0f} % | {r['kl']['paper']:.1e} | {r['kl']['full']:.1e} +- {r['kl']['standard_error'] + r['kl']['truncation_error']:.0e} "
              f"| {r['log_det_error_factor']:.1e}, {r['log_det_error_corrected']:.1e} ({r['log_det_error_bar']:.0e}) | {r['backward_error']:.1e} |")


def figure(rows, path):
    try:
        import matplotlib
    except ImportError:
        print(f"without matplotlib there is no {path}", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = pyplot.subplots(1, 3, figsize=(12, 3.6), sharey=True)[1]
    for axis, correlation in zip(axes, RANGES):
        for epsilon in sorted({r["epsilon"] for r in rows}, reverse=True):
            points = sorted((r["n"], abs(r["kl"]["paper"]), r["kl"]["full"]) for r in rows
                            if (r["correlation"], r["epsilon"]) == (correlation, epsilon) and r["kl"])
            if not points:
                continue
            n, paper, full = zip(*points)
            line, = axis.plot(n, paper, "o-", label=f"{epsilon:g}")
            axis.plot(n, full, "x:", color=line.get_color())
        axis.set(title=f"{correlation}, range {RANGES[correlation]}", xlabel="n", yscale="log", xscale="log")
        axis.set_ylim(bottom=1e-16)  # below it every tile is fp64
    axes[0].set_ylabel("KL divergence: paper's (line), full (dots)")
    axes[0].legend(title="accuracy")
    pyplot.tight_layout()
    pyplot.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path, help="files RESULT.json and RESULT.png")
    parser.add_argument("--program", default="strata", help="the program [strata]")
    parser.add_argument("--n", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--tile", type=int, default=128)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1e-5, 1e-6, 1e-7, 1e-8])
    parser.add_argument("--ordering", nargs="+", default=["hilbert"], choices=["hilbert", "morton", "given"])
    parser.add_argument("--nu", type=float, default=0.5)
    parser.add_argument("--nugget", type=float, default=0)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(arguments, pathlib.Path(folder) / "field.csv"):
            rows.append(case)
            arguments.result.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    table(rows)
    figure([r for r in rows if r["ordering"] == arguments.ordering[0]], arguments.result.with_suffix(".png"))


if __name__ == "__main__":
    main()
