#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""carry.py WHEEL FOLDER: a wheel in FOLDER that carries the libraries which its programs and extensions need, but those that every
Linux with Python has; its name says the oldest C library that it runs with (PEP 600). Needs binutils and ldd.

The extensions look for libraries in strata_solvers.libs by their RPATH (Strata_PORTABLE_WHEEL). It also holds for what these
libraries need in turn, as long as they have no RUNPATH to another folder than their own.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

LIBS = "strata_solvers.libs"
# Of the C library and the compiler: what a wheel for manylinux may expect (PEP 600).
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|pthread|rt|resolv|util|gcc_s|stdc\+\+))\.so(\.\d+)*")
# GLIBCXX_3.4.N came with a compiler that systems have from this C library on.
GLIBC_OF_GLIBCXX = {31: 36, 32: 38, 33: 39, 34: 42}


def output(*words: object) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def binaries(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF")


def needed(binary: pathlib.Path) -> dict[str, pathlib.Path]:
    """The libraries that it loads, directly or not, by name, where this machine has them."""
    text = output("ldd", binary)
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if missing:
        raise SystemExit(f"carry.py: {binary.name} needs {', '.join(missing)}, which this machine does not have")
    return {name: pathlib.Path(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+)", text, re.M) if not OF_THE_SYSTEM.fullmatch(name)}


def newest_c_library(files: list[pathlib.Path]) -> int:
    """N of the oldest C library 2.N that has all symbols that these ask for."""
    text = "".join(output("objdump", "-T", file) for file in files)
    of_c = max(map(int, re.findall(r"\(?GLIBC_2\.(\d+)", text)))
    of_cpp = max(map(int, re.findall(r"\(?GLIBCXX_3\.4\.(\d+)", text)), default=0)
    return max([of_c, *(glibc for version, glibc in GLIBC_OF_GLIBCXX.items() if version <= of_cpp)])


def add_libraries(folder: pathlib.Path) -> list[str]:
    """Copy them there; their names."""
    libraries: dict[str, pathlib.Path] = {}
    for binary in binaries(folder):
        libraries |= needed(binary)
    (folder / LIBS).mkdir()
    for name, path in libraries.items():
        shutil.copy(path, folder / LIBS / name)
        if re.search(r"\((RUNPATH|RPATH)\) +Library \w+: \[(?!\$ORIGIN\])", output("readelf", "-d", path)):
            raise SystemExit(f"carry.py: {path} looks for libraries in another folder, and would not find those in the wheel")
    return sorted(libraries)


def retag(folder: pathlib.Path, platform: str) -> str:
    """Write the platform to the wheel's metadata; its tag."""
    (about,) = folder.glob("*.dist-info/WHEEL")
    text = about.read_text(encoding="utf-8")
    about.write_text(re.sub(r"^(Tag: \S+)-linux_\w+$", rf"\1-{platform}", text, flags=re.M), encoding="utf-8")
    return re.search(r"^Tag: (\S+)$", about.read_text(encoding="utf-8"), re.M)[1]


def record(folder: pathlib.Path) -> None:
    """The list of all files with their hashes."""
    (path,) = folder.glob("*.dist-info/RECORD")
    lines = []
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file != path):
        data = file.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(folder)},sha256={digest},{len(data)}\n")
    path.write_text("".join(lines) + f"{path.relative_to(folder)},,\n", encoding="utf-8")


def pack(folder: pathlib.Path, wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            entry = zipfile.ZipInfo(str(file.relative_to(folder)), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (file.stat().st_mode & 0xFFFF) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with zipfile.ZipFile(arguments.wheel) as archive:
            for entry in archive.infolist():
                path = pathlib.Path(archive.extract(entry, folder))
                path.chmod((entry.external_attr >> 16) & 0o777 or 0o644)
        libraries = add_libraries(folder)
        machine = re.search(r"-linux_(\w+)\.whl$", arguments.wheel.name)[1]
        tag = retag(folder, f"manylinux_2_{newest_c_library(binaries(folder))}_{machine}")
        record(folder)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        made = arguments.folder / f"{'-'.join(arguments.wheel.name.split('-')[:2])}-{tag}.whl"
        pack(folder, made)
    print(f"{made}: {made.stat().st_size / 1e6:.0f} MB, with {', '.join(libraries)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
