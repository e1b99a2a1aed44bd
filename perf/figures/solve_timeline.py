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


def last_solve(path):
    """Part -> (begin, end) in us, from the begin of the first one."""
    found = {}
    for event in sorted(json.loads(path.read_text())["traceEvents"], key=lambda event: event.get("ts", 0)):
        words = event["name"].replace("strata::dense::cholesky::", "").replace("strata::dense::", "").split()
        if event["ph"] == "X" and words[0] in COLOURS:
            found[words[0]] = event["ts"], event["ts"] + event["dur"]
    missing = COLOURS.keys() - found.keys()
    if missing:
        sys.exit(f"{path}: no trace of `strata solve`: without {', '.join(sorted(missing))}")
    begin = found["analyse"][0]
    return {part: (first - begin, last - begin) for part, (first, last) in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--solve", nargs=3, action="append", required=True, metavar=("TITLE", "LABEL", "TRACE"),
                        help="a row: the title of its picture, its name, and the trace; once for each row")
    arguments = parser.parse_args()
    pictures = {}
    for title, label, trace in arguments.solve:
        pictures.setdefault(title, []).append((label, last_solve(pathlib.Path(trace))))
    print("| | | " + " | ".join(COLOURS) + " | all |\n" + "|---" * (len(COLOURS) + 3) + "|")
    for title, rows in pictures.items():
        for label, parts in rows:
            cells = [last - first for first, last in (parts[part] for part in COLOURS)] + [parts["solve"][1]]
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
        for row, (_, parts) in enumerate(rows):
            for part, colour in COLOURS.items():
                first, last = parts[part]
                axis.barh(row, (last - first) / 1e3, left=first / 1e3, height=0.6, color=colour, label=part if row == 0 else None)
        axis.set_yticks(range(len(rows)), [label for label, _ in rows])
        axis.invert_yaxis()
        axis.set_title(title, fontsize="medium", loc="left")
    axes[0, 0].legend(ncols=len(COLOURS), frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    axes[-1, 0].set_xlabel("ms")
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.file, metadata={"Date": None} if arguments.file.suffix == ".svg" else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
