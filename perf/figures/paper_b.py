#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the counterparts of paper B's figures 4 and 6 to 13, and print the table of variants as Markdown.

Reads what `strata_ooc_study --json` wrote, and the traces that it names. The paper's numbers are those that its text states.
"""
import argparse
import collections
import json
import math
import pathlib
import sys

SKIPPED = 77
HOSTS = ("Serial", "OpenMP", "Threads")  # execution spaces whose rates the paper's GPUs are no measure for
VARIANTS = ["sync", "async", "v1", "v2", "v3", "v4"]
PRECISIONS = ["fp64", "fp32", "fp16", "fp8"]
COLOURS = ["#b2182b", "#f4a582", "#92c5de", "#2166ac"]  # of the precision maps, as PrecisionMap::to_ppm has them
CORRELATION = {0.02627: "weak", 0.078809: "medium", 0.210158: "strong"}
PAPER_TERAFLOPS = {"H100-PCIe": 54.7, "GH200": 58.9}  # figure 6, V3, fp64
PAPER_MIXED_TERAFLOPS = 136.1  # figure 11, weak correlation, 1e-5, GH200
ROWS = {"copy in": ("C2G", "#e08214"), "work": ("Work", "#2166ac"), "copy out": ("G2C", "#4dac26")}


def rows_of(documents):
    """The rows that were run to a factor, each with its document's gemm rate."""
    for document in documents:
        for row in document["rows"]:
            if "error" not in row and row.get("info") == 0:
                yield dict(row, gemm=document["gemm_flop_per_s"])


def fastest(rows, *names):
    """{key: row} with the fastest row for each combination of these fields."""
    best = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        if key not in best or row["factor_seconds"] < best[key]["factor_seconds"]:
            best[key] = row
    return best


def divergences(rows):
    """{(n, range, accuracy): |KL|}, by paper B's equation 3: half the difference of the log-determinants."""
    exact = {(r["n"], r["range"]): r["log_determinant"] for r in rows if r["accuracy"] == 0 and "log_determinant" in r}
    found = {}
    for row in rows:
        key = (row["n"], row["range"])
        if row["accuracy"] > 0 and key in exact and "log_determinant" in row:
            found[key + (row["accuracy"],)] = abs(row["log_determinant"] - exact[key]) / 2
    return found


def name_of(value):
    near = [name for number, name in CORRELATION.items() if abs(value - number) < 1e-4]
    return near[0] if near else f"range {value:g}"


def table(rows):
    yield "| n | devices | variant | budget GB | accuracy | correlation | Tflop/s | of dgemm | GB in | GB out | GB peer | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    best = fastest(rows, "n", "devices", "budget_bytes", "accuracy", "range", "variant")
    order = lambda item: item[0][:5] + (VARIANTS.index(item[0][5]),)
    for (n, devices, budget, accuracy, length, variant), row in sorted(best.items(), key=order):
        rate = row["flop_per_s"]
        yield (
            f"| {n} | {devices} | {variant} | {budget / 1e9:.3g} | {accuracy:g} | {name_of(length)} | {rate / 1e12:.3g} | "
            f"{rate / row['gemm']:.3f} | {row['bytes_in'] / 1e9:.3g} | {row['bytes_out'] / 1e9:.3g} | "
            f"{row['bytes_peer'] / 1e9:.3g} | {row['factor_seconds']:.3g} |"
        )


class Drawing:
    def __init__(self, plt, folder, title, only=(), on_gpu=True, kind="svg"):
        self.plt, self.folder, self.title, self.only, self.on_gpu = plt, folder, title, tuple(only), on_gpu
        self.kind = kind

    def lines(self, stem, series, xlabel, ylabel, marks=None, log=False):
        """One line for each name in {name: {x: y}}; nothing if there is none."""
        if not series:
            return
        figure, axes = self.plt.subplots(figsize=(6, 4))
        for name, points in series.items():
            xs = sorted(points)
            axes.plot(xs, [points[x] for x in xs], marker="o", label=name)
        for name, y in (marks or {}).items():
            axes.axhline(y, linestyle="--", linewidth=0.8, color="grey")
            axes.annotate(name, (0.01, y), xycoords=("axes fraction", "data"), fontsize=7, va="bottom")
        if log:
            axes.set_yscale("log")
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.legend(fontsize=8)
        self.save(figure, stem)

    def bars(self, stem, groups, ylabel):
        """Bars side by side of {group: {name: y}}."""
        if not groups:
            return
        names = [name for name in VARIANTS if any(name in group for group in groups.values())]
        figure, axes = self.plt.subplots(figsize=(6, 4))
        width = 0.8 / max(1, len(names))
        for k, name in enumerate(names):
            axes.bar([g + k * width for g in range(len(groups))], [group.get(name, 0) for group in groups.values()], width, label=name)
        axes.set_xticks([g + 0.4 - width / 2 for g in range(len(groups))], list(groups))
        axes.set(ylabel=ylabel)
        axes.legend(fontsize=8)
        self.save(figure, stem)

    def map(self, stem, text, caption):
        lines = text.split()
        figure, axes = self.plt.subplots(figsize=(4, 4))
        image = [[(1, 1, 1)] * len(lines) for _ in lines]
        for i, line in enumerate(lines):
            for j, letter in enumerate(line):
                colour = COLOURS["DSHQ".index(letter)].lstrip("#")
                image[i][j] = tuple(int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
        axes.imshow(image, interpolation="nearest")
        axes.set_axis_off()
        for name, colour in zip(PRECISIONS, COLOURS):
            axes.plot([], [], "s", color=colour, label=name)
        axes.legend(fontsize=7, loc="upper right")
        axes.set_title(caption, fontsize=8)
        self.save(figure, stem)

    def trace(self, stem, path, caption):
        lanes = collections.defaultdict(list)
        tracks = {}
        for event in json.loads(path.read_text())["traceEvents"]:
            if event["ph"] == "M" and event["name"] == "thread_name":
                tracks[event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                lanes[event["tid"]].append((event["ts"] / 1e6, event["dur"] / 1e6))
        tracks = {tid: name for tid, name in sorted(tracks.items()) if lanes[tid]}
        figure, axes = self.plt.subplots(figsize=(8, 0.6 + 0.25 * len(tracks)))
        for y, (tid, name) in enumerate(tracks.items()):
            kind = next(kind for kind in ROWS if name.endswith(kind))
            axes.broken_barh(lanes[tid], (y - 0.4, 0.8), color=ROWS[kind][1])
        axes.set_yticks(range(len(tracks)), list(tracks.values()), fontsize=6)
        axes.invert_yaxis()
        axes.set(xlabel="seconds")
        axes.set_title(caption, fontsize=8)
        self.save(figure, stem)

    def save(self, figure, stem):
        if not figure.axes[0].get_title():
            figure.axes[0].set_title(self.title, fontsize=7)
        if self.only and not stem.startswith(self.only):
            return self.plt.close(figure)
        figure.tight_layout()
        path = self.folder / f"{stem}.{self.kind}"
        figure.savefig(path, dpi=120, metadata={"Date": None} if self.kind == "svg" else {"Software": None})
        self.plt.close(figure)
        print(path)


def series_of(rows, name, y):
    """{name(row): {n: y(row)}} of the fastest rows."""
    result = collections.defaultdict(dict)
    for row in rows:
        result[name(row)][row["n"]] = y(row)
    return result


def draw_fp64(drawing, rows):
    exact = [row for row in rows if row["accuracy"] == 0]
    one = fastest([r for r in exact if r["devices"] == 1], "n", "variant").values()
    rate = lambda row: row["flop_per_s"] / 1e12
    marks = {f"paper, {name}": value for name, value in PAPER_TERAFLOPS.items()} if drawing.on_gpu else {}
    if one:
        marks["dgemm, this machine"] = max(row["gemm"] for row in one) / 1e12
    drawing.lines("figure6", series_of(one, lambda r: r["variant"], rate), "n", "Tflop/s", marks)
    for stem, field in (("figure8_in", "bytes_in"), ("figure8_out", "bytes_out")):
        groups = collections.defaultdict(dict)
        for row in sorted(one, key=lambda r: r["n"]):
            groups[f"n = {row['n']}"][row["variant"]] = row[field] / 1e9
        drawing.bars(stem, groups, f"GB {'in' if field == 'bytes_in' else 'out'}")
    many = fastest(exact, "n", "devices", "variant").values()
    if len({row["devices"] for row in many}) > 1:
        drawing.lines("figure9", series_of(many, lambda r: f"{r['variant']}, {r['devices']} devices", rate), "n", "Tflop/s")


def draw_mixed(drawing, rows):
    best = fastest([r for r in rows if r["devices"] == 1], "n", "range", "accuracy").values()
    for length in sorted({row["range"] for row in best}):
        some = [row for row in best if row["range"] == length]
        name = name_of(length).replace(" ", "_")
        label = lambda row: f"accuracy {row['accuracy']:g}" if row["accuracy"] else "fp64"
        marks = {"paper, 1e-5, GH200": PAPER_MIXED_TERAFLOPS} if name == "weak" and drawing.on_gpu else None
        if any(row["accuracy"] for row in some):
            drawing.lines(f"figure11_{name}", series_of(some, label, lambda r: r["flop_per_s"] / 1e12), "n", "Tflop/s", marks)
            total = lambda r: (r["bytes_in"] + r["bytes_out"]) / 1e9
            drawing.lines(f"figure12_{name}", series_of(some, label, total), "n", "GB in and out")
        series = collections.defaultdict(dict)
        for (n, found, accuracy), value in divergences(rows).items():
            if found == length and value > 0:
                series[f"accuracy {accuracy:g}"][n] = value
        drawing.lines(f"figure10_{name}", series, "n", "KL divergence", log=True)


def draw_pictures(drawing, rows):
    """Figure 4: precision maps; 7 and 13: traces."""
    maps = {(row["range"], row["accuracy"]): row for row in rows if row.get("map") and row["accuracy"] > 0}
    for (length, accuracy), row in maps.items():
        drawing.map(f"figure4_{name_of(length).replace(' ', '_')}_{accuracy:g}", row["map"], f"{name_of(length)}, {accuracy:g}, n = {row['n']}")
    for row in rows:
        path = pathlib.Path(row.get("trace", ""))
        if row.get("trace") and path.exists():
            stem = "figure13_" + name_of(row["range"]).replace(" ", "_") if row["accuracy"] else f"figure7_{row['variant']}_{row['devices']}"
            drawing.trace(stem, path, f"{row['variant']}, n = {row['n']}, {row['devices']} devices")


def self_test():
    row = {"n": 8, "range": 0.02627, "variant": "v3", "devices": 1, "budget_bytes": 1e9, "info": 0}
    rows = [
        dict(row, accuracy=0, log_determinant=-4.0, factor_seconds=2.0),
        dict(row, accuracy=1e-5, log_determinant=-4.5, factor_seconds=1.0),
        dict(row, accuracy=1e-5, log_determinant=-4.5, factor_seconds=0.5),
    ]
    assert divergences(rows) == {(8, 0.02627, 1e-5): 0.25}
    assert fastest(rows, "accuracy")[(1e-5,)]["factor_seconds"] == 0.5
    assert name_of(0.0788090001) == "medium" and name_of(0.5) == "range 0.5"
    document = {"gemm_flop_per_s": 1.0, "rows": rows + [dict(row, error="refused"), dict(row, info=3)]}
    assert len(list(rows_of([document]))) == 3
    assert math.isclose(list(rows_of([document]))[0]["gemm"], 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the figures and table.md go")
    parser.add_argument("--study", type=pathlib.Path, nargs="+", required=True, help="JSON of strata_ooc_study")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEM", help="figures whose names begin so, and no table.md")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the figures; png is smaller for traces [svg]")
    arguments = parser.parse_args()
    self_test()
    documents = [json.loads(path.read_text()) for path in arguments.study]
    rows = list(rows_of(documents))
    if not rows:
        sys.exit("no factorisation is in these files")
    title = ", ".join(sorted({f"{document['host']}, {document['execution_space']}" for document in documents}))
    lines = [title, ""] + list(table(rows))
    print("\n".join(lines))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if not arguments.only:
        (arguments.folder / "table.md").write_text("\n".join(lines) + "\n")
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no figures")
        return SKIPPED
    matplotlib.use("svg" if arguments.format == "svg" else "agg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    on_gpu = all(document["execution_space"] not in HOSTS for document in documents)
    drawing = Drawing(plt, arguments.folder, title, arguments.only, on_gpu, arguments.format)
    draw_fp64(drawing, rows)
    draw_mixed(drawing, rows)
    draw_pictures(drawing, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
