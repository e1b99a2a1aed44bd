#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draw what the last repetition of a dense solve did when, from traces of `strata solve --trace`.

Writes FILE (.svg, .png), a picture for each order with a row for each trace, and prints its numbers as a Markdown table; exit status 77
without matplotlib.
"""
import argparse
import json
import pathlib
import sys

SKIPPED = 77
COLOURS = {"analyse": "#92c5de", "load": "#2166ac", "factor": "#5aae61", "solve": "#f4a582"}


def last_solve(events):
    """[(part, begin, end)] in us from the begin of the last analysis: what an attempt of a solve did lies within it."""
    found = []
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]):
        part = event["name"].replace("strata::dense::cholesky::", "").replace("strata::dense::", "").partition(" ")[0]
        if part == "analyse":
            found.clear()
        if part in COLOURS:
            found.append((part, event["ts"], event["ts"] + event["dur"]))
    return [(part, first - found[0][1], last - found[0][1]) for part, first, last in found]


def seconds_of(spans):
    """Part -> us, a solve without the attempts within it."""
    sums = {part: sum(last - first for name, first, last in spans if name == part) for part in COLOURS}
    solves = [(first, last) for name, first, last in spans if name == "solve"]
    sums["solve"] -= sum(last - first for name, first, last in spans
                         if name != "solve" and any(begin <= first and last <= end for begin, end in solves))
    return sums


def self_test():
    def event(name, begin, duration):
        return {"name": name, "ph": "X", "ts": begin, "dur": duration}

    spans = last_solve([{"ph": "M", "name": "process_name"}, event("strata::dense::cholesky::analyse", 0, 9), event("strata::dense::solve", 10, 5),
                        event("strata::dense::cholesky::analyse", 100, 2), event("strata::dense::cholesky::load", 103, 1),
                        event("strata::dense::cholesky::factor fp32", 104, 6), event("strata::dense::tree_potrf", 105, 4), event("", 105, 1),
                        event("strata::dense::solve", 110, 20), event("strata::dense::cholesky::factor fp64", 112, 7)])
    assert [part for part, _, _ in spans] == ["analyse", "load", "factor", "solve", "factor"], spans
    assert spans[0][1:] == (0, 2) and spans[-1][1:] == (12, 19), spans
    assert seconds_of(spans) == {"analyse": 2, "load": 1, "factor": 13, "solve": 13}, seconds_of(spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--solve", nargs=3, action="append", required=True, metavar=("TITLE", "LABEL", "TRACE"),
                        help="a row: the title of its picture, its name, and the trace; once for each row")
    arguments = parser.parse_args()
    self_test()
    pictures = {}
    for title, label, trace in arguments.solve:
        spans = last_solve(json.loads(pathlib.Path(trace).read_text())["traceEvents"])
        if {part for part, _, _ in spans} != COLOURS.keys():
            sys.exit(f"{trace}: no trace of `strata solve`")
        pictures.setdefault(title, []).append((label, spans))
    print("| | | " + " | ".join(COLOURS) + " | all |\n" + "|---" * (len(COLOURS) + 3) + "|")
    for title, rows in pictures.items():
        for label, spans in rows:
            cells = [*seconds_of(spans).values(), max(last for _, _, last in spans)]
            print(f"| {title} | {label} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not there: no picture")
        return SKIPPED
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(pictures), 1, figsize=(8, 0.6 + 1.4 * len(pictures)), squeeze=False, layout="constrained")
    for axis, (title, rows) in zip(axes[:, 0], pictures.items()):
        for row, (_, spans) in enumerate(rows):
            for part, first, last in spans:
                axis.barh(row, (last - first) / 1e3, left=first / 1e3, height=0.6, color=COLOURS[part])
        axis.set_yticks(range(len(rows)), [label for label, _ in rows])
        axis.invert_yaxis()
        axis.set_title(title, fontsize="medium", loc="left")
    axes[0, 0].legend([plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()], COLOURS, ncols=len(COLOURS), frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    axes[-1, 0].set_xlabel("ms")
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.file, metadata={"Date": None} if arguments.file.suffix == ".svg" else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
