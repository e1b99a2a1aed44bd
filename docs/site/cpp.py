# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The reference of C++ and of C: Doxygen reads the public headers, Breathe shows them.

cpp.py TOP FOLDER: reads the headers of TOP, writes Doxygen's XML to FOLDER, and fails for each public symbol without a comment and for
whatever else Doxygen warns of. Ends with 77 where Doxygen is not there.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from doxygen_filter import group_of

HERE = pathlib.Path(__file__).resolve().parent
MODULES = {"core": "numbers, files, the operations of blocks", "comm": "the ranks that work together", "dense": "Cholesky in layers of precision",
           "ooc": "Cholesky in tiles that may be larger than the devices", "geostat": "covariances, likelihoods, kriging",
           "sparse": "sparse systems", "trilinos": "the adapter to Tpetra and Belos"}
C_HEADERS = ("c/strata.h", "c/strata_each.h", "c/strata_geostat.h")


def modules_of(top):
    """The modules that are libraries for programs in C++, by CMake."""
    return {file.parent.name for file in top.glob("*/CMakeLists.txt") if re.search(r"^strata_add_module\(", file.read_text(), re.MULTILINE)}


def public_headers(top):
    """The headers of each room, by the room's folder."""
    rooms = {}
    for module in MODULES:
        for header in sorted((top / module).rglob("*.hpp*")):
            place = header.relative_to(top)
            if not {"detail", "vendor"} & set(place.parts):
                rooms.setdefault(place.parent.as_posix(), []).append(place.as_posix())
    return rooms


def run_doxygen(top, folder):
    """Doxygen's XML in `folder`; what it warns of."""
    assert modules_of(top) == set(MODULES), f"modules of CMake: {modules_of(top)}, of the reference: {set(MODULES)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    headers = [header for room in public_headers(top).values() for header in room]
    settings = {"INPUT": " ".join(f'"{top / header}"' for header in [*headers, *C_HEADERS]),
                "STRIP_FROM_PATH": f'"{top}"',
                "STRIP_FROM_INC_PATH": f'"{top}/c" "{top}"',
                "INPUT_FILTER": f'"\\"{sys.executable}\\" \\"{HERE / "doxygen_filter.py"}\\" \\"{top}\\""', "OUTPUT_DIRECTORY": f'"{folder}"',
                "XML_OUTPUT": ".", "WARN_LOGFILE": f'"{folder / "warnings"}"'}
    text = (HERE / "Doxyfile").read_text() + "".join(f"{key} = {value}\n" for key, value in settings.items())
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    return (folder / "warnings").read_text().replace(f"{top}/", "")


def outside_of_groups(folder):
    """The directives for what a header has that is in no group, by header: its macros and concepts."""
    found = {}
    for file in sorted(folder.glob("*8*.xml")) + sorted(folder.glob("concept*.xml")):
        compound = xml.etree.ElementTree.parse(file).getroot().find("compounddef")
        header = compound.find("location").get("file")
        if compound.get("kind") == "concept" and not re.search(r"\b(detail|vendor)::", compound.findtext("compoundname")):
            found.setdefault(header, []).append(f".. doxygenconcept:: {compound.findtext('compoundname')}\n\n")
        elif compound.get("kind") == "file":
            found.setdefault(header, []).extend(f".. doxygendefine:: {name.text}\n\n" for name in compound.findall(".//memberdef[@kind='define']/name"))
    return found


def title(text, line):
    return f"{text}\n{line * len(text)}\n\n"


def lay_out_cpp(top, folder, source):
    """A page for each room, with its headers and what they declare, and one that lists the pages."""
    (source / "cpp").mkdir(parents=True)
    names, others = [], outside_of_groups(folder)
    for room, headers in public_headers(top).items():
        text = title(f"{room}: {MODULES[room]}" if room in MODULES else room, "=")
        for header in headers:
            group = (folder / f"group__{group_of(header).replace('_', '__')}.xml").exists()
            if group or others.get(header):
                text += title(header.removesuffix(".in"), "-")
                text += f".. doxygengroup:: {group_of(header)}\n   :content-only:\n   :members:\n\n" if group else ""
                text += "".join(others.get(header, []))
        names.append(room.replace("/", "-"))
        (source / f"cpp/{names[-1]}.rst").write_text(text)
    tree = ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   cpp/{name}\n" for name in names)
    (source / "cpp.rst").write_text(title("C++", "=") + "Every public symbol, by the folder and the header that declares it.\n\n" + tree)


def lay_out_c(source):
    (source / "c.rst").write_text(title("C", "=") + "".join(f".. doxygenfile:: {header}\n" for header in C_HEADERS))


def main(top, folder):
    if not shutil.which("doxygen"):
        print("no reference is made here: there is no doxygen")
        return 77
    warnings = run_doxygen(pathlib.Path(top).resolve(), pathlib.Path(folder).resolve())
    print(warnings, end="")
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
