# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The notebook of examples/: its cells run from top to bottom, and print the words that it shows."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
from strata import geostat

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/three_studies.ipynb"


def words(text: str) -> list[str]:
    """Without numbers, whose last digits differ from machine to machine."""
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text).split()


@pytest.mark.skipif(not geostat.can_fit(), reason="built without NLopt")
def test_the_cells_run_and_print_what_they_show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(NOTEBOOK.parent)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = 0
    for number, cell in enumerate(cells, 1):
        exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, cell {number}", "exec"), names)
        expected = "".join(line for output in cell["outputs"] for line in output["text"])
        assert words(capsys.readouterr().out) == words(expected)
        shown += bool(expected)
    assert shown == 3
    assert len(pyplot.get_fignums()) == 3
    pyplot.close("all")
