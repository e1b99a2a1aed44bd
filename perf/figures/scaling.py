#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw weak and strong scaling over ranks, as `strata_ooc_study --simulate --ranks` plays it on paper.

Weak: rows of --weak, whose n grows with the ranks; beside the row of one rank of the same order. Strong: rows of --strong, of one n.
Writes FOLDER/ranks_weak.svg, FOLDER/ranks_strong.svg and FOLDER/ranks.md; exit status 77 without matplotlib.
"""
import argparse
import json
import pathlib
import sys

SKIPPED = 77
COLOURS = ["#b2182b", "#f4a582", "#2166ac", "#92c5de", "#5aae61"]


def rows_of(files):
    rows = [row for file in files for row in json.loads(file.read_text())["rows"]]
    return [row for row in rows if row.get("simulated") and "ranks" in row and "error" not in row]


def order_of(row):
    """How a row's ranks go through the matrix."""
    if row["super_panel"]:
        return f"grid, super-panels of {row['super_panel']}"
    return f"whole tasks, blocks of {max(1, row['column_block'])}"


def gigabits(row):
    return round(8e-9 * row["network_bytes_per_s"])


def lines_of(rows):
    """Rows by order and network, by ranks."""
    lines = {}
    for row in sorted(rows, key=lambda row: (order_of(row), -gigabits(row), row["ranks"])):
        lines.setdefault((order_of(row), gigabits(row)), []).append(row)
    return lines


def per_rank(row):
    return row["flop_per_s"] / row["ranks"] / row["devices"]


def table(heads, rows):
    return ["| " + " | ".join(map(str, row)) + " |" for row in [heads, ["---"] * len(heads), *rows]]


def cells_of(row, efficiency):
    gigabytes = {name: max(row[name]) / 1e9 for name in ("bytes_received", "tile_bytes", "copy_bytes")}
    bounds = [f"{row[f'{name}_seconds']:.3g}" for name in ("work", "network", "chain")]
    return [row["n"], row["ranks"], " x ".join(map(str, row["grid"])), f"{row['factor_seconds']:.4g}", f"{row['flop_per_s'] / 1e15:.3g}",
            efficiency, *bounds, *(f"{value:.0f}" for value in gigabytes.values())]


HEADS = ["n", "ranks", "grid", "seconds", "PF", "efficiency", "work, s", "network, s", "chain, s", "GB received", "GB of tiles", "GB of copies"]


def draw(plt, folder, name, lines, value, **axis):
    figure, axes = plt.subplots(figsize=(6.4, 4))
    colours = {}
    for (order, network), rows in lines.items():
        colour = colours.setdefault(order, COLOURS[len(colours) % len(COLOURS)])
        style = "o-" if network == max(line[1] for line in lines) else "s--"
        axes.plot([row["ranks"] for row in rows], [value(row) for row in rows], style, color=colour, markersize=4,
                  label=f"{order}, {network} Gbit/s")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="ranks, one GPU each", **axis)
    ticks = sorted({row["ranks"] for rows in lines.values() for row in rows})
    axes.set_xticks(ticks, labels=[str(tick) for tick in ticks])
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    axes.set_title("simulated, by rates of products, solves and links measured on one H200; the network's are given", fontsize=7)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def weak(plt, folder, rows):
    base = {gigabits(row): per_rank(row) for row in rows if row["ranks"] == 1}
    missing = {gigabits(row) for row in rows} - set(base)
    if missing:
        sys.exit(f"--weak: no row of one rank at {sorted(missing)} Gbit/s")
    lines = lines_of(rows)

    def efficiency(row):
        return per_rank(row) / base[gigabits(row)]

    draw(plt, folder, "ranks_weak", lines, efficiency, ylabel="rate a GPU beside one GPU's", ylim=(0, 1.05))
    return [(f"weak, {order}, {network} Gbit/s", [cells_of(row, f"{efficiency(row):.3f}") for row in line]) for (order, network), line in lines.items()]


def strong(plt, folder, rows):
    lines = lines_of(rows)
    (n,) = {row["n"] for row in rows}
    draw(plt, folder, "ranks_strong", lines, lambda row: row["flop_per_s"] / 1e15, ylabel=f"PF, n = {n}", yscale="log")
    found = []
    for (order, network), line in lines.items():
        cells = [cells_of(row, f"{per_rank(row) / per_rank(line[0]):.3f}") for row in line]
        found.append((f"strong, {order}, {network} Gbit/s", cells))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--weak", nargs="+", type=pathlib.Path, default=[])
    parser.add_argument("--strong", nargs="+", type=pathlib.Path, default=[])
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
    tables = weak(plt, arguments.folder, rows_of(arguments.weak)) if arguments.weak else []
    tables += strong(plt, arguments.folder, rows_of(arguments.strong)) if arguments.strong else []
    text = "\n".join(line for title, cells in tables for line in [f"**{title}**", "", *table(HEADS, cells), ""])
    (arguments.folder / "ranks.md").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
