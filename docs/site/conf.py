# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx' settings for the site; make.py adds the man pages, and where the reference's sources are."""

import re

project = "Strata"
author = copyright = "The Strata authors"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "formulas"]
myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["dollarmath", "html_image"]
html_math_renderer = "matplotlib"
html_theme = "furo"
html_title = "Strata"
html_css_files = ["site.css"]
pygments_style = "friendly"
breathe_default_project = "strata"
breathe_domain_by_extension = {"h": "c"}
default_role = "code"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True


def keep_plain(app, what, name, obj, options, lines):
    """The docstrings' |x|, x* and x_ are no marks of reStructuredText; `code` is. A type alone is code."""
    for k, line in enumerate(lines):
        parts = re.sub(r"^\(self\) -> (.*)$", r"`\1`", line).split("`")
        parts[::2] = [re.sub(r"[|*]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        lines[k] = "`".join(parts)
    if what == "property":
        app.kept[name] = list(lines)


def keep_properties(app, what, name, obj, options, lines):
    """Napoleon would take the words before a colon for the type of a property."""
    lines[:] = app.kept.get(name, lines)


def setup(app):
    app.kept = {}
    app.connect("autodoc-process-docstring", keep_plain, priority=400)
    app.connect("autodoc-process-docstring", keep_properties, priority=600)
