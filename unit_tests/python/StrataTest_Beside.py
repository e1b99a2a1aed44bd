# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""perf/python/beside_others.py: a side that fails, or has no time or memory, costs the others nothing."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("sklearn")
PROGRAM = pathlib.Path(__file__).parents[2] / "perf/python/beside_others.py"


def run(path: pathlib.Path, *arguments: str, first: pathlib.Path | None = None) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, rows of the JSON, what it printed; with `first` before the others' packages."""
    found = [*([str(first)] if first else []), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, str(PROGRAM), "--repeat", "1", "--json", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(found)})
    return done.returncode, json.loads(path.read_text())["results"], done.stdout + done.stderr


def test_a_package_that_fails_costs_the_others_nothing(tmp_path: pathlib.Path) -> None:
    broken = tmp_path / "sklearn"
    broken.mkdir()
    (broken / "__init__.py").write_text('raise RuntimeError("no pigeons today")\n')
    status, rows, said = run(tmp_path / "found.json", "--n", "60", "--apart", "1e-9", first=tmp_path)
    assert status == 1 and "a difference is inf" in said  # as a run failed
    solve, system, likelihood, gradient = rows
    assert solve["ratio"] > 0 and solve["ratio_kept"] > 0 and system["relative_difference"] < 1e-9
    for row in (likelihood, gradient):
        assert row["theirs"] == {"failed": "RuntimeError: no pigeons today"} and "ratio" not in row
        assert row["strata"]["seconds"] > 0 and row["kept"]["seconds"] > 0
    assert "theirs: RuntimeError: no pigeons today" in said


def test_ends_in_time_and_says_what_is_left_out(tmp_path: pathlib.Path) -> None:
    status, rows, said = run(tmp_path / "found.json", "--n", "60", "--seconds", "0")
    assert status == 0 and len(rows) == 4 and "no time left" in said
    assert all(row[who] == {"failed": "no time left"} for row in rows for who in ("strata", "kept", "theirs"))


def test_begins_nothing_for_which_there_is_no_memory(tmp_path: pathlib.Path) -> None:
    _, rows, said = run(tmp_path / "found.json", "--n", "10000000", "--cases", "solve", "likelihood")
    assert all(row[who]["failed"].startswith("left out: at least ") for row in rows for who in ("strata", "kept", "theirs"))
    assert "left out: at least 1600000 GB of host memory are needed" in said
