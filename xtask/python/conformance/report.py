"""Judges the outcomes of compare.py by the known limits of peers, and writes the page of support.

Usage: report.py OUTCOMES [PAGE]. The exit status is 1 if an outcome disagrees. With a page, of
which OUTCOMES are a full run, limits that explain nothing are reported too.
"""

import itertools
import json
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from limits import LIMITS

# How many disagreements are shown; the rest are counted.
SHOWN = 40

DIRECTIONS = {"writes": "it writes, ndzarr reads", "reads": "ndzarr writes, it reads"}
RESULTS = {
    "agrees": "agrees", "differs": "differs", "peer refuses": "the peer refuses",
    "ndzarr refuses": "ndzarr refuses",
}

TITLES = {
    "zarr2": "Zarr v2", "zarr3": "Zarr v3",
    "zarr3-draft-b": "The draft of Zarr v3 of May 2022, dialect B", "n5": "N5",
}

# The axes by which cells differ.
AXES = {"data_type": "Data type", "codec": "Codec", "layout": "Layout"}

# The rest of the page is not written by this script: the section of the clients, and manual texts.
NEXT_SECTION = "\n## Programs that read what ndzarr wrote\n"

HEAD = """\
# What is supported, beside other implementations

`cargo xtask conformance` writes this page up to the known limits; do not edit that part. Every plain data type runs with
every codec and every layout of a format, every other type with every codec and some layouts, in both directions: the peer
writes and ndzarr reads, ndzarr writes and the peer reads. Elements are compared bit by bit with the NumPy array that was
written, and all metadata too. In the layout *consolidated* all other documents are removed before reading. Peers:
{peers} (zarrs runs the cells of plain types where it adds something).

**ndzarr**: R = has read what a peer wrote, W = a peer has read what ndzarr wrote. For each peer, whether ndzarr
reads what it writes, then the reverse; one word holds for both. *yes* = all cells agree, except for limits of the
peer about other rows; *partly* = some agree; *no* = none, without a number because the peer does not have it;
numbers are [known limits](#known-limits); a dash = not shown here. Rows with the same outcome are one; `…` stands
for all others of a kind: each compressor and shuffle of blosc, each unit of time.
{disagreements} comparisons show a difference that is not a known limit of the peer.
"""


class Outcome(NamedTuple):
    """The outcome of one cell, one peer and one direction: who writes."""

    format: str
    data_type: str
    codec: str
    layout: str
    peer: str
    direction: str
    result: str
    detail: str

    @staticmethod
    def parse(line):
        outcome = Outcome(*json.loads(line))
        if outcome.direction not in DIRECTIONS or outcome.result not in RESULTS:
            raise ValueError(f"not an outcome: {line}")
        return outcome

    @property
    def peer_name(self):
        """The peer without its version; the two versions of zarr-python are two peers."""
        name, _, version = self.peer.rpartition(" ")
        if name == "zarr-python":
            return "zarr-python 2" if version.startswith("2") else "zarr-python 3"
        return name or self.peer

    def __str__(self):
        who = f"{self.peer} writes, ndzarr reads"
        if self.direction == "reads":
            who = f"ndzarr writes, {self.peer} reads"
        cell = f"{self.format}/{self.data_type}/{self.codec}/{self.layout}"
        return f"{cell}: {who}: {RESULTS[self.result]}: {self.detail}"


class Judged(NamedTuple):
    """An outcome, and the places in the table of limits that explain it."""

    outcome: Outcome
    limits: list

    @property
    def agrees(self):
        return self.outcome.result == "agrees"

    @property
    def disagrees(self):
        return not self.agrees and not self.limits


class Tally:
    """All outcomes, each judged by the known limits."""

    def __init__(self, outcomes, limits=LIMITS):
        self.limits = limits
        self.judged = []
        # Agreements that a limit rules out.
        self.learned = {}
        for outcome in sorted(outcomes, key=order):
            covering = [i for i, limit in enumerate(limits) if limit.covers(outcome)]
            explaining = [i for i in covering if limits[i].result == outcome.result]
            self.judged.append(Judged(outcome, explaining))
            if outcome.result == "agrees":
                for i in covering:
                    if limits[i].always:
                        self.learned.setdefault(i, []).append(outcome)

    def disagreements(self):
        return [judged.outcome for judged in self.judged if judged.disagrees]

    def unused_limits(self):
        met = {i for judged in self.judged for i in judged.limits}
        return [limit for i, limit in enumerate(self.limits) if i not in met]

    def findings(self):
        """Disagreements, and limits that no longer hold."""
        disagreements = self.disagreements()
        lines = [f"DISAGREES {outcome}" for outcome in disagreements[:SHOWN]]
        if len(disagreements) > SHOWN:
            lines.append(f"… and {len(disagreements) - SHOWN} disagreements more")
        for i, outcomes in sorted(self.learned.items()):
            lines.append(
                f"agrees against a known limit, {len(outcomes)} times: {self.limits[i]}; {outcomes[0]}"
            )
        return lines

    def table(self):
        """Counts by format, peer and direction."""
        counts = {}
        for judged in self.judged:
            outcome = judged.outcome
            key = (outcome.format, outcome.peer, outcome.direction == "reads")
            row = counts.setdefault(key, [0, 0, 0])
            row[0 if judged.agrees else 2 if judged.disagrees else 1] += 1
        columns = "{:14} {:20} {:24} {:>8} {:>12} {:>9}"
        rows = [("format", "peer", "direction", "agrees", "known limit", "DISAGREES")]
        for (format, peer, is_reads), n in sorted(counts.items()):
            rows.append((format, peer, DIRECTIONS["reads" if is_reads else "writes"], *n))
        return "\n".join(columns.format(*row) for row in rows)


def order(outcome):
    """Processes finish in any order."""
    is_reads = outcome.direction == "reads"
    peer = (outcome.format, outcome.peer)
    return (*peer, outcome.data_type, outcome.codec, outcome.layout, is_reads)


class Page:
    """The part of the page that the outcomes make."""

    def __init__(self, tally):
        self.tally = tally
        # Numbers of limits, in the order of their first use. Limits of one reason share
        # one if they are about the same axes.
        self.numbers = {}

    def text(self):
        peers = sorted({judged.outcome.peer for judged in self.tally.judged})
        disagreements = len(self.tally.disagreements()) or "No"
        text = HEAD.format(peers=", ".join(peers), disagreements=disagreements)
        for format, title in TITLES.items():
            of_format = [it for it in self.tally.judged if it.outcome.format == format]
            if of_format:
                text += self.section(title, of_format)
        text += (
            "\n## Known limits\n\nOf the peers. One in several tables of a format, named in"
            " brackets, is about cells of all these rows.\n\n"
        )
        return text + "".join(f"{number}. {reason}\n" for reason, number in self.numbers.items())

    def section(self, title, of_format):
        cells = {it.outcome[1:4] for it in of_format}
        agree = sum(it.agrees for it in of_format)
        limited = sum(not it.agrees and not it.disagrees for it in of_format)
        text = f"\n## {title}\n\n{len(cells)} cells, {len(of_format)} comparisons: {agree} agree,"
        text += f" {limited} meet a known limit.\n"
        return text + "".join(self.axis_table(axis, of_format) for axis in AXES)

    def axis_table(self, axis, of_format):
        peers = sorted({it.outcome.peer_name for it in of_format})
        by_row = {}
        for it in of_format:
            by_row.setdefault(getattr(it.outcome, axis), []).append(it)
        text = f"\n| {AXES[axis]} | ndzarr |" + "".join(f" {peer} |" for peer in peers)
        text += "\n|---|---|" + "---|" * len(peers) + "\n"
        # Rows of the same outcome are one, where the first of them is.
        lines = {}
        for row, of_row in sorted(by_row.items()):
            agreeing = {it.outcome.direction for it in of_row if it.agrees}
            letters = [
                letter for direction, letter in [("writes", "R"), ("reads", "W")]
                if direction in agreeing
            ]
            line = ("".join(letters) or "–") + " |"
            for peer in peers:
                words = []
                for direction in DIRECTIONS:
                    here = [
                        it for it in of_row
                        if it.outcome.peer_name == peer and it.outcome.direction == direction
                    ]
                    words.append(self.word(axis, here))
                line += f" {words[1]} |" if words[0] == words[1] else f" {words[0]}, {words[1]} |"
            lines.setdefault(line, []).append(row)
        for line, names in lines.items():
            text += f"| {joined(names, by_row)} | {line}\n"
        return text

    def word(self, axis, cells):
        """How the cells of one row, peer and direction came out."""
        if any(it.disagrees for it in cells):
            return "**differs**"
        # A cell may have several limits; only those about this axis are shown.
        limited = itertools.chain.from_iterable(it.limits for it in cells)
        known = self.tally.limits
        limits = sorted({i for i in limited if getattr(known[i], axis) != "*"})
        numbers = sorted({self.number(known[i]) for i in limits if not is_absence(known[i])})
        if any(it.agrees for it in cells):
            word = "partly" if limits else "yes"
        else:
            word = "no" if limits else "–"
        return f"{word} [{' '.join(map(str, numbers))}]" if numbers else word

    def number(self, limit):
        return self.numbers.setdefault(reason(limit), len(self.numbers) + 1)


def narrowed(limit):
    """The axes that a limit is about: it applies to some of their values only."""
    return [title.lower() for axis, title in AXES.items() if getattr(limit, axis) != "*"]


def is_absence(limit):
    """True if the row by itself shows what the peer does not have."""
    return limit.why.startswith("has no ") and len(narrowed(limit)) == 1


def reason(limit):
    """The peer and what it cannot do, and the axes if they are several."""
    axes = narrowed(limit)
    text = f"{limit.peer} {limit.why}"
    return f"{text} ({', '.join(axes)})" if len(axes) > 1 else text


def joined(names, all_names):
    """The names of a line; for most of a kind, its name."""
    here = Counter(map(kind, names))
    everywhere = Counter(map(kind, all_names))
    shown = {}
    for name in names:
        of_kind = kind(name)
        is_most = of_kind and here[of_kind] > 2 and 2 * here[of_kind] > everywhere[of_kind]
        shown[of_kind if is_most else name] = None
    return "; ".join(shown)


def kind(name):
    """Values that differ only in a unit of time, or in the settings of blosc."""
    if "[" in name:
        return name.split("[")[0] + "[…]"
    return "blosc …" if name.startswith("blosc ") else None


def main():
    lines = Path(sys.argv[1]).read_text().splitlines()
    tally = Tally(map(Outcome.parse, lines))
    print(tally.table(), flush=True)
    for line in tally.findings():
        print(line, file=sys.stderr)
    if len(sys.argv) > 2:
        for limit in tally.unused_limits():
            print(f"this limit no longer applies to any cell: {limit}", file=sys.stderr)
        page = Path(sys.argv[2])
        _, title, rest = page.read_text().partition(NEXT_SECTION)
        if not title:
            sys.exit(f"{page} has no section on clients")
        page.write_text(Page(tally).text() + title + rest)
        print(f"wrote {page}", file=sys.stderr)
    if not tally.judged:
        sys.exit("no cell fits")
    if tally.disagreements():
        sys.exit(f"{len(tally.disagreements())} disagreements")


if __name__ == "__main__":
    main()
