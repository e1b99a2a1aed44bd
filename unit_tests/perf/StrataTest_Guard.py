#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What perf/figures/guard.py calls a move: StrataTest_Guard.py FOLDER_OF_GUARD."""
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import guard


def record(median, spread=0.0, unit="ms"):
    return {"figure": {"median": median, "spread": spread, "unit": unit}}


class Moves(unittest.TestCase):
    def compared(self, now, kept):
        (line,), worse = guard.compare(now, kept)
        return line, worse

    def test_what_became_slower_is_worse(self):
        line, worse = self.compared(record(1.03), record(1.0))
        self.assertIn("+3.0%  WORSE", line)
        self.assertTrue(worse)

    def test_what_became_faster_is_better(self):
        line, worse = self.compared(record(0.97), record(1.0))
        self.assertIn("-3.0%  better", line)
        self.assertFalse(worse)

    def test_more_is_better_for_a_ratio(self):
        self.assertTrue(self.compared(record(1.9, unit="x the vendor"), record(2.0, unit="x the vendor"))[1])
        self.assertFalse(self.compared(record(2.1, unit="x the vendor"), record(2.0, unit="x the vendor"))[1])

    def test_no_move_within_two_percent_or_either_spread(self):
        for now, kept in ((record(1.019), record(1.0)), (record(1.09, 0.1), record(1.0)), (record(1.09), record(1.0, 0.1))):
            line, worse = self.compared(now, kept)
            self.assertFalse(worse, line)
            self.assertNotIn("better", line)
        self.assertTrue(self.compared(record(1.11, 0.1), record(1.0, 0.1))[1])

    def test_names_what_is_new_and_what_is_gone(self):
        line, worse = self.compared(record(1.0), {})
        self.assertNotIn("was", line)
        self.assertFalse(worse)
        lines, _ = guard.compare({}, record(1.0))
        self.assertIn("not measured any more", lines[0])


if __name__ == "__main__":
    unittest.main()
