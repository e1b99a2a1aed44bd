#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the counterparts of paper C's figures 4, 5, 7 and 8, and print the table of runs as Markdown.

Reads what `strata hpgmxp --json` wrote, one file a run. Runs of one local size on growing numbers of ranks are a line of
weak scaling. The paper's numbers are those that its text states for one rank of a GPU.
"""
import argparse
import collections
import json
import math
import pathlib
import sys

SKIPPED = 77
PHASES = ["fp64", "mixed"]
COLOURS = {
    "gauss_seidel": "#2166ac",
    "spmv": "#92c5de",
    "restrict": "#5aae61",
    "prolong": "#a6dba0",
    "ortho": "#f4a582",
    "update": "#b2182b",
}
PAPER_SPEEDUP = 1.6  # figure 5, penalised

Run = collections.namedtuple("Run", "local ranks document")


def runs_of(documents):
    for document in documents:
        if not document.get("schema", "").startswith("strata.hpgmxp/") or "mixed" not in document:
            continue
        problem = document["problem"]
        yield Run("x".join(map(str, problem["local"])), math.prod(problem["ranks"]), document)


def motifs(document, phase):
    return {motif["name"]: motif for motif in document[phase]["motifs_of_one_cycle"]}


def table(runs):
    yield "| local size | ranks | fp64 ms | mixed ms | fp64 GF | mixed GF | speed-up | penalty | iterations fp64, mixed | efficiency |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    alone = {run.local: run.document for run in runs if run.ranks == 1}
    for run in runs:
        d = run.document
        efficiency = ""
        if run.local in alone:
            efficiency = f"{alone[run.local]['mixed']['ms_per_iteration'] / d['mixed']['ms_per_iteration']:.3f}"
        yield (
            f"| {run.local} | {run.ranks} | {d['fp64']['ms_per_iteration']:.3g} | {d['mixed']['ms_per_iteration']:.3g} | "
            f"{d['fp64']['gflops']:.4g} | {d['mixed']['gflops']:.4g} | {d['speedup']:.3g} | {d['penalty']:.3g} | "
            f"{d['iterations_fp64']}, {d['iterations_mixed']} | {efficiency} |"
        )


class Drawing:
    def __init__(self, plt, folder):
        self.plt, self.folder = plt, folder

    def save(self, figure, stem):
        self.folder.mkdir(parents=True, exist_ok=True)
        figure.tight_layout()
        figure.savefig(self.folder / f"{stem}.png", dpi=120)
        self.plt.close(figure)
        print(f"{self.folder / stem}.png")

    def scaling(self, runs):
        """Figure 4: penalised GF/s over ranks, and what the rate of one rank would give."""
        figure, axes = self.plt.subplots(figsize=(6, 4))
        for local in dict.fromkeys(run.local for run in runs):
            of_size = [run for run in runs if run.local == local]
            ranks = [run.ranks for run in of_size]
            for phase, style in zip(PHASES, ("--", "-")):
                axes.plot(ranks, [r.document[phase]["gflops"] for r in of_size], style, marker="o", label=f"{local}, {phase}")
            if ranks[0] == 1 and len(ranks) > 1:
                first = of_size[0].document["mixed"]["gflops"]
                axes.plot(ranks, [first * r for r in ranks], ":", color="grey", label="ideal")
        axes.set(xlabel="ranks", ylabel="GF/s", xscale="log", yscale="log")
        axes.legend(fontsize=7)
        self.save(figure, "figure4_scaling")

    def speedups(self, runs):
        """Figure 5: time of fp64 over that of mixed, whole and by motif."""
        names = list(COLOURS)
        figure, axes = self.plt.subplots(figsize=(7, 4))
        width = 0.8 / max(1, len(runs))
        for k, run in enumerate(runs):
            high, low = (motifs(run.document, phase) for phase in PHASES)
            ratios = [high[n]["seconds"] / low[n]["seconds"] if low.get(n, {}).get("seconds") else 0 for n in names]
            xs = [x + k * width for x in range(len(names) + 1)]
            axes.bar(xs, ratios + [run.document["speedup"]], width, label=f"{run.local}, {run.ranks} ranks")
        axes.axhline(PAPER_SPEEDUP, linestyle="--", linewidth=0.8, color="grey")
        axes.annotate("the paper's, penalised", (0.01, PAPER_SPEEDUP), xycoords=("axes fraction", "data"), fontsize=7, va="bottom")
        axes.set_xticks([x + 0.4 - width / 2 for x in range(len(names) + 1)], names + ["all, penalised"], fontsize=7, rotation=20)
        axes.set(ylabel="fp64 time over mixed time")
        axes.legend(fontsize=7)
        self.save(figure, "figure5_speedups")

    def breakdown(self, runs):
        """Figure 7: shares of an iteration's time by motif."""
        figure, axes = self.plt.subplots(figsize=(max(4, 1.2 * len(runs) * 2), 4))
        labels = []
        for k, (run, phase) in enumerate((run, phase) for run in runs for phase in PHASES):
            time, bottom = run.document[phase]["ms_per_iteration"], 0
            for name, motif in motifs(run.document, phase).items():
                axes.bar(k, motif["share"] * time, 0.7, bottom=bottom, color=COLOURS.get(name, "grey"), label=None if k else name)
                bottom += motif["share"] * time
            labels.append(f"{run.local}\n{run.ranks} ranks\n{phase}")
        axes.set_xticks(range(len(labels)), labels, fontsize=7)
        axes.set(ylabel="ms an iteration")
        axes.legend(fontsize=7)
        self.save(figure, "figure7_breakdown")

    def roofline(self, run):
        """Figure 8: flop/s of each motif over its flops a byte, below the rate of the copy."""
        figure, axes = self.plt.subplots(figsize=(6, 4))
        copy, seen = run.document["copy_gb_per_s"], []
        for phase, marker in zip(PHASES, "os"):
            for name, motif in motifs(run.document, phase).items():
                if motif["gflops"] <= 0 or motif["gb_per_s"] <= 0:
                    continue
                intensity = motif["gflops"] / motif["gb_per_s"]
                axes.plot(intensity, motif["gflops"], marker, color=COLOURS.get(name, "grey"), label=f"{name}, {phase}")
                seen.append(intensity)
        ends = [min(seen) / 2, max(seen) * 2]
        axes.plot(ends, [copy * x for x in ends], "k-", linewidth=0.8, label=f"copy, {copy:.4g} GB/s")
        axes.set(xlabel="flops a byte (model)", ylabel="GF/s", xscale="log", yscale="log", title=f"{run.local}, {run.ranks} ranks")
        axes.legend(fontsize=6)
        self.save(figure, "figure8_roofline")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the figures go")
    parser.add_argument("--runs", type=pathlib.Path, nargs="+", required=True, help="JSON of `strata hpgmxp --json`")
    arguments = parser.parse_args()
    runs = sorted(runs_of(json.loads(path.read_text()) for path in arguments.runs), key=lambda run: (len(run.local), run.local, run.ranks))
    if not runs:
        sys.exit("paper_c.py: none of these files is a benchmark run of strata hpgmxp")
    print("\n".join(table(runs)))
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no figures", file=sys.stderr)
        sys.exit(SKIPPED)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawing = Drawing(plt, arguments.folder)
    drawing.scaling(runs)
    drawing.speedups(runs)
    drawing.breakdown(runs)
    drawing.roofline(max(runs, key=lambda run: run.document["problem"]["equations"] / run.ranks))


if __name__ == "__main__":
    main()
