"""Peers in a bucket: `remote.py PEER request.json`, as benchmarks/remote/src/request.rs has it."""

import functools
import os
import socket
import sys
import warnings

warnings.simplefilter("ignore")
os.environ.update(AWS_ACCESS_KEY_ID="an-id", AWS_SECRET_ACCESS_KEY="a-secret", AWS_REGION="us-east-1")
os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")

from measure import Measure, request  # noqa: E402

PEER, R = sys.argv[1], request()
OPERATION = R["operation"]
# As many as ndzarr has. By default tensorstore has 32, zarr-python 10.
IN_FLIGHT = 256


def start():
    host, port = R["control"].rsplit(":", 1)
    with socket.create_connection((host, int(port))) as control:
        control.sendall(b"forget\n")
        control.makefile().readline()
    return Measure()


class Tensorstore:
    def __init__(self):
        import tensorstore as ts

        self.ts = ts
        bytes_kept = (1 << 30) if OPERATION.startswith("planes") else 0
        self.context = ts.Context({
            "cache_pool": {"total_bytes_limit": bytes_kept},
            "s3_request_concurrency": {"limit": IN_FLIGHT},
            "data_copy_concurrency": {"limit": 2},
        })

    def value(self, path):
        place = {"bucket": R["bucket"], "endpoint": R["endpoint"], "aws_region": "us-east-1"}
        return {"driver": "s3", "path": path, "aws_credentials": {"type": "environment"}, **place}

    def kvstore(self, path):
        if OPERATION == "archive":
            return {"driver": "zip", "base": self.value(path), "path": "nothing/"}
        return self.value(path + "/")

    def spec(self, path):
        driver = {"zarr2": "zarr", "zarr3": "zarr3", "n5": "n5"}[R["format"]]
        frozen = {"recheck_cached_data": "open"} if OPERATION == "planes-frozen" else {}
        return {"driver": driver, "kvstore": self.kvstore(path), **frozen}

    def open(self, path=None):
        return self.ts.open(self.spec(path or R["path"]), open=True, read=True, context=self.context).result()

    def warm(self):
        try:
            self.open("missing")
        except ValueError:
            pass

    def shape(self, array):
        return list(array.shape)

    def read(self, array, region):
        return array[region].read(order="C").result()

    def batch(self, array, regions):
        batch = self.ts.Batch()
        futures = [array[region].read(batch=batch) for region in regions]
        batch.submit()
        return [future.result() for future in futures]

    def list(self):
        names = self.ts.KvStore.open(self.kvstore(R["path"]), context=self.context).result().list().result()
        names = [name.decode() for name in names]
        names = [name.rsplit("/", 1)[0] for name in names if name.count("/") == 1 and name.endswith("/zarr.json")]
        specs = [self.spec(f"{R['path']}/{name}") for name in names]
        opened = [self.ts.open(spec, open=True, read=True, context=self.context) for spec in specs]
        return [f"{name} {list(array.result().shape)}" for name, array in zip(names, opened)]


class Zarr:
    def __init__(self):
        import zarr

        self.zarr = zarr
        zarr.config.set({"async.concurrency": IN_FLIGHT, "threading.max_workers": 2})

    # One for the bucket: only then do arrays share its connections.
    @functools.cache
    def store(self):
        if PEER == "zarr-s3fs":
            # Its own pool has 10 connections.
            pool = {"config_kwargs": {"max_pool_connections": IN_FLIGHT}}
            options = {"endpoint_url": R["endpoint"], "skip_instance_cache": True, **pool}
            url = f"s3://{R['bucket']}"
            return self.zarr.storage.FsspecStore.from_url(url, storage_options=options, read_only=True)
        from obstore.store import S3Store

        options = {"client_options": {"allow_http": True}, "virtual_hosted_style_request": False}
        store = S3Store(R["bucket"], endpoint=R["endpoint"], **options)
        return self.zarr.storage.ObjectStore(store, read_only=True)

    def version(self):
        return {"zarr2": 2, "zarr3": 3}.get(R["format"])

    def open(self, path=None):
        return self.zarr.open_array(self.store(), path=path or R["path"], mode="r", zarr_format=self.version())

    def warm(self):
        try:
            self.open("missing")
        except Exception:
            pass

    def shape(self, array):
        return list(array.shape)

    def read(self, array, region):
        return array[region]

    def list(self):
        group = self.zarr.open_group(self.store(), path=R["path"], mode="r", zarr_format=self.version())
        return [f"{name} {list(array.shape)}" for name, array in group.arrays()]


peer = Tensorstore() if PEER == "tensorstore" else Zarr()
peer.warm()
if R["warm"]:
    peer.read(peer.open(R["warm"]), ...)
if OPERATION == "open":
    measure = start()
    array = peer.open()
    measure.stop().print_for_text([str(peer.shape(array))])
elif OPERATION == "archive":
    measure = start()
    try:
        # The directory says that it is not there.
        raise SystemExit(peer.open())
    except ValueError:
        measure.stop().print_for_text(["an archive"])
elif OPERATION == "list":
    measure = start()
    found = peer.list()
    measure.stop().print_for_text(found)
elif OPERATION in ("one-chunk", "everything", "strided"):
    array = peer.open()
    region = {"one-chunk": slice(0, 1), "everything": ..., "strided": slice(None, None, 10)}[OPERATION]
    measure = start()
    found = peer.read(array, region)
    measure.stop().print_for([found])
elif OPERATION == "batch":
    array = peer.open()
    regions = [slice(at, at + 1) for at in range(0, array.shape[0], 10)]
    measure = start()
    found = peer.batch(array, regions)
    measure.stop().print_for(found)
elif OPERATION.startswith("planes"):
    array = peer.open()
    measure = start()
    found = [peer.read(array, slice(at, at + 1)) for at in range(array.shape[0])]
    measure.stop().print_for(found)
else:
    raise SystemExit(f"{PEER} does not {OPERATION}")
