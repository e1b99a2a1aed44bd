# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The reference of Python, from the docstrings of the package that was built."""

MODULES = ("strata", "strata.sparse", "strata.ooc", "strata.geostat", "strata.sklearn", "strata.torch", "strata.gpytorch")

SKLEARNS = ("set_fit_request", "set_predict_request", "set_score_request")  # scikit-learn's own, which it adds


def built_package(program):
    """The folder that has the package beside the program in its build tree, or None."""
    folder = program.resolve().parent.parent / "python"
    return folder if any(folder.glob("strata/_core*.so")) else None


def lay_out_python(source):
    text = "Python\n======\n\n"
    for module in MODULES:
        text += f"{module}\n{'-' * len(module)}\n\n.. automodule:: {module}\n   :members:\n   :exclude-members: {', '.join(SKLEARNS)}\n\n"
    (source / "python.rst").write_text(text)
