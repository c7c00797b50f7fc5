"""Lets tasks of Dask that share chunks store an array from several processes, and counts what is lost.

Usage: dask_distributed.py FOLDER [PART]..., a folder on a local disk. The address of S3 is in the variables
of `cargo xtask remote`.
Prints rows as ndzarr-torture does, and fails if one is not what it must be.
"""

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import dask
import dask.array as da
import distributed
import ndzarr
import numpy as np
import zarr
from cluster import Cluster, Loopback, Mounts
from network import N_HOSTS, PATIENCE, Network, until
from table import Table

SHAPE = (1024, 1024)
N_TASKS = 8
ROWS = SHAPE[0] // N_TASKS
EXPECTED = np.arange(1, SHAPE[0] * SHAPE[1] + 1, dtype="i4").reshape(SHAPE)

PIPELINE = "ndzarr.zarr.NdzarrCodecPipeline"

#: Chunks that 2 tasks share, shards that 4 share.
LAYOUTS = {
    "v3 chunk": {"format": "zarr3", "chunks": (256, 256)},
    "v3 shard": {"format": "zarr3", "chunks": (64, 64), "shards": (512, 512)},
    "v2 chunk": {"format": "zarr2", "chunks": (256, 256)},
    "N5 block": {"format": "n5", "chunks": (256, 256)},
}


@dataclass
class Pieces:
    """A target of `da.store` that opens the array in each task, writes a few rows at a time, and writes a log of that."""

    path: str
    log: str
    library: str = "ndzarr"
    options: dict = field(default_factory=dict)
    shape: tuple = SHAPE
    dtype: np.dtype = np.dtype("i4")

    def __setitem__(self, index, value):
        array = opened(self.library, self.path, self.options)
        task = index[0].start // ROWS
        worker = distributed.get_worker().name
        note(self.log, f"begin {task} {worker}")
        for start in range(0, ROWS, 16):
            array[index[0].start + start : index[0].start + start + 16, index[1]] = value[start : start + 16]
        note(self.log, f"end {task} {worker}")


def opened(library, path, options):
    """An array of ndzarr, or of zarr-python with the pipeline that this process has or with our own."""
    return ndzarr.open(path, **options) if library == "ndzarr" else zarr.open_array(path, mode="r+")


def note(log, line):
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def noted(log, kind):
    """The tasks that began or ended, with their workers."""
    lines = Path(log).read_text().splitlines() if os.path.exists(log) else []
    return [tuple(line.split()[1:]) for line in lines if line.startswith(kind)]


def source():
    """Eight tasks, which make what they store."""
    return da.arange(1, EXPECTED.size + 1, dtype="i4", chunks=ROWS * SHAPE[1]).reshape(SHAPE)


def create(path, layout, **options):
    return ndzarr.create(path, "a", shape=SHAPE, dtype="i4", **LAYOUTS[layout], **options)


def lost(path, **options):
    return int((ndzarr.open_array(path, **options)[...] != EXPECTED).sum())


def of(rounds):
    return f"of {rounds * EXPECTED.size}"


def store(client, target):
    """Begins to store."""
    return client.compute(da.store(source(), target, lock=False, compute=False))


def together(cluster, folder, layout, library, rounds):
    """Stores to the handle itself, as users do."""
    wrong = 0
    for _ in range(rounds):
        create(folder / "r", layout)
        # An array of zarr-python has the pipeline of the process that opened it.
        with zarr.config.set({"codec_pipeline.path": PIPELINE} if library == "pipeline" else {}):
            target = opened(library, f"{folder}/r/a", {})
        cluster.finish(store(cluster.client, target))
        wrong += lost(folder / "r/a")
        shutil.rmtree(folder / "r")
    return wrong


def piecewise(cluster, created, seen, layout, rounds, library="ndzarr", options=None, **of_tasks):
    """Stores to an array that is created at one path and seen by workers at another."""
    wrong = 0
    options = options or {}
    for number in range(rounds):
        name = f"{layout.replace(' ', '-')}-{library}-{len(of_tasks)}-{number}"
        create(f"{created}/{name}", layout, **options)
        target = Pieces(f"{seen}/{name}/a", str(cluster.log), library, {**options, **of_tasks})
        cluster.finish(store(cluster.client, target))
        wrong += lost(f"{created}/{name}/a", **options)
    return wrong


def killed(cluster, created, seen, layout, library, rounds):
    """Kills a worker in each round. Returns what is lost, and how many were killed in the middle of a task."""
    wrong = 0
    in_work = 0
    for number in range(rounds):
        log = f"{cluster.log}-{number}"
        victim = number % N_HOSTS
        create(f"{created}/k{number}", layout)
        running = store(cluster.client, Pieces(f"{seen}/k{number}/a", log, library))

        def own(kind):
            return [task for task, worker in noted(log, kind) if worker.startswith(f"host{victim}-")]

        until(lambda: own("begin") or running.done(), "a task of the victim")
        time.sleep(random.uniform(0, 0.1))
        cluster.process(victim).kill()
        cluster.process(victim).wait()
        in_work += len(own("begin")) > len(own("end"))
        cluster.finish(running)
        wrong += lost(f"{created}/k{number}/a")
        cluster.wait()
        shutil.rmtree(f"{created}/k{number}")
        os.remove(log)
    return wrong, in_work


def twice(cluster, folder, layout, rounds):
    """Stops a worker until Dask gives it up and its tasks to the other, and lets it go on."""
    wrong = 0
    n_twice = 0
    for number in range(rounds):
        log = f"{cluster.log}-{number}"
        victim = number % N_HOSTS
        create(folder / "t", layout)
        running = store(cluster.client, Pieces(f"{folder}/t/a", log))
        process = cluster.process(victim)

        def tasks(kind, of_victim):
            return {task for task, worker in noted(log, kind) if worker.startswith(f"host{victim}-") == of_victim}

        until(lambda: tasks("begin", True), "a task of the victim")
        process.send_signal(signal.SIGSTOP)
        stopped = tasks("begin", True) - tasks("end", True)
        try:
            until(lambda: cluster.n_known() < N_HOSTS, "the scheduler")
        finally:
            process.send_signal(signal.SIGCONT)
        cluster.finish(running)
        until(lambda: stopped <= tasks("end", True) or process.poll() is not None, "the worker that went on")
        n_twice += len(stopped & tasks("end", True) & tasks("end", False))
        process.kill()
        process.wait()
        wrong += lost(folder / "t/a")
        cluster.wait()
        shutil.rmtree(folder / "t")
        os.remove(log)
    return wrong, n_twice


@contextlib.contextmanager
def cluster(folder, network, mounts=None, **environment):
    # For arrays of zarr-python that tasks open.
    environment.setdefault("ZARR_CODEC_PIPELINE__PATH", PIPELINE)
    made = Cluster(folder / "cluster", network, mounts, environment)
    made.log = folder / "log"
    try:
        yield made
    finally:
        made.close()


def on_a_folder(table, folder, network):
    with cluster(folder, network) as workers:
        for layout in LAYOUTS:
            table.row(f"elements lost, 8 tasks share a {layout}", together(workers, folder, layout, "ndzarr", 10), of(10), "0")
        for layout in ("v3 chunk", "v3 shard", "v2 chunk"):
            wrong = together(workers, folder, layout, "pipeline", 10)
            table.row(f"  by zarr-python with ndzarr's pipeline, {layout}", wrong, of(10), "0")
        for layout in ("v3 chunk", "v3 shard", "v2 chunk"):
            wrong = together(workers, folder, layout, "zarr", 10)
            table.row(f"  by zarr-python alone, {layout}", wrong, of(10), "> 0")


def with_kills(table, folder, network):
    with cluster(folder, network) as workers:
        for library, layout in [*(("ndzarr", layout) for layout in LAYOUTS), ("pipeline", "v3 chunk"), ("pipeline", "v3 shard")]:
            wrong, in_work = killed(workers, folder, folder, layout, library, 10)
            by = " by the pipeline" if library == "pipeline" else ""
            table.row(f"elements lost{by}, a worker is killed, {layout}", wrong, of(10), "0")
            table.row("  killed in the middle of a task", in_work, "of 10", "> 0")


def run_twice(table, folder, network):
    # Dask gives up a worker after ten heartbeats, or this.
    with cluster(folder, network, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s") as workers:
        for layout in ("v3 shard", "N5 block"):
            wrong, n_twice = twice(workers, folder, layout, 3)
            table.row(f"elements lost, tasks run twice, {layout}", wrong, of(3), "0")
            table.row("  tasks that two workers ran to the end", n_twice, "of 24", "> 0")


def on_two_mounts(table, folder, network):
    try:
        mounts = Mounts(folder / "mounts")
    except (OSError, TimeoutError) as why:
        return print(f"   did not run: sshfs cannot mount a folder twice here ({why})", flush=True)
    data = mounts.data
    shared = mounts.shared
    try:
        with cluster(folder, network, mounts) as workers:
            for layout in LAYOUTS:
                wrong = piecewise(workers, data, shared, layout, 2)
                table.row(f"elements lost, workers on 2 mounts, {layout}", wrong, of(2), "0")
            for layout in ("v3 chunk", "v3 shard"):
                wrong = piecewise(workers, data, shared, layout, 2, "pipeline")
                table.row(f"  by zarr-python with ndzarr's pipeline, {layout}", wrong, of(2), "0")
            wrong = piecewise(workers, data, shared, "v3 chunk", 2, concurrent_update="last_writer_wins")
            table.row("  without turns (last_writer_wins), v3 chunk", wrong, of(2), "> 0, mostly")
            wrong, in_work = killed(workers, data, shared, "v3 shard", "ndzarr", 2)
            table.row("elements lost, a worker on a mount is killed, v3 shard", wrong, of(2), "0")
            table.row("  killed in the middle of a task", in_work, "of 2", "> 0")
    finally:
        mounts.close()


def in_a_bucket(table, folder):
    if "NDZARR_REMOTE" not in os.environ:
        return print("   did not run: no server of S3", flush=True)
    url = os.environ["NDZARR_REMOTE"]
    names = {"key": "ACCESS_KEY_ID", "secret": "SECRET_ACCESS_KEY", "endpoint_url": "ENDPOINT_URL", "region": "REGION"}
    # Workers have only the options of the array.
    options = {"storage_options": {name: os.environ.pop(f"AWS_{variable}") for name, variable in names.items()}}
    with cluster(folder, Loopback()) as workers:
        for layout in LAYOUTS:
            wrong = piecewise(workers, url, url, layout, 2, options=options)
            table.row(f"elements lost, S3, {layout}", wrong, of(2), "0")
        wrong = piecewise(workers, url, url, "v3 chunk", 2, options=options, concurrent_update="last_writer_wins")
        table.row("  without turns (last_writer_wins), v3 chunk", wrong, of(2), "> 0, mostly")


def of_children(table, folder):
    parent = os.getpid()
    for method in ("fork", "spawn"):
        wrong = 0
        # The threads of this process are in use when the workers are made.
        create(folder / method, "v3 shard")[...] = 0
        with (
            dask.config.set({"distributed.worker.multiprocessing-method": method}),
            distributed.LocalCluster(n_workers=2, threads_per_worker=4, dashboard_address=None, memory_limit=0) as children,
            distributed.Client(children) as client,
        ):
            spawned = client.run(lambda: (os.getpid() != parent, b"spawn_main" in Path("/proc/self/cmdline").read_bytes()))
            assert list(spawned.values()) == [(True, method == "spawn")] * 2, spawned
            for _ in range(3):
                target = ndzarr.open_array(folder / method / "a")
                store(client, target).result(timeout=PATIENCE)
                wrong += lost(folder / method / "a")
                target[...] = 0
        table.row(f"elements lost, workers made by {method}, v3 shard", wrong, of(3), "0")


def main():
    folder = Path(sys.argv[1]).resolve()
    only = sys.argv[2:]
    table = Table()
    try:
        network = Network()
    except OSError as why:
        print(f"   without network namespaces ({why})", flush=True)
        network = Loopback()
    parts = {
        "a folder": lambda: on_a_folder(table, folder, network),
        "kills": lambda: with_kills(table, folder, network),
        "twice": lambda: run_twice(table, folder, network),
        "fork and spawn": lambda: of_children(table, folder),
        "two mounts": lambda: on_two_mounts(table, folder, network),
        "S3": lambda: in_a_bucket(table, folder),
    }
    try:
        for name, part in parts.items():
            if not only or name in only:
                with table.part(f"dask-distributed, {name}"):
                    part()
    finally:
        network.close()
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
