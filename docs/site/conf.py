# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx' settings for the site; make.py adds the man pages, and where the reference's sources are."""

import importlib.util
import re

from sphinx.addnodes import toctree

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
autodoc_mock_imports = [name for name in ("torch", "linear_operator") if importlib.util.find_spec(name) is None]  # large, and read for its names alone
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


def shorten_contents(app, env):
    """Each page's contents as a tree of titles has them: its title, and the pages below it."""
    app.titles = {page: contents.deepcopy() for page, contents in env.tocs.items()}
    for entry in (entry for contents in app.titles.values() for entry in contents if len(entry) > 1):
        below = list(entry.findall(toctree))
        if below:
            entry[1][:] = below
        else:
            entry.pop(1)


def navigate_by_titles(app, page, template, context, tree):
    """Furo asks Sphinx for the tree of all titles on each page, which would copy all contents for it and drop all but the titles."""
    tree_of = context["toctree"]

    def tree_of_titles(**options):
        contents, app.env.tocs = app.env.tocs, app.titles
        try:
            return tree_of(**options)
        finally:
            app.env.tocs = contents

    if app.builder.name == "html":
        context["toctree"] = tree_of_titles


def setup(app):
    app.kept = {}
    app.connect("autodoc-process-docstring", keep_plain, priority=400)
    app.connect("autodoc-process-docstring", keep_properties, priority=600)
    app.connect("env-check-consistency", shorten_contents)
    app.connect("html-page-context", navigate_by_titles, priority=400)  # before Furo
