#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Who includes whom, by rooms: the folders of sources, each with its detail/ and vendor/.

Exit status 1 and one line for each offence: an include of another module's detail/ or vendor/, an arrow that
runs up between rooms or makes a circle in one, other than those that are named here, a room without a place in the order or with too
many boxes, a public header that the header of its whole module lacks, a solver's header that pulls too many
others. A box is a header with its source. --draw FILE draws the rooms and their arrows, with --inside MODULE the boxes of
its rooms (needs matplotlib).
"""
import argparse
import collections
import importlib.util
import pathlib
import re
import sys
import tempfile

# From the ground up: a room includes rooms before it in this list alone, so that there is no circle.
ORDER = ("core", "core/kokkos_ext", "core/instances", "core/memory", "core/integers", "core/blas/basics", "core/blas/host", "core/blas/device", "core/blas/tiles", "core/blas/portable", "core/blas", "core/blas/batched", "core/io/files", "core/io", "core/io/matrix_file", "core/problems", "core/info",
         "comm", "dense/vectors", "dense/refine", "dense/log_determinant", "dense/tree", "dense/recursion", "dense", "dense/indefinite", "dense/factor", "dense/varied", "ooc/schedule", "ooc/team", "ooc/tiles", "ooc/executor", "ooc", "geostat/model", "geostat", "geostat/fit", "geostat/kriging", "geostat/neighbours", "geostat/vecchia",
         "sparse/comm", "sparse/formats", "sparse/matrix", "sparse/products", "sparse/scaling", "sparse/incomplete", "sparse/direct", "sparse/coarsening", "sparse/multigrid", "sparse/krylov", "sparse/choice", "sparse", "sparse/hpgmxp",
         "c/runtime", "c", "c/batch", "c/factor", "c/geostat", "lapack", "python", "python/dense", "python/sparse", "trilinos", "apps/document", "apps/shared", "apps/help", "apps/system", "apps/symmetric", "apps/solve", "apps/mle", "apps/hpgmxp", "apps/completion", "apps/info", "apps/plot", "apps")
# The modules that a module may include; the program sees all of them.
MODULES = {"core": (), "dense": ("core",), "comm": ("core",), "ooc": ("core", "comm", "dense"), "geostat": ("core", "comm", "dense", "ooc"), "sparse": ("core", "comm"),
           "c": ("core", "comm", "dense", "sparse", "ooc", "geostat"), "lapack": ("c",), "python": ("core", "comm", "dense", "ooc", "geostat", "sparse", "c"), "trilinos": ("core", "comm", "sparse")}
# The one arrow that runs up between rooms: what a factorisation is asked for and what it reports.
UP = ("ooc/executor", "ooc/Strata_CholeskyOptions.hpp")
# Arrows that make circles of the boxes of a room, at most MOST_UP in each: without them no box includes itself by others.
MOST_UP = 3
UP_INSIDE = {
    "apps/mle": (("MleData", "Mle"), ("MleSearch", "Mle")),
    "core/blas": (("detail/FormattedProduct", "LeafBlas"),),
    "core/info": (("detail/HostInfo", "Version"), ("vendor/VendorInfo", "Version")),
    "core/io": (("detail/CsvStream", "Csv"), ("detail/MatrixMarketStream", "MatrixMarket"), ("detail/NpyStream", "Npy")),
    "dense": (("detail/CholeskyState", "Cholesky"),),
    "dense/indefinite": (("detail/SymmetricState", "SymmetricFactor"),),
    "dense/refine": (("Refinement", "detail/RefinementMemory"), ("Refinement", "detail/Refiner")),
    "dense/vectors": (("detail/BlockVectors", "detail/BlockVectorLoops"),),
    "geostat/fit": (("detail/FitObjective", "Fit"), ("detail/FitVariables", "Fit"), ("detail/ScoringFit", "Fit")),
    "lapack": (("detail/Problem", "detail/SystemCall"), ("detail/Report", "detail/Settings")),
    "ooc": (("detail/TileFactorState", "Cholesky"),),
    "ooc/executor": (("detail/ExecutorStream", "detail/Executor"), ("detail/ExecutorOperands", "detail/ExecutorStream")),
    "ooc/schedule": (("detail/SchedulePlayer", "Messages"), ("detail/SchedulePlayer", "RankOrder"), ("detail/SchedulePlayer", "Schedule")),
    "ooc/team": (("detail/Machine", "DeviceTeam"),),
    "sparse": (("detail/SparseSolverImpl", "SparseSolver"),),
    "sparse/hpgmxp": (("detail/TimeLeft", "Hpgmxp"),),
    "sparse/matrix": (("detail/RowExchange", "HostRows"),),
    "sparse/formats": (("detail/RowBlock", "EllKernels"),),
}
# Boxes of a room, at most; of rooms that have more, rounded up to five, a list that may only shrink.
MOST_BOXES = 15
FULLER = {}
WHOLE = ("core", "comm", "dense", "ooc", "geostat", "sparse")  # these have a header of the whole module
PROGRAMS = ("apps", "examples", "perf")  # they see public headers
PRIVATE = ("detail", "vendor")
SUFFIXES = (".hpp", ".cpp", ".h", ".c", ".inc")
# Headers that modules share and users do not need: not in the header of a whole module.
SHARED = re.compile(r"core/(kokkos_ext|instances|memory)/(?!Strata_(Allocate|Recorder)\.)|Strata_(SetIdentity|SymmetricTiles|LargestMagnitude|Pack|ByteSink|ByteSource|FileDescriptor|ParseNumber|HessenbergLeastSquares)\.hpp")
# What a user of a solver compiles: own headers that a header of these rooms includes, itself or by others, at most.
SOLVERS = ("dense", "dense/vectors", "dense/refine", "dense/log_determinant", "dense/tree", "dense/recursion", "ooc/schedule", "ooc/team", "ooc/tiles", "ooc/executor", "ooc", "sparse", "sparse/krylov", "sparse/multigrid")
MOST = 12
# Those that pull more, which may only become fewer: the hierarchies hold matrices, the names are for all operations, blocks are
# of a tile matrix and its factor, and a factor's options have a header of their own, as the names of sparse methods have.
WIDER = {"dense/Strata_DenseFields.hpp": 14, "dense/Strata_KokkosNames.hpp": 20, "ooc/Strata_BlockCyclicTiles.hpp": 17, "ooc/Strata_Cholesky.hpp": 13,
         "sparse/Strata_SparseFields.hpp": 16, "sparse/Strata_SparseSolver.hpp": 13, "sparse/multigrid/Strata_GridHierarchy.hpp": 27, "sparse/multigrid/Strata_Transfer.hpp": 27,
         "sparse/multigrid/Strata_TransferHierarchy.hpp": 29, "sparse/multigrid/Strata_TrilinearHierarchy.hpp": 30}
FOR_VENDORS = "core/kokkos_ext/Strata_DeviceRuntime.hpp"  # it includes a vendor's header
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([\w/]+/[\w.]+)[>"]', re.M)


def room_of(path):
    """The folder of a source, without the private part of a room."""
    folders = list(pathlib.PurePosixPath(path).parent.parts)
    while folders and folders[-1] in PRIVATE:
        folders.pop()
    return "/".join(folders)


def box_of(path):
    """A source and its header are one box, a header alone, too."""
    path = pathlib.PurePosixPath(path)
    return (path.parent / path.stem).as_posix()


def is_private(path):
    return any(part in PRIVATE for part in pathlib.PurePosixPath(path).parts)


def includes(top, folders):
    """(source, header) of each include of one of Strata's headers."""
    for folder in folders:
        for source in sorted((top / folder).rglob("*")):
            if source.suffix in SUFFIXES:
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


def sources_of(top, folder):
    """The sources of a folder, from the top."""
    return [path.relative_to(top).as_posix() for path in sorted((top / folder).rglob("*")) if path.suffix in SUFFIXES]


def boxes_by_room(top, modules):
    """The boxes of each room; a header of a whole module is none."""
    boxes = collections.defaultdict(set)
    for module in modules:
        for path in sources_of(top, module):
            if path != umbrella(module):
                boxes[room_of(path)].add(box_of(path))
    return boxes


def arrows_by_room(pairs):
    """Who includes whom among the boxes of each room."""
    arrows = collections.defaultdict(set)
    for source, header in pairs:
        here, there = box_of(source), box_of(header)
        if here != there and room_of(source) == room_of(header) and source != umbrella(source.split("/")[0]):
            arrows[room_of(source)].add((here, there))
    return arrows


def circle(arrows):
    """Boxes that include each other round in a circle, the first one twice; or None."""
    after, done = collections.defaultdict(list), set()
    for here, there in sorted(arrows):
        after[here].append(there)

    def walk(path):
        for there in after[path[-1]]:
            if there in path:
                return [*path[path.index(there):], there]
            found = walk([*path, there]) if there not in done else None
            if found:
                return found
        done.add(path[-1])
        return None

    return next((found for found in (walk([box]) for box in list(after) if box not in done) if found), None)


def listed(room, arrows):
    """Arrows of a room whose boxes are named as in the list above."""
    whole = [[f"{room}/{'/'.join([*box.split('/')[:-1], 'Strata_' + box.split('/')[-1]])}" for box in arrow] for arrow in arrows]
    return tuple(map(tuple, whole))


def circle_offences(room, arrows, up):
    """What is wrong with the arrows in a room, of which those listed may run up."""
    if len(up) > MOST_UP:
        yield f"{room}: {len(up)} arrows may run up, at most {MOST_UP}"
    for arrow in sorted(set(up) - arrows):
        yield f"{room}: there is no arrow from {arrow[0]} to {arrow[1]}; take it off the list"
    found = circle(arrows - set(up))
    if found:
        yield f"{room}: a circle: {' > '.join(found)}"
    for arrow in sorted(set(up) & arrows):
        if not found and not circle(arrows - (set(up) - {arrow})):
            yield f"{room}: the arrow from {arrow[0]} to {arrow[1]} makes no circle; take it off the list"


def fullness_offences(boxes, fuller):
    """Rooms with too many boxes, or with ten fewer than the list says."""
    for room, inside in sorted(boxes.items()):
        count, most = len(inside), fuller.get(room, MOST_BOXES)
        if count > most:
            yield f"{room}: {count} boxes, at most {most}"
        elif room in fuller and count <= max(MOST_BOXES, most - 10):
            yield f"{room}: {count} boxes; the list says {most}: it may only shrink, so it does"


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
    if (here, header) == UP:
        return None
    for room in (here, there):
        if room not in ORDER and room.split("/")[0] not in PROGRAMS:
            return f"the room {room} has no place in the order"
    if source == umbrella(module):
        return None
    if here in ORDER and there in ORDER and ORDER.index(there) > ORDER.index(here):
        return f"an arrow that runs up, from {here} to {there}: {header}"
    return None


def self_test_of_circles():
    arrows = {("m/A", "m/B"), ("m/B", "m/detail/C"), ("m/A", "m/detail/C")}
    assert circle(arrows) is None
    back = ("m/detail/C", "m/A")
    assert sorted(circle(arrows | {back})[1:]) == ["m/A", "m/B", "m/detail/C"], circle(arrows | {back})
    assert not list(circle_offences("m", arrows | {back}, (back,)))
    for wrong, up, words in ((arrows | {back}, (), "m: a circle: "), (arrows, (back,), "there is no arrow"),
                             (arrows, (("m/A", "m/B"),), "makes no circle"), (arrows, [("m/A", f"m/{k}") for k in range(MOST_UP + 1)], "may run up")):
        assert words in next(circle_offences("m", wrong, up)), list(circle_offences("m", wrong, up))
    assert arrows_by_room([("m/Strata_A.cpp", "m/detail/Strata_B.hpp"), ("m/Strata_A.cpp", "m/Strata_A.hpp"), ("m/Strata_M.hpp", "m/Strata_A.hpp"),
                           ("m/n/Strata_A.cpp", "m/Strata_B.hpp")]) == {"m": {("m/Strata_A", "m/detail/Strata_B")}}
    full = {"m": {f"m/{k}" for k in range(MOST_BOXES)}}
    assert not list(fullness_offences(full, {}))
    assert len(list(fullness_offences({"m": full["m"] | {"m/one_more"}}, {}))) == 1
    assert not list(fullness_offences({"m": full["m"] | {"m/one_more"}}, {"m": MOST_BOXES + 5}))
    assert "may only shrink" in next(fullness_offences(full, {"m": MOST_BOXES + 5}))


def self_test():
    self_test_of_circles()
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--draw", metavar="FILE", help="an .svg of the library's rooms")
    parser.add_argument("--inside", metavar="MODULE", choices=sorted(MODULES), help="draw the boxes of this module's rooms instead")
    arguments = parser.parse_args()
    self_test()
    modules = [module for module in MODULES if (arguments.top / module).is_dir()]
    if arguments.draw:
        if not importlib.util.find_spec("matplotlib"):
            print("there is no matplotlib")
            return 77
        import rooms_drawing

        if arguments.inside:
            return rooms_drawing.draw_inside(arguments.top, arguments.inside, arguments.draw)
        return rooms_drawing.draw(arguments.top, modules, arguments.draw)
    found = 0
    with_apps = [*modules, "apps"]
    arrows, boxes = arrows_by_room(includes(arguments.top, with_apps)), boxes_by_room(arguments.top, with_apps)
    for room in sorted({*arrows, *UP_INSIDE}):
        for what in circle_offences(room, arrows[room], listed(room, UP_INSIDE.get(room, ()))):
            found += 1
            print(what)
    if UP and UP not in {(room_of(source), header) for source, header in includes(arguments.top, modules)}:
        found += 1
        print(f"there is no arrow from {UP[0]} to {UP[1]}; take it off the list")
    for what in fullness_offences(boxes, FULLER):
        found += 1
        print(what)
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
