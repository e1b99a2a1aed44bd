# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""perf/python/beside_others.py: a side that fails, or has no time or memory, costs the others nothing."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import strata

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


def test_a_comparison_has_a_limit_of_its_own(tmp_path: pathlib.Path) -> None:
    status, rows, _ = run(tmp_path / "found.json", "--n", "60", "--cases", "solve", "system", "--limit", "0")
    assert status == 0 and len(rows) == 2
    assert all(row[who] == {"failed": "no time left"} for row in rows for who in ("strata", "kept", "theirs"))


def test_solves_with_harder_covariances_where_it_is_asked_to(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, rows, _ = run(tmp_path / "found.json", "--n", "60", "--cases", "smooth", "ill")
    assert status == 0 and [(row["case"], row["theirs_is"]) for row in rows] == [("smooth", "scipy"), ("ill", "scipy")]
    assert all(row[who]["backward_error"] < 1e-14 for row in rows for who in ("strata", "kept", "theirs"))
    monkeypatch.syspath_prepend(PROGRAM.parent)
    contenders = importlib.import_module("contenders")
    conditions = [np.linalg.cond(contenders.Problem(60, "cpu", case, "scipy").A) for case in ("solve", "smooth", "ill")]
    assert conditions == sorted(conditions)


def test_begins_nothing_for_which_there_is_no_memory(tmp_path: pathlib.Path) -> None:
    _, rows, said = run(tmp_path / "found.json", "--n", "10000000", "--cases", "solve", "likelihood")
    assert all(row[who]["failed"].startswith("left out: at least ") for row in rows for who in ("strata", "kept", "theirs"))
    assert "left out: at least 1600000 GB of host memory are needed" in said


def test_pytorch_finds_the_same_likelihood_gradient_and_solution(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch")
    status, rows, _ = run(tmp_path / "found.json", "--n", "80", "--theirs", "torch", "--apart", "1e-9")
    assert status == 0 and [row["theirs_is"] for row in rows] == ["torch"] * 4
    assert all(row["theirs"]["backward_error"] < 1e-15 for row in rows[:2])
    assert all(row["gradient_difference"] < 1e-9 for row in rows[3:])


def test_pytorch_solves_where_there_is_no_memory_for_a_copy_of_its_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    contenders = importlib.import_module("contenders")

    def no_memory(*_: Any) -> None:
        raise torch.OutOfMemoryError("for a copy")

    monkeypatch.setattr(torch, "cholesky_solve", no_memory)
    problem = contenders.Problem(70, "cpu", "solve", "torch")
    assert problem.backward_error(contenders.run_torch(problem)["x"]) < 1e-15


def test_a_package_is_asked_for_what_it_can_do_alone(tmp_path: pathlib.Path) -> None:
    _, rows, _ = run(tmp_path / "found.json", "--n", "60", "--theirs", "scipy")
    assert [row["case"] for row in rows] == ["solve", "system"]


STAND_IN = """
import importlib.abc, importlib.util, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        spec.loader = Loader(spec.loader)
        return spec

class Loader(importlib.abc.Loader):
    def __init__(self, other):
        self.other = other

    def create_module(self, spec):
        return self.other.create_module(spec)

    def exec_module(self, torch):
        self.other.exec_module(torch)
        to, cuda = torch.Tensor.to, torch.cuda
        torch.Tensor.to = lambda self, device: to(self, "cpu")
        cuda.mem_get_info, cuda.memory_reserved = (lambda: (6 << 30, 8 << 30)), (lambda: 0)
        cuda.synchronize = cuda.empty_cache = lambda: None
        cuda.get_device_name = lambda: "a host that stands in for it"

sys.meta_path.insert(0, Finder())
"""


def test_a_gpu_has_one_process_for_all_problems_of_a_side(tmp_path: pathlib.Path) -> None:
    """The way of --device cuda, with the host in the GPU's place."""
    pytest.importorskip("torch")
    if strata._core.device()[0] != 1:
        pytest.skip("this build of Strata works on a GPU")
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    arguments = ["--device", "cuda", "--apart", "1e-5"]
    status, rows, _ = run(tmp_path / "found.json", *arguments, "--n", "60", "90", "--cases", "solve", "gradient", first=tmp_path)
    assert status == 0 and len(rows) == 4
    assert all(row["ratio"] > 0 and row["ratio_kept"] > 0 for row in rows)
    status, (row,), said = run(tmp_path / "found.json", *arguments, "--n", "30000", "--cases", "solve", first=tmp_path)
    assert status == 1 and "a difference is inf" in said
    assert all(row[who]["failed"].startswith("left out: at least 14 GB of device memory") for who in ("strata", "kept", "theirs"))
