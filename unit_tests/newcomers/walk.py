#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Five newcomers on their way from README.md to a result of their own: in Python from a wheel, an engineer with files, in C++, in C, under LAPACK.

Each has a root of their own, in which neither the source nor the build is to be seen: the first two one with Python, NumPy, pip and a shell alone
(packaging/wheel/fresh_root.py), where they install the wheel; the others one with this system's compilers and libraries, and Strata installed in
/opt/strata. The commands and programs are those of README.md and of the pages that it leads to. At the end there are the minutes of each, or a
line on what stopped one. Where `unshare` may not make such roots, the exit code is 77.

walk.py SOURCE BUILD [--only NAME ...] [--wheel WHEEL]: BUILD is a build tree of which all is built; without a wheel one is made below it.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging/wheel"))
import fresh_root  # noqa: E402

PREFIX = "/opt/strata"


class Stopped(Exception):
    """What a newcomer would give up at."""


def fences(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def fence(page, language, with_word=""):
    for text in fences(page, language):
        if with_word in text:
            return text
    raise Stopped(f"the page has no block of {language} with '{with_word}'")


class Newcomer:
    """Somebody in a root of their own, at home."""

    def __init__(self, way, name):
        self.source, self.root = way.source, fresh_root.Root(way.folder / name)
        self.folder = self.root.folder / "home"
        self.readme = (self.source / "README.md").read_text(encoding="utf-8")
        self.commands = 0
        if name in FROM_WHEEL:
            self.root.add_python()
            wheel = way.wheel_made()
            shutil.copy(wheel, self.folder)
            self.run(f"python3 -m pip install --quiet --no-index --no-deps --root-user-action ignore ./{wheel.name}")
        else:
            for folder in way.system():
                self.root.mount(folder)
            shutil.copytree(way.prefix, self.root.there(PREFIX), symlinks=True)

    def page(self, path):
        """That README.md leads to."""
        if f"]({path}" not in self.readme:
            raise Stopped(f"README.md does not lead to {path}")
        return (self.source / path).read_text(encoding="utf-8")

    def command_of_readme(self, word):
        for line in self.readme.splitlines():
            if line.startswith("    strata ") and word in line:
                return line.split("#")[0].strip()
        raise Stopped(f"README.md has no command with {word}")

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, command, expected="", **environment):
        """What it prints, in which `expected` must be found."""
        self.commands += 1
        inside = self.root.command("bash", "-c", command, folder="/home", PATH=f"{PREFIX}/bin:/usr/bin:/usr/local/bin:/bin", **environment)
        done = subprocess.run(inside, capture_output=True, text=True)
        said = done.stdout + done.stderr
        if done.returncode != 0 or not re.search(expected, said, re.M):
            raise Stopped(f"$ {command}\n{said[-2000:]}\nexit code {done.returncode}, looked for '{expected}'")
        return said


def in_python(self):
    """README's six lines, and a matrix that was not on any page."""
    self.write("first.py", fence(self.readme, "python", "import numpy as np, strata"))
    self.run("python3 first.py", r"^\d+% of the bytes, backward error \d")
    self.write("own.py", """import numpy as np, strata
random = np.random.default_rng(7)
M = random.standard_normal((300, 200))
A, b = M @ M.T + np.eye(300), random.standard_normal(300)
x = strata.solve(A, b, check_symmetric=True)
print("residual", abs(A @ x - b).max(), "log det", float(strata.logdet(A)), "NumPy's", np.linalg.slogdet(A)[1])
assert abs(A @ x - b).max() < 1e-9 and abs(float(strata.logdet(A)) - np.linalg.slogdet(A)[1]) < 1e-6
""")
    self.run("python3 own.py", "residual")
    self.run("strata solve --generate geometric --n 300 --brief", r"solved: about \d+ digits are right")
    for name in ("program.sh", "package.py"):  # what the wheel itself is tried with
        shutil.copy(fresh_root.HERE / name, self.folder)
    self.run("bash program.sh && python3 package.py", "^Strata ")
    foreign = list(fresh_root.strangers(self.root))
    if foreign:
        raise Stopped("\n".join(foreign))


def truss(nodes):
    """Entries (from 1) of the lower triangle of a bar of springs in three directions, clamped at its first node."""
    entries = []
    for node in range(nodes):
        for k in range(3):
            row, stiffness = 3 * node + k, (1 + k) * 1e3
            entries.append((row + 1, row + 1, (2 if node + 1 < nodes else 1) * stiffness))
            if node > 0:
                entries.append((row + 1, row - 2, -stiffness))
    return entries


def an_engineer(self):
    """A stiffness matrix and a load in files, as README.md has the command; then a dense matrix in CSV, and measurements."""
    nodes, pull = 40, 12.0
    entries = truss(nodes)
    lines = ["%%MatrixMarket matrix coordinate real symmetric", f"{3 * nodes} {3 * nodes} {len(entries)}", *(f"{i} {j} {a!r}" for i, j, a in entries)]
    self.write("K.mtx", "\n".join(lines) + "\n")
    self.write("f.txt", "0\n" * (3 * nodes - 3) + f"{pull}\n0\n0\n")
    self.write("places.py", f"import numpy as np\nnp.save('xyz.npy', [[k + 1.0, 0.0, 0.0] for k in range({nodes})])\n")
    self.run("python3 places.py")
    self.run(f"{self.command_of_readme('K.mtx')} --vtk u.vtk", r"(?s)largest magnitude +0\.48 in row 118 \(unknown 1 of node 40\).*u\.txt.*solved: at most \d+ digits")
    numbers = (self.folder / "u.txt").read_text().split()
    u = [float(number) for number in numbers]
    for node in range(nodes):  # the springs are in a row
        if abs(u[3 * node] - (node + 1) * pull / 1e3) > 1e-8 * pull:
            raise Stopped(f"node {node + 1} moves by {u[3 * node]}")
    picture = (self.folder / "u.vtk").read_text()
    for title, line in (("POINTS", f"{nodes} 0 0"), ("VECTORS", " ".join(numbers[-3:]))):
        if not re.search(rf"^{title}.*\n(?:.*\n){{{nodes - 1}}}{line}\n", picture, re.M):
            raise Stopped(f"u.vtk has no line '{line}' for the last node under {title}")
    self.write("A.csv", "4,1\n1,3\n")
    self.write("b.csv", "6\n7\n")
    self.run("strata solve --matrix A.csv --rhs b.csv", r"x +2 numbers: 1, 2\n")
    places = [(x / 10 + 0.01 * y, y / 10) for x in range(8) for y in range(8)]
    self.write("data.csv", "x,y,value\n" + "".join(f"{x},{y},{math.sin(3 * x) + math.cos(4 * y) + 0.1 * ((k * 7) % 5)}\n" for k, (x, y) in enumerate(places)))
    self.write("new.csv", "x,y\n0.33,0.41\n0.5,0.52\n")
    self.run(self.command_of_readme("data.csv"), "map.csv")
    if len((self.folder / "map.csv").read_text().splitlines()) != 3:
        raise Stopped("map.csv has not two predictions")


def build_and_run(self, page, expected):
    """By the page's CMakeLists.txt and commands."""
    self.write("CMakeLists.txt", fence(page, "cmake", "find_package(Strata"))
    for line in fence(page, "text", "out/mine").splitlines():
        self.run(line.replace("PREFIX", PREFIX), expected if "out/mine" in line else "")


def in_cpp(self):
    """README's program as a project."""
    self.write("mine.cpp", fence(self.readme, "cpp", "int main"))
    build_and_run(self, self.page("docs/start/cpp.md"), r"backward error \d\S*e-1[5-8] after \d+ iterations")


def in_c(self):
    page = self.page("docs/start/c.md")
    (example,) = set(re.findall(r"\[10_from_c\.c\]\(\.\./\.\./(examples/10_from_c\.c)\)", page))
    self.write("mine.c", (self.source / example).read_text(encoding="utf-8"))
    build_and_run(self, page, r"log-determinant -828\.7")


def under_lapack(self):
    self.write("posv.py", fence(self.page("docs/start/lapack.md"), "python", "dsposv"))
    library = next(self.root.there(PREFIX).glob("lib*/**/libstrata_lapack.so"), None)
    if library is None:
        raise Stopped("what was installed has no libstrata_lapack.so")
    self.run("python3 posv.py", "info 0 iterations")
    said = self.run("python3 posv.py", "info 0 iterations", LD_PRELOAD=f"/{library.relative_to(self.root.folder)}", STRATA_LAPACK="trace=1")
    if "dsposv: 1 calls by Strata, 0 by the system's" not in said:
        raise Stopped(f"LAPACK was not replaced:\n{said}")


WALKS = {"python": in_python, "engineer": an_engineer, "cpp": in_cpp, "c": in_c, "lapack": under_lapack}
FROM_WHEEL = ("python", "engineer")


class Way:
    """What they have in common: where Strata is, and what is installed."""

    def __init__(self, source, build, folder, wheel):
        self.source, self.build, self.folder, self.prefix, self.wheel = source, build, folder, folder / "prefix", wheel

    def install(self):
        subprocess.run(["cmake", "--install", self.build, "--prefix", self.prefix], check=True, stdout=subprocess.DEVNULL)

    def wheel_made(self):
        if self.wheel is None:
            wheels = self.build / "wheels"
            if not list(wheels.glob("*.whl")):
                make = self.source / "packaging/wheel/make.sh"
                subprocess.run(["bash", make, self.source, self.build / "wheel", wheels], check=True, stdout=subprocess.DEVNULL)
            self.wheel = max(wheels.glob("*.whl"), key=os.path.getmtime)
        return self.wheel

    def system(self):
        """Folders with the compilers and libraries of this system, and with a Kokkos that lies elsewhere."""
        folders = ["/usr", "/etc"]
        cache = (self.build / "CMakeCache.txt").read_text(encoding="utf-8")
        for found in re.findall(r"^Kokkos(?:Kernels)?_DIR:PATH=(.*)/lib\w*/cmake/\w+$", cache, re.M):
            if not found.startswith("/usr/") and found not in folders:
                folders.append(found)
        return folders

    def walk(self, name):
        """Seconds and number of commands. Raises Stopped."""
        if name in FROM_WHEEL:
            self.wheel_made()
        begin = time.monotonic()
        newcomer = Newcomer(self, name)
        WALKS[name](newcomer)
        return time.monotonic() - begin, newcomer.commands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=WALKS, default=list(WALKS))
    parser.add_argument("--wheel", type=pathlib.Path)
    arguments = parser.parse_args()
    stopped = 0
    with tempfile.TemporaryDirectory() as name:
        wheel = arguments.wheel and arguments.wheel.resolve()
        way = Way(arguments.source.resolve(), arguments.build.resolve(), pathlib.Path(name).resolve(), wheel)
        probe = fresh_root.Root(way.folder / "probe")
        probe.mount("/usr")
        if not probe.can_be_entered():
            print("this user may not make namespaces (unshare): nobody walked")
            return 77
        if not set(arguments.only) <= set(FROM_WHEEL):
            way.install()
        for walk in arguments.only:
            try:
                seconds, commands = way.walk(walk)
                print(f"{walk:10} {commands} commands, {seconds / 60:.2f} minutes", flush=True)
            except (Stopped, subprocess.CalledProcessError) as error:
                stopped += 1
                print(f"{walk:10} STOPPED: {error}", flush=True)
    return 1 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
