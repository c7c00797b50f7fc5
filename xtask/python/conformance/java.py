"""Compares Java N5 and n5-zarr with ndzarr in both directions: `cargo xtask conformance --java`.

Usage: java.py SECONDS FILTER. Prints the libraries on the class path, outcomes like compare.py, and what concurrent writers
did for some seconds.
"""

import json
import os
import sys

from cells import cells
from compare import Ndzarr, compare, show, temporary_folder
from java_beside import WHAT, beside
from java_nodes import blocks, cells_of_texts, controls, defaults, groups
from limits import fits
from peers_java import Java, peers


def main():
    seconds = int(sys.argv[1])
    pattern = sys.argv[2]
    ndzarr = Ndzarr(os.environ["NDZARR_CONFORMANCE"])
    java = Java()
    found = java("libraries")
    print(json.dumps(found))
    with temporary_folder() as folder:
        for peer in peers(java, found):
            for format in peer.formats:
                for cell in [*cells("full", [format]), *(cells_of_texts() if format == "n5" else [])]:
                    if peer.takes(cell) and fits(pattern, f"{cell.format}/{cell.type}/{cell.codec}/{cell.layout}"):
                        compare(ndzarr, [peer], cell, folder)
                if fits(pattern, f"{format}/nodes"):
                    defaults(ndzarr, peer, format, folder, show)
                    groups(ndzarr, peer, format, folder, show)
                    controls(ndzarr, peer, format, folder, show)
        if "n5" in found and fits(pattern, "n5/blocks"):
            blocks(ndzarr, peers(java, found)[0], folder, show)
        if "n5" in found and fits(pattern, "n5/beside"):
            for what in WHAT:
                print(json.dumps(beside(ndzarr, folder, what, seconds)), flush=True)


if __name__ == "__main__":
    main()
