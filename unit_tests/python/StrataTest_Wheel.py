# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""packaging/wheel/carry.py on small libraries, made here: what it carries, under which names, and what it leaves to NVIDIA's packages; and what pip's user is told."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import pathlib
import pty
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest

CARRY = pathlib.Path(__file__).resolve().parents[2] / "packaging/wheel/carry.py"
MACHINE = os.uname().machine


def compiled(path: pathlib.Path, source: str, *options: str, has_name: bool = True) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    name = [f"-Wl,-soname,{path.name}"] if has_name else []
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(path), *name, *options]
    subprocess.run(words, input=source.encode(), check=True)
    return path


class Project:
    """A wheel with an extension, and a folder of libraries that it loads."""

    def __init__(self, folder: pathlib.Path) -> None:
        if not all(map(shutil.which, ("cc", "readelf", "objdump", "ldd"))):
            pytest.skip("there is no compiler of C, or no binutils")
        self.folder, self.libraries = folder, folder / "libraries"
        self.versions = folder / "versions"
        self.versions.write_text("PIGEON_1 { global: *; };\n")

    def library(self, name: str, value: int, *options: str) -> pathlib.Path:
        """Its function, called as the library, gives this number; it has a versioned symbol."""
        word = re.sub(r"lib(\w+)\..*", r"\1", name)
        source = f"int {word}(void) {{ return {value}; }}"
        return compiled(self.libraries / name, source, f"-Wl,--version-script,{self.versions}", *options)

    def wheel(self, libraries: list[pathlib.Path], rpath: str = "$ORIGIN/../strata_solvers.libs") -> pathlib.Path:
        """Of an extension that adds up what these give, and calls fstat, which glibc has under this name from 2.33 on."""
        words = [re.sub(r"lib(\w+)\..*", r"\1", library.name) for library in libraries]
        source = "#include <sys/stat.h>\n" + "".join(f"int {word}(void);\n" for word in words)
        source += f"int answer(void) {{ struct stat s; return fstat(-1, &s) + 1 + {' + '.join(f'{word}()' for word in words)}; }}\n"
        linked = [*map(str, libraries), f"-Wl,--disable-new-dtags,-rpath,{rpath}"]
        extension = compiled(self.folder / "_core.abi3.so", source, *linked)
        about = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp312-abi3-linux_" + MACHINE + "\n"
        texts = {"WHEEL": about, "METADATA": "Metadata-Version: 2.4\nName: strata-solvers\nVersion: 1.2.3\nRequires-Dist: numpy\n\nVersion: of the page\n"}
        path = self.folder / f"strata_solvers-1.2.3-cp312-abi3-linux_{MACHINE}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(extension, "strata/_core.abi3.so")
            for name, text in {**texts, "RECORD": ""}.items():
                archive.writestr(f"strata_solvers-1.2.3.dist-info/{name}", text)
        return path

    def carried(self, wheel: pathlib.Path, status: int = 0) -> str:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.libraries)}
        done = subprocess.run([sys.executable, str(CARRY), str(wheel), str(self.folder / "made")], env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def made(self) -> pathlib.Path:
        (wheel,) = (self.folder / "made").glob("*.whl")
        return wheel

    def installed(self) -> pathlib.Path:
        site = self.folder / "site"
        with zipfile.ZipFile(self.made()) as archive:
            archive.extractall(site)
        return site


@pytest.fixture()
def project(tmp_path: pathlib.Path) -> Project:
    return Project(tmp_path)


def answer(site: pathlib.Path, *before: pathlib.Path) -> int:
    """Of the extension in a process that has loaded these libraries."""
    program = "import ctypes, sys\nfor name in sys.argv[1:]: last = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)\nprint(last.answer())"
    words = [sys.executable, "-c", program, *map(str, before), str(site / "strata/_core.abi3.so")]
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return int(subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout)


def check_record(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/RECORD")]
        lines = {line[0]: line[1:] for line in csv.reader(io.StringIO(archive.read(name).decode()))}
        assert set(lines) == set(archive.namelist())
        assert lines.pop(name) == ["", ""]
        for path, (digest, size) in lines.items():
            data = archive.read(path)
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert int(size) == len(data)


def test_a_library_is_carried_under_a_name_of_its_own(project: Project) -> None:
    deep = project.library("libdeep.so.2", 5)
    pigeon = project.library("libpigeon.so.1", 7, str(deep))
    project.carried(project.wheel([pigeon, deep]))
    assert re.fullmatch(rf"strata_solvers-1\.2\.3-cp312-abi3-manylinux_2_33_{MACHINE}\.whl", project.made().name)
    check_record(project.made())
    site = project.installed()
    assert {path.name for path in (site / "strata_solvers.libs").iterdir()} == {"stapigeon.so.1", "stadeep.so.2"}
    assert "Requires-Dist: numpy\n\n" in (site / "strata_solvers-1.2.3.dist-info/METADATA").read_text()
    stranger = compiled(project.folder / "stranger/libpigeon.so.1", "int pigeon_of_another(void) { return 9; }")
    shutil.rmtree(project.libraries)
    assert answer(site) == answer(site, stranger) == 12


def test_the_libraries_of_cuda_are_left_to_nvidia(project: Project) -> None:
    libraries = {"libcublas.so.13": 3, "libcusolver.so.12": 4, "libpigeon.so.1": 5}
    made = [project.library(name, value) for name, value in libraries.items()]
    made[0].rename(project.libraries / "libcublas.so.13.2.0.9")
    made[0].symlink_to("libcublas.so.13.2.0.9")
    project.library("libcuda.so.1", 6)
    said = project.carried(project.wheel(made, "$ORIGIN/../strata_solvers.libs:$ORIGIN/../nvidia/cu13/lib"))
    assert re.fullmatch(rf"strata_solvers-1\.2\.3\+cu13-cp312-abi3-manylinux_2_33_{MACHINE}\.whl", project.made().name)
    assert "it requires nvidia-cublas>=13.2,<14, nvidia-cusolver>=12,<13" in said
    check_record(project.made())
    site = project.installed()
    assert [path.name for path in (site / "strata_solvers.libs").iterdir()] == ["stapigeon.so.1"]
    head, body = (site / "strata_solvers-1.2.3+cu13.dist-info/METADATA").read_text().split("\n\n", 1)
    assert "\nVersion: 1.2.3+cu13\n" in head and body == "Version: of the page\n"
    assert [line for line in head.splitlines() if line.startswith("Requires-Dist: nvidia")] == [
        "Requires-Dist: nvidia-cublas>=13.2,<14", "Requires-Dist: nvidia-cusolver>=12,<13"]
    (site / "nvidia/cu13/lib").mkdir(parents=True)
    for path in made[:2]:
        shutil.copy(path, site / "nvidia/cu13/lib" / path.name)
    shutil.rmtree(project.libraries)
    assert answer(site) == 12


def test_a_wheel_for_cuda_12_names_its_packages(project: Project) -> None:
    made = [project.library(name, 1) for name in ("libcublas.so.12", "libcublasLt.so.12", "libcudart.so.12")]
    said = project.carried(project.wheel(made))
    assert "it requires nvidia-cublas-cu12>=12,<13, nvidia-cuda-runtime-cu12>=12,<13\n" in said
    assert project.made().name.startswith("strata_solvers-1.2.3+cu12-")


@pytest.mark.parametrize("name", ["libmpi.so.40", "libmpich.so.12", "libmpi_gnu_123.so.12", "libmpichcxx.so.12"])
def test_mpi_stays_with_the_machine(project: Project, name: str) -> None:
    deep = project.library("libdeep.so.2", 5)
    mpi = project.library(name, 6, str(deep), "-Wl,--enable-new-dtags,-rpath,/mpi/lib")
    pigeon = project.library("libpigeon.so.1", 7)
    project.carried(project.wheel([pigeon, mpi]))
    assert project.made().name == f"strata_solvers-1.2.3-cp312-abi3-linux_{MACHINE}.whl"
    site = project.installed()
    assert [path.name for path in (site / "strata_solvers.libs").iterdir()] == ["stapigeon.so.1"]
    assert answer(site, deep, mpi) == 13


def test_a_library_without_a_name_is_refused(project: Project) -> None:
    """One without SONAME is asked for by its path."""
    pigeon = compiled(project.libraries / "libpigeon.so.1", "int pigeon(void) { return 7; }", has_name=False)
    said = project.carried(project.wheel([pigeon]), status=1)
    assert f"_core.abi3.so needs {pigeon}, which has no SONAME or was not found" in said


PORTABLE = """cmake_minimum_required(VERSION 3.25)
project(pigeon LANGUAGES C)
include(%s)
file(WRITE ${CMAKE_BINARY_DIR}/pigeon.c "int pigeon(void) { return 1; }")
add_library(pigeon SHARED ${CMAKE_BINARY_DIR}/pigeon.c)
strata_portable(pigeon "$ORIGIN/..")
install(TARGETS pigeon DESTINATION strata)
"""


@pytest.mark.parametrize(("cuda", "folders"), [
    ("", []), ("12.8", ["cublas/lib", "cuda_runtime/lib", "cusolver/lib", "cusparse/lib", "nvjitlink/lib"]), ("13.0", ["cu13/lib"])])
def test_where_a_wheel_looks_for_libraries(project: Project, cuda: str, folders: list[str]) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    build, module = project.folder / "build", CARRY.parents[2] / "cmake/StrataPortable.cmake"
    (project.folder / "CMakeLists.txt").write_text(PORTABLE % module)
    options = ["-DKokkos_ENABLE_CUDA=ON", f"-DCUDAToolkit_VERSION={cuda}", f"-DCUDAToolkit_VERSION_MAJOR={cuda[:2]}"] if cuda else []
    for words in (["-S", project.folder, "-B", build, *options], ["--build", build], ["--install", build, "--prefix", project.folder]):
        subprocess.run(["cmake", *map(str, words)], check=True, capture_output=True)
    text = subprocess.run(["readelf", "-d", project.folder / "strata/libpigeon.so"], check=True, capture_output=True, text=True).stdout
    expected = ["$ORIGIN/../strata_solvers.libs", *(f"$ORIGIN/../nvidia/{folder}" for folder in folders), *(["/usr/local/cuda/lib64"] if cuda else [])]
    assert re.findall(r"\((\w+)\) +Library (?:rpath|runpath): \[(.*)\]", text) == [("RPATH", ":".join(expected))]


def asked_of_pip(project: Project, *options: str) -> str:
    """What make.sh asks of pip and carry.py for a tree in `build`, with a stand-in for Python."""
    programs = project.folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, text in {"python3": 'echo "$@ LIBRARIES=$LD_LIBRARY_PATH CMAKE_ARGS=$CMAKE_ARGS"', "cmake": "true"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    words = ["bash", str(CARRY.with_name("make.sh")), "source", str(project.folder / "build"), "wheels", *options]
    return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout


def test_a_wheel_of_a_tree_of_its_own(project: Project) -> None:
    said = asked_of_pip(project, "-DStrata_ENABLE_TPL_ONEDNN=OFF", "-DKokkos_DIR=/pigeon/lib/cmake/Kokkos")
    assert "-C wheel.py-api=cp312 " in said and "-C cmake.define.Kokkos_DIR=/pigeon/lib/cmake/Kokkos " in said
    assert said.count("cmake.define.Strata_ENABLE_TPL_ONEDNN=OFF") == 1
    compiled(project.folder / "build/python/strata/_core.abi3.so", "int core(void) { return 1; }", "-Wl,-rpath,/pigeon/lib:/dove/lib")
    assert "wheels LIBRARIES=/pigeon/lib:/dove/lib CMAKE_ARGS=\n" in asked_of_pip(project)


def test_a_tree_that_is_compiled_stays_as_it_is(project: Project) -> None:
    cache = project.folder / "build/CMakeCache.txt"
    cache.parent.mkdir()
    cmake = project.folder / "programs/cmake"
    text = f"Strata_ENABLE_TESTS:BOOL=ON\nStrata_ENABLE_MPI:BOOL=ON\nCMAKE_COMMAND:INTERNAL={cmake}\nCMAKE_MAKE_PROGRAM:FILEPATH=/pigeon/ninja\n"
    cache.write_text(text)
    said = asked_of_pip(project, "-DKokkos_DIR=/pigeon")
    assert "py-api" not in said and "Kokkos_DIR" not in said
    assert {f"cmake.define.Strata_{name}=ON" for name in ("ENABLE_TESTS", "ENABLE_MPI", "PORTABLE_WHEEL")} == set(re.findall(r"cmake\.define\S+", said))
    assert "CMAKE_ARGS=-DCMAKE_MAKE_PROGRAM=/pigeon/ninja" in said
    assert cache.read_text() == text


def on_its_terminal(*words: object) -> str:
    """What a command says there, whose output goes elsewhere."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp("sh", ["sh", "-c", f"{shlex.join(map(str, words))} >/dev/null 2>&1"])
    said = b""
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:  # it has ended
        pass
    os.waitpid(process, 0)
    os.close(terminal)
    return " ".join(said.decode().split())


@pytest.mark.parametrize("portable", [False, True])
def test_pips_user_is_told_what_is_built(tmp_path: pathlib.Path, portable: bool) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    options = ["-DSKBUILD=2", "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON", f"-DStrata_KOKKOS_SOURCE=file://{tmp_path}/absent.tar.gz"]
    options += ["-DStrata_PORTABLE_WHEEL=ON"] if portable else []  # bootstrap says it itself
    said = on_its_terminal("cmake", "-S", CARRY.parents[2], "-B", tmp_path / "build", *options)
    assert ("strata: Kokkos was not found (Kokkos_ROOT names yours), so it is built from its sources" in said) != portable, said


def test_refuses_what_would_not_be_found(project: Project) -> None:
    pigeon = project.library("libpigeon.so.1", 7, "-Wl,--enable-new-dtags,-rpath,/pigeon/lib")
    wheel = project.wheel([pigeon])
    assert "looks for libraries in another folder" in project.carried(wheel, 1)
    pigeon.unlink()
    assert "needs libpigeon.so.1, which this machine does not have" in project.carried(wheel, 1)
