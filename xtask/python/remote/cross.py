"""Arrays in buckets and on web servers, written by ndzarr and read by others, and the reverse.

Usage: cross.py SERVER FOLDER, with the variables of the service, NDZARR_REMOTE for the place, and NDZARR_CONFORMANCE for
the program. FOLDER is what a web server serves. Prints what was compared; the exit status is 1 if anything differs.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from urllib.parse import quote

import numpy as np
import tensorstore
import zarr

warnings.simplefilter("ignore")

PROGRAM = os.environ.get("NDZARR_CONFORMANCE", "")
ROOT = os.environ["NDZARR_REMOTE"] + "/cross"
DATA = np.arange(40 * 50, dtype="<u2").reshape(40, 50)
# Of ndzarr's specification of an array: what each layout adds to shape, type and chunks.
LAYOUTS = {
    "v2": {"format": "zarr2"},
    "v3": {"format": "zarr3"},
    "v3-shards": {"format": "zarr3", "shard_shape": [16, 50]},
    "n5": {"format": "n5", "n5_axes": "reversed"},
}
# RS-34: URLs write these in another way, and so may clients.
NAMES = ["a b", "x+y", "50% of", "%2F", "a%20b", "~", "é", "日本", "x?y=z#w", "a&b=c;d"]
WRONG = []


def check(what, compare):
    try:
        is_right = compare()
    except Exception as error:
        print(f"{what}: {error}", file=sys.stderr)
        is_right = False
    print(f"{'agrees' if is_right else 'DIFFERS'}: {what}")
    if not is_right:
        WRONG.append(what)


def ndzarr(*words):
    answer = subprocess.run([PROGRAM, *words], capture_output=True, text=True, encoding="utf-8")
    if answer.returncode != 0:
        raise RuntimeError(f"{words}: {answer.stderr.strip()}")
    return answer.stdout


def ndzarr_writes(place, node, layout):
    with tempfile.TemporaryDirectory() as scratch:
        spec = os.path.join(scratch, "spec")
        elements = os.path.join(scratch, "elements")
        with open(spec, "w", encoding="utf-8") as file:
            json.dump({"shape": DATA.shape, "data_type": "uint16", "chunk_shape": [8, 25], **LAYOUTS[layout]}, file)
        DATA.tofile(elements)
        ndzarr("write", place, quote(node) if "://" in place else node, "--spec", spec, "--in", elements)


def ndzarr_reads(node, layout):
    axes = ["--n5-axes", "reversed"] if layout == "n5" else []
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "elements")
        ndzarr("read", ROOT, quote(node), "--out", out, *axes)
        return (np.fromfile(out, "<u2").reshape(DATA.shape) == DATA).all()


def obstore_s3(node, read_only):
    from obstore.store import S3Store

    bucket, _, prefix = ROOT.removeprefix("s3://").partition("/")
    options = {"client_options": {"allow_http": True}, "virtual_hosted_style_request": False}
    return zarr.storage.ObjectStore(S3Store(bucket, prefix=f"{prefix}/{node}", **options), read_only=read_only)


def obstore_azure(node, read_only):
    from obstore.store import AzureStore

    container, _, prefix = ROOT.removeprefix("az://").partition("/")
    endpoint = os.environ["AZURE_STORAGE_ENDPOINT"]
    store = AzureStore(container, prefix=f"{prefix}/{node}", endpoint=endpoint, client_options={"allow_http": True})
    return zarr.storage.ObjectStore(store, read_only=read_only)


def obstore_http(node, read_only):
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(f"{ROOT}/{quote(node)}", client_options={"allow_http": True})
    return zarr.storage.ObjectStore(store, read_only=read_only)


def s3fs(node, read_only):
    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    return zarr.storage.FsspecStore.from_url(f"{ROOT}/{node}", storage_options=options, read_only=read_only)


def zarr_python(store):
    """How zarr-python writes and reads through a store."""

    def write(node, layout):
        more = {"shards": (16, 50)} if layout == "v3-shards" else {}
        version = 2 if layout == "v2" else 3
        array = zarr.create_array(
            store(node, False), shape=DATA.shape, chunks=(8, 25), dtype="<u2", zarr_format=version, **more
        )
        array[...] = DATA

    def read(node, _):
        return zarr.open_array(store(node, True), mode="r")[...]

    return write, read


def tensorstore_s3(node):
    bucket, _, path = ROOT.removeprefix("s3://").partition("/")
    place = {"endpoint": os.environ["AWS_ENDPOINT_URL"], "aws_region": os.environ["AWS_REGION"]}
    # Else it looks for profiles first, and complains.
    credentials = {"aws_credentials": {"type": "environment"}}
    return {"driver": "s3", "bucket": bucket, "path": f"{path}/{node}/", **place, **credentials}


def tensorstore_http(node):
    return {"driver": "http", "base_url": f"{ROOT}/{quote(node)}/"}


def tensorstore_by(kvstore):
    """How tensorstore writes and reads."""

    def spec(node, layout):
        driver = {"v2": "zarr", "n5": "n5"}.get(layout, "zarr3")
        return {"driver": driver, "kvstore": kvstore(node)}

    def write(node, layout):
        if layout == "v3-shards":
            chunks = tensorstore.ChunkLayout(write_chunk_shape=[16, 50], read_chunk_shape=[8, 25])
        else:
            chunks = tensorstore.ChunkLayout(chunk_shape=[25, 8] if layout == "n5" else [8, 25])
        shape, data = (DATA.T.shape, DATA.T) if layout == "n5" else (DATA.shape, DATA)
        array = tensorstore.open(
            spec(node, layout), create=True, dtype=tensorstore.uint16, shape=shape, chunk_layout=chunks
        ).result()
        array.write(data).result()

    def read(node, layout):
        found = tensorstore.open(spec(node, layout), open=True).result().read().result()
        return found.T if layout == "n5" else found

    return write, read


def keys_of_s3():
    """What the bucket has, by a client without knowledge of Zarr."""
    import botocore.session

    client = botocore.session.get_session().create_client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    bucket, _, prefix = ROOT.removeprefix("s3://").partition("/")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
    return {one["Key"].removeprefix(f"{prefix}/") for page in pages for one in page.get("Contents", [])}


def compare(peer, write, read, layouts):
    for layout in layouts:
        check(f"{peer} reads {layout} by ndzarr", lambda: (read(f"ndzarr/{layout}", layout) == DATA).all())
        if write:
            node = f"{peer}/{layout}"
            write(node, layout)
            check(f"ndzarr reads {layout} by {peer}", lambda: ndzarr_reads(node, layout))


def compare_names(peer, write, read):
    for name in NAMES:
        check(f"{peer} reads {name!r} by ndzarr", lambda: (read(f"odd/{name}", "v3") == DATA).all())
        if write:
            node = f"odd of {peer}/{name}"
            write(node, "v3")
            check(f"ndzarr reads {name!r} by {peer}", lambda: ndzarr_reads(node, "v3"))


def main():
    server, folder = sys.argv[1:]
    on_web = server in ("nginx", "lighttpd", "python")
    place = f"{folder}/cross" if on_web else ROOT
    for layout in LAYOUTS:
        ndzarr_writes(place, f"ndzarr/{layout}", layout)
        check(f"ndzarr reads {layout} by ndzarr", lambda: ndzarr_reads(f"ndzarr/{layout}", layout))
    for name in NAMES:
        ndzarr_writes(place, f"odd/{name}", "v3")
        check(f"ndzarr reads {name!r} by ndzarr", lambda: ndzarr_reads(f"odd/{name}", "v3"))
    zarrs = [layout for layout in LAYOUTS if layout != "n5"]
    if on_web:
        peers = [("obstore", None, zarr_python(obstore_http)[1], zarrs)]
        peers.append(("tensorstore", None, tensorstore_by(tensorstore_http)[1], LAYOUTS))
        if server == "python":
            # They need ranges for shards.
            peers = [(*peer, [layout for layout in layouts if layout != "v3-shards"]) for *peer, layouts in peers]
    elif server == "azurite":
        peers = [("obstore", *zarr_python(obstore_azure), zarrs)]
    else:
        peers = [("obstore", *zarr_python(obstore_s3), zarrs), ("s3fs", *zarr_python(s3fs), zarrs)]
        peers.append(("tensorstore", *tensorstore_by(tensorstore_s3), LAYOUTS))
        keys = keys_of_s3()
        for name in NAMES:
            check(f"the key of {name!r} is its name", lambda: f"odd/{name}/zarr.json" in keys)
    for peer, write, read, layouts in peers:
        compare(peer, write, read, layouts)
        compare_names(peer, write, read)
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
