"""Compresses a wheel again, as small as deflate allows: `compress.py WHEEL`."""

import os
import sys
import zipfile
from typing import Any

import zopfli.zlib


class Zopfli:
    """Has the face of `zlib.compressobj`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def compress(self, part: Any) -> bytes:
        self.parts.append(bytes(part))
        return b""

    def flush(self) -> bytes:
        # Without the header and the checksum of zlib.
        return zopfli.zlib.compress(b"".join(self.parts), numiterations=1)[2:-4]


def main(wheel: str) -> None:
    # It has no option for the compressor.
    zipfile._get_compressor = lambda *_: Zopfli()  # type: ignore[attr-defined]
    smaller = wheel + ".part"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(smaller, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
    os.replace(smaller, wheel)


main(sys.argv[1])
