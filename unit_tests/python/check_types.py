# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""mypy --strict over the package, with the stubs that the build has made, and over the tests that use it."""
import importlib.util
import pathlib
import subprocess
import sys


def main() -> int:
    if importlib.util.find_spec("mypy") is None:
        print("mypy is not installed")
        return 77
    build = pathlib.Path(sys.argv[1])
    tests = sorted(str(path) for path in pathlib.Path(__file__).parent.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(build / "mypy"), str(build / "python/strata"), *tests]
    # Packages without types of their own, where they are installed at all.
    settings = build / "mypy.ini"
    absent = "\n".join(f"[mypy-{name}.*]\nignore_missing_imports = True\nfollow_imports = skip" for name in ("cupy", "jax", "linear_operator", "petsc4py", "scipy", "sklearn", "torch"))
    settings.write_text(f"[mypy]\n{absent}\n", encoding="utf-8")
    return subprocess.run([*command, "--config-file", str(settings)], cwd=build).returncode


if __name__ == "__main__":
    sys.exit(main())
