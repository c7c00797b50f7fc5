"""Judges what clients read and wrote by what is known of them, and writes their section of the page.

Usage: client_report.py READ WRITTEN PAGE. A line of READ is `[client, version, array, outcome,
detail]`, with the client's words, what differs, or the type that it gave instead as the detail; or
`[client, why]` of one that was not run. So is one of WRITTEN, which ndzarr has read. The exit status
is 1 if an outcome is wrong or a client was not run.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

from limits import fits

V3 = "v3 *|CF in v3, *"
NETCDF = "netCDF4|netCDF4 of Debian"

# Arrays that were changed after ndzarr had written them. A client that sees no difference compares
# nothing.
CONTROLS = "*, a chunk replaced"

TITLE = "\n## Programs that read what ndzarr wrote\n"

HEAD = """
`cargo xtask conformance --clients` writes this section. Each program reads arrays that ndzarr wrote and is
compared element by element with the formula that they were made by; programs in JavaScript read over
HTTP with ranges, neuroglancer in Chromium. *yes* = all elements are equal; *no* = an error; *wrong* = other
values without an error; a dash = not asked. Numbers are limits of the program, below. Arrays with the same
outcome are one row. Controls, of which a chunk was replaced afterwards, must be wrong, and are.

Programs: {programs}.

| Arrays |"""

HEAD_WRITTEN = """
### Programs that write what ndzarr reads

Those of them that can write make arrays with the same elements, types, chunks and codecs by their own calls, and ndzarr
compares them bit by bit. A dash = the program was not asked for it, as it has no such codec or layout. xarray and Dask write
by zarr-python, which is compared above; ome-zarr.js and neuroglancer only read.

| Arrays |"""


class Known(NamedTuple):
    """Arrays that clients do not read as they are. Clients and arrays are lists of patterns."""

    clients: str
    arrays: str
    read: str
    # Part of the client's words.
    says: str
    why: str


class Outcome(NamedTuple):
    """What a client did with an array: it `agrees`, `differs` or `refuses`. Of an array that it wrote,
    ndzarr decides whether it agrees, or it is one that `ndzarr refuses`."""

    client: str
    version: str
    array: str
    read: str
    detail: str
    direction: str = "reads"

    @property
    def is_control(self):
        return fits(CONTROLS, self.array)

    @property
    def known(self):
        """The place in the table of what explains it."""
        for i, known in enumerate(KNOWN[self.direction]):
            covers = fits(known.clients, self.client) and fits(known.arrays, self.array)
            if covers and known.read == self.read and known.says in self.detail:
                return i
        return None

    @property
    def is_right(self):
        if self.is_control:
            return self.read == "differs"
        return self.read == "agrees" or self.known is not None


def no(clients, arrays, says, why):
    return Known(clients, arrays, "refuses", says, why)


def wrong(clients, arrays, why):
    return Known(clients, arrays, "differs", "", why)


READ = [
    no("xarray", "n5 *", "No group found", "has no N5: zarr-python 3 has none"),
    no("Dask", "n5 *", "No array found", "has no N5: zarr-python 3 has none"),
    no("rasterio|GDAL", "n5 *", "No such file or directory", "has no N5"),
    no(NETCDF, "n5 *", "Unknown file format", "has no N5"),
    no("zarrita.js", "n5 *", "Not found", "has no N5"),
    no(
        "rasterio", V3, "Unsupported codec",
        "has GDAL 3.10, which knows the codecs of a draft of v3 only",
    ),
    no(
        "rasterio|GDAL", "v2 complex64", "Invalid fill_value",
        "takes no pair of numbers for a fill value",
    ),
    no("rasterio|GDAL", "v2 bz2|v2 lz4", "Decompressor", "is built without this codec"),
    no("GDAL", "v3 numcodecs.*", "Unsupported codec", "has no codec of numcodecs in v3"),
    no(
        "zarrita.js", "v3 shards, index at the start", "status 416",
        "takes the end of a shard for its index, wherever it is",
    ),
    no(
        "rasterio", "v2 filter shuffle, zlib", "Filter shuffle not handled",
        "has no filter shuffle in this build",
    ),
    no(NETCDF, V3, "Unknown file format", "has no Zarr v3 in this build"),
    no(NETCDF, "v2 bool|v2 float16|v2 complex64", "NCZarr error", "has no such data type"),
    no("netCDF4", "v2 gzip|v2 lz4|v2 lzma", "undefined filter", "comes without this filter"),
    wrong(
        "netCDF4 of Debian", "v2 zlib|v2 gzip|v2 bz2|v2 zstd|v2 lz4|v2 lzma|v2 blosc*|v2 filter*",
        "comes without filters, and shows compressed bytes as elements",
    ),
    wrong(NETCDF, "v2 order F", "reads chunks in F order as if they were in C order"),
    wrong(NETCDF, "CF in v2, unpacked", "does not take the fill value of v2 as CF's `_FillValue`"),
    no("zarrita.js", "v2 complex64", "Unsupported or unknown dtype", "has no complex numbers"),
    no("zarrita.js", "v3 complex64", "Unknown or unsupported dataType", "has no complex numbers"),
    no("zarrita.js", "v2 bz2|v2 lzma", "Unknown codec", "has no such codec"),
    no(
        "neuroglancer", "v2 bool|v2 float16|v2 float64|v2 complex64", "Unsupported numpy data type",
        "has no such data type",
    ),
    no(
        "neuroglancer", "v3 bool|v3 int64|v3 float16|v3 float64|v3 complex64", "Invalid enum value",
        "has no such data type",
    ),
    no(
        "neuroglancer", "n5 int64|n5 float64|n5 bzip2|n5 lz4|n5 xz", "Error parsing array metadata",
        "has no such data type or codec in N5",
    ),
    no(
        "neuroglancer", "n5 uint64", "did not come",
        "takes elements of 8 bytes only where they begin at a multiple of 8, which follows no "
        "header of 12 bytes",
    ),
    no("neuroglancer", "v2 bz2|v2 lz4|v2 lzma", "Unsupported compressor", "has no such codec"),
    wrong("neuroglancer", "v2 int64", "reads negative numbers of 8 bytes as positive"),
    wrong("neuroglancer", "v2 filter*", "passes over filters"),
]

WRITTEN = [
    no("rasterio|GDAL", "v2 bool|v3 bool", "invalid dtype", "has no such data type"),
    no("rasterio", "v2 float16|v3 float16", "invalid dtype", "has no such data type"),
    no("rasterio", "v2 lz4", "not available", "is built without this codec"),
    no("rasterio", "v3 zstd", "not implemented with Zarr V3", "has this codec in v2 only"),
    no(NETCDF, "v2 bool|v2 float16", "Illegal primitive data type", "has no such data type"),
    no(NETCDF, "v2 complex64", "complex datatypes", "has complex numbers only as structures, which its Zarr has not"),
    no(
        "netCDF4 of Debian", "v2 zlib|v2 filter shuffle, zlib", "it wrote no codec",
        "comes without filters, and writes elements that are not compressed, without an error",
    ),
    no("netCDF4 of Debian", "v2 bz2|v2 zstd", "undefined filter", "comes without this filter"),
    no("netCDF4 of Debian", "v2 blosc lz4", "compression='blosc_*'", "comes without this filter"),
    no("zarrita.js", "v3 complex64", "no elements of complex64", "has no complex numbers"),
]

KNOWN = {"reads": READ, "writes": WRITTEN}


def unmet(outcomes, direction):
    """What is said of clients that ran and did not show it."""
    ran = {outcome.client for outcome in outcomes}
    met = {outcome.known for outcome in outcomes}
    return [
        known for i, known in enumerate(KNOWN[direction])
        if i not in met and any(fits(known.clients, client) for client in ran)
    ]


def section(outcomes, head):
    versions = {outcome.client: outcome.version for outcome in outcomes}
    programs = "; ".join(f"{client} {version}" for client, version in versions.items())
    text = head.format(programs=programs)
    text += "".join(f" {client} |" for client in versions)
    text += "\n|---|" + "---|" * len(versions) + "\n"
    numbers = {}
    rows = {}
    found = {(outcome.client, outcome.array): outcome for outcome in reversed(outcomes)}
    for array in dict.fromkeys(it.array for it in outcomes if not it.is_control):
        row = ""
        for client in versions:
            outcome = found.get((client, array))
            row += f" {word(outcome, numbers) if outcome else '–'} |"
        rows.setdefault(row, []).append(array)
    for row, arrays in rows.items():
        text += f"| {'; '.join(arrays)} |{row}\n"
    text += "\n"
    for i, number in numbers.items():
        known = KNOWN[outcomes[0].direction][i]
        words = f": “{known.says}”" if known.says else ""
        text += f"{number}. {known.clients.replace('|', ', ')} {known.why}{words}.\n"
    return text


def word(outcome, numbers):
    """How one array came out."""
    if outcome.read == "agrees":
        return f"yes, {outcome.detail}" if outcome.detail else "yes"
    shown = "wrong" if outcome.read == "differs" else "no"
    if outcome.known is None:
        return f"**{shown}**"
    return f"{shown} [{numbers.setdefault(outcome.known, len(numbers) + 1)}]"


def show(outcomes):
    for client, version in dict.fromkeys((it.client, it.version) for it in outcomes):
        own = [it for it in outcomes if it.client == client]
        right = [it for it in own if it.is_right]
        agree = sum(it.read == "agrees" for it in right)
        controls = sum(it.is_control for it in right)
        print(
            f"{client} {version} {own[0].direction}: {agree} arrays agree,"
            f" {len(right) - agree - controls} meet a known limit, {controls} controls differ,"
            f" {len(own) - len(right)} WRONG"
        )


def parsed(path, direction):
    """The outcomes of a file, and why clients were not run."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    outcomes = [Outcome(*line, direction) for line in lines if len(line) == 5]
    reasons = dict(line for line in lines if len(line) == 2)
    # One without a control was not run: nothing shows that it can fail.
    not_run = [
        f"{client} was not run: {reasons.get(client, f'it {direction} no array')}"
        for client in dict.fromkeys(line[0] for line in lines)
        if not any(it.client == client and it.is_control for it in outcomes)
    ]
    return outcomes, not_run


def main():
    read, written, page = sys.argv[1:]
    text = TITLE
    n_wrong = 0
    n_unmet = 0
    n_not_run = 0
    for path, direction, head in [(read, "reads", HEAD), (written, "writes", HEAD_WRITTEN)]:
        outcomes, not_run = parsed(path, direction)
        show(outcomes)
        wrong_ones = [outcome for outcome in outcomes if not outcome.is_right]
        no_longer = unmet(outcomes, direction)
        for it in wrong_ones:
            print(f"WRONG {it.client} {direction}: {it.array}: {it.read}: {it.detail}", file=sys.stderr)
        for known in no_longer:
            about = f"{known.clients}: {known.arrays}: {known.why}"
            print(f"this limit no longer applies: {direction}: {about}", file=sys.stderr)
        for why in not_run:
            print(why, file=sys.stderr)
        n_wrong += len(wrong_ones)
        n_unmet += len(no_longer)
        n_not_run += len(not_run)
        text += section(outcomes, head)
    if n_wrong or n_unmet or n_not_run:
        sys.exit(f"{n_wrong} outcomes are wrong, {n_unmet} limits do not apply, {n_not_run} clients were not run")
    page = Path(page)
    before, title, rest = page.read_text().partition(TITLE)
    _, next_title, after = rest.partition("\n## ")
    if not (title and next_title):
        sys.exit(f"{page} has no section on clients, or none after it")
    page.write_text(before + text + next_title + after)
    print(f"wrote {page}", file=sys.stderr)


if __name__ == "__main__":
    main()
