"""ZIP archives of ndzarr read by zipfile, `zip -T`, zarr-python and tensorstore, and theirs read by ndzarr.

Usage: archives.py. Prints what was compared; the exit status is 1 if anything differs. `zip -T` is left out if the
program `zip` is not installed.
"""

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import tensorstore
import zarr

warnings.simplefilter("ignore")

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
DATA = np.arange(40 * 50, dtype="<u2").reshape(40, 50)
WRONG = []


def check(what, is_right):
    print(f"{'agrees' if is_right else 'DIFFERS'}: {what}")
    if not is_right:
        WRONG.append(what)


def ndzarr(*words):
    answer = subprocess.run([PROGRAM, *words], capture_output=True, text=True, encoding="utf-8")
    if answer.returncode != 0:
        raise RuntimeError(f"{words}: {answer.stderr.strip()}")
    return answer.stdout


def ndzarr_reads(archive, node, expected, attributes=None):
    """True if ndzarr reads these elements and attributes from an archive."""
    out = archive + ".elements"
    try:
        about = json.loads(ndzarr("read", archive, node, "--out", out))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return False
    with open(out, "rb") as file:
        elements = file.read()
    return elements == expected.tobytes() and (attributes is None or about["attributes"] == attributes)


def source(folder, zarr_format):
    """A hierarchy by zarr-python: a group with attributes, and arrays in it."""
    root = zarr.create_group(folder, zarr_format=zarr_format, attributes={"is": "root"})
    root.create_array("plain", shape=DATA.shape, chunks=(8, 25), dtype="<u2")[...] = DATA
    shards = {"shards": (16, 50)} if zarr_format == 3 else {}
    root.create_array("below/other", shape=DATA.shape, chunks=(8, 25), dtype="<u2", **shards)[...] = DATA
    root["plain"].attrs["unit"] = "K"


def theirs(scratch, zarr_format):
    """Archives by zarr-python's ZipStore: each change of a document is one more entry of the same name."""
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive = os.path.join(scratch, f"theirs-{zarr_format}-{method}.zip")
        store = zarr.storage.ZipStore(archive, mode="w", compression=method)
        source(store, zarr_format)
        root = zarr.open_group(store, mode="a")
        for i in range(3):
            root["plain"].attrs["round"] = i
        root["plain"][0, 0] = 7
        root["plain"][0, 0] = 9
        store.close()
        names = zipfile.ZipFile(archive).namelist()
        changed = DATA.copy()
        changed[0, 0] = 9
        what = f"zarr-python's archive, Zarr v{zarr_format}, method {method}"
        check(f"{what}: names are repeated", len(names) > len(set(names)))
        check(f"{what}: changed array", ndzarr_reads(archive, "plain", changed, {"unit": "K", "round": 2}))
        check(f"{what}: array below", ndzarr_reads(archive, "below/other", DATA))


def by_command(scratch):
    """Archives of folders by Python's zipfile, with folders as entries, and streamed."""
    folder = os.path.join(scratch, "folder")
    source(folder, 3)
    archive = shutil.make_archive(os.path.join(scratch, "folders"), "zip", folder)
    check("zipfile's archive with folders", ndzarr_reads(archive, "below/other", DATA))

    class NoSeek(io.RawIOBase):
        def __init__(self, file):
            self.file = file

        def writable(self):
            return True

        def write(self, data):
            return self.file.write(data)

    archive = os.path.join(scratch, "streamed.zip")
    with open(archive, "wb") as file, zipfile.ZipFile(NoSeek(file), "w", zipfile.ZIP_DEFLATED) as streamed:
        for path, _, names in os.walk(folder):
            for name in names:
                file_path = os.path.join(path, name)
                with streamed.open(os.path.relpath(file_path, folder), "w", force_zip64=True) as entry:
                    with open(file_path, "rb") as value:
                        entry.write(value.read())
    check("zipfile's streamed archive, with zip64", ndzarr_reads(archive, "plain", DATA, {"unit": "K"}))
    if shutil.which("zip"):
        archive = os.path.join(scratch, "info-zip.zip")
        subprocess.run(["zip", "-q", "-r", archive, "."], cwd=folder, check=True)
        check("the archive of zip -r", ndzarr_reads(archive, "plain", DATA, {"unit": "K"}))


def is_as_promised(archive):
    """Each name once, stored, no descriptors, no folders, documents first."""
    with zipfile.ZipFile(archive) as opened:
        entries = opened.infolist()
        names = [entry.filename for entry in entries]
        documents = [name for name in names if name.endswith("zarr.json")]
        return (
            len(names) == len(set(names))
            and opened.testzip() is None
            and all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
            and all(not entry.flag_bits & 8 and not entry.is_dir() for entry in entries)
            and names[: len(documents)] == sorted(documents, key=lambda name: (name.count("/"), name))
        )


def ours(scratch, zarr_format):
    """Archives by ndzarr, of the hierarchy of zarr-python."""
    folder = os.path.join(scratch, f"folder-{zarr_format}")
    source(folder, zarr_format)
    archive = os.path.join(scratch, f"ours-{zarr_format}.zip")
    ndzarr("convert", folder, "", "--into", archive, "--to", f"zarr{zarr_format}")
    what = f"ndzarr's archive, Zarr v{zarr_format}"
    check(f"{what}: zipfile", is_as_promised(archive))
    if shutil.which("zip"):
        tested = subprocess.run(["zip", "-q", "-T", archive], capture_output=True, text=True)
        check(f"{what}: zip -T", tested.returncode == 0)
    root = zarr.open_group(zarr.storage.ZipStore(archive, mode="r"), mode="r")
    check(f"{what}: zarr-python, attributes", dict(root.attrs) == {"is": "root"})
    for node in ("plain", "below/other"):
        check(f"{what}: zarr-python, {node}", (root[node][...] == DATA).all())
        spec = {
            "driver": "zarr3" if zarr_format == 3 else "zarr",
            "kvstore": {"driver": "zip", "base": f"file://{archive}", "path": node + "/"},
        }
        read = tensorstore.open(spec, open=True).result().read().result()
        check(f"{what}: tensorstore, {node}", (read == DATA).all())
        check(f"{what}: ndzarr, {node}", ndzarr_reads(archive, node, DATA))
    back = os.path.join(scratch, f"back-{zarr_format}")
    ndzarr("convert", archive, "", "--into", back, "--to", f"zarr{zarr_format}")
    check(f"{what}: back in a folder", (zarr.open_array(back, path="plain", mode="r")[...] == DATA).all())


def large(scratch):
    """So many entries that they need zip64."""
    folder = os.path.join(scratch, "many")
    line = np.arange(70_000, dtype="<u1")
    zarr.create_array(folder, shape=line.shape, chunks=(1,), dtype="<u1", compressors=None, fill_value=1)
    for i in range(70_000):
        with open(os.path.join(folder, "c", str(i)) if i else ensured(folder), "wb") as file:
            file.write(bytes([line[i]]))
    archive = os.path.join(scratch, "many.zip")
    ndzarr("convert", folder, "", "--into", archive, "--to", "zarr3")
    with open(archive, "rb") as file:
        file.seek(-98, os.SEEK_END)
        end = file.read()
    check("70,000 entries: zip64", end[:4] == b"PK\x06\x06" and struct.unpack_from("<Q", end, 32)[0] > 65_535)
    check("70,000 entries: zipfile", is_as_promised(archive))
    if shutil.which("zip"):
        tested = subprocess.run(["zip", "-q", "-T", archive], capture_output=True, text=True)
        check("70,000 entries: zip -T", tested.returncode == 0)
    spec = {"driver": "zarr3", "kvstore": {"driver": "zip", "base": f"file://{archive}", "path": ""}}
    read = tensorstore.open(spec, open=True).result()[69_000:].read().result()
    check("70,000 entries: tensorstore", (read == line[69_000:]).all())
    check("70,000 entries: ndzarr", ndzarr_reads(archive, "", line))


def ensured(folder):
    os.makedirs(os.path.join(folder, "c"), exist_ok=True)
    return os.path.join(folder, "c", "0")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        by_command(scratch)
        for zarr_format in (3, 2):
            theirs(scratch, zarr_format)
            ours(scratch, zarr_format)
        large(scratch)
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
