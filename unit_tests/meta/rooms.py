#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who includes whom, by rooms: the folders of sources, each with its detail/ and vendor/.

Exit status 1 and one line for each offence: an include of another module's detail/ or vendor/, an arrow that
runs up, a room without a place in the order, a public header that the header of its whole module lacks, a solver's header that pulls too many
others. --draw FILE draws the rooms and their arrows (needs matplotlib).
"""
import argparse
import collections
import importlib.util
import pathlib
import re
import sys
import tempfile

# From the ground up: a room includes rooms before it in this list alone, so that there is no circle.
ORDER = ("core", "core/kokkos_ext", "core/blas", "core/io", "core/problems", "core/info",
         "comm", "dense/refine", "dense", "ooc", "geostat",
         "sparse/comm", "sparse/matrix", "sparse/multigrid", "sparse/krylov", "sparse", "sparse/hpgmxp",
         "c/runtime", "c", "lapack", "python", "trilinos", "apps/shared", "apps/solve", "apps/mle", "apps/hpgmxp", "apps/completion", "apps/info", "apps/plot", "apps")
# The modules that a module may include; the program sees all of them.
MODULES = {"core": (), "dense": ("core",), "comm": ("core",), "ooc": ("core", "comm", "dense"), "geostat": ("core", "comm", "dense", "ooc"), "sparse": ("core", "comm"),
           "c": ("core", "dense"), "lapack": ("c",), "python": ("core", "comm", "dense", "ooc", "geostat", "sparse", "c"), "trilinos": ("core", "comm", "sparse")}
WHOLE = ("core", "comm", "dense", "ooc", "geostat", "sparse")  # these have a header of the whole module
PROGRAMS = ("apps", "examples", "perf")  # they see public headers
PRIVATE = ("detail", "vendor")
# Headers that modules share and users do not need: not in the header of a whole module.
SHARED = re.compile(r"core/kokkos_ext/(?!Strata_(Allocate|Recorder)\.)|Strata_(SetIdentity|SymmetricTiles|LargestMagnitude|Pack|ByteSink|ByteSource|FileDescriptor|ParseNumber)\.hpp")
# What a user of a solver compiles: own headers that a header of these rooms includes, itself or by others, at most.
SOLVERS = ("dense", "dense/refine", "ooc", "sparse", "sparse/krylov", "sparse/multigrid")
MOST = 12
# Those that pull more, which may only become fewer: the hierarchies hold matrices, the names are for all operations, blocks are
# of a tile matrix and its factor, and a factor's options have a header of their own.
WIDER = {"dense/Strata_KokkosNames.hpp": 20, "ooc/Strata_BlockCyclicTiles.hpp": 17, "ooc/Strata_Cholesky.hpp": 13,
         "sparse/multigrid/Strata_GridHierarchy.hpp": 27, "sparse/multigrid/Strata_Transfer.hpp": 27,
         "sparse/multigrid/Strata_TransferHierarchy.hpp": 29, "sparse/multigrid/Strata_TrilinearHierarchy.hpp": 30}
FOR_VENDORS = "core/kokkos_ext/Strata_DeviceRuntime.hpp"  # it includes a vendor's header
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([\w/]+/[\w.]+)[>"]', re.M)


def room_of(path):
    """The folder of a source, without the private part of a room."""
    folders = list(pathlib.PurePosixPath(path).parent.parts)
    while folders and folders[-1] in PRIVATE:
        folders.pop()
    return "/".join(folders)


def is_private(path):
    return any(part in PRIVATE for part in pathlib.PurePosixPath(path).parts)


def includes(top, folders):
    """(source, header) of each include of one of Strata's headers."""
    for folder in folders:
        for source in sorted((top / folder).rglob("*")):
            if source.suffix in (".hpp", ".cpp", ".h", ".c", ".inc"):
                for header in INCLUDE.findall(source.read_text(encoding="utf-8")):
                    if header.split("/")[0] in MODULES or header.split("/")[0] == "apps":
                        yield source.relative_to(top).as_posix(), header


def umbrella(module):
    """The header of all of a module."""
    return f"{module}/Strata_{module.capitalize()}.hpp"


def missing(top, module):
    """The public headers that the header of the whole module lacks."""
    whole = set(INCLUDE.findall((top / umbrella(module)).read_text(encoding="utf-8")))
    headers = (path.relative_to(top).as_posix() for path in sorted((top / module).rglob("*.hpp")))
    return [h for h in headers if not is_private(h) and not SHARED.search(h) and h != umbrella(module) and h not in whole]


def pulled(top, header, seen=()):
    """Strata's headers that a header includes, itself or by others; generated ones are not there to be read."""
    path = top / header
    found = INCLUDE.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    for other in found:
        if other.split("/")[0] in MODULES and other not in seen:
            seen = pulled(top, other, (*seen, other))
    return seen


def crowded(top, header, most):
    """What is wrong with a solver's header, or None."""
    found = sorted(pulled(top, header))
    return f"pulls {len(found)} own headers, at most {most}: {' '.join(found)}" if len(found) > most else None


def solver_headers(top):
    """(header, own headers that it may pull) of each public header of a room of solvers."""
    for room in SOLVERS:
        for path in sorted((top / room).glob("Strata_*.hpp")):
            header = path.relative_to(top).as_posix()
            if header != umbrella(room.split("/")[0]):
                yield header, WIDER.get(header, MOST)


def offence(source, header):
    """What is wrong with an include, or None."""
    module, other = source.split("/")[0], header.split("/")[0]
    if module != other and is_private(header):
        return f"includes the private {header} of another module"
    if header == FOR_VENDORS and "vendor" not in pathlib.PurePosixPath(source).parts:
        return f"includes {header}, which is for vendor/ folders"
    if module in MODULES and module != other and other not in MODULES[module]:
        return f"{module} does not build on {other}: {header}"
    here, there = room_of(source), room_of(header)
    for room in (here, there):
        if room not in ORDER and room.split("/")[0] not in PROGRAMS:
            return f"the room {room} has no place in the order"
    if source == umbrella(module):
        return None
    if here in ORDER and there in ORDER and ORDER.index(there) > ORDER.index(here):
        return f"an arrow that runs up, from {here} to {there}: {header}"
    return None


def self_test():
    good = [("dense/detail/Strata_A.cpp", "core/blas/Strata_B.hpp"), ("core/blas/vendor/Strata_A.cpp", "core/blas/detail/Strata_B.hpp"),
            ("sparse/krylov/Strata_A.hpp", "sparse/matrix/detail/Strata_B.hpp"), ("perf/ooc/Strata_A.cpp", "geostat/Strata_B.hpp"),
            ("ooc/vendor/Strata_A.cpp", FOR_VENDORS)]
    bad = [("dense/Strata_A.cpp", "core/blas/detail/Strata_B.hpp"), ("apps/Strata_A.cpp", "ooc/vendor/Strata_B.hpp"),
           ("core/blas/Strata_A.hpp", "core/problems/Strata_B.hpp"), ("ooc/Strata_A.hpp", "geostat/Strata_B.hpp"),
           ("sparse/Strata_A.hpp", "dense/Strata_B.hpp"), ("sparse/matrix/Strata_A.hpp", "sparse/krylov/Strata_B.hpp"),
           ("core/attic/Strata_A.hpp", "core/Strata_B.hpp"), ("ooc/detail/Strata_A.cpp", FOR_VENDORS)]
    for pair in good:
        assert offence(*pair) is None, (pair, offence(*pair))
    for pair in bad:
        assert offence(*pair) is not None, pair
    assert offence(umbrella("core"), "core/info/Strata_A.hpp") is None
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for path, text in ((umbrella("core"), "#include <core/io/Strata_A.hpp>\n"), ("core/io/Strata_A.hpp", ""), ("core/io/Strata_B.hpp", ""),
                           ("core/io/detail/Strata_C.hpp", ""), ("core/kokkos_ext/Strata_Team.hpp", "")):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text)
        assert missing(top, "core") == ["core/io/Strata_B.hpp"], missing(top, "core")
        for path, others in (("sparse/Strata_A.hpp", "BC"), ("sparse/Strata_B.hpp", "CD"), ("sparse/Strata_D.hpp", "")):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text("".join(f"#include <sparse/Strata_{other}.hpp>\n" for other in others))
        (top / "sparse/Strata_C.hpp").write_text("#include <sparse/Strata_D.hpp>\n#include <core/Strata_Config.hpp>\n")
        assert set(pulled(top, "sparse/Strata_A.hpp")) == {f"sparse/Strata_{x}.hpp" for x in "BCD"} | {"core/Strata_Config.hpp"}
        assert crowded(top, "sparse/Strata_A.hpp", 4) is None
        assert crowded(top, "sparse/Strata_A.hpp", 3).startswith("pulls 4 own headers, at most 3: core/Strata_Config.hpp sparse")
        (top / umbrella("sparse")).write_text("")
        (top / "sparse/multigrid").mkdir()
        for name in ("GridHierarchy", "E"):
            (top / f"sparse/multigrid/Strata_{name}.hpp").write_text("")
        assert dict(solver_headers(top)) == {**{f"sparse/Strata_{x}.hpp": MOST for x in "ABCD"}, "sparse/multigrid/Strata_E.hpp": MOST,
                                             "sparse/multigrid/Strata_GridHierarchy.hpp": 27}


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


def draw(pairs, path):
    """Boxes, and the arrows that no others imply; red: an arrow into another module's private part, or one of two that make a circle."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "strata"
    from matplotlib import pyplot

    arrows, private = collections.Counter(), collections.Counter()
    for source, header in pairs:
        if source == umbrella(source.split("/")[0]):
            continue
        here, there = room_of(source), room_of(header)
        if here != there:
            arrows[here, there] += 1
            private[here, there] += source.split("/")[0] != header.split("/")[0] and is_private(header)
    rooms = sorted({room for arrow in arrows for room in arrow}, key=lambda room: (ORDER.index(room) if room in ORDER else 99, room))
    at = places(rooms, arrows)
    figure, axes = pyplot.subplots(figsize=(11, 9))
    for (here, there), count in sorted(arrows.items()):
        is_red = private[here, there] > 0 or (there, here) in arrows
        if not is_red and is_implied((here, there), arrows):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--draw", metavar="FILE", help="an .svg of the library's rooms")
    arguments = parser.parse_args()
    self_test()
    modules = [module for module in MODULES if (arguments.top / module).is_dir()]
    if arguments.draw:
        if not importlib.util.find_spec("matplotlib"):
            print("there is no matplotlib")
            return 77
        return draw(list(includes(arguments.top, modules)), arguments.draw)
    found = 0
    for source, header in includes(arguments.top, [*modules, *PROGRAMS]):
        what = offence(source, header)
        if what:
            found += 1
            print(f"{source}: {what}")
    for module in WHOLE:
        for header in missing(arguments.top, module):
            found += 1
            print(f"{umbrella(module)}: lacks {header}")
    for header, most in solver_headers(arguments.top):
        what = crowded(arguments.top, header, most)
        if what:
            found += 1
            print(f"{header}: {what}")
    total = len(list(includes(arguments.top, [*modules, *PROGRAMS])))
    print(f"{total} includes, {found} offences")
    return 1 if found or not total else 0


if __name__ == "__main__":
    sys.exit(main())
