#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the counterparts of paper B's figures 4 and 6 to 13, and print the table of variants as Markdown.

Reads what `strata_ooc_study --json` wrote, and the traces that it names, which may also lie beside it; the vendor's line of
figure 6 comes from `strata_dense_benchmark --benchmark_out=...`. The paper's numbers are those that its text states.
"""
import argparse
import collections
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True
import paper_a  # noqa: E402

SKIPPED = 77
HOSTS = ("Serial", "OpenMP", "Threads")  # execution spaces whose rates the paper's GPUs are no measure for
VARIANTS = ["sync", "async", "v1", "v2", "v3", "v4"]
PRECISIONS = ["fp64", "fp32", "fp16", "fp8"]
COLOURS = ["#b2182b", "#f4a582", "#92c5de", "#2166ac"]  # of the precision maps, as PrecisionMap::to_ppm has them
CORRELATION = {0.02627: "weak", 0.078809: "medium", 0.210158: "strong"}
PAPER_TERAFLOPS = {"A100-PCIe": 16.1, "H100-PCIe": 54.7, "GH200": 58.9}  # figure 6, V3, fp64
PAPER_FOUR_TERAFLOPS = {"4 A100-PCIe": 59.3, "4 H100-PCIe": 176.3, "4 GH200": 185.5}  # figure 9
PAPER_MIXED_TERAFLOPS = 136.1  # figure 11, weak correlation, 1e-5, GH200
ROWS = {"copy in": "#e08214", "work": "#2166ac", "copy out": "#4dac26"}  # of the traces, in the paper's colours
ZOOM = 0.02  # of a trace, in its middle


def rows_of(documents, folders=()):
    """The rows that were run to a factor, each with its document's gemm rate and its trace where there is one."""
    for document, folder in zip(documents, folders or [pathlib.Path()] * len(documents)):
        for row in document["rows"]:
            if "error" in row or row.get("info") != 0:
                continue
            named = pathlib.Path(row.get("trace", "absent"))
            path = next((path for path in (folder / named.name, named) if "trace" in row and path.is_file()), None)
            asked = document.get("precisions", PRECISIONS)
            yield dict(row, gemm=document["gemm_flop_per_s"], trace=path, asked=[name.split("_")[0] for name in asked])


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


def merged(spans, gap=0.0):
    """Sorted (start, end) as few (start, end) that cover the same, and gaps of up to `gap` between them."""
    found = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + gap:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


def lanes_of(trace):
    """{"device 0 stream 1 copy in": [(start, end), ...]} in seconds since the first of all."""
    names, lanes = {}, collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            lanes[event["tid"]].append((event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6))
    of_streams = [tid for tid in sorted(lanes) if names[tid].startswith("device ")]
    zero = min(start for tid in of_streams for start, _ in lanes[tid])
    return {names[tid]: [(start - zero, end - zero) for start, end in lanes[tid]] for tid in of_streams}


def machine(document):
    parts = [document.get("device", document["host"]), document["execution_space"]]
    if "strata_commit" in document:
        parts.append(f"Strata {document['strata_commit']}")
    return ", ".join(parts)


def budget_name(row):
    return f"{row['budget_bytes'] / 1e9:g} GB" if row["budget_bytes"] else "all that is free"


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

    def lines(self, stem, panels, ylabel, marks=None, limit=None, log=False):
        """Side by side, for {panel: {name: {n: y}}}, one line for each name; nothing if there is none.

        marks: {panel: {name: y}}, dashed; limit: (name, n), where the device's memory ends.
        """
        panels = {panel: series for panel, series in panels.items() if series}
        if not panels:
            return
        size = (max(6, 3.6 * len(panels)) + 1.6, 4)
        figure, row = self.plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained")
        names = list(dict.fromkeys(name for series in panels.values() for name in series))
        for axes, (panel, series) in zip(row[0], panels.items()):
            for name in names:
                xs = sorted(series.get(name, []))
                colour = "black" if name == "vendor" else f"C{names.index(name)}"
                axes.plot(xs, [series[name][x] for x in xs], marker="o", ms=4, label=name, color=colour)
            for name, y in (marks or {}).get(panel, {}).items():
                axes.axhline(y, linestyle="--", linewidth=0.8, color="grey")
                axes.annotate(name, (0.01, y), xycoords=("axes fraction", "data"), fontsize=7, va="bottom")
            if limit and axes.get_xlim()[0] < limit[1] < axes.get_xlim()[1]:
                axes.axvline(limit[1], linestyle=":", linewidth=0.8, color="black")
                axes.annotate(limit[0], (limit[1], 0.02), xycoords=("data", "axes fraction"), fontsize=7, rotation=90, ha="right")
            axes.set(xlabel="n", yscale="log" if log else "linear")
            axes.grid(alpha=0.3)
            if len(panels) > 1:
                axes.set_title(panel, fontsize=9)
        row[0][0].set(ylabel=ylabel)
        handles = {handle.get_label(): handle for axes in row[0] for handle in axes.get_lines() if handle.get_label() in names}
        figure.legend(handles=list(handles.values()), fontsize=7, loc="outside right upper")
        self.save(figure, stem)

    def bars(self, stem, groups, ylabel):
        """Bars side by side of {group: {name: y}}."""
        if not groups:
            return
        names = [name for name in VARIANTS if any(name in group for group in groups.values())]
        figure, axes = self.plt.subplots(figsize=(6, 4), layout="constrained")
        width = 0.8 / max(1, len(names))
        for k, name in enumerate(names):
            axes.bar([g + k * width for g in range(len(groups))], [group.get(name, 0) for group in groups.values()], width, label=name)
        axes.set_xticks([g + 0.4 - width / 2 for g in range(len(groups))], list(groups))
        axes.set(ylabel=ylabel)
        axes.legend(fontsize=8)
        self.save(figure, stem)

    def maps(self, stem, maps, columns):
        """So many side by side, {caption: lower triangle of letters}."""
        if not maps:
            return
        high = -(-len(maps) // columns)
        figure, grid = self.plt.subplots(high, columns, figsize=(2.6 * columns, 3.0 * high + 0.4), squeeze=False, layout="constrained")
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, (caption, text) in zip(grid.flat, maps.items()):
            lines = text.split()
            image = [[(1.0, 1.0, 1.0)] * len(lines) for _ in lines]
            for i, line in enumerate(lines):
                for j, letter in enumerate(line):
                    colour = COLOURS["DSHQ".index(letter)].lstrip("#")
                    image[i][j] = tuple(int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
            axes.imshow(image, interpolation="nearest")
            axes.set_title(caption, fontsize=7)
        for name, colour in zip(PRECISIONS, COLOURS):
            grid[0][0].plot([], [], "s", color=colour, label=name)
        figure.legend(fontsize=7, loc="outside lower center", ncols=len(PRECISIONS))
        self.save(figure, stem)

    def traces(self, stem, rows):
        """Under each other, {caption: row}: at the left when copies and work ran, at the right a moment of every stream."""
        if not rows or (self.only and not stem.startswith(self.only)):
            return
        lanes = {caption: lanes_of(json.loads(row["trace"].read_text())) for caption, row in rows.items()}
        heights = [0.8 + 0.12 * len(found) for found in lanes.values()]
        figure, grid = self.plt.subplots(
            len(rows), 2, figsize=(12, 0.8 + sum(heights)), squeeze=False, layout="constrained",
            gridspec_kw={"height_ratios": heights, "width_ratios": [3, 2]},
        )
        longest = max(end for found in lanes.values() for spans in found.values() for _, end in spans)
        for (whole, moment), (caption, found) in zip(grid, lanes.items()):
            end = max(end for spans in found.values() for _, end in spans)
            shares = []
            for y, (kind, colour) in enumerate(ROWS.items()):
                spans = merged(span for name, lane in found.items() if name.endswith(kind) for span in lane)
                shares.append(f"{kind}, {100 * sum(b - a for a, b in spans) / end:.0f} %")
                whole.broken_barh([(a, b - a) for a, b in merged(spans, longest / 4000)], (y - 0.4, 0.8), color=colour)
            whole.set_yticks(range(len(ROWS)), shares, fontsize=7)
            whole.set(xlim=(0, longest))
            starts = sorted(start for spans in found.values() for start, _ in spans)
            middle = starts[len(starts) // 2]
            window = (middle - end * ZOOM / 2, middle + end * ZOOM / 2)
            for y, (name, spans) in enumerate(found.items()):
                inside = [(a, b - a) for a, b in spans if b > window[0] and a < window[1]]
                colour = next(colour for kind, colour in ROWS.items() if name.endswith(kind))
                moment.broken_barh(inside, (y - 0.4, 0.8), color=colour)
            alone = all(name.startswith("device 0 ") for name in found)
            moment.set_yticks(range(len(found)), [name.removeprefix("device 0 ") if alone else name for name in found], fontsize=5)
            moment.set(xlim=window)
            moment.locator_params(axis="x", nbins=4)
            for axes in (whole, moment):
                axes.invert_yaxis()
                axes.tick_params(axis="x", labelsize=7)
            whole.set_title(caption, fontsize=8, loc="left")
            moment.set_title(f"{100 * ZOOM:g} % of it", fontsize=7)
        grid[-1][0].set_xlabel("seconds", fontsize=8)
        self.save(figure, stem)

    def save(self, figure, stem):
        if self.only and not stem.startswith(self.only):
            return self.plt.close(figure)
        figure.suptitle(self.title, fontsize=7)
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


def draw_fp64(drawing, rows, vendor):
    """Figures 6, 8 and 9, for each budget that has more than one variant or number of devices."""
    budgets = collections.defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["budget_bytes"], row["devices"], VARIANTS.index(row["variant"]))):
        if row["accuracy"] == 0:
            budgets[budget_name(row)].append(row)
    alone = {name: list(fastest([row for row in some if row["devices"] == 1], "n", "variant").values()) for name, some in budgets.items()}
    alone = {name: some for name, some in alone.items() if len({row["variant"] for row in some}) > 1}
    rate = lambda row: row["flop_per_s"] / 1e12
    for name, some in alone.items():
        draw_variants(drawing, some, "_" + name.replace(" ", "_") if len(alone) > 1 else "", vendor, rate)
    many = {name: some for name, some in budgets.items() if len({row["devices"] for row in some}) > 1}
    marks = {f"paper, {name}": value for name, value in PAPER_FOUR_TERAFLOPS.items()} if drawing.on_gpu else {}
    label = lambda row: f"{row['variant']}, {row['devices']} device{'s' if row['devices'] > 1 else ''}"
    for name, some in many.items():
        series = series_of(fastest(some, "n", "devices", "variant").values(), label, rate)
        drawing.lines("figure9" + ("_" + name.replace(" ", "_") if len(many) > 1 else ""), {"": series}, "Tflop/s", {"": marks})


def draw_variants(drawing, one, suffix, vendor, rate):
    marks = {f"paper, {name}": value for name, value in PAPER_TERAFLOPS.items()} if drawing.on_gpu else {}
    marks["dgemm, this machine"] = max(row["gemm"] for row in one) / 1e12
    series = series_of(one, lambda r: r["variant"], rate) | ({"vendor": vendor} if vendor else {})
    limit = (f"{budget_name(one[0])}, the budget", math.sqrt(one[0]["budget_bytes"] / 4))
    drawing.lines(f"figure6{suffix}", {"": series}, "Tflop/s", {"": marks}, limit)
    volumes = {"in": ("bytes_in",), "out": ("bytes_out",), "total": ("bytes_in", "bytes_out")}
    for name, fields in volumes.items():
        groups = collections.defaultdict(dict)
        for row in sorted(one, key=lambda r: r["n"]):
            groups[f"n = {row['n']}"][row["variant"]] = sum(row[field] for field in fields) / 1e9
        drawing.bars(f"figure8_{name}{suffix}", groups, f"GB {name}")


def draw_mixed(drawing, rows):
    """Figures 10, 11 and 12, of all four precisions: one panel for each correlation, one line for each accuracy."""
    rows = [row for row in rows if row["asked"] == PRECISIONS or row["accuracy"] == 0]
    best = fastest([row for row in rows if row["devices"] == 1], "n", "range", "accuracy").values()
    mixed = sorted({row["range"] for row in best if row["accuracy"] > 0})
    label = lambda row: f"accuracy {row['accuracy']:g}" if row["accuracy"] else "fp64"
    rates, volumes, marks = {}, {}, {}
    for length in mixed:
        some = sorted((row for row in best if row["range"] == length), key=lambda row: row["accuracy"])
        rates[name_of(length)] = series_of(some, label, lambda row: row["flop_per_s"] / 1e12)
        volumes[name_of(length)] = series_of(some, label, lambda row: (row["bytes_in"] + row["bytes_out"]) / 1e9)
    if drawing.on_gpu:
        marks["weak"] = {"paper, 1e-5, GH200": PAPER_MIXED_TERAFLOPS}
    drawing.lines("figure11", rates, "Tflop/s", marks)
    drawing.lines("figure12", volumes, "GB in and out")
    kl = {name_of(length): collections.defaultdict(dict) for length in mixed}
    for (n, length, accuracy), value in sorted(divergences(rows).items(), key=lambda item: item[0][2]):
        if value > 0:
            kl[name_of(length)][f"accuracy {accuracy:g}"][n] = value
    drawing.lines("figure10", kl, "KL divergence, as the paper takes it", log=True)


def draw_pictures(drawing, rows):
    """Figure 4: precision maps; 7: traces by variant, 13: by correlation, each of the largest matrix that has one."""
    maps = {}
    for row in sorted(rows, key=lambda row: (row["range"], -row["accuracy"], row["n"])):
        if row.get("map") and row["accuracy"] > 0:
            maps[(row["range"], row["accuracy"], *row["asked"])] = row  # the largest
    caption = lambda row: f"{name_of(row['range'])}, {row['accuracy']:g}\n{', '.join(row['asked'])}\nn = {row['n']}, tiles of {row['tile_size']}"
    of_one = max(collections.Counter(row["range"] for row in maps.values()).values(), default=1)  # a row for each correlation
    drawing.maps("figure4", {caption(row): row["map"] for row in maps.values()}, min(4, of_one))
    traced = list({row["trace"]: row for row in rows if row["trace"]}.values())  # who wrote a file last is in it
    for devices in sorted({row["devices"] for row in traced}):
        some = [row for row in traced if row["devices"] == devices]
        suffix = f"_{devices}_devices" if devices > 1 else ""
        exact, mixed = ([row for row in some if (row["accuracy"] > 0) == narrow] for narrow in (False, True))
        drawing.traces(f"figure7{suffix}", captioned(exact, lambda row: row["variant"], lambda row: VARIANTS.index(row["variant"])))
        drawing.traces(f"figure13{suffix}", captioned(mixed, lambda row: name_of(row["range"]), lambda row: row["range"]))


def captioned(rows, name, order):
    """{caption: row} of the rows of the largest matrix."""
    largest = [row for row in rows if row["n"] == max(row["n"] for row in rows)]
    caption = lambda row: f"{name(row)}, n = {row['n']}, tiles of {row['tile_size']}, {budget_name(row)}" + (
        f", accuracy {row['accuracy']:g}" if row["accuracy"] else ""
    )
    return {f"{caption(row)}: {row['flop_per_s'] / 1e12:.3g} Tflop/s": row for row in sorted(largest, key=order)}


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
    assert merged([(3, 4), (0, 1), (1, 2), (0.5, 0.7)]) == [[0, 2], [3, 4]] and merged([(0, 1), (2, 3)], 1) == [[0, 3]]
    named = [{"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}} for tid, name in enumerate(("device 0 stream 0 work", "host"))]
    events = named + [{"ph": "X", "tid": tid, "ts": 2e6 - tid, "dur": 1e6} for tid in (0, 1)]
    assert lanes_of({"traceEvents": events}) == {"device 0 stream 0 work": [(0, 1)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the figures and table.md go")
    parser.add_argument("--study", type=pathlib.Path, nargs="+", required=True, help="JSON of strata_ooc_study")
    parser.add_argument("--benchmarks", type=pathlib.Path, nargs="*", default=[], help="JSON of strata_dense_benchmark, for the vendor's POTRF in figure 6")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEM", help="figures whose names begin so, and no table.md")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the figures; png is smaller for traces [svg]")
    arguments = parser.parse_args()
    self_test()
    documents = [json.loads(path.read_text()) for path in arguments.study]
    rows = list(rows_of(documents, [path.parent for path in arguments.study]))
    if not rows:
        sys.exit("no factorisation is in these files")
    title = "; ".join(sorted({machine(document) for document in documents}))
    title += ", simulated" if any(row.get("simulated") for row in rows) else ""
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
    vendor = {}
    for path in arguments.benchmarks:
        vendor |= dict(paper_a.series(paper_a.medians(json.loads(path.read_text())), "tree_potrf", "flop_per_s").get("vendor", []))
    draw_fp64(drawing, rows, {n: rate / 1e12 for n, rate in vendor.items()})
    draw_mixed(drawing, rows)
    draw_pictures(drawing, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
