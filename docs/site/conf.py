# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx' settings for the site; make.py adds the man pages."""

project = "Strata"
author = "The Strata authors"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "Strata"
