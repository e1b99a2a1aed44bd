#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Map of whole solves beside the vendor's by order and condition: how many times as fast, with which layers, on which rung.

    conditions.py MAP --program build/debian-gpu/apps/strata --n 8192 16384 32768 --cond 1e2 1e4 1e6 1e8 [--layers int8x9]
    conditions.py MAP --kept small.json large.json

One run of `strata solve --generate geometric --compare` for each pair. Writes MAP.json with its numbers and MAP.svg, and prints them as
a Markdown table, with the geometric mean and the least. Without matplotlib there is no picture.
"""
import argparse
import json
import math
import pathlib

from paper_b_divergence import strata


def measured(program, n, condition, layers, repeat):
    words = ["solve", "--generate", "geometric", "--n", n, "--cond", condition, "--compare", "--repeat", repeat]
    report = strata(program, *words, *(["--layers", layers] if layers else []))
    compare = report["compare"]
    names = list(dict.fromkeys(report["layers"].split(",")))  # each once
    return {"n": n, "condition": condition, "layers": ",".join(names), "rung": report["rung"], "iterations": report["iterations"],
            "attempts": report["attempts"],
            "seconds": report["seconds"]["factor"] + report["seconds"]["solve"], "backward_error": report["backward_error"],
            "ratio": compare["ratio"]["whole"] if compare else None, "cholesky": compare["ratio"]["cholesky"] if compare else None}


def words_of(cell):
    if not cell:
        return ""
    return f"{cell['ratio']:.2f} x, {cell['layers']}, {cell['iterations']}" if cell["ratio"] else cell["layers"]


def table(cells, orders, conditions):
    """Lines of Markdown, a row an order."""
    by_place = {(cell["n"], cell["condition"]): cell for cell in cells}
    lines = ["| n | " + " | ".join(f"K = {condition}" for condition in conditions) + " |", "| --- " * (len(conditions) + 1) + "|"]
    for n in orders:
        row = [by_place.get((n, condition)) for condition in conditions]
        words = [words_of(cell) for cell in row]
        lines.append(f"| {n} | " + " | ".join(words) + " |")
    ratios = [cell["ratio"] for cell in cells if cell["ratio"]]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"geometric mean {mean:.2f}, least {min(ratios):.2f}"]
    return lines


def draw(plt, cells, orders, conditions, path):
    by_place = {(cell["n"], cell["condition"]): cell for cell in cells}
    logs = [[math.log2(by_place.get((n, condition), {}).get("ratio") or 1) for condition in conditions] for n in orders]
    figure, axes = plt.subplots(figsize=(1.2 + 1.0 * len(conditions), 1.2 + 0.6 * len(orders)))
    axes.imshow(logs, cmap="RdBu", vmin=-3, vmax=3, aspect="auto", origin="lower")
    for i, n in enumerate(orders):
        for j, condition in enumerate(conditions):
            cell = by_place.get((n, condition))
            if not cell:
                continue
            ratio = f"{cell['ratio']:.2f}" if cell["ratio"] else "-"
            axes.text(j, i, f"{ratio}\n{cell['layers'].partition(',')[0]}", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(conditions)), conditions)
    axes.set_yticks(range(len(orders)), [str(n) for n in orders])
    axes.set_xlabel("condition")
    axes.set_ylabel("n")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("map", type=pathlib.Path)
    parser.add_argument("--program")
    parser.add_argument("--n", type=int, nargs="+", default=[8192, 16384, 32768])
    parser.add_argument("--cond", nargs="+", default=["1e2", "1e4", "1e6", "1e8", "1e10"])
    parser.add_argument("--layers", help="instead of the automatic ones")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kept", nargs="+", default=[], help="maps' JSON files, whose cells are taken in place of runs")
    arguments = parser.parse_args()
    cells = [cell for file in arguments.kept for cell in json.loads(pathlib.Path(file).read_text())]
    if cells:
        arguments.n = sorted({cell["n"] for cell in cells})
        arguments.cond = sorted({cell["condition"] for cell in cells}, key=float)
    else:
        for n in arguments.n:
            for condition in arguments.cond:
                cells.append(measured(arguments.program, n, condition, arguments.layers, arguments.repeat))
                arguments.map.with_suffix(".json").write_text(json.dumps(cells, indent=1) + "\n")
    print("\n".join(table(cells, arguments.n, arguments.cond)))
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    draw(plt, cells, arguments.n, arguments.cond, arguments.map.with_suffix(".svg"))


if __name__ == "__main__":
    main()
