# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The house's budgets: a file has at most 400 lines, a function at most 60, each from its first line to its last.

What has more is listed, with as many as it may have at most; the lists may only shrink. The pages of results have a budget
together, a page for a new question one of its own, and the changelog's newest version one. rules.py asks for the offences.
"""
import ast
import re

FILE_BUDGET = 400
FUNCTION_BUDGET = 60
RESULTS = {"accuracy", "batches", "covariances", "dense-cpu", "dense-factor", "dense-gpu", "gallery", "hpgmxp", "out-of-core", "python", "several-hosts", "sparse"}
RESULTS_BUDGET = 600  # lines of these pages of docs/results together
QUESTION_BUDGET = 60  # lines of any other one
VERSION_BUDGET = 250  # lines of the newest version in CHANGELOG.md
SLACK = 100  # what has so much less than the list says is listed anew
# Lines of files, rounded up to fifty.
LONGER_FILES = {
    "apps/plot/strata_plot.py": 450,
    "c/strata.h": 500,
    "core/blas/Strata_LeafBlas.cpp": 450,
    "dense/recursion/detail/Strata_TreeRecursion.cpp": 450,
    "python/strata/dense.py": 450,
    "python/strata/sparse.py": 450,
    "unit_tests/apps/StrataTest_Mle.py": 900,
    "unit_tests/apps/StrataTest_Solve.py": 450,
    "unit_tests/apps/StrataTest_SolveOutOfCore.py": 700,
    "unit_tests/apps/StrataTest_SolveSparse.py": 500,
    "unit_tests/c/StrataTest_Factor.cpp": 450,
    "unit_tests/core/blas/basics/StrataTest_VendorBlas.cpp": 450,
    "unit_tests/core/io/StrataTest_MatrixMarket.cpp": 600,
    "unit_tests/core/problems/StrataTest_Generators.cpp": 450,
    "unit_tests/dense/StrataFuzz_Cholesky.cpp": 500,
    "unit_tests/dense/StrataFuzz_TreePotrf.cpp": 450,
    "unit_tests/dense/StrataTest_BatchedCholesky.cpp": 450,
    "unit_tests/dense/StrataTest_Cholesky.cpp": 750,
    "unit_tests/dense/StrataTest_CholeskySolve.cpp": 450,
    "unit_tests/dense/vectors/StrataTest_BlockVectors.cpp": 600,
    "unit_tests/dense/refine/StrataTest_Refinement.cpp": 800,
    "unit_tests/geostat/fit/StrataTest_Fit.cpp": 450,
    "unit_tests/lapack/StrataFuzz_Lapack.cpp": 450,
    "unit_tests/meta/bootstrap.py": 450,
    "unit_tests/ooc/StrataTest_BlockCyclicTiles.cpp": 450,
    "unit_tests/ooc/StrataTest_OocRanks.cpp": 550,
    "unit_tests/ooc/StrataTest_RankCheckpoints.cpp": 550,
    "unit_tests/ooc/tiles/StrataTest_TilesOnDevices.cpp": 500,
    "unit_tests/python/StrataTest_Sparse.py": 500,
    "unit_tests/sparse/StrataFuzz_SparseSolver.cpp": 550,
    "unit_tests/sparse/krylov/StrataTest_OuterIteration.cpp": 450,
    "unit_tests/sparse/matrix/StrataTest_Distributed.cpp": 450,
}
# Lines of the longest function of a file, rounded up to ten.
LONGER_FUNCTIONS = {
    "core/blas/basics/Strata_SymmetricTiles.hpp": 80,
    "perf/dense/Strata_LeafSizeStudy.cpp": 70,
    "perf/ooc/Strata_OocStudy.cpp": 100,
    "perf/ooc/Strata_OocStudyRun.cpp": 100,
    "python/Strata_Geostat.cpp": 90,
    "python/strata/_fit.py": 100,
    "python/strata/dense.py": 80,
    "python/strata/ooc.py": 120,
    "unit_tests/core/io/StrataTest_MatrixMarket.cpp": 80,
    "unit_tests/core/io/StrataTest_Npy.cpp": 70,
}

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
SCOPE = re.compile(r"\b(namespace|extern)\b")
TEMPLATE = re.compile(r"\btemplate\s*<([^<>]|<[^<>]*>)*>")
TYPE = re.compile(r"\b(class|struct|union|enum)\b")
INITIALISED = re.compile(r"\)\s*[:,](\s*[\w:<>]+\s*\{[^{}]*\}\s*,)*\s*[\w:<>]+\s*$")  # a member, before its braces
ENDS_AS_FUNCTION = re.compile(r"\)\s*(const|noexcept|override|final|->.*)*$", re.S)


def cpp_functions(code):
    """(first line, lines) of each function of a C++ text whose comments and strings are blank; lambdas are of their functions."""
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    blocks, start, line = [], 0, 1
    for match in re.finditer(r"[{};\n]", code):
        if match[0] == "\n":
            line += 1
            continue
        head = code[start:match.start()]
        words = head.strip()
        if match[0] == "{":
            is_outside = all(kind == "scope" for kind, _ in blocks)
            words = TEMPLATE.sub("", words)
            is_type = TYPE.search(words) and not ENDS_AS_FUNCTION.search(words)
            if is_outside and INITIALISED.search(words):
                blocks.append(("initialiser", start))
                continue
            if is_outside and (SCOPE.search(words) or is_type):
                blocks.append(("scope", line))
            elif is_outside and ")" in words and not words.endswith("="):
                blocks.append(("function", line - head.lstrip().count("\n")))
            else:
                blocks.append(("other", line))
        elif match[0] == "}" and blocks:
            kind, first = blocks.pop()
            if kind == "initialiser":
                start = first  # the head of its constructor goes on
                continue
            if kind == "function":
                yield first, line - first + 1
        start = match.end()


def python_functions(text):
    """(first line, lines) of each function of a Python text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def over(lines, place, line, budget, listed, what):
    """What is wrong with so many lines of a file, or of its longest function."""
    most = listed.get(place, budget)
    if lines > most:
        yield line, f"{what} of {lines} lines, at most {most}"
    elif place in listed and lines <= max(budget, most - SLACK):
        yield line, f"{what} of {lines} lines; the list of unit_tests/meta/budgets.py says {most}: it may only shrink, so it does"


def offences(place, text, code):
    """(line, what) of each budget that a file goes over; `code`: its text without comments, of C++."""
    yield from over(text.count("\n"), place, 1, FILE_BUDGET, LONGER_FILES, "a file")
    found = python_functions(text) if place.endswith(".py") else cpp_functions(code)
    functions = sorted(((lines, first) for first, lines in found), reverse=True)
    if functions or place in LONGER_FUNCTIONS:
        lines, first = functions[0] if functions else (0, 1)
        yield from over(lines, place, first, FUNCTION_BUDGET, LONGER_FUNCTIONS, "a function")


def page_offences(results, changelog):
    """(place, what) of each budget that pages go over; `results`: the lines of each page of docs/results."""
    together = sum(lines for page, lines in results.items() if page in RESULTS)
    if together > RESULTS_BUDGET:
        yield "docs/results", f"{together} lines, at most {RESULTS_BUDGET}"
    for page, lines in results.items():
        if page not in RESULTS and lines > QUESTION_BUDGET:
            yield f"docs/results/{page}.md", f"{lines} lines, at most {QUESTION_BUDGET}"
    newest = re.split(r"^## ", changelog, flags=re.M)[1].count("\n")
    if newest > VERSION_BUDGET:
        yield "CHANGELOG.md", f"the newest version has {newest} lines, at most {VERSION_BUDGET}"


def self_test_of_pages():
    log = "# Changes\n\n## 2\n" + "- a\n" * VERSION_BUDGET
    assert not list(page_offences({"sparse": RESULTS_BUDGET, "new": QUESTION_BUDGET}, "# Changes\n\n## 2\n- a\n" + log[log.index("## 2") :]))
    assert [place for place, _ in page_offences({"sparse": RESULTS_BUDGET, "python": 1, "new": QUESTION_BUDGET + 1}, log)] == ["docs/results", "docs/results/new.md", "CHANGELOG.md"]


def self_test():
    self_test_of_pages()
    text = ("namespace a {\n#define X(y) {\nstruct B : C<int> {\n  int f(int x)\n      const {\n    auto g = [&] {\n      return x;\n    };\n    return g();\n  }\n"
            "  int v[2] = {1, 2};\n};\nenum class E { A, B };\ntemplate <class T>\nD::D(T t) : x_(t), y_{t},\n  z_{} {\n  f();\n}\n}  // namespace a\n")
    assert list(cpp_functions(text)) == [(4, 7), (14, 5)], list(cpp_functions(text))
    assert list(python_functions("x = 1\ndef f():\n    def g():\n        pass\n    return g\n")) == [(2, 4), (3, 2)]
    body = "int f() {\n" + "  g();\n" * FUNCTION_BUDGET + "}\n"
    assert [what for _, what in offences("a.cpp", body, body)] == [f"a function of {FUNCTION_BUDGET + 2} lines, at most {FUNCTION_BUDGET}"]
    long = "int x;\n" * (FILE_BUDGET + 1)
    assert [what for _, what in offences("a.cpp", long, long)] == [f"a file of {FILE_BUDGET + 1} lines, at most {FILE_BUDGET}"]
    assert not list(offences("a.cpp", "int x;\n", "int x;\n"))
    assert not list(over(450, "b", 1, FILE_BUDGET, {"b": 450}, "a file"))
    for lines in (FILE_BUDGET, 451):
        assert len(list(over(lines, "b", 1, FILE_BUDGET, {"b": 450}, "a file"))) == 1, lines
