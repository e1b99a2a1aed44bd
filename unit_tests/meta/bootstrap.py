#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Run `bootstrap` without a network, a GPU or a compiler for one: a copy of it, with stand-ins for the programs that it
asks; check what it passes on and what it says when something is missing. CMake says what it lacks of Kokkos' sources.

usage: [STRATA_KOKKOS_SOURCE=FOLDER STRATA_KOKKOS_KERNELS_SOURCE=FOLDER] bootstrap.py SOURCE_FOLDER
       with the folders: configure Strata with them, too
"""
import concurrent.futures
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from bootstrap_copy import Copy, expect

COMMIT = re.compile(r"set\(Strata_KOKKOS_COMMIT ([0-9a-f]{40})\)")
SHA256 = re.compile(r"set\(Strata_KOKKOS_SHA256 ([0-9a-f]{64})\)")


def refusals(copy):
    for arguments in (["demo", "--pigeon"], ["docs", "--gpu"], ["systems", "--gpu"], ["test", "pigeon"], ["shell", "--pigeon"], ["demo", "--trilinos"],
                      ["clean", "--gpu"], ["test", "--part"], ["test", "--part", "pigeon"], ["test", "--trilinos", "--all"]):
        said, asked = copy.run(*arguments)
        if "--part" in arguments:
            expect(arguments, said, f"test --part: '{' '.join(arguments[2:])}' is none of: trilinos ranks", "usage: ./bootstrap demo")
        else:
            expect(arguments, said, f"{arguments[0]} has no option '{arguments[-1]}'", "usage: ./bootstrap demo")
        assert not asked
    said, _ = copy.run("pigeon")
    expect("a command", said, "no command 'pigeon'")

    if not shutil.which("hipcc") and not pathlib.Path("/opt/rocm/bin/hipcc").exists():
        said, _ = copy.run("demo", "--gpu")
        expect("no compiler", said, "--gpu needs nvcc or hipcc", "no_cuda/bin", "STRATA_CUDA=")
    for name in ("STRATA_KOKKOS_SOURCE", "STRATA_KOKKOS_KERNELS_SOURCE"):
        said, _ = copy.run("demo", "--openmp", **{name: "/pigeon"})
        expect("no folder", said, f"{name}=/pigeon is neither a folder nor an address")


def gpus(copy):
    nvcc = {"STRATA_CUDA": str(copy.programs / "cuda")}
    copy.program("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    copy.program("cuda/bin/nvcc", "echo 'Cuda compilation tools, release 12.1, V12.1.105'")
    said, _ = copy.run("demo", "--gpu", **nvcc)
    expect("an old toolkit", said, "CUDA 12.1 of", "Strata needs 12.2 or later")
    copy.program("cuda/bin/nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    said, _ = copy.run("demo", "--gpu", **nvcc)
    expect("no GPU", said, "no GPU answers here", "nvidia-smi", "STRATA_GPU_ARCH=", "sm_90", "gfx942")
    for pigeon in ("pigeon", "sm_", "sm_11", "sm_9x"):
        said, asked = copy.run("demo", "--gpu", STRATA_GPU_ARCH=pigeon, **nvcc)
        expect("an architecture", said, f"Kokkos has no name for the architecture '{pigeon}'")
        assert not asked
    said, asked = copy.run("demo", "--gpu", STRATA_GPU_ARCH="gfx942", **nvcc)
    expect("AMD's with CUDA", said, "the architecture 'gfx942' is AMD's", f"{copy.programs}/cuda has a CUDA toolkit", "STRATA_CUDA=")
    assert not asked

    # The architecture that the GPU says, the one that is given, and a Kokkos for it that is there.
    copy.program("nvidia-smi", "echo 8.0; echo 9.0")
    for given, name in (("", "AMPERE80"), ("sm_90", "HOPPER90"), ("ADA89", "ADA89")):
        said, asked = copy.run("demo", "--gpu", STRATA_GPU_ARCH=given, **nvcc)
        expect(name, said, f"Kokkos for CUDA ({name})", "The first time this takes about", "Building Kokkos 4.9 (CUDA)",
               "no compiler today", "failed: Compiling Kokkos")
        expect(name, asked, "-DKokkos_ENABLE_CUDA=ON", f"-DKokkos_ARCH_{name}=ON", f"build/machine-gpu-kokkos-{name}")
        assert "Strata_KOKKOS_SOURCE" not in asked
        assert "Is GitHub reached?" not in said
    for sources in ({}, {"STRATA_KOKKOS_SOURCE": str(copy.folder)}):
        said, _ = copy.run("demo", "--gpu", OFFLINE="1", **nvcc, **sources)
        expect("no network", said, "failed: Kokkos for CUDA (AMPERE80)", "Is GitHub reached?", "STRATA_KOKKOS_SOURCE=", "STRATA_KOKKOS_KERNELS_SOURCE=")
    said, _ = copy.run("demo", "--gpu", OFFLINE="1", **nvcc, **sources, STRATA_KOKKOS_KERNELS_SOURCE=str(copy.folder))
    assert "GitHub" not in said, said
    said, asked = copy.run("test", "--gpu", HAS="CUDA", **nvcc)
    expect("its Kokkos", said, "this machine's Kokkos 4.9 (CUDA)")
    expect("its Kokkos", asked, "-DSTRATA_ARCH=AMPERE80", "-DStrata_REQUIRE_BACKEND=CUDA")
    assert "cmake/kokkos" not in asked
    said, asked = copy.run("test", "--gpu", HAS="CUDA", STRATA_KOKKOS_SOURCE="https://pigeon/kokkos.git", **nvcc)
    expect("a source that is asked for", asked, "-DStrata_KOKKOS_SOURCE=https://pigeon/kokkos.git")

    copy.program("hipcc", "")
    copy.program("amdgpu-arch", "echo gfx942")
    said, asked = copy.run("shell", "--gpu")
    expect("HIP", said, "Kokkos for HIP (AMD_GFX942)")
    said_of_nvidia, _ = copy.run("shell", "--gpu", STRATA_GPU_ARCH="sm_90")
    expect("NVIDIA's with HIP", said_of_nvidia, "the architecture 'sm_90' is not AMD's", "no nvcc was found", "STRATA_CUDA=")
    expect("HIP", asked, "-DKokkos_ENABLE_HIP=ON", "-DKokkos_ARCH_AMD_GFX942=ON", "-DCMAKE_CXX_COMPILER=hipcc")


def threads(copy):
    source = copy.folder / "source"
    source.mkdir()
    _, asked = copy.run("demo", "--openmp", STRATA_KOKKOS_SOURCE=f"{source}/../source")
    expect("a folder", asked, f"-DStrata_KOKKOS_SOURCE={source}", "-DKokkos_ENABLE_OPENMP=ON", "build/machine-openmp-kokkos")

    # OpenMP's threads are not bound and sleep while they wait, unless the user wants it otherwise.
    builds = {"status": 0, "BUILDS": "1", "HAS": "OPENMP"}
    for option, given, wanted in (("--openmp", {}, "false passive"), ("--openmp", {"OMP_WAIT_POLICY": "active"}, "false active"), ("", {}, "")):
        kept = {"OMP_PROC_BIND": "", "OMP_WAIT_POLICY": ""} | given
        said, asked = copy.run("shell", *([option] if option else []), "--", "sh", "-c", "echo policy: $OMP_PROC_BIND $OMP_WAIT_POLICY", **builds, **kept)
        assert said.splitlines()[0].split()[1:] == wanted.split(), said
        assert "BLAS_LIBRARIES" not in asked, asked

    # A hint before it compiles, where most CPUs would be idle.
    for cpus, devices, hint in ((16, "SERIAL", True), (4, "SERIAL", False), (16, "OPENMP;SERIAL", False)):
        copy.program("nproc", f"echo {cpus}")
        for command in ("demo", "test"):
            said, _ = copy.run(command, DEVICES=devices)
            assert (f"one of {cpus} CPUs; all of them: ./bootstrap {command} --openmp" in said) == hint, said


def wheels(copy):
    """For CPUs, and with --gpu for CUDA; what make.sh is asked for."""
    (copy.folder / "packaging/wheel/make.sh").write_text('echo "made by $@"\n')
    places = f"{copy.folder} {copy.folder}/build/machine%s-wheel {copy.folder}/build/wheels"
    said, _ = copy.run("wheel", status=0)
    expect("a wheel for CPUs", said, f"The wheel: made by {places % ''}")
    said, _ = copy.run("wheel", "--openmp")
    expect("a wheel for threads", said, "wheel has no option '--openmp'")
    nvcc = {"STRATA_CUDA": str(copy.programs / "cuda"), "STRATA_GPU_ARCH": "sm_90"}
    copy.program("cuda/bin/nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    said, _ = copy.run("wheel", "--gpu", status=0, BUILDS="1", **nvcc)
    expect("a wheel for CUDA", said, f"The wheel: made by {places % '-gpu'} -DStrata_REQUIRE_BACKEND=CUDA",
           f"-DKokkos_DIR={copy.folder}/build/machine-gpu-kokkos-HOPPER90/lib/cmake/Kokkos", "The first time this takes about")
    tree = copy.folder / "build/machine-gpu"
    for text in ("apps/strata", "python/strata/_core.abi.so"):
        copy.program(tree / text, "")
    # What is compiled without MPI, for the same GPU, is taken.
    for mpi, gpu, place, words in (("ON", "HOPPER90", "-gpu-wheel", False), ("OFF", "AMPERE80", "-gpu-wheel", False), ("OFF", "HOPPER90", "-gpu", True)):
        kokkos = f"Kokkos_DIR:PATH={copy.folder}/build/machine-gpu-kokkos-{gpu}/lib/cmake/Kokkos"
        (tree / "CMakeCache.txt").write_text(f"Strata_ENABLE_TESTS:BOOL=ON\nStrata_ENABLE_MPI:BOOL={mpi}\n{kokkos}\n")
        said, _ = copy.run("wheel", "--gpu", status=0, BUILDS="1", **nvcc)
        expect(f"a wheel beside a tree with MPI {mpi}, for {gpu}", said, f"The wheel: made by {copy.folder} {copy.folder}/build/machine{place} ")
        assert ("What is compiled in build/machine-gpu is taken" in said) == words, said
    copy.program("hipcc", "")
    said, _ = copy.run("wheel", "--gpu", HAS="HIP", STRATA_GPU_ARCH="gfx942")
    expect("a wheel for ROCm", said, "a wheel for ROCm is not made", "pip install .")


def shells(copy):
    """What has not changed is neither configured nor compiled, and so begins in less than half a second."""
    builds = {"status": 0, "BUILDS": "1"}
    source = copy.folder / "source.cpp"
    source.touch()
    said, asked = copy.run("shell", "--", "echo", "pigeon", **builds)
    expect("the first shell", asked, "--preset release", "--build")
    expect("the first shell", said, "pigeon")
    seconds = []
    for _ in range(5):
        begin = time.monotonic()
        said, asked = copy.run("shell", "--", "echo", "pigeon", **builds)
        seconds.append(time.monotonic() - begin)
        assert said == "pigeon\n" and not asked, (said, asked)
    assert min(seconds) < 0.5, seconds
    time.sleep(0.05)  # longer than a file system's clock stands still
    source.touch()
    _, asked = copy.run("shell", "--", "true", **builds)
    expect("a source that has changed", asked, "--build")
    _, asked = copy.run("shell", "--", "true", **builds, CXXFLAGS="-g")
    expect("other flags", asked, "--build")
    (copy.folder / "build/machine/apps/strata").unlink()
    _, asked = copy.run("shell", "--", "true", **builds, CXXFLAGS="-g")
    expect("a program that is gone", asked, "--build")
    assert "strata_python_package" not in asked, asked
    (copy.folder / "build/machine/CMakeCache.txt").write_text("Strata_ENABLE_PYTHON:BOOL=ON\n")
    source.touch()
    said, asked = copy.run("shell", "--", "sh", "-c", "echo $PYTHONPATH", **builds, PYTHONPATH="/pigeon")
    expect("the package for Python", asked, "--target strata_python_package")
    expect("the package for Python", said, f"{copy.folder}/build/machine/python:/pigeon\n")


# A stand-in for mmdebstrap: each of two that run at the same time waits for the other.
MMDEBSTRAP = """
case " $* " in
  *" sid - "*) read -r word <"$ROOMS/trixie"; echo >"$ROOMS/sid" ;;
  *" trixie - "*) echo >"$ROOMS/trixie"; read -r word <"$ROOMS/sid" ;;
esac
tar -cf - -T /dev/null
"""


def mirror_of(copy):
    """What makes private systems for this copy: the address of a mirror; programs that do nothing."""
    mirror = copy.folder / "mirror"
    for suite in ("trixie", "sid", "experimental"):
        (mirror / "dists" / suite).mkdir(parents=True)
        (mirror / "dists" / suite / "InRelease").touch()
    for tool in ("bwrap", "newuidmap"):
        copy.program(tool, "")
    return {"status": 0, "timeout": 60, "STRATA_DEBIAN_MIRROR": f"copy:{mirror}"}


def systems(copy):
    """Both private systems are made at the same time, and once. In the first one, --openmp links the OpenBLAS for OpenMP."""
    rooms = copy.folder / "rooms"
    rooms.mkdir()
    os.mkfifo(rooms / "trixie")
    os.mkfifo(rooms / "sid")
    given = mirror_of(copy) | {"ROOMS": str(rooms)}
    copy.program("mmdebstrap", MMDEBSTRAP)
    said, asked = copy.run("systems", "--trilinos", **given)
    expect("both", said, "private Debian system in build/root (", "private Debian system in build/root-trilinos (")
    assert all((copy.folder / "build" / name / ".stamp").exists() for name in ("root", "root-trilinos")) and not asked
    said, _ = copy.run("systems", "--trilinos", **given)
    assert not said, said

    library = "/usr/lib/pigeon-linux-gnu/openblas-openmp/libopenblas.so"
    path = pathlib.Path(f"{copy.folder}/build/root{library}")
    path.parent.mkdir(parents=True)
    path.touch()
    copy.program("bwrap", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    _, asked = copy.run("shell", "--openmp", "--", "true", BUILDS="1", LACKS="1", **given)
    configured = [line for line in asked.splitlines() if "--preset" in line]
    assert len(configured) == 1, asked
    expect("OpenBLAS for OpenMP", configured[0], f"{copy.folder}/build/debian-openmp ", f"-DBLAS_LIBRARIES={library} ", f"-DLAPACK_LIBRARIES={library} ")


# A stand-in for mmdebstrap that writes down that it ran; with WAITS it waits for a line there.
PLAIN_MMDEBSTRAP = """
echo made >>"$LOG"
[ -z "$WAITS" ] || { echo >"$WAITS.begun"; read -r word <"$WAITS"; }
tar -cf - -T /dev/null
"""


def users(copy):
    """A shell takes a system without the checks' packages, but the tests' where that is there already."""
    given = mirror_of(copy) | {"BUILDS": "1", "LACKS": "1", "XDG_CACHE_HOME": "/dev/null/pigeon"}
    copy.program("mmdebstrap", 'echo "made $*" >>"$LOG"; tar -cf - -T /dev/null')
    copy.program("bwrap", 'echo "from $2" >>"$LOG"; while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    for made in (1, 0):
        _, asked = copy.run("shell", "--openmp", "--", "true", **given)
        expect("a user's system", asked, f"from {copy.folder}/build/root-program/usr")
        assert asked.count("made ") == made and "doxygen" not in asked and "sid main" not in asked, asked
    _, asked = copy.run("systems", **given)
    expect("the tests' system", asked, "made ", "doxygen", "sid main")
    _, asked = copy.run("shell", "--openmp", "--", "true", **given, CXXFLAGS="-g")
    expect("the tests' system, which is there", asked, f"from {copy.folder}/build/root/usr")
    assert "made " not in asked, asked


def cache(copy):
    """A system is made once for all checkouts; where the cache can't be used, in build/. Old ones go, and those that are too many."""
    other = Copy(copy.source, copy.folder.parent / "other")
    home = copy.folder.parent / "cache-home"
    given = {}
    for one in (copy, other):
        given[one] = mirror_of(one) | {"XDG_CACHE_HOME": str(home)}
        one.program("mmdebstrap", PLAIN_MMDEBSTRAP)

    def made(one, *arguments, kept, times, **environment):
        """Whether the system is in the cache, and how often it was made."""
        said, asked = one.run(*(arguments or ["systems"]), **given[one] | environment)
        root = one.folder / "build/root"
        assert root.is_symlink() == kept and (root / ".stamp").exists() and asked.count("made") == times, (kept, times, said, asked)

    made(copy, kept=True, times=1)
    made(other, kept=True, times=0)
    stamp = (copy.folder / "build/root").resolve() / ".stamp"
    os.utime(stamp, (time.time() - 15 * 86400,) * 2)
    made(other, kept=True, times=1)

    # Two others: the older one goes, unless it is in use. What is in use has a shared lock.
    for number, name in enumerate(("older", "newer")):
        folder = home / "strata/systems" / name
        folder.mkdir()
        for file in (".stamp", ".used"):
            (folder / file).touch()
            os.utime(folder / file, (time.time() - 3600 + number, time.time() - 3600 + number))
    for name, left in (("older", {"older", "newer"}), ("newer", {"newer"})):
        shutil.rmtree(stamp.parent, ignore_errors=True)
        with open(home / "strata/systems" / name / ".stamp") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            made(copy, kept=True, times=1)
        names = {folder.name for folder in (home / "strata/systems").iterdir()} - {stamp.parent.name}
        assert names == left, (name, names)

    # Without a folder, on a disk that can't be written or is full, and while another fills it: in build/.
    for lacks in ({"XDG_CACHE_HOME": "", "HOME": ""}, {"XDG_CACHE_HOME": "/dev/null/pigeon"}):
        made(copy, kept=False, times=1, **lacks)
        shutil.rmtree(copy.folder / "build/root")
    shutil.rmtree(home)
    copy.program("tar", 'case "$*" in *cache-home*) echo "tar: No space left on device" >&2; exit 2 ;; esac; exec /usr/bin/tar "$@"')
    made(copy, kept=False, times=2)
    (copy.programs / "tar").unlink()
    shutil.rmtree(copy.folder / "build/root")
    waits = copy.folder / "waits"
    os.mkfifo(waits)
    os.mkfifo(f"{waits}.begun")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(made, copy, kept=True, times=1, WAITS=str(waits))
        pathlib.Path(f"{waits}.begun").read_text()
        (other.folder / "build/root").unlink(missing_ok=True)
        made(other, kept=False, times=1)
        waits.write_text("go on\n")
        first.result()

    copy.log = copy.folder.parent / "clean.log"
    copy.run("clean", "--cache", **given[copy])
    assert not (home / "strata").exists() and not (copy.folder / "build").exists()


def parts(copy, source):
    """The tests of a push, of each part and of all: what is built, and which labels are left out. .ci/run has the same parts."""
    copy.program("ctest", 'echo "ctest $@" >>"$LOG"; echo "TMPDIR $TMPDIR" >>"$LOG"; touch "$TMPDIR/left"')
    names = re.search(r"^parts=\((.*?)\)", (source / "bootstrap").read_text(), re.MULTILINE).group(1).split()
    in_turn = re.search(r"^parts=\((.*?)\)", (source / ".ci/run").read_text(), re.MULTILINE).group(1).split()
    assert sorted(names) == sorted(in_turn) and len(names) == 8, (names, in_turn)

    def left_out(*options):
        _, asked = copy.run("test", *options, status=0, BUILDS="1")
        chosen = re.search(r"^ctest .*", asked, re.MULTILINE).group(0).split()
        return re.compile(chosen[-1]) if "--label-exclude" in chosen else None, asked

    every = [f"all.{name}" for name in names] + ["all"]
    pattern, asked = left_out()
    assert all(pattern.search(label) for label in every) and not pattern.search("dense"), pattern
    expect("a push", asked, "-DStrata_ENABLE_BENCHMARKS=OFF")
    own = pathlib.Path(re.search(r"^TMPDIR (.*)", asked, re.MULTILINE).group(1))
    assert own.name.startswith("strata.") and own.parent.exists() and not own.exists(), own
    for name in names:
        if name != "trilinos":
            pattern, _ = left_out("--part", name)
            mine = {label for label in every if not pattern.search(label)}
            assert mine == ({"all.studies", "all"} if name == "studies" else {f"all.{name}"}), (name, mine)
    pattern, asked = left_out("--pages")
    assert pattern is None
    expect("pages", asked, "--label-regex ^pages$", "--target strata_pages")


def container(source):
    """The container has no package that bootstrap's private system has not, but for Kokkos', which it builds."""
    text = (source / "packaging/container/Containerfile").read_text()
    wanted = re.search(r"--no-install-recommends ([^&]*)&&", text).group(1).replace("\\", " ").split()
    known = set(re.search(r"\npackages=\(([^)]*)\)", (source / "packaging/private_debian.sh").read_text()).group(1).split())
    assert "cmake" in wanted and not set(wanted) - known, set(wanted) - known


def configure(source, build, *options, fresh=True, **environment):
    words = ["cmake", "-S", source, "-B", build, *(["--fresh"] if fresh else []), *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATA_KOKKOS")}
    done = subprocess.run(words, env=kept | environment, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def sources(copy, source):
    """What CMake says of a folder without Kokkos, of a repository without the commit and of another archive; and that it builds one with it."""
    pins = (copy.folder / "cmake/StrataKokkosSource.cmake").read_text()
    pinned, sha256 = COMMIT.search(pins).group(1), SHA256.search(pins).group(1)
    repository, kokkos, build = copy.folder / "repository", copy.folder / "cmake/kokkos", copy.folder / "build"
    repository.mkdir()
    fetch = "-DStrata_FETCH_KOKKOS=ON"
    cases = [(kokkos, f"No source of Kokkos is in {repository}", [f"-DStrata_KOKKOS_SOURCE={repository}"]),
             (source, f"No source of Kokkos is in {repository}", [fetch, f"-DFETCHCONTENT_SOURCE_DIR_KOKKOS={repository}"])]
    archive = copy.folder / "kokkos.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(copy.folder / "cmake/kokkos", "kokkos")
    cases.append((kokkos, f"must be {sha256}", [f"-DStrata_KOKKOS_SOURCE=file://{archive}"]))
    absent = f"file://{copy.folder}/absent.tar.gz"
    cases.append((kokkos, f"was not fetched from {absent}", [f"-DStrata_KOKKOS_SOURCE={absent}"]))
    cases.append((source, "There are two ways on: name sources that you have", ["-DSKBUILD=2", "-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON",  # as pip
                                                                              f"-DStrata_KOKKOS_SOURCE={absent}"]))
    if shutil.which("git"):
        author = ["-c", "user.name=pigeon", "-c", "user.email=pigeon@example.org"]
        subprocess.run(["git", "init", "--quiet", repository], check=True)
        subprocess.run(["git", "-C", repository, *author, "commit", "--quiet", "--allow-empty", "-m", "no Kokkos"], check=True)
        cases.append((kokkos, pinned, [f"-DStrata_KOKKOS_SOURCE=file://{repository}"]))
    for what, words, options in cases:
        status, said = configure(what, build, *options)
        assert status, said
        expect(options, said, words)

    # What the environment names, also where an earlier run has noted the address that nothing was given for; but not for what is given.
    no_source, given = f"No source of Kokkos is in {repository}", ["-DStrata_KOKKOS_SOURCE=file:///pigeon.tar.gz"]
    for first, options, words in (([], [], no_source), ([f"-DStrata_KOKKOS_SOURCE={absent}"], [], absent), ([], given, "file:///pigeon.tar.gz")):
        configure(kokkos, build, "-DStrata_KOKKOS_KERNELS_SOURCE=none", *first, STRATA_KOKKOS_SOURCE=absent if not first else "")
        status, said = configure(kokkos, build, *options, fresh=False, STRATA_KOKKOS_SOURCE=str(repository))
        assert status, said
        expect((first, options), said, words)

    given = {name: os.environ.get(f"STRATA_{name}", "") for name in ("KOKKOS_SOURCE", "KOKKOS_KERNELS_SOURCE")}
    if all(pathlib.Path(folder).is_dir() and folder for folder in given.values()):
        status, said = configure(source, build, fetch, *(f"-DStrata_{name}={folder}" for name, folder in given.items()))
        assert not status, said
        expect("sources that are here", said, "Building Kokkos", "and Kokkos Kernels")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    help_text = subprocess.run([source / "bootstrap", "--help"], capture_output=True, text=True, check=True).stdout
    expect("--help", help_text, "--gpu", "--openmp", "STRATA_GPU_ARCH", "STRATA_KOKKOS_SOURCE", "STRATA_KOKKOS_KERNELS_SOURCE")
    container(source)
    with_apt = (systems, users, cache) if pathlib.Path("/usr/lib/apt/apt-helper").exists() else ()
    for part in (refusals, gpus, threads, wheels, shells, *with_apt, lambda copy: parts(copy, source), lambda copy: sources(copy, source)):
        with tempfile.TemporaryDirectory() as folder:
            part(Copy(source, pathlib.Path(folder).resolve() / "copy"))
    print("bootstrap: options, errors, architectures, sources and hints are as they should be")


if __name__ == "__main__":
    main()
