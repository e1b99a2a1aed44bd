# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx' settings for the site that make.py lays out."""

project = "Strata"
author = "The Strata authors"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "Strata"
man_pages = [
    (f"reference/{name}", name, f"{title}", author, 1)
    for name, title in {
        "strata": "mixed-precision solvers",
        "strata-solve": "solve a dense or sparse system",
        "strata-mle": "fit a covariance to measurements",
        "strata-hpgmxp": "run the HPG-MxP benchmark",
        "strata-info": "say how Strata was built and what this machine has",
    }.items()
]
