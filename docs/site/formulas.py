# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Formulas in HTML without a script: Sphinx asks for each, matplotlib sets it, and it becomes a drawing in the text's colour and size."""

import html
import re

from docutils import nodes

SIZE = 10  # points, for which a formula is set; in the page it has the text's
# What GitHub's TeX knows and matplotlib does not.
WORDS = {r"\le": r"\leq", r"\ge": r"\geq", r"\lVert": r"\Vert", r"\rVert": r"\Vert", r"\lvert": "|", r"\rvert": "|", r"\lbrace": r"\{",
         r"\rbrace": r"\}", r"\ast": "*", r"\text": r"\mathrm", r"\lt": "<", r"\gt": ">"}
DRAW = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's codes of a path


def drawing(latex, is_display=False):
    """An SVG element. Throws ValueError for what matplotlib does not know."""
    from matplotlib import mathtext, rc_context
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    known = re.sub(r"\\[a-zA-Z]+", lambda word: WORDS.get(word[0], word[0]) + " " * (word[0] in WORDS), " ".join(latex.split()))
    if is_display:
        known = known.replace(r"\frac", r"\dfrac")
    with rc_context({"mathtext.fontset": "cm"}):
        text, font = f"${known}$", FontProperties(size=SIZE)
        width, height, depth, *_ = mathtext.MathTextParser("path").parse(text, dpi=72, prop=font)
        path = TextPath((0, 0), text, prop=font)
    parts = []
    for points, code in path.iter_segments(simplify=False):
        parts.append(DRAW[int(code)] + ("" if code == 79 else " ".join(f"{-y if k % 2 else y:.2f}" for k, y in enumerate(points))))
    width, above, depth = width + 0.2, height - depth + 0.2, depth + 0.2
    return (f'<svg class="formula" role="img" aria-label="{html.escape(latex)}" style="vertical-align: {-depth / SIZE:.3f}em" width="{width / SIZE:.3f}em" '
            f'height="{(above + depth) / SIZE:.3f}em" viewBox="0 {-above:.2f} {width:.2f} {above + depth:.2f}"><path fill="currentColor" d="{"".join(parts)}"/></svg>')


def visit(writer, node):
    try:
        svg = drawing(node.astext(), isinstance(node, nodes.math_block))
    except ValueError as error:
        raise ValueError(f"{node.source}:{node.line}: a formula that matplotlib does not know: {node.astext()}\n{error}") from error
    writer.body.append(svg if isinstance(node, nodes.math) else f'<div class="math" style="text-align: center; margin: 1em 0">{svg}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("matplotlib", (visit, None), (visit, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
