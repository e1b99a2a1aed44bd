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
    for module in (strata, *public_modules(), importlib.import_module("strata._calls")):
        failed, count = doctest.testmod(module)
        assert failed == 0, module
        tried += count
    assert tried > 0


def test_help_begins_with_an_example() -> None:
    summary, example = (inspect.getdoc(strata) or "").split("\n\n")[:2]
    assert "\n" not in summary
    assert example.startswith(">>> import numpy as np, strata\n")
    assert len(example.split("\n")) <= 8


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


# They compute nothing by themselves: they ask, set up, or hand on what others compute. Metadata routing is scikit-learn's.
WITHOUT_SOURCE = re.compile(r"configuration|can_fit|.*\.(refactor|update|setUp|as_linear_operator|as_preconditioner|lower_triangle|matrix|set_\w+_request)")


def functions_of(module: Any) -> list[tuple[str, Any]]:
    """(name, function or class) of all that is called to compute: functions, classes that a caller makes, their methods."""
    found: list[tuple[str, Any]] = []
    for name in getattr(module, "__all__", vars(module)):
        what = getattr(module, name)
        if name.startswith("_") or not getattr(what, "__module__", "").startswith("strata.") or "_core" in what.__module__:
            continue
        if inspect.isclass(what) and not issubclass(what, BaseException):
            methods = [(f"{name}.{method}", value) for method, value in vars(what).items() if not method.startswith("_") and inspect.isfunction(value)]
            found += [(name, what)] * ("Parameters\n----" in (inspect.getdoc(what) or "")) + methods
        elif inspect.isfunction(what):
            found.append((name, what))
    return [(name, what) for name, what in found if not WITHOUT_SOURCE.fullmatch(name)]


def references_of(what: Any) -> str:
    """The section References of a docstring."""
    found = re.search(r"^References\n-+\n(.*?)(?=^\w+\n-{3,}$|\Z)", inspect.getdoc(what) or "", re.M | re.S)
    return found[1].strip() if found else ""


def named(module: Any, owner: str, name: str) -> Any:
    """What a docstring calls `name`: of its class, its module, or from `strata` on."""
    paths = [(strata, name.removeprefix("strata."))] if name.startswith("strata.") else [(module, name), (module, f"{owner}.{name}")]
    for root, path in paths:
        what: Any = root
        for part in path.split("."):
            what = getattr(what, part, None)
        if what is not None:
            return what
    return None


@pytest.mark.parametrize("module", (strata, *public_modules()), ids=lambda module: module.__name__)
def test_each_solver_names_its_source(module: Any) -> None:
    functions = functions_of(module)
    assert functions
    for name, what in functions:
        text = references_of(what)
        assert text, f"{module.__name__}.{name} has no section References: a paper, or As `another`"
        followed = re.match(r"As ((?:`[\w.]+`(?: and )?)+)", text)
        cited = re.search(r"doi:10\.|\b(?:18|19|20)\d\d\b|[A-Z]\. [A-Z]\w+, ", text)
        assert followed or cited, f"{module.__name__}.{name}: no paper in {text!r}"
        for other in re.findall(r"`([\w.]+)`", followed[1]) if followed else ():
            source = named(module, name.partition(".")[0], other)
            assert source is not None, f"{module.__name__}.{name}: As `{other}`, which there is not"
            assert references_of(source), f"{module.__name__}.{name}: As `{other}`, which has no source"


def test_a_docstring_without_a_source_is_seen() -> None:
    def solve() -> None:
        """Solve.

        Notes
        -----
        Golub and Ye, 1999.
        """

    assert references_of(solve) == ""
    assert references_of(strata.Factor.logdet).startswith("Ubaru")
    assert "strata.sparse" in {module.__name__ for module in public_modules()}
    assert {"solve", "Solver", "Solver.solve", "Preconditioner.apply"} <= {name for name, _ in functions_of(strata.sparse)}


def test_all_names_that_are_exported_are_there() -> None:
    assert sorted(strata.__all__) == strata.__all__
    for name in strata.__all__:
        assert hasattr(strata, name), name
