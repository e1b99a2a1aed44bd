# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""A copy of `bootstrap` in a folder of its own, with stand-ins for the programs that it asks."""
import os
import pathlib
import shutil
import subprocess

# A stand-in for CMake: it writes down its arguments. A probe finds Kokkos for the devices in HAS, and all else if nothing is in LACKS. With
# BUILDS it builds, and with OFFLINE it can't fetch Kokkos.
CMAKE = """#!/bin/sh
echo "$@" >>"$LOG"
case "$*" in
  *cmake/probe*STRATA_DEVICES=none*) [ -z "$LACKS" ] ;;
  *cmake/probe*STRATA_DEVICES=$HAS*) echo "-- found: Kokkos 4.9 ($HAS) in /pigeon" ;;
  *cmake/probe*STRATA_DEVICES=*) exit 1 ;;
  *cmake/probe*) echo "-- found: Kokkos 4.9 (SERIAL) in /pigeon" ;;
  *--build*kokkos*) [ -n "$BUILDS" ] || { echo "no compiler today"; exit 1; } ;;
  *cmake/kokkos*) [ -z "$OFFLINE" ] || exit 1; echo "-- Building Kokkos 4.9 (CUDA)" ;;
  *--preset*) echo "-- Enabled Kokkos devices: $DEVICES" ;;
  *--build*) [ -n "$BUILDS" ] && mkdir -p "$2/apps" && touch "$2/apps/strata" && chmod +x "$2/apps/strata" ;;
esac
"""


class Copy:
    """A copy of bootstrap and cmake/ in a folder of its own, with stand-ins first on the PATH."""

    def __init__(self, source, folder):
        self.folder = pathlib.Path(folder)
        self.source = source
        self.programs = self.folder / "programs"
        self.programs.mkdir(parents=True)
        shutil.copy(source / "bootstrap", self.folder)
        for name in ("packaging/private_debian.sh", "packaging/wheel/wheel.sh", "unit_tests/run_tests.sh"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(source / name, self.folder / name)
        shutil.copytree(source / "cmake", self.folder / "cmake")
        self.log = self.folder / "build/cmake.log"  # where no change counts
        self.log.parent.mkdir()
        self.program("cmake", CMAKE)

    def program(self, name, text):
        path = self.programs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith("#!") else "#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def run(self, *arguments, status=1, timeout=None, **environment):
        """What it says, and what CMake was asked. It must fail, unless the stand-in builds."""
        self.log.write_text("")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("STRATA_", "Kokkos"))}
        kept |= {"PATH": f"{self.programs}:/usr/bin:/bin", "LOG": str(self.log), "HAS": "PIGEON", "DEVICES": "SERIAL",
                 "STRATA_CUDA": str(self.programs / "no_cuda"), "STRATA_JOBS": "2", "XDG_CACHE_HOME": str(self.folder.parent / "cache-home")}
        done = subprocess.run([self.folder / "bootstrap", *arguments], env=kept | environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False)
        assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr, self.log.read_text()


def expect(what, said, *words):
    for word in words:
        assert word in said, f"{what}: '{word}' is not in:\n{said}"
