# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The metadata of a wheel, as pyproject.toml makes it; nothing is compiled."""

from __future__ import annotations

import email.message
import email.parser
import pathlib
import re
import shutil
import tarfile

import pytest
import strata

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> email.message.Message:
    build = pytest.importorskip("scikit_build_core.build")
    folder = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(SOURCE)
        made = folder / build.prepare_metadata_for_build_wheel(str(folder))
    text = (made / "METADATA").read_text(encoding="utf-8")
    assert list(made.rglob("LICENSE")), "the licence is not in the wheel"
    return email.parser.Parser().parsestr(text)


def test_name_version_and_licence(metadata: email.message.Message) -> None:
    project = re.search(r"project\(Strata VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert project is not None
    assert metadata["Name"] == "strata-solvers"
    assert metadata["Version"] == project[1]
    assert strata.__version__ == project[1]
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert not [line for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]  # PEP 639: one of the two


def test_what_it_needs(metadata: email.message.Message) -> None:
    assert metadata["Requires-Python"] == ">=3.9"
    needed = metadata.get_all("Requires-Dist", [])
    assert {re.match(r"[\w-]+", line)[0] for line in needed if "extra" not in line} == {"numpy", "scipy"}  # type: ignore[index]
    assert set(metadata.get_all("Provides-Extra", [])) == {"gpytorch", "petsc", "sklearn", "test", "torch"}


def test_the_page_that_it_shows(metadata: email.message.Message) -> None:
    assert metadata["Summary"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "# Strata in Python" in metadata.get_payload()
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_an_archive_of_the_source_has_no_build_and_no_wheel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = pytest.importorskip("scikit_build_core.build")
    source, made = tmp_path / "source", tmp_path / "made"
    shutil.copytree(SOURCE / "python", source / "python")
    for name in (".gitignore", "CMakeLists.txt", "pyproject.toml", "LICENSE", "docs/python.md"):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copy(SOURCE / name, source / name)
    for name in ("build/python/CMakeCache.txt", "dist/strata_solvers.whl", "env/pyvenv.cfg"):  # as docs/python.md makes them
        (source / name).parent.mkdir(parents=True)
        (source / name).touch()
    monkeypatch.chdir(source)
    made.mkdir()
    with tarfile.open(made / build.build_sdist(str(made))) as archive:
        names = [pathlib.PurePath(name).relative_to(pathlib.PurePath(name).parts[0]) for name in archive.getnames()]
    assert pathlib.PurePath("python/strata/dense.py") in names
    assert not [name for name in names if name.parts[:1] in (("build",), ("dist",), ("env",))]
