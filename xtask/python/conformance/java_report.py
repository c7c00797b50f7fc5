"""Judges the outcomes of java.py by what is known of Java N5 and n5-zarr, and writes their section of the page.

Usage: java_report.py OUTCOMES [PAGE]. The exit status is 1 if an outcome is wrong or a library was not run.
"""

import json
import sys
from pathlib import Path

import java_beside
from java_limits import LIMITS
from report import DIRECTIONS, TITLES, Outcome, Page, Tally

LIBRARIES = ["n5", "n5-blosc", "n5-zstandard", "n5-zarr", "n5-zarr v3"]

CONTROL = "control: a chunk replaced"

TITLE = "\n## Java N5 and n5-zarr\n"

HEAD = """
`cargo xtask conformance --java` writes this section: a program in Java, compiled against the class path that is given,
writes what ndzarr reads, and reads what ndzarr wrote. Cells, words and numbers are as at the top of the page. n5-zarr runs
plain types alone; each type runs with every codec and with every layout, uint16 with all of both. Texts of N5 are blocks of
mode 1, objects are blocks of mode 2. Controls, of which a chunk was replaced afterwards, must differ, and
{differ} of {controls} do. {disagreements} comparisons show a difference that is not a known limit of the peer.

Libraries: {libraries}.
"""

BESIDE = """
### Java N5 as a writer beside ndzarr

One process of Java, two of ndzarr that write and one that reads, for {seconds} s on one dataset. Each writer changes an
attribute or an element of its own, Java also half of the only block. [Guarantees](../guarantees.md#beside-java-n5) say
what must not be: bold.

| | Java's changes | lost | ndzarr's changes | failed | undone by Java, which read before | reads | failed | torn values |
|---|---|---|---|---|---|---|---|---|
"""


def is_control(outcome):
    return outcome.layout == CONTROL


def cell(figure, must_be_none=True):
    return f"**{figure:,}**" if must_be_none and figure else f"{figure:,}"


def row(it):
    java = it["java"]
    ndzarr = it["ndzarr"]
    reader = it["reader"]
    torn = java["torn"] + ndzarr["torn"] + reader["torn"]
    return (
        f"| {it['beside']} | {java['done']:,} | {cell(java['lost'])} | {ndzarr['done']:,} | {cell(ndzarr['failed'])} |"
        f" {ndzarr['lost']:,} | {reader['done']:,} | {cell(reader['failed'])} | {cell(torn)} |\n"
    )


def section(libraries, tally, controls, beside):
    named = "; ".join(f"{name} {libraries[name]}" for name in LIBRARIES if name != "n5-zarr v3")
    differ = sum(it.result == "differs" for it in controls)
    disagreements = len(tally.disagreements()) or "No"
    text = TITLE + HEAD.format(libraries=named, controls=len(controls), differ=differ, disagreements=disagreements)
    page = Page(tally)
    for format, title in TITLES.items():
        of_format = [it for it in tally.judged if it.outcome.format == format]
        if of_format:
            text += page.section(title, of_format).replace("\n## ", "\n### ")
    text += "\nLimits of the two:\n\n" + "".join(f"{number}. {reason}\n" for reason, number in page.numbers.items())
    return text + BESIDE.format(seconds=beside[0]["seconds"]) + "".join(map(row, beside))


def wrong(libraries, tally, controls, beside):
    """What the run must not show, in words."""
    found = tally.findings()
    found += [f"a control does not differ: {outcome}" for outcome in controls if outcome.result != "differs"]
    for it in beside:
        found += [f"not as guaranteed: {words}" for words in java_beside.wrong(it)]
    return found + [f"{name} is not on the class path, and was not run" for name in LIBRARIES if name not in libraries]


def missing(tally, controls, beside):
    """What a full run must show."""
    found = [f"this limit no longer applies to any cell: {limit}" for limit in tally.unused_limits()]
    expected = {(it.outcome.format, it.outcome.direction) for it in tally.judged}
    found += [f"no control of {it}" for it in expected - {(it.format, it.direction) for it in controls}]
    return found + [f"no writers beside each other: {what}" for what in java_beside.WHAT if what not in [it["beside"] for it in beside]]


def main():
    libraries, *lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    outcomes = [Outcome.parse(json.dumps(line)) for line in lines if isinstance(line, list)]
    beside = [line for line in lines if isinstance(line, dict)]
    controls = [outcome for outcome in outcomes if is_control(outcome)]
    tally = Tally([outcome for outcome in outcomes if not is_control(outcome)], LIMITS)
    print(tally.table(), flush=True)
    findings = wrong(libraries, tally, controls, beside)
    gaps = missing(tally, controls, beside) if len(sys.argv) > 2 else []
    for finding in [*findings, *gaps]:
        print(finding, file=sys.stderr)
    if len(sys.argv) > 2 and all(name in libraries for name in LIBRARIES):
        page = Path(sys.argv[2])
        before, title, rest = page.read_text().partition(TITLE)
        _, next_title, after = rest.partition("\n## ")
        if not (title and next_title):
            sys.exit(f"{page} has no section on Java, or none after it")
        page.write_text(before + section(libraries, tally, controls, beside) + next_title + after)
        print(f"wrote {page}", file=sys.stderr)
    if findings or gaps:
        sys.exit(f"{len(findings) + len(gaps)} findings")


if __name__ == "__main__":
    main()
