"""Makes a wheel of a library that is compiled already: `pack.py PACKAGE LIBRARY OUT`."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(package: Path, library: Path, out: Path) -> None:
    python = [sys.executable, "-m"]
    with tempfile.TemporaryDirectory() as folder:
        describe = ["maturin", "pep517", "write-dist-info", "--interpreter", sys.executable]
        subprocess.run([*python, *describe, "--metadata-directory", folder], cwd=package, check=True, stdout=subprocess.DEVNULL)
        # What maturin promises of a wheel that it built is not true of this one.
        for tags in Path(folder).glob("*.dist-info/WHEEL"):
            tags.write_text(re.sub("(?m)^Generator: .*", "Generator: pack.py", tags.read_text()))
        ignore = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(package / "python" / "ndzarr", Path(folder) / "ndzarr", ignore=ignore)
        suffix = ".pyd" if library.suffix == ".dll" else ".abi3.so"
        shutil.copy(library, Path(folder) / "ndzarr" / f"_ndzarr{suffix}")
        out.mkdir(parents=True)
        subprocess.run([*python, "wheel", "pack", folder, "--dest-dir", out], check=True, stdout=subprocess.DEVNULL)


main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
