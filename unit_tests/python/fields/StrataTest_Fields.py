# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tables of fields: a new number is one line, and is found in JSON, schema, Python, stub and page."""
import json
import pathlib
import sys
import unittest

import strata_fields_test as fields

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "docs/site"))
import schemas


def document(name):
    return json.loads(getattr(fields, f"document_{name}")())


def schema(name):
    return json.loads(getattr(fields, f"schema_{name}")())


def stub_of(name):
    from nanobind.stubgen import StubGen

    stub = StubGen(fields)
    stub.put(fields)
    text = stub.get()
    return text[text.index(f"class {name}:") :].split("\nclass ")[0].split("\ndef ")[0]


class OneMoreField(unittest.TestCase):
    def test_it_is_in_the_document_and_nothing_else_changes(self):
        before, after = document("Report"), document("Extended")
        self.assertEqual(after.pop("climbs"), 11)
        self.assertEqual(list(after.items()), list(before.items()))

    def test_it_is_in_the_schema(self):
        before, after = schema("Report"), schema("Extended")
        self.assertEqual(after["properties"].pop("climbs"), {"type": "integer", "minimum": 0, "description": "Number of climbs."})
        self.assertEqual(after["required"].pop(), "climbs")
        self.assertEqual(after, before)

    def test_it_is_an_attribute(self):
        before, after = fields.Report().asdict(), fields.Extended().asdict()
        self.assertEqual(after.pop("climbs"), 11)
        self.assertEqual(repr(after), repr(before))  # nan
        self.assertEqual(fields.Extended.climbs.__doc__, "Number of climbs.")

    def test_it_is_in_the_stub(self):
        lines = stub_of("Extended")
        self.assertIn('def climbs(self) -> int:\n        """Number of climbs."""', lines)
        self.assertNotIn("climbs", stub_of("Report"))

    def test_it_is_on_the_page(self):
        row = "| `climbs` | integer |  | Number of climbs. |"
        self.assertIn(row, schemas.page_of(schema("Extended")))
        self.assertNotIn(row, schemas.page_of(schema("Report")))

    def test_it_is_found_by_its_name(self):
        self.assertEqual(fields.number("climbs"), 11)
        self.assertIsNone(fields.number("cimbs"))
        self.assertIsNone(fields.number("outcome"))


class Documents(unittest.TestCase):
    def test_values_stand_where_their_keys_say(self):
        self.assertEqual(document("Report"), {
            "n": 3, "time": {"seconds": 0.5}, "known": None, "parts": [{"rows": 7}, {"rows": 7}], "outcome": "broke down",
            "errors": {"inner": None}})

    def test_order_and_fields_left_out(self):
        self.assertEqual(list(document("Sorted")), ["climbs", "errors", "n", "time", "parts", "outcome"])
        self.assertEqual(list(schema("Sorted")["properties"]), ["climbs", "errors", "n", "time", "unknown", "parts", "outcome"])

    def test_a_part_without_a_value_is_null_or_left_out(self):
        self.assertEqual((document("Null"), document("LeftOut")), ({"rows": None}, {}))
        self.assertEqual(schema("Null")["required"], ["rows"])
        self.assertEqual(schema("LeftOut")["required"], [])
        self.assertEqual(schema("Null")["properties"]["rows"], {
            "type": ["integer", "null"], "minimum": 0, "description": "Number of rows. Null: there is no part."})

    def test_the_schema_says_type_unit_and_meaning(self):
        found = schema("Report")
        self.assertEqual(list(schemas.offences(found)), [])
        self.assertEqual(found["required"], ["n", "errors", "time", "known", "parts", "outcome"])
        of = found["properties"]
        self.assertEqual(of["n"]["minimum"], 1)
        self.assertEqual(of["time"]["properties"]["seconds"], {"type": "number", "minimum": 0, "unit": "s", "description": "Time of all."})
        self.assertEqual(of["time"]["description"], "Times.")
        self.assertEqual(of["known"], {"type": ["number", "null"], "description": "Number that is known. Null: nobody knows."})
        self.assertEqual(of["unknown"]["type"], ["number", "null"])  # null: not finite
        self.assertIn("broke down", of["outcome"]["enum"])
        self.assertEqual(of["errors"]["properties"]["inner"]["type"], ["number", "null"])

    def test_documents_fit_their_schemas(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        for name in ("Report", "Extended", "Sorted", "Null", "LeftOut"):
            jsonschema.Draft7Validator.check_schema(schema(name))
            jsonschema.validate(document(name), schema(name))

    def test_attributes(self):
        report = fields.Report()
        self.assertEqual(list(report.asdict()), ["n", "seconds", "known", "unknown", "outcome", "error", "secret"])
        self.assertEqual((report.outcome, report.secret, report.known), ("broke down", 6, None))
        with self.assertRaises(AttributeError):
            report.n = 1


if __name__ == "__main__":
    unittest.main()
