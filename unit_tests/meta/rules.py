#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Check the rules that the text of the sources alone can break; exit status 1 and one line for each offence."""
import functools
import pathlib
import re
import sys

import budgets

SOURCES = {".hpp", ".cpp", ".h", ".c", ".py", ".cmake", ".sh"}
SCRIPTS = {"CMakeLists.txt", "bootstrap", "run"}
LIBRARY = ("core", "comm", "dense", "ooc", "geostat", "sparse", "c", "lapack", "python", "trilinos")
# The one place of each rule where its contrary is the purpose: Kokkos is started for callers in C, and a forked child, which can't end
# it, keeps its last words back if there is that part of Kokkos.
EXEMPT = {
    ("c/runtime/Strata_Runtime.cpp", "a library neither starts nor ends Kokkos"),
    ("c/runtime/Strata_Runtime.cpp", "no private part of Kokkos"),
}
EXAMPLE_BUDGET = 64
GUARDED_BY_PATH = ("ooc", "trilinos")  # whose headers' guards are computed from their paths; others' end in the stem

NOTES = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")

# Forbidden in library code: name of the rule, pattern.
FORBIDDEN = [
    ("the caller's communicator only", re.compile(r"\bMPI_COMM_WORLD\b")),
    ("no private part of Kokkos", re.compile(r"\bKokkos::Impl\b|\bKOKKOS_IMPL_|\bimpl_\w+_instance\b")),
    ("a library prints nothing", re.compile(r"std::(cout|cerr|clog)\b|\b(f|v|vf|Kokkos::)?printf\s*\(|\bputs\s*\(")),
    ("a library ends no process", re.compile(r"(?<![\w.>])(std::|Kokkos::)?(abort|_?exit|_Exit|quick_exit|terminate|MPI_Abort)\s*\(")),
    ("a library neither starts nor ends Kokkos", re.compile(r"Kokkos::(initialize|finalize|ScopeGuard)\b")),
    ("fences name an instance", re.compile(r"Kokkos::fence\s*\(")),
    ("nvcc 13 casts to a copy where a type is a decltype", re.compile(r"\bstatic_cast<\s*decltype\([^;]*?&\s*>")),
    ("in templates nvcc 13 takes an enumerator that is another one for 0", re.compile(r"\benum\b[^;{}()]*\{[^}]*=\s*[A-Za-z_][\w:]*\s*[,}]")),
]

# Builds on hosts precompile Kokkos' headers, the tests' GoogleTest's and the program's, others do not: names, and what they need.
PRECOMPILED = [
    (re.compile(r"\bKokkos::|\bKOKKOS_[A-Z]"), re.compile(r"Kokkos")),
    (re.compile(r"\b(TEST|TYPED_TEST|EXPECT_\w+|ASSERT_\w+)\("), re.compile(r"gtest/")),
    (re.compile(r"\bCLI::(?!App\b|Option\b)"), re.compile(r"CLI/")),
    (re.compile(r"\bnlohmann::"), re.compile(r"nlohmann/")),
]
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]", re.M)

# A device runs 32 or 64 threads in step, a host one: no library code outside vendor/ may count on a number.
WAVEFRONT = [
    re.compile(r"\b(warp_?[sS]ize|__shfl\w*|__ballot\w*|__(all|any)_sync|__activemask|__syncwarp)\b"),
    re.compile(r"\b(thread|block)(Idx|Dim)\b|\bgridDim\b"),
    re.compile(r"[%/&]\s*(31|32)\b"),
]

# The vendor rule. Which backends and vendors' libraries there are is asked with #if in these places only.
PORTABILITY_HEADERS = ("core/Strata_Backends.hpp",
                       "core/kokkos_ext/Strata_DeviceRuntime.hpp")  # one runtime for the vendor/ of all modules, none of whom sees another's
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b((?:[^\n\\]|\\\n|\\)*)", re.M)
VENDOR = re.compile(r"CUDA|CUBLAS|CUSOLVER|CUSPARSE|NVCC|NVIDIA|(?<![A-Z])HIP|ROCM|ROCBLAS|ROCSOLVER|AMDGCN|__gfx|ONEDNN|SYCL")

# The instance rule. A call's first argument (after a label, if any) must name an instance: this
# project calls it exec, exec_, exec() or something that ends so.
INSTANCE = re.compile(r"(^|[\w.>():&*]*[.>:_&*])?\b\w*(exec|instance)\w*(\(\))?\b|ExecutionSpace\b")
TAKES_INSTANCE = re.compile(
    r"(?P<policy>\b\w*Policy\b(?:\s*<)?)"
    r"|Kokkos::(?:(?P<call>deep_copy|view_alloc|create_mirror_view_and_copy|resize|realloc|parallel_\w+)\s*\()"
    r"|Kokkos(?:Blas|Sparse)::(?P<kernel>\w+)\s*\("
)
POLICY = re.compile(r"[Pp]olicy\b|\b(Team|Thread|TeamThread|TeamVector|ThreadVector)(Range|MDRange)\b")
LABELLED_VIEW = re.compile(r"(Kokkos::View\s*<[^;{}()]*>\s*\w*|\bView\w*\s+\w+)\s*[({]\s*\"")


def code_only(text):
    """The text with comments and the contents of strings blanked, places kept."""

    def blank(match):
        found = match.group(0)
        inner = re.sub(r"[^\n]", " ", found[1:-1])
        return f'"{inner}"' if found[0] == '"' else f" {inner} "

    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def first_arguments(text, start, count):
    """The first `count` arguments of the list that opens before `start`."""
    depth, begin, found, position = 0, start, [], start
    while position < len(text) and len(found) < count:
        c = text[position]
        if c == '"':
            position = text.index('"', position + 1)
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if (c == "," and depth == 0) or depth < 0:
            found.append(text[begin:position].strip())
            begin = position + 1
            if depth < 0:
                break
        position += 1
    return found


def after_template(text, position):
    """Skip <...> whose '<' lies before `position`; the index after the matching '>'."""
    depth = 1
    while depth and position < len(text):
        depth += {"<": 1, ">": -1}.get(text[position], 0)
        position += 1
    return position


def instance_offences(text):
    """(offset, what) of each call that leaves the instance to a default."""
    for match in TAKES_INSTANCE.finditer(text):
        position = match.end()
        if match["policy"]:
            if match["policy"].endswith("<"):
                position = after_template(text, position)
            opening = re.match(r"\s*(?:\w+\s*)?[({]", text[position:])
            if not opening or re.match(r"\s*::", text[position:]):
                continue  # a type, not an object
            arguments = first_arguments(text, position + opening.end(), 1)
        elif (match["call"] or "").startswith("parallel_"):
            arguments = [", ".join(first_arguments(text, position, 2))]  # a label, if any, and the policy
            if POLICY.search(arguments[0]):
                continue  # judged where it is made, or nested in a team
        elif match["call"] == "view_alloc":
            arguments = [", ".join(first_arguments(text, position, 4))]
            statement = text[max(text.rfind(";", 0, match.start()), 0) : match.start()]
            if "WithoutInitializing" in arguments[0] and "Host" in statement:
                continue  # plain host memory, touched by no kernel
        else:
            arguments = first_arguments(text, position, 1)
        if any(arguments) and not INSTANCE.search(arguments[0]):
            yield match.start(), f"{match.group(0).strip(' (<')} without an instance"
    for match in LABELLED_VIEW.finditer(text):
        yield match.start(), "a View filled on the default instance: pass Kokkos::view_alloc(exec, label)"


def vendor_offences(text):
    for match in CONDITION.finditer(text):
        if VENDOR.search(match[1]):
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"an #if on a vendor outside vendor/ and {PORTABILITY_HEADERS[0]}:{match[1].rstrip()}"


def fixed_vectors(text):
    """(offset, what) of each policy whose vector length is a number."""
    for match in re.finditer(r"\b\w*Policy\b(?P<arguments>\s*<)?", text):
        position = after_template(text, match.end()) if match["arguments"] else match.end()
        opening = re.match(r"\s*(?:\w+\s*)?[({]", text[position:])
        arguments = first_arguments(text, position + opening.end(), 4) if opening else []
        if len(arguments) == 4 and re.fullmatch(r"\d+", arguments[3]) and int(arguments[3]) > 1:
            yield match.start(), f"a vector of {arguments[3]} threads: ask Policy::vector_length_max()"


def wavefront_offences(text):
    code = code_only(text)
    for pattern in WAVEFRONT:
        for match in pattern.finditer(code):
            yield code.count("\n", 0, match.start()) + 1, f"a number of threads in step is taken for granted: {match.group(0)}"
    for offset, what in fixed_vectors(code):
        yield code.count("\n", 0, offset) + 1, what


def library_offences(text, place=""):
    code = code_only(text)
    for rule, pattern in FORBIDDEN:
        if (place, rule) in EXEMPT:
            continue
        for match in pattern.finditer(code):
            yield code.count("\n", 0, match.start()) + 1, f"{rule}: {match.group(0)}"
    for offset, what in instance_offences(code):
        yield code.count("\n", 0, offset) + 1, what


def reaches(header, text, read, seen=None):
    """Whether this text includes such a header, by itself or by a file of this project; `read` gives their texts, or None."""
    seen = set() if seen is None else seen
    for name in INCLUDE.findall(text):
        if header.match(name):
            return True
        if name not in seen:
            seen.add(name)
            inner = read(name)
            if inner is not None and reaches(header, inner, read, seen):
                return True
    return False


def include_offences(text, read):
    for names, header in PRECOMPILED:
        match = names.search(code_only(text))
        if match and not reaches(header, text, read):
            yield text.count("\n", 0, match.start()) + 1, f"{match.group(0)} without an include of its header"


def guard_of(path):
    """The include guard that a header's path asks for: STRATA_, its folders and its stem."""
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path.stem.split("_", 1)[-1])
    return "_".join(["STRATA", *path.parent.parts, stem, "HPP"]).upper()


def general_offences(path, text):
    lines = text.split("\n")
    head = "\n".join(lines[:3])
    if "SPDX-License-Identifier: BSD-3-Clause" not in head or "SPDX-FileCopyrightText:" not in head:
        yield 1, "no SPDX lines"
    for number, line in enumerate(lines, 1):
        if NOTES.search(line):
            yield number, "a left-over note; open an issue instead"
    if path.suffix == ".hpp":
        guard = re.search(r"#ifndef (STRATA\w*_HPP)\n#define \1\n", text)
        whole, stem = guard_of(path), guard_of(pathlib.PurePath(path.name)).removeprefix("STRATA")
        if path.parts[0] in GUARDED_BY_PATH and (not guard or guard[1] != whole):
            yield 1, f"no include guard {whole}"
        elif not guard or not guard[1].replace("_", "").endswith(stem.replace("_", "")):
            yield 1, "no include guard STRATA_..._HPP that ends in the file's stem"


def anchors(text):
    """The anchors that the headings of a Markdown text get, as the platforms make them."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def link_offences(text, folder):
    """(line, what) of each relative link or picture of a Markdown text in `folder` that leads nowhere."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    prose = re.sub(r"^```.*?^```|^    [^\n]*|`[^`\n]*`", blank, text, flags=re.M | re.S)
    for match in re.finditer(r"\]\(([^)\s]+)\)|<(?:img|a|source)\b[^>]*?\s(?:src|href)=[\"']([^\"']+)", prose):
        linked = match[1] or match[2]
        if re.match(r"[a-z]+:", linked):
            continue  # another place than this repository
        place, _, anchor = linked.partition("#")
        target = folder / place
        there = target.exists() if place else True
        if there and anchor and (not place or target.suffix == ".md"):
            there = anchor in anchors(target.read_text(encoding="utf-8") if place else text)
        if not there:
            yield prose.count("\n", 0, match.start()) + 1, f"a link that leads nowhere: {linked}"


def self_test_of_links():
    here = pathlib.Path(__file__).resolve().parent
    text = "# A heading, 1\n[x](https://a.b/c) [x](rules.py) [x](#a-heading-1) ![x](../meta)\n<img src='rules.py'> <a href='https://a.b'>\n    f[](int i)\n`a](b)`\n```\n[](c)\n```\n"
    assert not list(link_offences(text, here)), list(link_offences(text, here))
    for bad in ("[x](absent.py)", "[x](#no-heading)", "![x](absent/x.svg)", "\n[`x`](../absent)", '<p><img alt="x" src="absent.png"></p>', "<a href='#none'>"):
        assert len(list(link_offences("# A\n" + bad, here))) == 1, bad


def self_test_of_includes():
    texts = {"a.hpp": "#include <b.hpp>", "b.hpp": "#include <Kokkos_Core.hpp>\n#include <a.hpp>", "c.hpp": "#include <a.h>"}
    for include, count in (("<Kokkos_Core.hpp>", 0), ("<a.hpp>", 0), ('"b.hpp"', 0), ("<c.hpp>", 1), ("<vector>", 1)):
        assert len(list(include_offences(f"#include {include}\nKokkos::View<int> x;", texts.get))) == count, include
    assert not list(include_offences("// Kokkos::View\nint x;", texts.get))
    assert list(include_offences("#include <a.hpp>\nTEST(A, B) {}", texts.get))


def self_test_of_guards():
    head = "// SPDX-FileCopyrightText: X\n// SPDX-License-Identifier: BSD-3-Clause\n"
    path = pathlib.PurePath("ooc/tiles/detail/Strata_TileFeed.hpp")
    for guard, count in (("STRATA_OOC_TILES_DETAIL_TILE_FEED_HPP", 0), ("STRATA_TILE_FEED_HPP", 1), ("STRATA_OOC_HPP", 1)):
        assert len(list(general_offences(path, f"{head}#ifndef {guard}\n#define {guard}\n"))) == count, guard
    for guard, count in (("STRATA_TILE_FEED_HPP", 0), ("STRATATEST_TILE_FEED_HPP", 0), ("STRATA_OTHER_HPP", 1)):
        assert len(list(general_offences(pathlib.PurePath("dense/Strata_TileFeed.hpp"), f"{head}#ifndef {guard}\n#define {guard}\n"))) == count, guard


def self_test_of_examples():
    assert not list(example_offences("01_a.cpp", "\n" * EXAMPLE_BUDGET))
    assert list(example_offences("01_a.cpp", "\n" * (EXAMPLE_BUDGET + 1)))


def self_test():
    budgets.self_test()
    good = [
        'Kokkos::parallel_for("strata::f", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {});',
        "Kokkos::RangePolicy<Exec, Kokkos::IndexType<long>> const policy(exec_, 0, n);",
        "Kokkos::deep_copy(blas.exec(), x, 0.0);",
        'Kokkos::View<double*, Space> x(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "strata::x"), n);',
        "KokkosBlas::gemm(exec, &a, &b, 1.0, A, B, 0.0, C);",
        "Kokkos::View<double*> x;  // std::cout, Kokkos::fence()",
        "using Policy = Kokkos::TeamPolicy<Exec>; typename Policy::member_type const& team;",
        "Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int i) {});",
        'Kokkos::parallel_for(label, Policy(exec_, 1, Kokkos::AUTO), KOKKOS_LAMBDA(Team const& team) {});',
        'Kokkos::parallel_for("strata::f", Kokkos::RangePolicy<E, Kokkos::IndexType<long>>(exec, 0, n), f);',
        'return HostMatrix(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), n, n);',
        "context.abort(); at_exit(handler);",
        'STRATA_REQUIRE(ValueError, ok, "the exit (door) is closed");',
        "enum class Kind : long { A, B = 4, C = 1 << 3 }; enum Vectors { OfSolve = Solution + 1 };",
    ]
    bad = [
        "MPI_Comm_dup(MPI_COMM_WORLD, &comm);",
        "using Base = Kokkos::Impl::Timer;",
        'std::cout << "done";',
        'printf("%d", 1);',
        'Kokkos::printf("%d", 1);',
        "std::abort();",
        "exit(1);",
        "Kokkos::fence();",
        'Kokkos::parallel_for("strata::f", n, KOKKOS_LAMBDA(int i) {});',
        'Kokkos::parallel_for("strata::f", Kokkos::RangePolicy<Exec>(0, n), f);',
        "Kokkos::TeamPolicy<Exec> policy(leagues, Kokkos::AUTO);",
        "Kokkos::deep_copy(x, 0.0);",
        'Kokkos::View<double*, Space> x("strata::x", n);',
        'Kokkos::View<double*> x(Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::x"), n);',
        "auto h = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);",
        "KokkosBlas::gemm(&a, &b, 1.0, A, B, 0.0, C);",
        "Kokkos::resize(x, n);",
        "Kokkos::parallel_for(label, n, f);",
        "static_cast<decltype(f<T>(x))&>(y) = f<T>(x);",
        "Kokkos::parallel_for(label, Policy(n, Kokkos::AUTO), f);",
        "enum Vectors : long { OfRefinement = Right, OfSolve = Solution + 1 };",
    ]
    for snippet in good:
        assert not list(library_offences(snippet)), (snippet, list(library_offences(snippet)))
    for snippet in bad:
        assert list(library_offences(snippet)), snippet
    self_test_of_vendors()
    self_test_of_links()
    self_test_of_examples()
    self_test_of_guards()
    self_test_of_includes()


def self_test_of_vendors():
    good = ["#ifdef STRATA_ENABLE_MPI", "#ifdef __linux__", "#if defined(__x86_64__)", "// #ifdef of CUDA", "#include <cuda.h>",
            "#ifdef OWNERSHIP_OF"]
    bad = ["#ifdef KOKKOS_ENABLE_CUDA", "#if !defined(A) && \\\n    defined(KOKKOS_ENABLE_HIP)", "  #  elif __HIP_PLATFORM_AMD__",
           "#ifndef STRATA_ENABLE_TPL_CUBLAS", "#ifdef __CUDA_ARCH__"]
    for snippet in good:
        assert not list(vendor_offences(snippet)), snippet
    for snippet in bad:
        assert list(vendor_offences(snippet)), snippet
    good = ["int const lanes = Policy::vector_length_max();", "Policy(exec, teams, columns, lanes)", "n % 320;",
            "Kokkos::TeamPolicy<Exec>(exec, n, Kokkos::AUTO, 1);", "int x;  // warps of 32: n / 32"]
    bad = ["int lane = thread % 32;", "__shfl_down_sync(mask, x, 1);", "threadIdx.x;", "n & 31;", "Policy(exec, n, 4, 32)",
           "Kokkos::TeamPolicy<Exec, Kokkos::IndexType<long>> policy(exec, n, Kokkos::AUTO, 16);", "warpSize"]
    for snippet in good:
        assert not list(wavefront_offences(snippet)), (snippet, list(wavefront_offences(snippet)))
    for snippet in bad:
        assert list(wavefront_offences(snippet)), snippet


@functools.cache
def source(top, path, name):
    """The text of a file of this project that `path` includes by this name; None for others'."""
    for folder in (top, path.parent, top / "unit_tests", top / "perf"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    return None


def example_offences(name, text):
    if text.count("\n") > EXAMPLE_BUDGET:
        yield EXAMPLE_BUDGET + 1, f"an example has at most {EXAMPLE_BUDGET} lines"


def main():
    self_test()
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    offences = files = 0
    for path in sorted(top.rglob("*")):
        place = path.relative_to(top)
        folder = place.parts[0]
        if folder.startswith("build") or (folder.startswith(".") and folder != ".ci") or not path.is_file():
            continue  # build trees and what tools leave behind
        is_text = path.suffix == ".md"
        if path.suffix not in SOURCES and path.name not in SCRIPTS and not is_text:
            continue
        files += 1
        text = path.read_text(encoding="utf-8")
        found = list(link_offences(text, path.parent) if is_text else general_offences(place, text))
        if place.parts[0] in LIBRARY and path.suffix in (".hpp", ".cpp"):
            found += library_offences(text, place.as_posix())
            if "vendor" not in place.parts:
                found += wavefront_offences(text)
        is_source = path.suffix in (".hpp", ".cpp", ".h", ".c")
        if is_source:
            found += include_offences(text, lambda name: source(top, path, name))
        if is_source and "vendor" not in place.parts and place.as_posix() not in PORTABILITY_HEADERS:
            found += vendor_offences(text)
        if place.parts[:-1] == ("examples",) and re.match(r"\d\d_", path.name):
            found += example_offences(path.name, text)
        if not is_text:
            found += budgets.offences(place.as_posix(), text, code_only(text) if is_source else "")
        for line, what in found:
            print(f"{place}:{line}: {what}")
        offences += len(found)
    results = {page.stem: page.read_text(encoding="utf-8").count("\n") for page in (top / "docs/results").glob("*.md")}
    for place, what in budgets.page_offences(results, (top / "CHANGELOG.md").read_text(encoding="utf-8")):
        print(f"{place}: {what}")
        offences += 1
    print(f"{files} files, {offences} offences")
    return 1 if offences or not files else 0


if __name__ == "__main__":
    sys.exit(main())
