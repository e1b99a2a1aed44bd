# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""One PDF of the manual: Sphinx' single page of HTML, on paper by WeasyPrint."""

import re

STYLE = """
@page { size: A4; margin: 20mm 18mm; @bottom-center { content: counter(page); font-size: 8pt } }
body { font: 9.5pt/1.35 "DejaVu Sans", sans-serif }
pre, code, .sig { font: 7.5pt/1.3 "DejaVu Sans Mono", monospace }
pre { font-size: 6.9pt; white-space: pre-wrap; background: #f4f4f4; padding: 4pt }
h1 { break-before: page; font-size: 18pt; bookmark-level: 1 }
h2 { font-size: 13pt; bookmark-level: 2 }
h3, h4 { font-size: 10.5pt; bookmark-level: 3 }
h1, h2, h3, h4, dt { break-after: avoid }
table { border-collapse: collapse; width: 100%; font-size: 8pt }
td, th { border: 0.4pt solid #999; padding: 1.5pt 3pt; text-align: left; vertical-align: top }
td code { font-size: 7pt }
td code, .pre, .sig { overflow-wrap: anywhere }
table.keys { table-layout: fixed }
table.keys th:nth-child(1) { width: 32% }
table.keys th:nth-child(2) { width: 18% }
table.keys th:nth-child(3) { width: 9% }
td p, th p, dd p { margin: 0 }
dd { margin-left: 6mm }
img { max-width: 100% }
a { color: #14539a; text-decoration: none }
.headerlink, .sphinxsidebar, .related, .footer, .viewcode-link { display: none }
"""


def share_width(table):
    """A table whose first cells are long has columns of one width: WeasyPrint would give the first one more than the page has."""
    first = re.findall(r"<tr\b[^>]*>\s*<td\b[^>]*>(.*?)</td>", table[0], re.DOTALL)
    is_long = any(len(re.sub(r"<[^>]*>", "", cell)) > 120 for cell in first)
    return table[0].replace("<table", '<table style="table-layout: fixed"', 1) if is_long else table[0]


def write_pdf(page, file):
    """The single page as a PDF, without what is for a screen: scripts, and Sphinx' style, which would go before the one above."""
    import weasyprint

    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<script\b.*?</script>|<link\b[^>]*>", "", text, flags=re.DOTALL)
    for _ in range(3):  # nested ones: spans are for colours, except those that are linked to, and half of what WeasyPrint lays out
        text = re.sub(r'<span(?: class="[^"]*")?>([^<]*)</span>', r"\1", text)
    text = re.sub(r"<table\b.*?</table>", share_width, text, flags=re.DOTALL)
    weasyprint.HTML(string=text, base_url=str(page.parent)).write_pdf(file, stylesheets=[weasyprint.CSS(string=STYLE)])
