"""What `cargo xtask bench` measured: tables for a terminal, the page of the records, and the README's picture.

`present.py table FILE` prints rows that were measured. `present.py record FILE [NAME]` keeps them as a record in
docs/internals/records, and `present.py draw` makes the page and the picture there of the latest records.
"""

import json
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

RECORDS = Path(__file__).parents[3] / "docs" / "internals" / "records"
# The rows in buckets have one record.
REMOTE = "remote.json"
# They write in place, so that a crash or a reader may find half of a value.
IN_PLACE = {"zarrs", "zarrs_reencode", "zarr-python-zarrs", "zarrista", "z5py"}


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def aligned(markdown):
    """The same table for a terminal: columns of equal width."""
    lines = [line for line in markdown.splitlines() if not line.startswith("|---")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(padded) + "\n"


def mib(n_bytes):
    return n_bytes / 2**20


def status(row):
    """The row's distance from its target."""
    verdict = row["verdict"]
    if row["is_new"]:
        return "not in the old one"
    if verdict["met"] == "No":
        return "given up on purpose" if row["gives_up"] else "MISSED"
    if verdict["met"] == "Undecided":
        return "undecided"
    return "memory missed" if verdict["memory_met"] is False else "met"


def run_row(row):
    verdict = row["verdict"]
    ours = verdict["engines"].get("ndzarr")
    best = verdict["best_peer"]
    theirs = verdict["engines"].get(best["to"]) if best else None
    in_place = row["writes"] and best and best["to"] in IN_PLACE

    def times(medians):
        return f"{medians['wall_ms']:.0f} ({medians['cpu_ms']:.0f})" if medians else "–"

    def ratio(of):
        return f"{of['median']:.2f} [{of['least']:.2f}–{of['most']:.2f}]" if of else "–"

    written = "–"
    if ours and theirs and row["writes"]:
        written = f"{mib(ours['stored_bytes']):.1f} ({mib(theirs['stored_bytes']):.1f})"
    peak = f"{ours['peak_mib']:.0f}" if ours else "–"
    if ours and row["memory_bytes"] is not None:
        peak += f" (of {mib(row['memory_bytes']):.0f})"
    return [
        row["title"],
        times(ours),
        best["to"] + (", in place" if in_place else "") if best else "–",
        times(theirs),
        ratio(best),
        f"{row['target']:.2f}",
        status(row),
        f"{best['cpu']:.2f}" if best else "–",
        ratio(verdict["floor"]),
        written,
        peak,
        str(ours["page_faults"]) if ours else "–",
        str(best["clean_rounds"]) if best else "–",
    ]


RUN_HEAD = ["row", "ndzarr ms (CPU)", "best peer", "its ms (CPU)", "ratio [least–most]", "target", "", "of CPU"]
RUN_HEAD += ["to the floor", "MiB written (its)", "peak MiB", "page faults", "clean rounds"]


def frames(rows):
    """The frames of every engine of the rows that append; empty without such rows."""
    found = []
    for row in rows:
        for engine, medians in row["verdict"]["engines"].items():
            if of := medians["frames"]:
                times = [f"{of[name] / 1e6:.2f}" for name in ("p50_ns", "p99_ns", "worst_ns")]
                found.append([row["title"], engine, *times, f"{mib(of['written_bytes']):.2f}"])
    head = ["row", "engine", "p50 ms", "p99 ms", "worst ms", "MiB written per frame"]
    return table(head, found) if found else ""


def engines(rows):
    """Every engine of every row."""
    found = []
    for row in rows:
        for engine, of in row["verdict"]["engines"].items():
            found.append([
                row["title"],
                engine,
                f"{of['wall_ms']:.1f}",
                f"{of['cpu_ms']:.1f}",
                f"{of['peak_mib']:.0f}",
                str(of["page_faults"]),
                f"{mib(of['stored_bytes']):.1f}" if row["writes"] else "",
                f"{of['disturbed']} of {of['rounds']}",
                "writes in place" if row["writes"] and engine in IN_PLACE else "",
            ])
    head = ["row", "engine", "ms", "CPU ms", "peak MiB", "page faults", "stored MiB", "disturbed", ""]
    return table(head, found)


def remote_row(row):
    best = row["best_peer"]
    target = row["target_ms"]
    peer = ["–"] * 4
    if best:
        peer = [best["name"], f"{best['ms']:.0f}", f"{best['requests']:.0f}", f"{best['ratio']:.2f}"]
    return [
        row["name"],
        str(row["latency_ms"]),
        f"{row['ms']:.0f}",
        f"{target:.0f}" if target is not None else "–",
        row["status"],
        f"{row['requests']:.0f}",
        f"{row['most_in_flight']:.0f}",
        f"{row['ideal_ms']:.0f}",
        f"{row['ms'] / row['ideal_ms']:.2f}",
        *peer,
    ]


REMOTE_HEAD = ["row", "latency ms", "ndzarr ms", "target", "", "requests", "most at once", "ideal ms"]
REMOTE_HEAD += ["to the ideal", "best peer", "its ms", "its requests", "ratio"]


def print_table(rows):
    if "verdict" not in rows[0]:
        print(aligned(table(REMOTE_HEAD, map(remote_row, rows))))
        missed = [f"{row['name']} at {row['latency_ms']} ms" for row in rows if row["status"] != "met"]
    else:
        print(aligned(table(RUN_HEAD, map(run_row, rows))))
        if of_frames := frames(rows):
            print(aligned(of_frames))
        missed = [f"{row['title']} ({status(row)})" for row in rows if status(row) != "met"]
    print(f"{len(rows) - len(missed)} of {len(rows)} rows met. {', '.join(missed)}")


def record(rows, name=None):
    """Keeps what was measured here and today."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    git = ["git", "-C", RECORDS, "describe", "--always", "--dirty"]
    date = datetime.now(UTC).date().isoformat()
    kept = {
        "commit": subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
        "date": date,
        "machine": f"{os.cpu_count()} processors, {cpu[1] if cpu else 'unknown'}, Linux {platform.release()}.",
        "rows": rows,
    }
    (RECORDS / (name or f"{date}.json")).write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


def draw():
    (RECORDS / "picture.svg").write_text(picture())
    (RECORDS / "README.md").write_text(page())


def read(name):
    return json.loads((RECORDS / name).read_text())


def latest():
    """The name of the latest record of a run; their names begin with the date."""
    return max(path.name for path in RECORDS.glob("*.json") if path.name != REMOTE)


def about(record):
    return f"Of {record['date']}, commit {record['commit']}. {record['machine']}"


def page():
    name = latest()
    run = read(name)
    in_buckets = read(REMOTE)
    rows = run["rows"]
    what = "".join(f"- {row['title']}: {row['what']}\n" for row in rows)
    return f"""\
# Records

Each run of `cargo xtask bench --record` leaves its figures here as JSON, earlier ones too. `cargo xtask bench
--draw` makes this page and [the picture](picture.svg) of the latest. [Performance](../../performance.md) says
what they mean.

## [{name}]({name})

{about(run)}

Times are medians of undisturbed rounds; ratios are medians of pairs of one round. Engines wrote to memory where a
row is not called synced.

{table(RUN_HEAD, map(run_row, rows))}
### Frames

{frames(rows)}
### Rows

{what}
## [{REMOTE}]({REMOTE})

{about(in_buckets)}

{table(REMOTE_HEAD, map(remote_row, in_buckets["rows"]))}
## Every engine of {name}

{engines(rows)}"""


# What the picture shows: rows by their titles, and what a user calls them. Chosen by what users do, not by who is
# faster.
SHOWN = {
    "W2 read": "Read a volume of 256 MiB, zstd",
    "W14 planes": "Read a volume plane by plane, chunks of 64³",
    "W10 as a batch": "Read 1,000 random small chunks of shards",
    "W4 write": "Write a volume in shards, zstd",
    "W7 read": "Read a volume from N5, gzip",
    "W17 copy to shards": "Copy 1 GiB into shards, in 192 MiB of memory",
    "W13 plain": "Open 1,000 arrays in a hierarchy",
    "W16 append": "Append a frame of 512²: 99 of 100 frames",
}
# The row from a bucket, at the first latency.
SHOWN_REMOTE = ("1,000 chunks", "Read 1,000 chunks from S3, 10 ms away")

WIDTH = 640
MARGIN = 16
TOP = 62
# From one workload to the next: a line of text and a bar.
STEP = 42
# Greater ratios end here, with an arrow.
MOST = 3

STYLE = """\
<style>
text{fill:#1f2328}.head{font-weight:600}.small{font-size:12px;fill:#59636e}
.slower{fill:#2f6fb3}.faster{fill:#d4711a}.even{fill:#8c959f}.grid{stroke:#d1d9e0}.one{stroke:#1f2328;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}
.slower{fill:#4c8fd6}.faster{fill:#e08a3c}.grid{stroke:#3d444d}.one{stroke:#f0f6fc}}
</style>
"""


def x(factor):
    """Where a factor is on the axis."""
    return MARGIN + min(factor, MOST) / MOST * (WIDTH - 2 * MARGIN)


def bar(name, ms, peer, peer_ms, y):
    """A workload with its bar, below `y`."""
    factor = peer_ms / ms
    # What rounding calls 1.0 is as fast.
    kind = "faster" if factor < 0.95 else "slower" if factor >= 1.05 else "even"
    figures = f"{peer} {in_ms(peer_ms)}, ndzarr {in_ms(ms)}: {factor:.1f}"
    yield f'<text x="{MARGIN}" y="{y + 12}">{name}</text>'
    yield f'<text x="{WIDTH - MARGIN}" y="{y + 12}" class="small" text-anchor="end">{figures}</text>'
    width = f"{x(factor) - MARGIN:.1f}"
    yield f'<rect x="{MARGIN}" y="{y + 18}" width="{width}" height="12" rx="2" class="{kind}"/>'
    # Beside the bar only, so that no line crosses the text.
    for tick in range(MOST + 1):
        at = x(tick)
        kind = "one" if tick == 1 else "grid"
        yield f'<line x1="{at:g}" x2="{at:g}" y1="{y + 15}" y2="{y + 33}" class="{kind}"/>'


def in_ms(ms):
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:.0f} ms"


def local(row, name):
    """A workload of a run: the times of ndzarr and of the best peer."""
    best = row["verdict"]["best_peer"]
    of = row["verdict"]["engines"]

    def ms(engine):
        # Of an append, nearly every frame counts.
        frames_of = of[engine]["frames"]
        return frames_of["p99_ns"] / 1e6 if frames_of else of[engine]["wall_ms"]

    return name, ms("ndzarr"), best["to"], ms(best["to"])


def picture():
    """The README's picture: how long the best peer takes for what users do, where ndzarr takes 1. As SVG."""
    run = read(latest())
    in_buckets = read(REMOTE)
    titled = {row["title"]: row for row in run["rows"]}
    workloads = [local(titled[title], name) for title, name in SHOWN.items()]
    row = next(row for row in in_buckets["rows"] if row["name"] == SHOWN_REMOTE[0])
    best = row["best_peer"]
    workloads.append((SHOWN_REMOTE[1], row["ms"], best["name"], best["ms"]))

    bottom = TOP + STEP * len(workloads)
    machine = run["machine"].split(", Linux")[0]
    family = "-apple-system,Segoe UI,Helvetica,Arial,sans-serif"
    size = f'viewBox="0 0 {WIDTH} {bottom + 40}" width="{WIDTH}" height="{bottom + 40}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{family}" font-size="14">']
    lines += [STYLE + "<title>How long the best other program takes; ndzarr takes 1</title>"]
    head = "Time of the best other program. Right of 1, ndzarr is faster"
    lines += [f'<text x="{MARGIN}" y="22" class="head">{head}</text>']
    for tick in range(MOST + 1):
        lines.append(f'<text x="{x(tick):g}" y="43" class="small" text-anchor="middle">{tick}</text>')
    for at, workload in enumerate(workloads):
        lines += bar(*workload, TOP + STEP * at)
    foot = f"{run['date']}, {machine}; S3 {in_buckets['date']}. Medians."
    lines += [f'<text x="{MARGIN}" y="{bottom + 22}" class="small">{foot}</text>', "</svg>", ""]
    return "\n".join(lines)


def main(task, file=None, name=None):
    rows = json.loads(Path(file).read_text()) if file else None
    if task == "table":
        print_table(rows)
        return
    if task == "record":
        record(rows, name)
    draw()


if __name__ == "__main__":
    main(*sys.argv[1:])
