#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw what reports of strata's commands hold: `strata plot` runs this script.

strata_plot.py [--kind KIND] [--output FILE.png|.svg|.html] FILE...: without an output the kinds of picture that each file has are
listed. Ends with 2 for files that can't be used, with 1 where Matplotlib is not there.
"""
import argparse
import base64
import collections
import io
import math
import pathlib
import re
import statistics
import sys

import strata_plot_data as data_of
from strata_plot_data import Unusable

# From dark to light, so that they differ in black and white, too; viridis, which the colour-blind can tell apart.
FORMATS = {"fp64": "#440154", "fp32": "#31688e", "tf32": "#277f8e", "fp16_split": "#21918c", "bf16": "#1fa187", "fp16": "#6ece58",
           "fp8_e4m3": "#fde725", "fp8_e5m2": "#fde725", "fp8_e4m3fnuz": "#fde725", "fp8_e5m2fnuz": "#fde725",
           **{f"int8x{moduli}": "#3b528b" for moduli in range(6, 17)}}
SHADES = ["#440154", "#31688e", "#6ece58", "#fde725"]
DIGITS = {"D": "fp64", "S": "fp32", "H": "fp16", "Q": "fp8_e4m3"}  # of maps of tiles
CURVES = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # Okabe and Ito
MARKERS = "os^Dvx+"
CENTRED = {"ha": "center", "va": "center", "fontsize": 8}
LEGEND = {"fontsize": 8, "title_fontsize": 8, "loc": "upper right"}
HATCHES = ["", "//", "..", "xx", "\\\\", "--", "oo"]
EARTH_RADIUS_KM = 6371.0088  # as the library's
MOST_PAIRED = 3000  # observations that an empirical variogram is made of


def sources(items):
    """What was run where, for the foot of a picture."""
    words = []
    for item in items:
        machine = item.data.get("configuration") if item.type == "report" else None
        text = item.name
        if machine:
            devices = [gpu["name"] for gpu in machine["accelerators"]] or [machine["host"]["model"]] if "host" in machine else []
            text += f": Strata {machine['strata']}, commit {machine['commit']}; " + ", ".join(sorted(set(devices)))
        words.append(text)
    shown = words[:3] + ([f"and {len(words) - 3} more files"] if len(words) > 3 else [])
    return "\n".join(shown)


def style(axes, title, xlabel, ylabel):
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def panels(plt, count, width=6.0, height=4.6):
    figure, axes = plt.subplots(1, count, figsize=(max(7.0, width * count), height), squeeze=False, layout="constrained")
    return figure, list(axes[0])


def format_handles(plt, names, note=None):
    note = note or {}
    labels = {name: name + note.get(name, "") for name in FORMATS if name in names}
    return [plt.Rectangle((0, 0), 1, 1, fc=FORMATS[name], ec="black", lw=0.5, label=label) for name, label in labels.items()]


def draw_convergence(plt, found):
    by_axes = collections.defaultdict(list)
    for item, data in found:
        by_axes[data["axes"]].append((item, data))
    figure, all_axes = panels(plt, len(by_axes))
    for axes, ((xlabel, ylabel), curves) in zip(all_axes, by_axes.items()):
        for k, (item, data) in enumerate(curves):
            few = len(data["y"]) <= 60
            style_of = {"color": CURVES[k % len(CURVES)], "marker": MARKERS[k % len(MARKERS)] if few else "", "ms": 4, "lw": 1.3}
            label = data["label"] if len(curves) == 1 else f"{item.name}: {data['label']}"
            y = [math.nan if value is None else value for value in data["y"]]
            axes.plot(data.get("x", range(len(y))), y, label=label, ls=["-", "--", "-.", ":"][k % 4], **style_of)
        for target in sorted({data["target"] for _, data in curves if data["target"]}):
            owners = [k for k, (_, data) in enumerate(curves) if data["target"] == target]
            colour = CURVES[owners[0] % len(CURVES)] if len(owners) == 1 else "black"
            axes.axhline(target, color=colour, lw=1, ls=(0, (8, 3)), label=f"target {target:.1e}")
        if curves[0][1]["target"]:
            axes.set_yscale("log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        if len(axes.get_lines()) > 1:
            axes.legend(fontsize=8)
        style(axes, "Course of the fit" if ylabel == "log-likelihood" else "Convergence", xlabel, ylabel)
    return figure


def ink(colour):
    """Black or white, what can be read on it."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 128 else "black"


def draw_layers(plt, found):
    figure, all_axes = panels(plt, len(found), 5.6, 5.2)
    for axes, (item, report) in zip(all_axes, found):
        n, share = report["n"], collections.Counter()
        for block in report["blocks"]:
            row, col, rows, cols, name, scale = (block[key] for key in ("row", "col", "rows", "cols", "precision", "scale"))
            axes.add_patch(plt.Rectangle((col, row), cols, rows, fc=FORMATS[name], ec="white", lw=0.6 if rows > n / 64 else 0.2))
            share[name] += rows * cols if row != col else rows * (rows + 1) / 2
            if min(rows, cols) >= n / 10 and scale not in (None, 1):
                axes.text(col + cols / 2, row + rows / 2, f"scale\n$2^{{{math.log2(scale):.0f}}}$", color=ink(FORMATS[name]), **CENTRED)
        note = {name: f" ({100 * part / sum(share.values()):.1f} %)" for name, part in share.items()}
        axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
        axes.legend(handles=format_handles(plt, share, note), title="format (share of the triangle)", **LEGEND)
        style(axes, f"Layers {report['layers']}, leaves of {report['leaf']}", "column", "row")
    return figure


def draw_map(plt, found):
    from matplotlib.colors import ListedColormap

    figure, all_axes = panels(plt, len(found), 5.6, 5.2)
    names = list(DIGITS.values())
    for axes, (item, report) in zip(all_axes, found):
        rows = report["map"]
        cells = [[names.index(DIGITS[digit]) for digit in row] + [math.nan] * (len(rows) - len(row)) for row in rows]
        axes.imshow(cells, cmap=ListedColormap([FORMATS[name] for name in names]), vmin=-0.5, vmax=3.5, interpolation="nearest")
        if len(rows) <= 64:
            for i, row in enumerate(rows):
                axes.hlines(i + 0.5, -0.5, i + 0.5, color="white", lw=0.4)
                axes.vlines(i - 0.5, i - 0.5, len(rows) - 0.5, color="white", lw=0.4)
        count = collections.Counter(DIGITS[digit] for row in rows for digit in row)
        note = {name: f": {tiles} ({100 * tiles / sum(count.values()):.1f} %)" for name, tiles in count.items()}
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        axes.legend(handles=format_handles(plt, count, note), title="tiles", **LEGEND)
        accuracy = f", accuracy {report['epsilon']:g}" if report.get("epsilon") else ""
        style(axes, f"Formats of tiles of order {report['tile_size']}{accuracy}", "column of tiles", "row of tiles")
    return figure


def time_unit(seconds):
    return next(((unit, scale) for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= 2 * scale), ("µs", 1e-6))


def short(name):
    """dense::cholesky::panel -> cholesky::panel"""
    return data_of.plain(re.sub(r"^(strata::)?[a-z_]+::(?=\w)", "", name))


def nested_rows(events):
    """[(depth, event), ...]: spans that lie in another one are a row further down."""
    stack, rows = [], []
    for event in sorted(events, key=lambda e: (e["ts"], -e.get("dur", 0))):
        while stack and event["ts"] >= stack[-1] - 1e-9:
            stack.pop()
        rows.append((len(stack), event))
        stack.append(event["ts"] + event.get("dur", 0))
    return rows


def draw_trace(plt, found):
    tracks, names = [], {}
    for item, events in found:
        told = {(event["pid"], event.get("tid") if event["name"] == "thread_name" else None): event["args"]["name"]
                for event in item.data if event.get("ph") == "M" and event["name"] in ("process_name", "thread_name")}
        several = len(found) > 1 or len({event["pid"] for event in events}) > 1
        for pid, tid in sorted({(event["pid"], event["tid"]) for event in events}):
            label = told.get((pid, tid), f"track {tid}")
            label = f"{told.get((pid, None), pid)}: {label}" if several else label
            tracks.append((data_of.plain(label), nested_rows([event for event in events if (event["pid"], event["tid"]) == (pid, tid)])))
    total = collections.Counter()
    for _, rows in tracks:
        for _, event in rows:
            total[event["name"]] += event.get("dur", 0)
    for k, (name, _) in enumerate(total.most_common(len(CURVES) - 1)):
        names[name] = {"fc": SHADES[k % 4], "hatch": HATCHES[k // 4]}
    end = max(event["ts"] + event.get("dur", 0) for _, rows in tracks for _, event in rows) * 1e-6 or 1e-9  # of nothing that took time
    unit, scale = time_unit(end)
    depth = [1 + max(level for level, _ in rows) for _, rows in tracks]
    figure, (axes,) = panels(plt, 1, 11, 1.8 + 0.34 * sum(depth))
    base, ticks = 0, []
    for (label, rows), levels in zip(tracks, depth):
        ticks.append((base + levels / 2, label))
        for level, event in rows:
            start, width = event["ts"] * 1e-6 / scale, event.get("dur", 0) * 1e-6 / scale
            look = names.get(event["name"], {"fc": "#cccccc"})
            wide = width > end / scale / 200
            axes.broken_barh([(start, width)], (base + level + 0.06, 0.88), ec="white" if wide else "none", lw=0.3, **look)
            fits = int(width / (end / scale) * 120)  # letters
            if fits >= 4:
                text = short(event["name"])
                text = text if len(text) <= fits else text[: fits - 1] + "…"
                axes.text(start + width / 2, base + level + 0.5, text, color=ink(look["fc"]), clip_on=True,
                          bbox={"fc": look["fc"], "ec": "none", "pad": 0.5}, **{**CENTRED, "fontsize": 6.5})
        base += levels
        axes.axhline(base, color="black", lw=0.5)
    axes.set(ylim=(base, 0), xlim=(0, end / scale), yticks=[y for y, _ in ticks], yticklabels=[label for _, label in ticks])
    handles = [plt.Rectangle((0, 0), 1, 1, ec="white", label=f"{short(name)}: {total[name] * 1e-6 / scale:.3g} {unit}", **look)
               for name, look in names.items()]
    if len(total) > len(names):
        handles.append(plt.Rectangle((0, 0), 1, 1, fc="#cccccc", label=f"{len(total) - len(names)} others"))
    figure.legend(handles=handles, fontsize=7, loc="outside right upper", title="time, with what is inside", title_fontsize=7)
    style(axes, "What ran when", f"time ({unit})", "")
    return figure


def empirical_variogram(observed, values, bins=15):
    """Matheron's estimate in equal bins up to half of the largest distance: lags, semivariances, pairs, and a remark."""
    import numpy

    x, y, _, geographic = observed
    x, y, z = (numpy.asarray(list_, dtype=float) for list_ in (x, y, values))
    remark = ""
    if len(z) < 2:
        return [], [], [], remark
    if len(z) > MOST_PAIRED:
        chosen = numpy.random.default_rng(1).choice(len(z), MOST_PAIRED, replace=False)
        remark = f" (of {MOST_PAIRED} of {len(z)} observations)"
        x, y, z = x[chosen], y[chosen], z[chosen]
    i, j = numpy.triu_indices(len(z), 1)
    if geographic:
        lon, lat = numpy.radians(x), numpy.radians(y)
        chord = numpy.sin((lat[i] - lat[j]) / 2) ** 2 + numpy.cos(lat[i]) * numpy.cos(lat[j]) * numpy.sin((lon[i] - lon[j]) / 2) ** 2
        distance = 2 * EARTH_RADIUS_KM * numpy.arcsin(numpy.sqrt(numpy.clip(chord, 0, 1)))
    else:
        distance = numpy.hypot(x[i] - x[j], y[i] - y[j])
    edges = numpy.linspace(0, distance.max() / 2, bins + 1)
    place = numpy.digitize(distance, edges) - 1
    half = (z[i] - z[j]) ** 2 / 2
    filled = [k for k in range(bins) if (place == k).any()]
    return ([float(distance[place == k].mean()) for k in filled], [float(half[place == k].mean()) for k in filled],
            [int((place == k).sum()) for k in filled], remark)


def draw_variogram(plt, found):
    import numpy

    figure, (axes,) = panels(plt, 1, 7.5, 4.8)
    in_km = any(data.get("km") or ("observations" in data and data["observations"][0][3]) for _, data in found)
    most, drawn = 0, set()
    for item, data in found:
        if "observations" in data:
            *points, remark = empirical_variogram(*data["observations"])
        else:
            points, remark = (data.get("lag"), data.get("half"), data.get("pairs")), ""
        if points[0] and tuple(points[0]) not in drawn:
            drawn.add(tuple(points[0]))
            lag, half, pairs = points
            size = [12 + 60 * count / max(pairs) for count in pairs] if pairs else 30
            label = f"empirical{remark}" + (", area: pairs" if pairs else "")
            axes.scatter(lag, half, s=size, fc="white", ec="black", zorder=3, label=label)
            most = max(most, max(lag))
    curves = [(item, data["theta"], data.get("covariance") or {}) for item, data in found if "theta" in data]
    if not drawn and not curves:
        raise Unusable(f"{found[0][0].path}: one observation has no variogram")
    most = most or 4 * max(theta["range"] for _, theta, _ in curves)
    for k, (item, theta, covariance) in enumerate(curves):
        h = numpy.linspace(most / 2000, 1.03 * most, 300)
        label = "fitted" if len(curves) == 1 else item.name
        gamma = data_of.semivariance(h, theta, covariance)
        axes.plot(h, gamma, color=CURVES[1 + k % 6], ls=["-", "--", "-.", ":"][k % 4], label=f"{label}: {data_of.named(theta, covariance)}")
    axes.set(xlim=(0, 1.03 * most), ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
    style(axes, "Variogram", f"distance ({'km' if in_km else 'unit of the coordinates'})", "semivariance (unit of the values, squared)")
    return figure


def draw_kriging(plt, found):
    item, data = found[0]
    x, y, labels, geographic = data["places"]
    aspect = 1 / max(0.1, math.cos(math.radians(statistics.fmean(y)))) if geographic else 1
    ratio = aspect * (max(y) - min(y)) / ((max(x) - min(x)) or 1)
    figure, all_axes = panels(plt, 2, 5.6, 1.3 + 4.1 * min(1.4, max(0.3, ratio)))
    grid = len(set(x)) * len(set(y)) == len(x) > 3
    looks = (("Prediction", "mean (unit of the values)", data["mean"], "viridis"),
             ("Its standard error", "sd of the field (unit of the values)", data["sd"], "cividis"))
    for axes, (title, unit, values, colours) in zip(all_axes, looks):
        if grid:
            xs, ys = sorted(set(x)), sorted(set(y))
            at = {(a, b): value for a, b, value in zip(x, y, values)}
            if len(at) != len(x):
                raise Unusable(f"{item.path}: a place is there twice")
            painted = axes.pcolormesh(xs, ys, [[at[a, b] for a in xs] for b in ys], cmap=colours, shading="nearest", rasterized=True)
        else:
            size = max(4, min(60, 20000 / len(x)))
            painted = axes.scatter(x, y, c=values, cmap=colours, s=size, ec="black", lw=0.2, rasterized=len(x) > 2000)
        figure.colorbar(painted, cax=axes.inset_axes([1.03, 0, 0.04, 1]), label=unit)
        axes.set_aspect(aspect, adjustable="box")
        axes.locator_params(axis="x", nbins=5)  # degrees have many digits
        style(axes, title, *labels)
    if data["sites"] and len(data["sites"][0]) <= MOST_PAIRED:
        window = (all_axes[1].get_xlim(), all_axes[1].get_ylim())
        all_axes[1].scatter(*data["sites"][:2], s=2, color="white", lw=0, rasterized=True)
        all_axes[1].set(xlim=window[0], ylim=window[1], title="")
        style(all_axes[1], "Its standard error; white: observations", *labels)
    return figure


def draw_compare(plt, found):
    units = {data["unit"] for _, data in found}
    if len(units) > 1:
        raise Unusable("times of solves and of parts of HPG-MxP don't go into one picture; give reports of one command")
    bars = [(label, values) for _, data in found for label, values in data["bars"].items()]
    who = list(dict.fromkeys(name for _, values in bars for name in values))
    longest = max(len(line) for label, _ in bars for line in label.split("\n"))
    figure, (axes,) = panels(plt, 1, max(7.0, 1.2 + max(0.55 * len(who), 0.2 + 0.065 * longest) * len(bars)), 4.8)
    wide = 0.8 / len(who)
    for k, name in enumerate(who):
        at = [place + (k - (len(who) - 1) / 2) * wide for place, (_, values) in enumerate(bars) if name in values]
        heights = [values[name] for _, values in bars if name in values]
        look = {"fc": ["#31688e", "#fde725", "#6ece58"][k % 3], "ec": "black", "lw": 0.6, "hatch": HATCHES[k % len(HATCHES)]}
        drawn = axes.bar(at, heights, wide * 0.94, label=name, **look)
        axes.bar_label(drawn, [f"{height:.3g}" for height in heights], fontsize=7, padding=2)
    axes.set_xticks(range(len(bars)), [label for label, _ in bars], fontsize=7)
    axes.margins(y=0.18)
    axes.legend(fontsize=8)
    if "seconds" in units:
        style(axes, "Time; less is faster", "", "time (s)")
    else:
        style(axes, "Time of each part in one solve; less is faster", "", "time (ms)")
    return figure



Kind = collections.namedtuple("Kind", "find draw most needs")
KINDS = {  # where several are possible, the first is drawn
    "trace": Kind(data_of.find_trace, draw_trace, 4, "a file of --trace"),
    "kriging": Kind(data_of.find_kriging, draw_kriging, 1, "what strata mle --predict wrote, or its report beside that file"),
    "variogram": Kind(data_of.find_variogram, draw_variogram, 6, "a report of strata mle, observations, or a table of distance and semivariance"),
    "convergence": Kind(data_of.find_convergence, draw_convergence, 7, "a report of strata solve, or of a fit by strata mle"),
    "map": Kind(data_of.find_map, draw_map, 4, "a report of tiles: strata solve --out-of-core or strata mle"),
    "layers": Kind(data_of.find_layers, draw_layers, 4, "a report of strata solve of a dense matrix in memory"),
    "compare": Kind(data_of.find_compare, draw_compare, 6, "a report of strata solve --compare or strata hpgmxp, or a benchmark's result"),
}


def found_in(items, kind):
    return [(item, data) for item in items if (data := KINDS[kind].find(item))]


def choose(items, kind):
    """The kinds that the files have, the one asked for alone."""
    there = {name: found_in(items, name) for name in KINDS}
    there = {name: found for name, found in there.items() if found}
    if kind is None:
        if not there:
            raise Unusable("there is nothing to draw in " + ", ".join(item.path for item in items))
        return there
    if kind not in there:
        has = f"has: {', '.join(there)}" if there else "has nothing to draw"
        raise Unusable(f"{', '.join(item.path for item in items)}: --kind {kind} needs {KINDS[kind].needs}; what was given {has}")
    return {kind: there[kind]}


def draw(plt, kind, found):
    if len(found) > KINDS[kind].most:
        raise Unusable(f"a picture of kind {kind} shows {KINDS[kind].most} at most; {len(found)} were given")
    figure = KINDS[kind].draw(plt, found)
    figure.supxlabel(sources([item for item, _ in found]), fontsize=6, color="#444444", x=0.01, ha="left")
    return figure


def saved(figure, form):
    image = io.BytesIO()
    figure.savefig(image, format=form, dpi=150, metadata={"Date": None} if form == "svg" else {"Software": None})
    return image.getvalue()


def page(figures):
    """One page with all pictures, which needs no other file."""
    parts = []
    for kind, figure in figures.items():
        picture = base64.b64encode(saved(figure, "svg")).decode()
        parts.append(f'<h2>{kind}</h2>\n<img alt="{kind}" src="data:image/svg+xml;base64,{picture}">')
    style_ = "body{font-family:sans-serif;margin:2em}img{max-width:100%}"
    head = f'<meta charset="utf-8"><title>Strata</title><style>{style_}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    items = [data_of.read(path) for path in arguments.files]
    if not arguments.output:
        for item in items:
            print(f"{item.path}: " + (", ".join(kind for kind in KINDS if KINDS[kind].find(item)) or "nothing to draw"))
        return 0
    there = choose(items, arguments.kind)
    try:
        import matplotlib
    except ImportError as error:
        print(f"strata: the pictures need Matplotlib, which {sys.executable} has not ({error}): install it (Debian: apt install "
              "python3-matplotlib; else: pip install matplotlib), or name another Python in STRATA_PYTHON", file=sys.stderr)
        return 1
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "strata", "hatch.linewidth": 0.6, "font.size": 9})
    import matplotlib.pyplot as plt

    form = arguments.output.rpartition(".")[2].lower()  # of ".png", too
    chosen = there if form == "html" else dict([next(iter(there.items()))])
    figures = {kind: draw(plt, kind, found) for kind, found in chosen.items()}
    image = page(figures).encode() if form == "html" else saved(*figures.values(), form)
    pathlib.Path(arguments.output).write_bytes(image)
    others = [kind for kind in there if kind not in chosen]
    print(f"{arguments.output}: {', '.join(chosen)}" + (f"; with --kind also {', '.join(others)}" if others else ""))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as problem:  # of files that anyone may have written
        known = isinstance(problem, (Unusable, OSError))
        text = str(problem) if known else f"a file is not what strata writes: {type(problem).__name__} {problem}"
        print(f"strata: {' '.join(text.split())}", file=sys.stderr)
        sys.exit(1 if isinstance(problem, OSError) else 2)
