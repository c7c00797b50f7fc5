"""Writes elements of an array of uint32, as ndzarr-torture tells it to.

torture_peer.py LIBRARY count PATH INDEX        increments its element as often as each line of the input says, and answers
                                               with the number of its increments that it found undone
torture_peer.py LIBRARY threads PATH N ROUNDS   N threads set their elements in each round; prints how many are not set then
"""

import sys
import threading
from pathlib import Path


def open_tensorstore(path):
    import tensorstore

    driver = "zarr" if Path(path, ".zarray").exists() else "zarr3"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": path}}
    array = tensorstore.open(spec, open=True).result()

    def read(index):
        return int(array[index].read().result())

    def write(index, value):
        array[index].write(value).result()

    return read, write


def open_zarr_python(path):
    import zarr

    array = zarr.open_array(path, mode="r+")

    def read(index):
        return int(array[index])

    def write(index, value):
        array[index] = value

    return read, write


OPEN = {"tensorstore": open_tensorstore, "zarr-python": open_zarr_python}


def count(opened, index):
    read, write = opened
    print("ready", flush=True)
    value = 0
    for line in sys.stdin:
        lost = 0
        for _ in range(int(line)):
            found = read(index)
            lost += max(value - found, 0)
            value = found + 1
            write(index, value)
        print(lost, flush=True)


def threads(opened, n, rounds):
    read, write = opened
    lost = 0
    for r in range(rounds):
        barrier = threading.Barrier(n)

        def work(i):
            barrier.wait()
            write(i, r * n + i + 1)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(n)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        lost += sum(read(i) != r * n + i + 1 for i in range(n))
    print(lost, flush=True)


def main():
    library, what, path, *numbers = sys.argv[1:]
    opened = OPEN[library](path)
    {"count": count, "threads": threads}[what](opened, *map(int, numbers))


main()
