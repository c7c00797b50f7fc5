"""Tests of the presentation: python3 -m unittest discover -s xtask/python/bench"""

import re
import unittest

import present


def row(met="Yes", memory_met=None, gives_up=None, is_new=False):
    verdict = {"met": met, "memory_met": memory_met}
    return {"verdict": verdict, "gives_up": gives_up, "is_new": is_new}


class Presentation(unittest.TestCase):
    def test_the_committed_picture_and_page_are_those_of_the_record(self):
        why = "draw them: cargo xtask bench --draw"
        self.assertEqual((present.RECORDS / "picture.svg").read_text(), present.picture(), why)
        self.assertEqual((present.RECORDS / "README.md").read_text(), present.page(), why)

    def test_the_picture_fits_a_screen_and_the_dark(self):
        # GitHub shows it as wide as its page; taller than this, it would hide the first program.
        svg = present.picture()
        self.assertLessEqual(int(re.search(r'height="(\d+)"', svg)[1]), 500)
        self.assertIn("prefers-color-scheme:dark", svg)

    def test_a_row_says_how_far_it_is_from_its_target(self):
        for expected, of in [
            ("met", row()),
            ("met", row(memory_met=True)),
            ("memory missed", row(memory_met=False)),
            ("MISSED", row(met="No", memory_met=False)),
            ("given up on purpose", row(met="No", gives_up="safety")),
            ("undecided", row(met="Undecided")),
            ("not in the old one", row(met="No", is_new=True)),
        ]:
            self.assertEqual(present.status(of), expected)

    def test_columns_of_a_terminal_have_one_width(self):
        markdown = present.table(["a", "b"], [["éé", "1"], ["c", "22"]])
        self.assertEqual(markdown, "| a | b |\n|---|---|\n| éé | 1 |\n| c | 22 |\n")
        self.assertEqual(present.aligned(markdown), "a   b\néé  1\nc   22\n")


if __name__ == "__main__":
    unittest.main()
