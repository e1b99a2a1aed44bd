#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""fresh_root.py WHEEL: install WHEEL in a root that has Python, NumPy, pip and a shell alone, and use it there as smoke.sh does.

The root is a folder with files of this system: these programs and modules, and the libraries that they load. Nothing else of the
machine is to be seen in it. It needs no network, but user namespaces (or root) for `unshare`; where it may not, the exit code is 77.
"""
import argparse
import importlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import carry

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("bash", "cat", "chmod", "cp", "dirname", "env", "ls", "mkdir", "mktemp", "rm", "uname")
MODULES = ("numpy", "pip")
NOT_NEEDED = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "tkinter", "_tkinter*", "turtledemo", "config-*", "dist-packages",
                                    "site-packages", "EXTERNALLY-MANAGED")
# What the first process does in its mount namespace: $0 is the root, then come folders of this system, --, and the command.
ENTER = 'while [ "$1" != -- ]; do mount --rbind "$1" "$0$1" || exit 126; shift; done; shift; exec chroot "$0" "$@"'


class Root:
    """A folder that a process can have as its root."""

    def __init__(self, folder):
        self.folder, self.loader, self.mounts = pathlib.Path(folder), None, []
        for name in ("home", "tmp", "usr/bin", "usr/lib"):
            (self.folder / name).mkdir(parents=True)
        for name in ("/dev", "/proc"):
            self.mount(name)
        for name in ("bin", "sbin", "lib", "lib64"):
            link = pathlib.Path("/") / name
            if link.is_symlink():  # as this system has them
                (self.folder / name).symlink_to(os.readlink(link))
                (self.folder / os.readlink(link)).mkdir(parents=True, exist_ok=True)

    def there(self, path):
        """The place of a file of this system."""
        place = self.folder / str(path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def mount(self, path):
        """A folder of this system, as it is."""
        self.there(path).mkdir(exist_ok=True)
        self.mounts.append(str(path))

    def add(self, path):
        """A program or a folder, where it is on this system, with the libraries that it loads."""
        path = pathlib.Path(path)
        if path.is_dir():
            shutil.copytree(path, self.there(path), ignore=NOT_NEEDED, dirs_exist_ok=True)
            binaries = [str(file) for file in self.there(path).rglob("*.so*") if file.is_file()]
        else:
            shutil.copy(path, self.there(path))
            binaries = [str(path)]
        loaded = subprocess.run(["ldd", *binaries], capture_output=True, text=True).stdout if binaries else ""
        self.loader = next(iter(re.findall(r"^\s*(/\S+) \(0x", loaded, re.M)), self.loader)
        for library in set(re.findall(r"(/\S+) \(0x", loaded)):
            if not self.there(library).exists():
                shutil.copy(library, self.there(library))

    def add_python(self):
        """The interpreter of this script as python3, its own modules, NumPy and pip."""
        python = pathlib.Path(sys.executable).resolve()
        self.add(python)
        named = self.there("/usr/bin/python3")
        if not named.exists():
            named.symlink_to(python)
        for module in ("stdlib", "platstdlib"):
            self.add(sysconfig.get_path(module))
        for module in MODULES:
            self.add(importlib.util.find_spec(module).submodule_search_locations[0])
        for file in (importlib.import_module("pip._vendor.requests.certs").where(), "/usr/lib/locale/C.utf8"):
            if os.path.exists(file):
                self.add(file)
        for program in PROGRAMS:
            self.add(shutil.which(program))
        if not (self.folder / "bin/sh").exists():
            (self.folder / "bin/sh").symlink_to("bash")

    def command(self, *words, folder="/", **environment):
        """Runs it there, in a folder and without this environment."""
        outside = ["unshare", "--map-root-user", "--mount", "sh", "-c", ENTER, str(self.folder), *self.mounts, "--"]
        given = {"PATH": "/usr/bin:/usr/local/bin", "HOME": "/home", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", **environment}
        return [*outside, "env", "-i", "-C", str(folder), *(f"{name}={value}" for name, value in given.items()), *map(str, words)]

    def can_be_entered(self):
        return subprocess.run(self.command("bash", "-c", "true"), capture_output=True).returncode == 0


def strangers(root):
    """Libraries that the installed wheel loads, but not from itself, and that it may not expect."""
    site = next(root.folder.rglob(carry.LIBS)).parent
    for binary in carry.binaries(site / carry.LIBS) + carry.binaries(site / "strata"):
        trace = root.command("env", "LD_TRACE_LOADED_OBJECTS=1", root.loader, f"/{binary.relative_to(root.folder)}")
        text = subprocess.run(trace, check=True, capture_output=True, text=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (.*?)(?: \(0x\w+\))?$", text, re.M):
            if not carry.OF_THE_SYSTEM.fullmatch(name) and f"/{carry.LIBS}/" not in path and binary.parent.name != carry.LIBS:
                yield f"{binary.name}: {name} => {path}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Root(pathlib.Path(name) / "root")
        root.add_python()
        if not root.can_be_entered():
            print("this user may not make namespaces (unshare): the wheel was not tried")
            return 77
        for file in (arguments.wheel, HERE / "smoke.sh", HERE / "program.sh", HERE / "package.py"):
            shutil.copy(file, root.folder / "tmp")
        if subprocess.run(root.command("bash", "/tmp/smoke.sh")).returncode != 0:
            return 1
        found = list(strangers(root))
    print("\n".join(found) or f"{arguments.wheel.name} installs beside Python and NumPy alone and passes the smoke test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
