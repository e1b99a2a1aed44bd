# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The reference of the JSON that the program writes, from apps/schema: each key with its type, unit and meaning.

schemas.py TOP fails for a key without a description, a required one that is not described, and a number of time, memory or speed whose
name says no unit.
"""

import json
import pathlib
import re
import sys

# The unit that a key's name, or that of an object around it, says.
UNITS = ((r"(^|_)ms(_|$)", "ms"), (r"gb_per_s", "GB/s"), (r"gflops", "GFLOP/s"), (r"tflops", "TFLOP/s"), (r"seconds", "s"), (r"bytes|^memory$", "byte"))
MEANS_ONE = re.compile(r"^(time|rate|bytes|memory)\b|\b(seconds|FLOP/s)\b", re.IGNORECASE)


def unit_of(names):
    for name in reversed(names):
        for pattern, unit in UNITS:
            if re.search(pattern, name):
                return unit
    return ""


def resolved(schema, node):
    """The node with what it refers to; of several, the one that is not null."""
    while "$ref" in node:
        node = {**schema["definitions"][node["$ref"].rsplit("/", 1)[1]], **{key: value for key, value in node.items() if key != "$ref"}}
    for choice in ("anyOf", "oneOf"):
        for option in node.get(choice, []):
            if option.get("type") != "null":
                return resolved(schema, {**option, **{key: value for key, value in node.items() if key != choice}, "or_null": True})
    return node


def keys(schema, node=None, names=()):
    """(names, node) of every key, as deep as they go; "[]" stands for the items of an array."""
    node = resolved(schema, schema if node is None else node)
    if isinstance(node.get("items"), dict):
        yield from keys(schema, node["items"], (*names, "[]"))
    for name in [*node.get("properties", {}), *(key for key in node.get("required", []) if key not in node.get("properties", {}))]:
        child = resolved(schema, node.get("properties", {}).get(name, {}))
        yield (*names, name), child
        yield from keys(schema, child, (*names, name))


def is_number(node):
    return bool({"number", "integer"} & set([node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])))


def offences(schema):
    for names, node in keys(schema):
        what = "/".join(names)
        if not node.get("description"):
            yield f"{schema['title']}: {what} has no description"
        elif is_number(node) and not unit_of(names) and MEANS_ONE.search(node["description"]):
            yield f"{schema['title']}: {what} has no unit in its name"


def type_of(node):
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join("null" if value is None else f"`{value}`" for value in node["enum"])
    types = node.get("type", "")
    return " or ".join([*([types] if isinstance(types, str) else types), *(["null"] if node.get("or_null") else [])])


def page_of(schema):
    """The section of a schema on the page: a row for each key."""
    rows = ["| key | type | unit | meaning |", "|---|---|---|---|"]
    for names, node in keys(schema):
        meaning = re.sub(r"[\\*_<>$|\[\]]", r"\\\g<0>", node["description"])
        unit = node.get("unit") or (unit_of(names) if is_number(node) else "")
        rows.append(f"| `{'/'.join(names).replace('/[]', '[]')}` | {type_of(node)} | {unit} | {meaning} |")
    return "\n\n".join([f"## {schema['title']}", schema["description"], "\n".join(["```{table}", ":class: keys", "", *rows, "```"])])


def lay_out_schemas(top, source):
    text = ["# JSON", "What the commands write for `--json`, by apps/schema. A key stands behind the keys of the objects around it; `[]` are the items of an array.",
            "Numbers without a unit are counts, ratios, or in the unit that the meaning says."]
    text += [page_of(json.loads(file.read_text())) for file in sorted((top / "apps/schema").glob("*.schema.json"))]
    (source / "json.md").write_text("\n\n".join(text) + "\n")


def self_test():
    schema = {"title": "t", "properties": {"a": {"type": "number", "description": "time of all"}, "b": {"type": "object", "required": ["c"]},
                                           "d_seconds": {"type": "number", "description": "time of d"}}}
    found = list(offences(schema))
    assert [text.split(": ")[1].split()[0] for text in found] == ["a", "b", "b/c"], found


def main(top):
    self_test()
    files = sorted((pathlib.Path(top) / "apps/schema").glob("*.schema.json"))
    assert files, f"{top}: no schemas"
    found = [offence for file in files for offence in offences(json.loads(file.read_text()))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
