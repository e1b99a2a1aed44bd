#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the counterparts of paper C's figures 4, 5, 7, 8 and 9, and print the tables of runs and of the trace as Markdown.

Reads what `strata hpgmxp --json` wrote, one file a run, and `--trace` for figure 9. Runs of one local size on growing numbers of
ranks are a line of weak scaling. The paper's numbers are those that its text states, of a GCD of an AMD MI250X, half a GPU.
"""
import argparse
import collections
import json
import math
import pathlib
import sys

from paper_b import merged

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
# Figure 4, GF/s of a rank: 17.23 PF on 75,264 GCDs, 78 % of the rate on the 8 GCDs of one node.
PAPER_RATES = {"75,264 GCDs": 17.23e6 / 75264, "8 GCDs": 17.23e6 / 75264 / 0.78}

# Figure 9, by what a span's name holds.
SPANS = {"interior": "#2166ac", "boundary": "#92c5de", "pack": "#e08214", "messages": "#b2182b"}
OTHER_WORK = "#bbbbbb"
# Regions.
LEVEL = "strata::sparse::GeometricMultigrid::level "
SWEEP = "strata::sparse::DistributedMatrix::gauss_seidel"
ORTHOGONALISE = "strata::sparse::KrylovBasis::orthogonalise"

Run = collections.namedtuple("Run", "local ranks document")
Span = collections.namedtuple("Span", "rank row name level start end")  # microseconds


def runs_of(documents):
    for document in documents:
        whole = all(document.get(name) for name in ("mixed", "fp64", "speedup", "rating_gflops"))
        if not document.get("schema", "").startswith("strata.hpgmxp/") or not whole:
            continue  # a phase alone has nothing to be compared with
        problem = document["problem"]
        yield Run("x".join(map(str, problem["local"])), math.prod(problem["ranks"]), document)


def ranks_of(run):
    return "1 rank" if run.ranks == 1 else f"{run.ranks} ranks"


def motifs(document, phase):
    return {motif["name"]: motif for motif in document[phase]["motifs"]["parts"]}


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


def machine(document):
    built = document["configuration"]
    accelerators = [accelerator["name"] for accelerator in built["accelerators"]]
    names = list(dict.fromkeys(accelerators)) or [built["host"]["model"]]
    return f"{', '.join(names)}, {built['default_backend']}, Strata {built['commit']}"


def spans_of(trace):
    """Those of the trace from the first iteration's end on, as what runs first also loads; of each the deepest level that it starts in."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    levels = collections.defaultdict(list)
    for event in events:
        if event["name"].startswith(LEVEL):
            levels[event["pid"]].append((int(event["name"].removeprefix(LEVEL)), event["ts"], event["ts"] + event["dur"]))
    found = []
    for event in events:
        rank, start = event["pid"], event["ts"]
        level = max((level for level, first, last in levels[rank] if first <= start <= last), default=0)
        found.append(Span(rank, rows[rank, event["tid"]], event["name"], level, start, start + event["dur"]))
    ends = [s for s in found if s.name == ORTHOGONALISE]
    if not ends:
        sys.exit("the trace has no iteration")
    first = [min(s.end for s in ends if s.rank == rank) for rank in {s.rank for s in ends}]
    return [span for span in found if span.start >= min(first)]


def holds(span, next_one):
    """Whether there are spans within it, which come next in the trace."""
    return next_one is not None and next_one[:2] == span[:2] and next_one.start < span.end


def exchanges(spans):
    """{level: [(length, part of it beside interior work), ...]} of every exchange: pack, messages, unpack."""
    found = collections.defaultdict(list)
    work = {rank: merged((s.start, s.end) for s in spans if s.rank == rank and "interior" in s.name) for rank in {s.rank for s in spans}}
    for span in spans:
        if span.row == "halo" or span.name == "messages":
            hidden = sum(max(0, min(end, span.end) - max(start, span.start)) for start, end in work[span.rank])
            found[span.level].append((span.end - span.start, hidden))
    return found


def trace_table(spans):
    yield "| level | spans of exchanges | us, all ranks | beside interior work |"
    yield "|---|---|---|---|"
    for level, parts in sorted(exchanges(spans).items()):
        length, hidden = map(sum, zip(*parts))
        yield f"| {level} | {len(parts)} | {length:.4g} | {100 * hidden / length if length else 0:.0f} % |"


class Drawing:
    def __init__(self, plt, folder, title, kind):
        self.plt, self.folder, self.title, self.kind = plt, folder, title, kind

    def save(self, figure, stem):
        figure.suptitle(self.title, fontsize=7)
        if not figure.get_constrained_layout():
            figure.tight_layout()
        path = self.folder / f"{stem}.{self.kind}"
        figure.savefig(path, dpi=120, metadata={"Date": None} if self.kind == "svg" else {"Software": None})
        self.plt.close(figure)
        print(path)

    def scaling(self, runs):
        """Figure 4: GF/s of a rank over ranks, that of the mixed solver penalised, and its share of one rank's."""
        figure, axes = self.plt.subplots(figsize=(8.5, 4.5), layout="constrained")
        ranks = sorted({run.ranks for run in runs})
        for k, local in enumerate(dict.fromkeys(run.local for run in runs)):
            of_size = [run for run in runs if run.local == local]
            rates = {
                "mixed, penalised": [(run.ranks, run.document["rating_gflops"] / run.ranks) for run in of_size],
                "fp64": [(run.ranks, run.document["fp64"]["gflops"] / run.ranks) for run in of_size],
            }
            for (name, points), style, fill in zip(rates.items(), ("-", (0, (4, 3))), (None, "white")):
                share = f"; {100 * points[-1][1] / points[0][1]:.0f} % on {points[-1][0]}" if points[0][0] == 1 < points[-1][0] else ""
                axes.plot(*zip(*points), ls=style, marker="o", mfc=fill, color=f"C{k}", label=f"{local}, {name}{share}")
        on_gpu = all(run.document["configuration"]["accelerators"] for run in runs)
        for name, rate in PAPER_RATES.items() if on_gpu else []:
            axes.axhline(rate, linestyle=":", linewidth=0.8, color="grey")
            above = rate == max(PAPER_RATES.values())
            axes.annotate(f"the paper's, {name}", (0.5, rate), xycoords=("axes fraction", "data"), fontsize=7, ha="center", va="bottom" if above else "top")
        axes.set(xlabel="ranks", ylabel="GF/s of a rank", xscale="log")
        axes.set_xticks(ranks, [str(r) for r in ranks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        figure.legend(fontsize=7, loc="outside right upper", handlelength=4, title="share of one rank's rate", title_fontsize=7)
        self.save(figure, "figure4_scaling")

    def speedups(self, runs):
        """Figure 5: time of fp64 over that of mixed, whole and by motif."""
        names = list(COLOURS)
        figure, axes = self.plt.subplots(figsize=(8.5, 4), layout="constrained")
        width = 0.8 / max(1, len(runs))
        for k, run in enumerate(runs):
            high, low = (motifs(run.document, phase) for phase in PHASES)
            ratios = [high[n]["seconds"] / low[n]["seconds"] if low.get(n, {}).get("seconds") else 0 for n in names]
            xs = [x + k * width for x in range(len(names) + 1)]
            axes.bar(xs, ratios + [run.document["speedup"]], width, label=f"{run.local}, {ranks_of(run)}")
        axes.axhline(PAPER_SPEEDUP, linestyle="--", linewidth=0.8, color="black", label=f"the paper's, all, penalised: {PAPER_SPEEDUP}")
        axes.set_xticks([x + 0.4 - width / 2 for x in range(len(names) + 1)], names + ["all, penalised"], fontsize=7, rotation=20)
        axes.set(ylabel="fp64 time over mixed time")
        figure.legend(fontsize=7, loc="outside right upper")
        self.save(figure, "figure5_speedups")

    def breakdown(self, runs):
        """Figure 7: shares of an iteration's time by motif."""
        figure, axes = self.plt.subplots(figsize=(max(4, 1.2 * len(runs) * 2), 4))
        labels, tallest = [], max(run.document[phase]["ms_per_iteration"] for run in runs for phase in PHASES)
        for k, (run, phase) in enumerate((run, phase) for run in runs for phase in PHASES):
            time, bottom = run.document[phase]["ms_per_iteration"], 0
            for name, motif in motifs(run.document, phase).items():
                axes.bar(k, motif["share"] * time, 0.7, bottom=bottom, color=COLOURS.get(name, "grey"), label=None if k else name)
                if motif["share"] * time > 0.04 * tallest:
                    height = bottom + motif["share"] * time / 2
                    axes.annotate(f"{100 * motif['share']:.0f} %", (k, height), fontsize=7, ha="center", va="center")
                bottom += motif["share"] * time
            labels.append(f"{run.local}\n{ranks_of(run)}\n{phase}")
        axes.set_xticks(range(len(labels)), labels, fontsize=7)
        axes.set(ylabel="ms an iteration")
        axes.legend(fontsize=7)
        self.save(figure, "figure7_breakdown")

    def roofline(self, run):
        """Figure 8: flop/s of each motif over its flops a byte, below the rate of the copy."""
        figure, axes = self.plt.subplots(figsize=(6, 4))
        copy, seen = run.document["copy_gb_per_s"] * run.ranks, []
        for phase, marker in zip(PHASES, "os"):
            for name, motif in motifs(run.document, phase).items():
                if not motif["gflops"] or not motif["gb_per_s"]:
                    continue
                intensity = motif["gflops"] / motif["gb_per_s"]
                axes.plot(intensity, motif["gflops"], marker, color=COLOURS.get(name, "grey"), label=f"{name}, {phase}")
                seen.append(intensity)
        ends = [min(seen) / 2, max(seen) * 2]
        axes.plot(ends, [copy * x for x in ends], "k-", linewidth=0.8, label=f"copy, {copy:.4g} GB/s")
        axes.set(xlabel="flops a byte (model)", ylabel="GF/s of all ranks", xscale="log", yscale="log")
        axes.set_title(f"{run.local}, {ranks_of(run)}", fontsize=8)
        axes.legend(fontsize=6)
        self.save(figure, "figure8_roofline")

    def trace(self, spans):
        """Figure 9: an iteration of every rank, and below it the sweep of each level that has an exchange."""
        ranks, rows = sorted({s.rank for s in spans}), ["work", "halo", "messages"]
        sweeps = [s for s in spans if s.rank == ranks[0] and s.name == SWEEP]
        levels = sorted({s.level for s in sweeps})
        ends = sorted(s.end for s in spans if s.rank == ranks[0] and s.name == ORTHOGONALISE)
        if len(ends) < 2:
            sys.exit("the trace has fewer than three iterations: run with a larger --restart")
        windows = {"an iteration": (ends[0], ends[1])}
        for level in levels:
            of_level = sorted((s for s in sweeps if s.level == level), key=lambda s: s.end - s.start)
            sweep = of_level[len(of_level) // 2]  # of middling length
            margin = 0.1 * (sweep.end - sweep.start)
            windows[f"a sweep of level {level}"] = (sweep.start - margin, sweep.end + margin)
        lanes = [(rank, row) for rank in ranks for row in rows]
        figure, grid = self.plt.subplots(len(windows), 1, figsize=(10, len(windows) * (0.7 + 0.16 * len(lanes))), squeeze=False)
        leaves = [s for s, next_one in zip(spans, [*spans[1:], None]) if s.name != "wait" and not (s.row == "work" and holds(s, next_one))]
        for (axes,), (caption, (left, right)) in zip(grid, windows.items()):
            for y, (rank, row) in enumerate(lanes):
                for s in leaves:
                    if (s.rank, s.row) == (rank, row) and s.end > left and s.start < right:
                        colour = next((colour for part, colour in SPANS.items() if part in s.name), OTHER_WORK)
                        axes.broken_barh([(s.start - left, s.end - s.start)], (y - 0.4, 0.8), color=colour)
            axes.set(xlim=(0, right - left))
            axes.set_yticks(range(len(lanes)), [f"rank {rank} {row}" for rank, row in lanes], fontsize=5)
            axes.set_title(caption, fontsize=7, loc="left")
            axes.tick_params(axis="x", labelsize=7)
            axes.invert_yaxis()
        for name, colour in [*SPANS.items(), ("other work", OTHER_WORK)]:
            grid[0][0].plot([], [], "s", color=colour, label=name)
        grid[0][0].legend(fontsize=6, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(SPANS) + 1)
        grid[-1][0].set_xlabel("microseconds", fontsize=8)
        self.save(figure, "figure9_trace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the figures go")
    parser.add_argument("--runs", type=pathlib.Path, nargs="+", required=True, help="JSON of `strata hpgmxp --json`")
    parser.add_argument("--trace", type=pathlib.Path, help="of `strata hpgmxp --trace`, on several ranks, for figure 9")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the figures [svg]")
    arguments = parser.parse_args()
    runs = sorted(runs_of(json.loads(path.read_text()) for path in arguments.runs), key=lambda run: (len(run.local), run.local, run.ranks))
    if not runs:
        sys.exit("paper_c.py: none of these files is a whole benchmark run of strata hpgmxp")
    lines = list(dict.fromkeys(machine(run.document) for run in runs)) + [""] + list(table(runs))
    spans = spans_of(json.loads(arguments.trace.read_text())) if arguments.trace else []
    if arguments.trace and not exchanges(spans):
        sys.exit(f"paper_c.py: no exchange in {arguments.trace}: it is of one rank")
    lines += ["", *trace_table(spans)] if spans else []
    print("\n".join(lines))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "table.md").write_text("\n".join(lines) + "\n")
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no figures", file=sys.stderr)
        sys.exit(SKIPPED)
    matplotlib.use("svg" if arguments.format == "svg" else "agg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    drawing = Drawing(plt, arguments.folder, "; ".join(dict.fromkeys(machine(run.document) for run in runs)), arguments.format)
    drawing.scaling(runs)
    drawing.speedups(runs)
    drawing.breakdown(runs)
    if spans:
        drawing.trace(spans)
    drawing.roofline(max(runs, key=lambda run: (run.document["problem"]["equations"] / run.ranks, -run.ranks)))


if __name__ == "__main__":
    main()
