#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""carry.py WHEEL FOLDER: a wheel in FOLDER that carries the libraries which its programs and extensions need, but those that every
Linux with Python has; its name says the oldest C library that it runs with (PEP 600). Needs binutils and ldd.

The extensions look for libraries in strata_solvers.libs by their RPATH (Strata_PORTABLE_WHEEL). It also holds for what these
libraries need in turn, as long as they have no RUNPATH to another folder than their own. What is carried has a name of its own,
sta... for lib..., so that a process may have another library of the old name: the OpenBLAS of NumPy, another package's Kokkos.

CUDA's libraries are not carried. The wheel requires NVIDIA's packages with them, and says in its version which CUDA it is for
(0.2.0+cu13). Installed with pip's --no-deps, it takes the machine's toolkit. MPI and NCCL are not carried either: they are the
machine's, and a wheel that needs them keeps its name, for machines like this one.
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
# Of CUDA: the driver comes with the machine, these libraries with NVIDIA's packages.
DRIVER = re.compile(r"lib(cuda|nvidia-ml)\.so\.1")
OF_THE_MACHINE = re.compile(r"lib(mpi(ch|_\w+|cxx|chcxx)?|nccl|rccl)\.so(\.\d+)*")
NVIDIA = {"cublas": "cublas", "cublasLt": "cublas", "cudart": "cuda-runtime", "cusolver": "cusolver", "cusparse": "cusparse", "nvJitLink": "nvjitlink"}
OF_NVIDIA = re.compile(rf"lib({'|'.join(NVIDIA)})\.so\.(\d+)")
# GLIBCXX_3.4.N came with a compiler that systems have from this C library on.
GLIBC_OF_GLIBCXX = {31: 36, 32: 38, 33: 39, 34: 42}


def output(*words: object) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def binaries(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF")


def stays(name: str) -> bool:
    """Whether it stays where it is, with all that it needs in turn."""
    return any(those.fullmatch(name) for those in (OF_THE_SYSTEM, DRIVER, OF_THE_MACHINE))


def needed(binary: pathlib.Path) -> dict[str, pathlib.Path]:
    """The libraries to carry or to require for it, directly or not, by name, where this machine has them."""
    text = output("ldd", binary)
    missing = [name for name in re.findall(r"^\s*(\S+) => not found", text, re.M) if not DRIVER.fullmatch(name)]
    if missing:
        raise SystemExit(f"carry.py: {binary.name} needs {', '.join(missing)}, which this machine does not have")
    places = {name: pathlib.Path(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+)", text, re.M)}
    found: dict[str, pathlib.Path] = {}
    asked = dynamic(binary, "NEEDED")
    while asked:
        name = asked.pop()
        if name not in found and not stays(name):
            if name not in places:
                raise SystemExit(f"carry.py: {binary.name} needs {name}, which has no SONAME or was not found")
            found[name] = places[name]
            asked += dynamic(places[name], "NEEDED")
    return found


def dynamic(binary: pathlib.Path, entry: str) -> list[str]:
    """Its NEEDED, SONAME, RPATH or RUNPATH."""
    return re.findall(rf"\({entry}\) +[^\[]*\[(.*)\]", output("readelf", "-d", binary))


def newest_c_library(files: list[pathlib.Path]) -> int:
    """N of the oldest C library 2.N that has all symbols that these ask for."""
    text = "".join(output("objdump", "-T", file) for file in files)
    of_c = max(map(int, re.findall(r"\(?GLIBC_2\.(\d+)", text)))
    of_cpp = max(map(int, re.findall(r"\(?GLIBCXX_3\.4\.(\d+)", text)), default=0)
    return max([of_c, *(glibc for version, glibc in GLIBC_OF_GLIBCXX.items() if version <= of_cpp)])


def own_name(library: str) -> str:
    """As long as the old one, as it takes its place in the file."""
    return f"sta{library[3:]}"


def rename(binary: pathlib.Path, libraries: set[str]) -> None:
    """Write the own names of these libraries to its table of strings, which SONAME, NEEDED and versions of symbols refer to."""
    asked = {name for name in dynamic(binary, "NEEDED") + dynamic(binary, "SONAME") if name in libraries}
    found = re.search(r" \.dynstr +STRTAB +\w+ +(\w+) +(\w+)", output("readelf", "-S", "-W", binary))
    data = bytearray(binary.read_bytes())
    begin, size = int(found[1], 16), int(found[2], 16)
    for name in asked:
        old = f"\0{name}\0".encode()
        if data.count(old, begin, begin + size) != 1:
            raise SystemExit(f"carry.py: the name {name} is not alone in the strings of {binary.name}")
        place = data.index(old, begin) + 1
        data[place : place + len(name)] = own_name(name).encode()
    binary.write_bytes(data)


def add_libraries(folder: pathlib.Path) -> tuple[list[str], dict[str, pathlib.Path]]:
    """Copy them there. Their own names, and where those of CUDA are."""
    libraries: dict[str, pathlib.Path] = {}
    for binary in binaries(folder):
        libraries |= needed(binary)
    of_nvidia = {name: path for name, path in libraries.items() if OF_NVIDIA.fullmatch(name)}
    carried = {name: path for name, path in libraries.items() if name not in of_nvidia}
    (folder / LIBS).mkdir()
    for name, path in carried.items():
        if not name.startswith("lib"):
            raise SystemExit(f"carry.py: {path} has no name that begins with lib")
        if any(rpath != "$ORIGIN" for rpath in dynamic(path, "RUNPATH") + dynamic(path, "RPATH")):
            raise SystemExit(f"carry.py: {path} looks for libraries in another folder, and would not find those in the wheel")
        shutil.copy(path, folder / LIBS / own_name(name))
    for binary in binaries(folder):
        rename(binary, set(carried))
    return sorted(map(own_name, carried)), of_nvidia


def requirements(libraries: dict[str, pathlib.Path]) -> tuple[str, list[str]]:
    """The version of CUDA in a wheel's version, and NVIDIA's packages with these libraries: no older than here, and of the same SONAME."""
    cuda = next(OF_NVIDIA.fullmatch(name)[2] for name in libraries if name.startswith("libcublas.so"))
    suffix = "-cu12" if cuda == "12" else ""
    packages = {}
    for name, path in sorted(libraries.items()):
        library, major = OF_NVIDIA.fullmatch(name).groups()
        here = re.search(r"\.so\.(\d+(?:\.\d+)?)", path.resolve().name)[1]
        packages[f"nvidia-{NVIDIA[library]}{suffix}"] = f">={here},<{int(major) + 1}"
    return f"cu{cuda}", [name + versions for name, versions in packages.items()]


def require(folder: pathlib.Path, local: str, packages: list[str]) -> None:
    """Write the local version and the packages to the metadata."""
    (old,) = folder.glob("*.dist-info")
    made = old.rename(old.with_name(old.name.replace(".dist-info", f"+{local}.dist-info")))
    text = (made / "METADATA").read_text(encoding="utf-8")
    head, body = text.split("\n\n", 1) if "\n\n" in text else (text.rstrip("\n"), "")
    head = re.sub(r"^(Version: \S+)$", rf"\1+{local}", head, flags=re.M)
    head += "".join(f"\nRequires-Dist: {package}" for package in packages)
    (made / "METADATA").write_text(f"{head}\n\n{body}", encoding="utf-8")


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
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        with zipfile.ZipFile(arguments.wheel) as archive:
            for entry in archive.infolist():
                path = pathlib.Path(archive.extract(entry, folder))
                path.chmod((entry.external_attr >> 16) & 0o777 or 0o644)
        libraries, of_nvidia = add_libraries(folder)
        name, version = arguments.wheel.name.split("-")[:2]
        packages = []
        if of_nvidia:
            local, packages = requirements(of_nvidia)
            require(folder, local, packages)
            version += f"+{local}"
        machine = re.search(r"-linux_(\w+)\.whl$", arguments.wheel.name)[1]
        of_machine = any(OF_THE_MACHINE.fullmatch(name) for binary in binaries(folder) for name in dynamic(binary, "NEEDED"))
        tag = retag(folder, f"linux_{machine}" if of_machine else f"manylinux_2_{newest_c_library(binaries(folder))}_{machine}")
        record(folder)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        made = arguments.folder / f"{name}-{version}-{tag}.whl"
        pack(folder, made)
    also = f"; it requires {', '.join(packages)}" if packages else ""
    print(f"{made}: {made.stat().st_size / 1e6:.0f} MB, with {', '.join(libraries)}{also}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
