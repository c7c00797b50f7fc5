"""Writes elements of an array of uint32 as ndzarr-torture commands: peer.py LIBRARY, one command a line.

open INDEX PATH   opens an array, in which the element INDEX is this process's own; answers "ready"
N                 increments that element N times; answers with the number of its increments that it found undone
threads N ROUNDS SPREAD
                  lets N threads set their elements, so far apart, in each round; answers how many are not set then
"""

import sys
import threading
from pathlib import Path


def open_tensorstore(path):
    driver = "zarr" if Path(path, ".zarray").exists() else "zarr3"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": path}}
    array = tensorstore.open(spec, open=True).result()

    def read(index):
        return int(array[index].read().result())

    def write(index, value):
        array[index].write(value).result()

    return read, write


def open_zarr_python(path):
    array = zarr.open_array(path, mode="r+")

    def read(index):
        return int(array[index])

    def write(index, value):
        array[index] = value

    return read, write


class Own:
    """The element that only this process increments."""

    def __init__(self, index, opened):
        self.index = index
        self.read, self.write = opened
        self.value = 0

    def increment(self, times):
        lost = 0
        for _ in range(times):
            try:
                found = self.read(self.index)
                # No other process writes this element: another value is lost, or torn.
                lost += 1 if found > self.value else self.value - found
                self.value = min(found, self.value) + 1
                self.write(self.index, self.value)
            except Exception as error:
                print(type(error).__name__, error, file=sys.stderr)
                lost += 1
        return lost


def threads(opened, n, rounds, spread):
    read, write = opened
    lost = 0
    for r in range(rounds):
        barrier = threading.Barrier(n)

        def work(i):
            barrier.wait()
            write(i * spread, r * n + i + 1)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(n)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        lost += sum(read(i * spread) != r * n + i + 1 for i in range(n))
    return lost


if sys.argv[1] == "tensorstore":
    import tensorstore

    open_array = open_tensorstore
else:
    import zarr

    open_array = open_zarr_python

own = None
for line in sys.stdin:
    command, *rest = line.rstrip("\n").split(" ", 1)
    if command == "open":
        index, path = rest[0].split(" ", 1)
        own = Own(int(index), open_array(path))
        answer = "ready"
    elif command == "threads":
        answer = threads((own.read, own.write), *map(int, rest[0].split()))
    else:
        answer = own.increment(int(command))
    print(answer, flush=True)
