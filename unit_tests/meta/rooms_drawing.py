# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of rooms.py: the rooms of all modules, and the boxes in the rooms of one."""
import collections
import pathlib

import matplotlib
from rooms import ORDER, UP, UP_INSIDE, arrows_by_room, boxes_by_room, includes, is_private, listed, room_of, umbrella

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "strata"
from matplotlib import pyplot  # noqa: E402


def places(rooms, arrows):
    """(column, row) of each room: as far up as the longest chain of rooms below it."""
    rows = {}

    def row(room, path=()):
        if room not in rows:
            below = [there for here, there in arrows if here == room and there not in (*path, room)]
            rows[room] = 1 + max((row(there, (*path, room)) for there in below), default=-1)
        return rows[room]

    by_row = collections.defaultdict(list)
    for room in rooms:
        by_row[row(room)].append(room)
    widest = max(map(len, by_row.values()))
    return {room: ((k + 0.5) * widest / len(line), level) for level, line in by_row.items() for k, room in enumerate(line)}


def is_implied(arrow, arrows):
    """Whether other arrows lead from its beginning to its end."""
    reached, todo = set(), [there for here, there in arrows if here == arrow[0] and there != arrow[1]]
    while todo:
        room = todo.pop()
        if room not in reached:
            reached.add(room)
            todo += [there for here, there in arrows if here == room]
    return arrow[1] in reached


def draw(top, modules, path):
    """Rooms, and the arrows that no others imply; red: an arrow into another module's private part, or one that runs up."""
    arrows, private = collections.Counter(), collections.Counter()
    for source, header in includes(top, modules):
        if source == umbrella(source.split("/")[0]):
            continue
        here, there = room_of(source), room_of(header)
        if here != there:
            arrows[here, there] += 1
            private[here, there] += source.split("/")[0] != header.split("/")[0] and is_private(header)
    rooms = sorted({room for arrow in arrows for room in arrow}, key=lambda room: (ORDER.index(room) if room in ORDER else 99, room))
    up = (UP[0], room_of(UP[1])) if UP else ()
    down = [arrow for arrow in arrows if arrow != up]
    at = places(rooms, down)
    figure, axes = pyplot.subplots(figsize=(11, 9))
    for (here, there), count in sorted(arrows.items()):
        is_red = private[here, there] > 0 or (here, there) == up
        if not is_red and is_implied((here, there), down):
            continue
        axes.annotate("", at[there], at[here], arrowprops={
            "arrowstyle": "-|>", "color": "#c0392b" if is_red else "#7f8c8d", "alpha": 0.75, "lw": 0.6 + min(count, 30) / 15,
            "shrinkA": 18, "shrinkB": 18, "connectionstyle": "arc3,rad=0.08"})
    for room, (x, y) in at.items():
        axes.text(x, y, room, ha="center", va="center", fontsize=11, bbox={"boxstyle": "round,pad=0.4", "fc": "#eaf2f8", "ec": "#2c3e50"})
    axes.set_xlim(0, max(x for x, _ in at.values()) + 1)
    axes.set_ylim(-0.6, max(y for _, y in at.values()) + 0.6)
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def draw_inside(top, module, path):
    """The boxes of a module's rooms, each room a band, and the arrows in it that no others imply; red: those that run up."""
    boxes, inside = boxes_by_room(top, [module]), arrows_by_room(includes(top, [module]))
    rooms = sorted(boxes, key=ORDER.index)
    figure, axes = pyplot.subplots(figsize=(14, 2 + 1.1 * sum(len(boxes[room]) for room in rooms) ** 0.72))
    base, widest = 0, 0
    for room in rooms:
        up = set(listed(room, UP_INSIDE.get(room, ())))
        down = inside[room] - up
        at = {box: (x, y) for box, (x, y) in places(sorted(boxes[room]), down).items()}
        top_row = max(y for _, y in at.values())
        for here, there in sorted(inside[room]):
            if (here, there) in up or not is_implied((here, there), down):
                axes.annotate("", (at[there][0], base + at[there][1]), (at[here][0], base + at[here][1]), arrowprops={
                    "arrowstyle": "-|>", "color": "#c0392b" if (here, there) in up else "#7f8c8d", "alpha": 0.8, "lw": 0.9,
                    "shrinkA": 12, "shrinkB": 12, "connectionstyle": "arc3,rad=0.12" if (here, there) in up else "arc3,rad=0.04"})
        for box, (x, y) in at.items():
            name = pathlib.PurePosixPath(box).name.removeprefix("Strata_")
            axes.text(x, base + y, name, ha="center", va="center", fontsize=8,
                      bbox={"boxstyle": "round,pad=0.3", "fc": "#f4f6f7" if is_private(box) else "#d6eaf8", "ec": "#2c3e50"})
        axes.axhspan(base - 0.5, base + top_row + 0.5, color="#000000", alpha=0.03 if rooms.index(room) % 2 else 0.07, lw=0)
        axes.text(0, base - 0.38, room, ha="left", va="center", fontsize=11, color="#566573")
        widest = max(widest, *(x for x, _ in at.values()))
        base += top_row + 1
    axes.set_xlim(0, widest + 0.7)
    axes.set_ylim(-0.6, base - 0.4)
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
