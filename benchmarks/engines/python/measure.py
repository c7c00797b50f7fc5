"""What an engine in Python is told, measures and answers: as benchmarks/protocol has it.

Two operations are of Python alone: "elements" reads each element that `chunks` lists in a call of its own,
"slices" each plane across the last axis.
"""

import glob
import json
import resource
import sys
import time
import zlib

import numpy as np


def request():
    with open(sys.argv[-1]) as f:
        return json.load(f)


def region(r):
    return tuple(slice(a, b) for a, b in r["region"])


def data(r):
    shape = [b - a for a, b in r["region"]]
    return np.fromfile(r["data"], dtype="<u2").reshape(shape)


def mask(r):
    """About one element in a hundred, as the protocol's `masked` has it."""
    numbers = np.arange(np.prod(r["shape"]), dtype=np.uint64)
    selected = (numbers * np.uint64(2_654_435_761) & np.uint64(0xFFFF_FFFF)) % np.uint64(100) == 0
    return selected.reshape(r["shape"])


def blocks(r, limit=64 << 20):
    """Regions of whole chunks, or shards, of a copy, of at most so many bytes: the last axis first."""
    shape, unit = r["shape"], r["to_shards"] or r["to_chunks"]
    block = [min(a, n) for a, n in zip(unit, shape)]
    for axis in reversed(range(len(shape))):
        while block[axis] < shape[axis]:
            wider = list(block)
            wider[axis] = min(block[axis] * 2, shape[axis])
            if np.prod(wider) * 2 > limit:
                break
            block = wider
    for start in np.ndindex(*(-(-n // b) for n, b in zip(shape, block))):
        yield tuple(slice(i * b, min((i + 1) * b, n)) for i, b, n in zip(start, block, shape))


def _status(field):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def _busy_ns():
    with open("/proc/stat") as f:
        ticks = [int(n) for n in f.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) * 10_000_000


def _waited_ns():
    waited = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            with open(path) as f:
                waited += int(f.read().split()[1])
        except OSError:
            pass
    return waited


def _usage():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_minflt


def _written():
    with open("/proc/self/io") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("wchar:"))


class Frames:
    """Measures frames one by one."""

    def __init__(self):
        self.written, self.times = _written(), []

    def frame(self, append):
        start = time.perf_counter_ns()
        append()
        self.times.append(time.perf_counter_ns() - start)

    def end(self):
        times, n = sorted(self.times), len(self.times)

        def at(percent):
            return times[max(1, -(-n * percent // 100)) - 1]

        written = (_written() - self.written) // n
        return {"p50_ns": at(50), "p99_ns": at(99), "worst_ns": at(100), "written_bytes": written}


class Measure:
    """Starts the clock."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        self.resident = _status("VmRSS:")
        self.busy, self.waited = _busy_ns(), _waited_ns()
        self.cpu, self.faults = _usage()
        self.start = time.perf_counter_ns()

    def stop(self):
        wall = time.perf_counter_ns() - self.start
        cpu, faults = _usage()
        cpu -= self.cpu
        self.report = {
            "wall_ns": wall,
            "cpu_ns": cpu,
            "peak_bytes": max(0, _status("VmHWM:") - self.resident),
            "page_faults": faults - self.faults,
            "other_cpu_ns": max(0, _busy_ns() - self.busy - cpu),
            "waited_ns": max(0, _waited_ns() - self.waited),
            "checksum": None,
        }
        return self

    def print_for(self, arrays):
        crc = 0
        for array in arrays:
            crc = zlib.crc32(np.ascontiguousarray(array, dtype="<u2").view(np.uint8).reshape(-1), crc)
        self.report["checksum"] = crc
        self.print()

    def print_for_text(self, lines):
        self.report["checksum"] = zlib.crc32("\n".join(sorted(lines)).encode())
        self.print()

    def print(self):
        print(json.dumps(self.report))
