# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/python.md and of the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pathlib
import re
from typing import Any

import pytest
import strata

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


def test_the_page_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert programs
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for program in programs:
        if any(importlib.util.find_spec(package) is None for package in re.findall(r"^(?:import|from) (torch|sklearn)", program, re.M)):
            continue
        exec(compile(program, str(PAGE), "exec"), names)
    assert capsys.readouterr().out


def public_modules() -> list[Any]:
    for package in ("sklearn", "torch"):
        if importlib.util.find_spec(package) is not None:
            importlib.import_module(f"strata.{package}")
    return [module for name, module in vars(strata).items() if inspect.ismodule(module) and not name.startswith("_") and module.__name__.startswith("strata.")]


def test_examples_of_docstrings_run() -> None:
    tried = 0
    for module in public_modules():
        failed, count = doctest.testmod(module)
        assert failed == 0, module
        tried += count
    assert tried > 0


def test_all_that_is_public_has_a_docstring() -> None:
    for module in (strata, *public_modules()):
        for name, what in vars(module).items():
            if name.startswith("_") or not getattr(what, "__module__", "").startswith("strata"):
                continue
            assert inspect.getdoc(what), f"{module.__name__}.{name}"
            members = vars(what).items() if inspect.isclass(what) else ()
            for member, value in members:
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    if "_core" in what.__module__ and not callable(value):
                        continue  # members of reports may speak for themselves
                    assert inspect.getdoc(value), f"{module.__name__}.{name}.{member}"


def test_all_names_that_are_exported_are_there() -> None:
    assert sorted(strata.__all__) == strata.__all__
    for name in strata.__all__:
        assert hasattr(strata, name), name
