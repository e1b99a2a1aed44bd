#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the counterparts of paper A's figures 4 to 8 and 10, and print the table of results as Markdown.

Reads what `strata_dense_benchmark --benchmark_out=...` and `strata_accuracy_study --json` wrote; several studies, each with its
own --figure8, make figure 8 over n. Ratios are of medians of one file, that is of one run. The paper's numbers are those that
its text states for n = 65536 on an H200; table.md has them beside Strata's at that order, or at the largest that there is.
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import statistics
import sys

SKIPPED = 77
PAPER_N = 65536
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# Speedups over cuBLAS and cuSOLVER in fp64 (figures 4, 5 and 7); 4 and 5 of POTRF are "over".
PAPER_SPEEDUP = {
    "tree_syrk": {"fp64": 14, "fp16": 149, "fp16x2,fp32": 19, "fp16x4,fp32": 27},
    "tree_trsm": {"fp16": 6, "fp16x4,fp32": 5.3},
    "tree_potrf": {"fp16": 6, "fp16x3,fp32": 4, "fp16x5,fp32": 5},
}
PAPER_BEST = 5.32  # figure 10
# Figure 6: shares of the peak as stated, times NVIDIA's peak of the H200 in fp64 and dense fp16.
PAPER_TERAFLOPS = {"vendor": 0.65 * 67, "fp64": 0.65 * 67, "fp16": 0.30 * 989, "fp16x7,fp32": 0.22 * 989}
# Figure 8: "more than 15", "roughly 12", "about 8", "7-8", "5-6", "5-6", "below 4".
PAPER_DIGITS = {"fp64": 15, "fp32x3,fp64": 12, "fp32": 8, "fp16,fp32": 7.5, "fp16x3,fp32": 5.5, "fp16x5,fp32": 5.5, "fp16": 4}

Key = collections.namedtuple("Key", "operation layers n rest")  # layers: "vendor" for the vendor's call


def short_name(layers):
    """fp16,fp16,fp32 -> fp16x2,fp32"""
    runs = [(name, len(list(run))) for name, run in itertools.groupby(layers.split(","))]
    return ",".join(name if count == 1 else f"{name}x{count}" for name, count in runs)


def key_of(run_name):
    """The key of a benchmark that the figures or the table show, or None."""
    found = re.fullmatch(r"dense/(\w+)/\w+/(vendor/)?([\w,]+)((?:/\w+:[\w.]+)+)/manual_time", run_name)
    if not found:
        return None
    arguments = dict(part.split(":") for part in found[4].strip("/").split("/"))
    n = int(arguments.pop("n"))
    rest = ", ".join(f"{name} {value}" for name, value in arguments.items())
    return Key(found[1], "vendor" if found[2] else found[3], n, rest)


def medians(document):
    """{key: {"seconds": ..., counter: ...}} of one file, each the median over the repetitions, and "ratio"."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in document["benchmarks"]:
        key = key_of(row["run_name"])
        if key is None or row["run_type"] != "iteration" or row.get("error_occurred"):
            continue
        samples[key]["seconds"].append(row["real_time"] * SECONDS[row["time_unit"]])
        samples[key]["wrong"].append(row.get("label", "").startswith("WRONG"))
        for name in ("flop_per_s", "fraction_of_gemm", "bytes", "peak_bytes", "error", "backward_error", "hard_backward_error"):
            if name in row:
                samples[key][name].append(row[name])
    result = {key: {name: statistics.median(values) for name, values in row.items()} for key, row in samples.items()}
    for key, row in result.items():
        vendor = result.get(key._replace(layers="vendor"))
        if vendor and key.layers != "vendor":
            row["ratio"] = vendor["seconds"] / row["seconds"]
            row["vendor_seconds"] = vendor["seconds"]
    return result


def series(results, operation, quantity):
    """{layers: [(n, value), ...]} in the order of the benchmarks."""
    lines = collections.defaultdict(list)
    for key, row in results.items():
        if key.operation == operation and quantity in row:
            lines[key.layers].append((key.n, row[quantity]))
    return {layers: sorted(points) for layers, points in lines.items()}


def best_mixed(results):
    """[(n, ratio, layers)]: the fastest layer list of more than one precision."""
    best = {}
    for layers, points in series(results, "tree_potrf", "ratio").items():
        for n, ratio in points if "," in layers else []:
            best[n] = max(best.get(n, (0, "")), (ratio, layers))
    return [(n, *best[n]) for n in sorted(best)]


def colours(plt, results, digits):
    """One colour for each layer list, the same in all figures."""
    names = dict.fromkeys(key.layers for key in results if key.layers != "vendor")
    names.update(dict.fromkeys(short_name(row["layers"]) for row in digits))
    for paper in (*PAPER_SPEEDUP.values(), PAPER_TERAFLOPS):
        names.update(dict.fromkeys(paper))
    palette = itertools.cycle(plt.get_cmap("tab20").colors)
    return {name: next(palette) for name in names} | {"vendor": "black"}


def draw_lines(plt, path, title, unit, lines, paper, colour, log=False):
    """One line for each layer list over n, the paper's numbers as stars of the same colour."""
    if not lines:
        raise ValueError(f"no data for {path.name}: {title}")
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    looks = itertools.product(("-", "--", "-.", ":"), "osD^vP")  # lines that lie on each other can be told apart
    for (layers, points), (style, marker) in zip(sorted(lines.items(), key=lambda line: -line[1][-1][1]), looks):
        axes.plot(*zip(*points), ls=style, marker=marker, ms=4, color=colour[layers], label=layers)
    stated = collections.defaultdict(list)  # of several with one value the names stand side by side
    for layers, value in paper.items():
        axes.plot(PAPER_N, value, marker="*", ms=13, mfc="none", color=colour[layers], ls="none")
        stated[value].append(layers)
    for value, names in stated.items():
        axes.annotate(
            " and ".join(names), (PAPER_N, value), textcoords="offset points", xytext=(-8, -9), fontsize=6, ha="right",
            bbox={"fc": "white", "ec": "none", "pad": 0.5},
        )
    if paper:
        axes.plot([], [], marker="*", ms=13, mfc="none", color="black", ls="none", label="paper A, stated\n(n = 65536)")
    scale_by_n(axes, [n for points in lines.values() for n, _ in points] + [PAPER_N] * bool(paper))
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(plt.NullLocator())
    axes.set(ylabel=unit)
    figure.suptitle(title, fontsize=8, x=0.02, ha="left")
    figure.legend(fontsize=7, loc="outside right upper")
    save(plt, figure, path)


def scale_by_n(axes, orders):
    """The axis of n: powers of two, and a tick for each order."""
    axes.set_xscale("log", base=2)
    ticks = sorted(set(orders))
    axes.set_xticks(ticks, [str(n) for n in ticks], fontsize=7)
    axes.set(xlabel="n")
    axes.grid(alpha=0.3)


def save(plt, figure, path):
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    plt.close(figure)
    print(path)


def draw_digits(plt, path, rows, where):
    """Digits of L by layer list, with those that storing L64 in the layers leaves, and the paper's."""
    if not rows:
        raise ValueError(f"no data for {path.name}: give a study by --study")
    rows = [row for row in rows if row["n"] == max(row["n"] for row in rows)]
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    names = [short_name(row["layers"]) for row in rows]
    places = range(len(rows))
    axes.barh(places, [row["digits"] for row in rows], height=0.6, label="Strata")
    axes.plot([row["digits_of_storage"] for row in rows], places, "k|", ms=14, label="fp64 factor rounded to the layers")
    for place, name in zip(places, names):
        if name in PAPER_DIGITS:
            axes.plot(PAPER_DIGITS[name], place, marker="*", ms=13, mfc="none", color="crimson", ls="none")
    axes.plot([], [], marker="*", ms=13, mfc="none", color="crimson", ls="none", label="paper A (stated)")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set(xlabel="-log10 ||L - L64|| / ||L64||")
    figure.suptitle(f"Accuracy of L, paper A's matrix, n = {rows[0]['n']} (figure 8)\n{where}", fontsize=9)
    axes.legend(fontsize=8)
    save(plt, figure, path)


def draw_best(plt, path, points, where):
    if not points:
        raise ValueError(f"no data for {path.name}: no mixed layers beside the vendor's potrf")
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    axes.plot([n for n, _, _ in points], [ratio for _, ratio, _ in points], marker="o", label="Strata, best mixed layers")
    for n, ratio, layers in points:
        axes.annotate(layers, (n, ratio), textcoords="offset points", xytext=(-6, 4), fontsize=7, ha="right")
    axes.plot(PAPER_N, PAPER_BEST, marker="*", ms=13, mfc="none", ls="none", label="paper A, best mixed layers")
    scale_by_n(axes, [n for n, _, _ in points] + [PAPER_N])
    axes.margins(x=0.15)  # for the first name
    axes.set(ylabel="speedup over the vendor's fp64")
    figure.suptitle(f"Cholesky, best mixed layers (figure 10)\n{where}", fontsize=9)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2)
    save(plt, figure, path)


def table(results, shown):
    """The rows that stand beside a vendor's call, as Markdown."""
    yield "| operation | n | layers | vendor fp64 ms | Strata ms | ratio | paper A | TFlop/s | of GEMM | error | on hard | tree, peak bytes / n^2 |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    order = {name: place for place, name in enumerate(("tree_potrf", "tree_syrk", "tree_trsm", "cholesky"))}
    rows = [(key, row) for key, row in results.items() if "ratio" in row and (not shown or key.layers in shown)]
    for key, row in sorted(rows, key=lambda item: (order.get(item[0].operation, 9), item[0].rest, -item[0].n)):
        name = {"cholesky": "cholesky + solve"}.get(key.operation, key.operation) + (f", {key.rest}" if key.rest else "")
        paper = PAPER_SPEEDUP.get(key.operation, {}).get(key.layers) if key.n == PAPER_N else None
        error = row.get("backward_error", row.get("error"))
        cells = [
            name,
            key.n,
            key.layers,
            f"{row['vendor_seconds'] * 1e3:.3g}",
            f"{row['seconds'] * 1e3:.3g}",
            f"**{row['ratio']:.2f}**",
            paper or "",
            f"{row['flop_per_s'] / 1e12:.3g}",
            f"{row['fraction_of_gemm']:.2f}",
            f"{error:.1e}" + (" WRONG" if row["wrong"] else ""),
            f"{row['hard_backward_error']:.1e}" if "hard_backward_error" in row else "",
            ", ".join(f"{row[name] / key.n**2:.2f}" for name in ("bytes", "peak_bytes") if name in row),
        ]
        yield "| " + " | ".join(map(str, cells)) + " |"


def machine(document):
    context = document["context"]
    libraries = ("cuBLAS", "cuSOLVER", "rocBLAS", "rocSOLVER", "OpenBLAS", "oneDNN")
    parts = [context.get("device", context.get("host", "")), context["execution_space"]]
    parts += [f"{name} {context[name]}" for name in libraries if name in context]
    return ", ".join(parts + [f"Strata {context['strata_commit']}", context["date"][:10]])


def compared(results, digits):
    """(figure, what, layers, n, the paper's number, Strata's) at the paper's order, or at the largest that there is."""
    for figure, operation in ((4, "tree_syrk"), (5, "tree_trsm"), (7, "tree_potrf")):
        ratios = series(results, operation, "ratio")
        for layers, stated in PAPER_SPEEDUP[operation].items():
            if layers in ratios:
                yield figure, f"{operation}, speedup", layers, *ratios[layers][-1][:1], stated, ratios[layers][-1][1]
    rates = series(results, "tree_potrf", "flop_per_s")
    for layers, stated in PAPER_TERAFLOPS.items():
        if layers in rates:
            yield 6, "tree_potrf, TFlop/s", layers, rates[layers][-1][0], stated, rates[layers][-1][1] / 1e12
    largest = {short_name(row["layers"]): row for row in sorted(digits, key=lambda row: row["n"])}
    for layers, stated in PAPER_DIGITS.items():
        if layers in largest:
            yield 8, "digits of L", layers, largest[layers]["n"], stated, largest[layers]["digits"]
    for n, ratio, layers in best_mixed(results)[-1:]:
        yield 10, "tree_potrf, best mixed layers, speedup", layers, n, PAPER_BEST, ratio


def comparison(results, digits):
    """The paper's numbers beside Strata's, as Markdown."""
    yield "| figure | what | layers | paper A, n = 65536 | Strata | n |"
    yield "|---|---|---|---|---|---|"
    for figure, what, layers, n, stated, own in compared(results, digits):
        yield f"| {figure} | {what} | {layers} | {stated:.3g} | {own:.3g} | {n} |"


def draw_all(plt, results, digits, folder, kind, where):
    folder.mkdir(parents=True, exist_ok=True)
    over, colour = "speedup over the vendor's fp64", colours(plt, results, digits)
    path = lambda name: folder / f"{name}.{kind}"
    for number, operation, title in ((4, "tree_syrk", "SYRK, n = k"), (5, "tree_trsm", "TRSM, m = n"), (7, "tree_potrf", "Cholesky")):
        lines = series(results, operation, "ratio")
        title = f"{title} (figure {number})\n{where}"
        draw_lines(plt, path(f"figure{number}"), title, over, lines, PAPER_SPEEDUP[operation], colour, number == 4)
    rates = series(results, "tree_potrf", "flop_per_s")
    teraflops = {layers: [(n, rate / 1e12) for n, rate in points] for layers, points in rates.items()}
    title = f"Cholesky throughput (figure 6)\n{where}"
    draw_lines(plt, path("figure6"), title, "TFlop/s", teraflops, PAPER_TERAFLOPS, colour, True)
    draw_digits(plt, path("figure8"), digits, where)
    lines = collections.defaultdict(list)
    for row in sorted(digits, key=lambda row: row["n"]):
        if short_name(row["layers"]) in PAPER_DIGITS:  # of others the lines lie on these
            lines[short_name(row["layers"])].append((row["n"], row["digits"]))
    if max(map(len, lines.values()), default=0) > 1:
        title = f"Accuracy of L, paper A's matrix (figure 8)\n{where}"
        draw_lines(plt, path("figure8_sizes"), title, "-log10 ||L - L64|| / ||L64||", lines, {}, colour)
    draw_best(plt, path("figure10"), best_mixed(results), where)


def self_test():
    assert short_name("fp16,fp16,fp32") == "fp16x2,fp32" and short_name("fp64") == "fp64"
    assert key_of("dense/tree_potrf/Cuda/vendor/fp64/n:8/manual_time") == Key("tree_potrf", "vendor", 8, "")
    assert key_of("dense/cholesky/Cuda/fp16x5,fp32/matrix:geometric/n:8/nrhs:1/manual_time") == Key(
        "cholesky", "fp16x5,fp32", 8, "matrix geometric, nrhs 1"
    )
    row = {"run_type": "iteration", "time_unit": "ms", "flop_per_s": 1.0, "fraction_of_gemm": 1.0, "backward_error": 0.0}
    names = {"vendor/fp64": (8, 9, 4), "fp16,fp32": (2, 4, 5)}
    rows = [dict(row, run_name=f"dense/tree_potrf/Cuda/{name}/n:8/manual_time", real_time=t) for name, ts in names.items() for t in ts]
    results = medians({"benchmarks": rows})
    assert results[Key("tree_potrf", "fp16,fp32", 8, "")]["ratio"] == 2, results
    assert best_mixed(results) == [(8, 2, "fp16,fp32")]
    digits = [{"layers": "fp16,fp32", "n": n, "digits": value} for n, value in ((16, 5), (8, 6))]
    assert list(compared(results, digits))[-2:] == [
        (8, "digits of L", "fp16,fp32", 16, 7.5, 5),
        (10, "tree_potrf, best mixed layers, speedup", "fp16,fp32", 8, PAPER_BEST, 2),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the figures and table.md go")
    parser.add_argument("--benchmarks", type=pathlib.Path, nargs="+", required=True, help="JSON of strata_dense_benchmark")
    parser.add_argument("--study", type=pathlib.Path, nargs="+", required=True, help="JSON of strata_accuracy_study")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the figures [svg]")
    parser.add_argument("--layers", nargs="*", help="only these in the table, such as fp16x5,fp32")
    arguments = parser.parse_args()
    self_test()
    documents = [json.loads(path.read_text()) for path in arguments.benchmarks]
    results = {key: row for document in documents for key, row in medians(document).items()}
    digits = [row for path in arguments.study for row in json.loads(path.read_text())["figure8"]]
    rows = list(table(results, arguments.layers))
    if len(rows) == 2:
        sys.exit("no benchmark stands beside a vendor's call")
    machines = list(dict.fromkeys(machine(document) for document in documents))
    lines = machines + [""] + list(comparison(results, digits)) + [""] + rows
    print("\n".join(lines))
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no figures")
        return SKIPPED
    matplotlib.use("svg" if arguments.format == "svg" else "agg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    draw_all(plt, results, digits, arguments.folder, arguments.format, "\n".join(machines))
    (arguments.folder / "table.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
