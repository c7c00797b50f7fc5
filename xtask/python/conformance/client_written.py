"""Has ndzarr read the arrays that clients wrote: `cargo xtask conformance --clients`.

Usage: client_written.py FOLDER WRITTEN. A line of WRITTEN is a client with the folder of its stores and the lines that
client_writes.py printed, or with why it was not run. Prints a line for each array: client, version, array, outcome, detail;
the outcome is "agrees", "differs", "refuses" (the client does) or "ndzarr refuses". Of one array of each client a chunk is
replaced afterwards: ndzarr must see that it differs.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from client_reads import expected
from compare import Differs, Ndzarr, Refused, same, same_elements

CONTROL = "int16"


def read(ndzarr, array, case, wanted, out):
    try:
        info = json.loads(ndzarr("read", str(array.parent), array.name, "--out", str(out)))
        same("shape", info["shape"], list(wanted.shape))
        same("data type", info["data_type"], case["dtype"])
        same("chunk shape", info["chunk_shape"], list(case["chunks"]))
        same_elements(out.read_bytes(), wanted.tobytes())
    except Refused as error:
        return "ndzarr refuses", str(error).splitlines()[0]
    except Differs as error:
        return "differs", str(error)
    return "agrees", ""


def replaced(array, to):
    """A copy of the array, of which one chunk is another one."""
    shutil.copytree(array, to)
    chunks = sorted(path for path in to.rglob("*") if path.is_file() and path.name[0].isdigit())
    chunks[0].write_bytes(chunks[-1].read_bytes())
    return to


def outcomes(ndzarr, stores, case, wrote, folder):
    *who, did, detail = wrote
    if did != "wrote":
        yield wrote
        return
    wanted = expected(folder, case)
    out = folder / "out.bin"
    array = stores / case["store"] / detail
    yield [*who, *read(ndzarr, array, case, wanted, out)]
    if case["name"].endswith(f" {CONTROL}"):
        control = replaced(array, array.with_name(f"{array.name}-control"))
        client, version, name = who
        yield [client, version, f"{name}, a chunk replaced", *read(ndzarr, control, case, wanted, out)]


def main():
    folder = Path(sys.argv[1])
    written = Path(sys.argv[2])
    cases = {case["name"]: case for case in json.loads((folder / "cases.json").read_text())}
    ndzarr = Ndzarr(os.environ["NDZARR_CONFORMANCE"])
    for line in written.read_text().splitlines():
        client, *rest = json.loads(line)
        if len(rest) == 1:
            print(json.dumps([client, *rest]))
            continue
        stores, said = rest
        for wrote in map(json.loads, said.splitlines()):
            for outcome in outcomes(ndzarr, Path(stores), cases[wrote[2]], wrote, folder):
                print(json.dumps(outcome))


if __name__ == "__main__":
    main()
