"""Tests of the judgements: python3 -m unittest discover -s xtask/python/conformance"""

import json
import unittest

import client_report
import java_report
from limits import fits
from report import Outcome, Page, Tally, joined


def outcome(data_type, peer, direction, result):
    line = ["zarr3", data_type, "none", "default, slash", peer, direction, result, "why"]
    return Outcome.parse(json.dumps(line))


class Reports(unittest.TestCase):
    def test_stars_stand_for_anything(self):
        for pattern, text in [("*", ""), ("a*c", "abbc"), ("x|a*|y", "ab"), ("*[2]", "a[2]")]:
            self.assertTrue(fits(pattern, text), pattern)
        for pattern, text in [("a*c", "abb"), ("a", "ab"), ("", "a"), ("a|b", "c"), ("a?", "ab")]:
            self.assertFalse(fits(pattern, text), pattern)

    def test_limits_explain_their_own_cells_only(self):
        tally = Tally([
            outcome("uint16", "z5 3.0.2", "reads", "agrees"),
            outcome("bool", "z5 3.0.2", "reads", "peer refuses"),
            # A result other than the limit's, another peer, and our own refusal are not limits.
            outcome("bool", "z5 3.0.2", "writes", "differs"),
            outcome("bool", "tensorstore 0.1.86", "reads", "peer refuses"),
            outcome("bool", "z5 3.0.2", "writes", "ndzarr refuses"),
        ])
        self.assertEqual((len(tally.judged), len(tally.disagreements())), (5, 3))
        self.assertEqual(len(tally.findings()), 3)

    def test_a_limit_that_holds_no_longer_is_reported(self):
        tally = Tally([outcome("bool", "z5 3.0.2", "reads", "agrees")])
        self.assertEqual(tally.disagreements(), [])
        self.assertTrue(tally.findings()[0].startswith("agrees against a known limit"))

    def test_two_versions_of_zarr_python_are_two_peers(self):
        for peer, n in [("zarr-python 2.18.7", 1), ("zarr-python 3.1.6", 0)]:
            tally = Tally([outcome("bfloat16", peer, "reads", "peer refuses")])
            self.assertEqual(len(tally.disagreements()), n, peer)

    def test_other_lines_are_an_error(self):
        for line in ["", "[]", '{"a": 1}', '["f","t","c","l","p","eats","agrees",""]']:
            with self.assertRaises((TypeError, ValueError)):
                Outcome.parse(line)

    def test_rows_of_one_outcome_are_one(self):
        results = {"int8": "agrees", "bool": "differs", "uint8": "agrees"}
        tally = Tally([outcome(name, "z5 3.0.2", "reads", it) for name, it in results.items()])
        lines = Page(tally).text().splitlines()
        self.assertIn("| bool | – | –, **differs** |", lines)
        self.assertIn("| int8; uint8 | W | –, yes |", lines)

    def test_most_of_a_kind_are_one_name(self):
        names = ["date[D]", "date[s]", "date[ms]", "date[25s]", "int8"]
        self.assertEqual(joined(["date[D]", "date[s]", "date[ms]", "int8"], names), "date[…]; int8")
        self.assertEqual(joined(["date[25s]"], names), "date[25s]")

    def test_a_control_must_differ_and_only_known_limits_are_right(self):
        def is_right(array, read, detail=""):
            return client_report.Outcome("xarray", "1", array, read, detail).is_right

        self.assertTrue(is_right("v2 int16, a chunk replaced", "differs"))
        self.assertFalse(is_right("v2 int16, a chunk replaced", "agrees"))
        self.assertFalse(is_right("v2 int16, a chunk replaced", "refuses"))
        self.assertTrue(is_right("n5 int8", "refuses", "GroupNotFoundError: No group found"))
        self.assertFalse(is_right("v3 int8", "refuses", "GroupNotFoundError: No group found"))
        self.assertFalse(is_right("n5 int8", "differs", "GroupNotFoundError: No group found"))
        self.assertFalse(is_right("n5 int8", "refuses", "MemoryError"))

    def test_what_a_client_wrote_is_read_or_the_client_cannot_write_it(self):
        def is_right(array, read, detail=""):
            return client_report.Outcome("rasterio", "1", array, read, detail, "writes").is_right

        self.assertTrue(is_right("v3 zstd", "agrees"))
        self.assertTrue(is_right("v3 zstd", "refuses", "COMPRESS = ZSTD not implemented with Zarr V3"))
        self.assertFalse(is_right("v3 zstd", "ndzarr refuses", "COMPRESS = ZSTD not implemented with Zarr V3"))
        # What it cannot read, it may write.
        self.assertFalse(is_right("v3 int8", "refuses", "Unsupported codec"))
        self.assertTrue(is_right("v3 int16, a chunk replaced", "differs"))
        self.assertFalse(is_right("v3 int16, a chunk replaced", "agrees"))

    def test_of_java_controls_differ_guarantees_hold_and_nothing_is_left_out_unnamed(self):
        control = ["n5", "uint16", "raw", java_report.CONTROL, "Java N5 4.0.3", "reads", "agrees", ""]
        figures = {"done": 9, "lost": 0, "failed": 0, "torn": 0}
        beside = {"beside": "blocks", "java": figures, "ndzarr": figures, "reader": figures}
        undone = {**beside, "java": {**figures, "lost": 2}}
        all = dict.fromkeys(java_report.LIBRARIES, "1")
        tally = Tally([], [])
        self.assertEqual(java_report.wrong(all, tally, [], [{**beside, "ndzarr": {**figures, "lost": 3}}]), [])
        for wrong in [
            java_report.wrong(all, tally, [Outcome.parse(json.dumps(control))], []),
            java_report.wrong(all, tally, [], [undone]),
            java_report.wrong({name: "1" for name in all if name != "n5-zstandard"}, tally, [], []),
        ]:
            self.assertEqual(len(wrong), 1, wrong)
        self.assertEqual(len(java_report.missing(Tally([outcome("int8", "n5-zarr 2", "reads", "agrees")], []), [], [beside])), 2)


if __name__ == "__main__":
    unittest.main()
