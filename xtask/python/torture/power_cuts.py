"""Cuts the power of a file system while it is written to, and counts what is missing afterwards.

A device below the file system logs what is written to it (dm-log-writes). From the log a disk is made as it is after a
cut at any moment: it has what was flushed, and of the rest some blocks, by chance. So a writer runs once for many cuts.
"""

import random
import subprocess
from bisect import bisect_left
from pathlib import Path

from block_log import FLUSH, Replay, entries
from network import run

#: In memory.
WORK = Path("/work")

MIB = 1 << 20
DISK_SIZE = 512 * MIB
LOG_SIZE = 1024 * MIB

#: How each is made and mounted. Journals are committed each second, not each five or thirty.
FILE_SYSTEMS = {
    "ext4, data=ordered": (["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,nodiscard"], "data=ordered,commit=1"),
    "ext4, data=writeback": (["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,nodiscard"], "data=writeback,commit=1"),
    "XFS": (["mkfs.xfs", "-q", "-K"], "defaults"),
    "Btrfs": (["mkfs.btrfs", "-q", "-K"], "commit=1"),
}

LEVELS = ("none", "documents", "data", "full")

#: The figures of the guarantees, by level.
EXPECTED = {
    "arrays that do not open": {"documents": "0", "data": "0", "full": "0"},
    "acknowledged arrays without a document": {"full": "0"},
    "values neither old nor new": {"data": "0", "full": "0"},
    "acknowledged writes lost": {"full": "0"},
}

DEVICE = "torture"


def loop(file):
    """A block device of a file."""
    found = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def torture(program, table, n_cuts, n_writes):
    WORK.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=90%", "tmpfs", WORK)
    Path("/proc/sys/fs/xfs/xfssyncd_centisecs").write_text("100\n")
    for name in FILE_SYSTEMS:
        for level in LEVELS:
            with table.part(f"power cuts, {name}, {level}"):
                Cuts(program, name, level).run(table, n_cuts, n_writes)
            for file in WORK.iterdir():
                if file.is_file():
                    file.unlink()


class Cuts:
    """The cuts of a file system and a level."""

    def __init__(self, program, name, level):
        self._program = program
        self._name = name
        self._level = level
        self._make, self._options = FILE_SYSTEMS[name]
        self._random = random.Random(f"{name} {level}")
        self._disk = WORK / "disk"
        self._log = WORK / "log"
        self._cut = WORK / "cut"
        self._mounted = WORK / "mounted"
        self._mounted.mkdir(exist_ok=True)

    def run(self, table, n_cuts, n_writes):
        for file, size in ((self._disk, DISK_SIZE), (self._log, LOG_SIZE)):
            with open(file, "wb") as opened:
                opened.truncate(size)
        run(*self._make, self._disk)
        base = WORK / "base"
        self._copy(self._disk, base)
        self._write(n_writes)
        figures = dict.fromkeys(EXPECTED, 0)
        n_acknowledged = 0
        unmounted = 0
        with open(self._log, "rb") as log, open(base, "r+b") as disk:
            found = entries(log)
            replay = Replay(log, found)
            for begin, end in self._moments(found, n_cuts):
                replay.until(disk, begin)
                disk.flush()
                self._copy(base, self._cut)
                with open(self._cut, "r+b") as cut:
                    replay.unflushed(cut, begin, end, self._random)
                acknowledged = sum(entry.is_acknowledgement() for entry in found[:end])
                n_acknowledged += acknowledged
                try:
                    numbers = self._check(acknowledged)
                except OSError as error:
                    print(f"   {self._name}, {self._level}: {error}", flush=True)
                    unmounted += 1
                    continue
                for name, number in zip(EXPECTED, numbers, strict=True):
                    figures[name] += number
        of = f"of {n_cuts} cuts, {n_acknowledged} writes"
        where = f"{self._name}, {self._level}"
        table.row(f"{where}: cuts after which nothing mounts", unmounted, of, "0")
        for name, number in figures.items():
            table.row(f"{where}: {name}", number, of, EXPECTED[name].get(self._level, "-"))

    def _copy(self, source, target):
        run("cp", "--sparse=always", source, target)

    def _write(self, n_writes):
        """Lets the worker write to a device with a log. It marks in the log what was acknowledged."""
        devices = [loop(self._disk), loop(self._log)]
        try:
            run("dmsetup", "create", DEVICE, "--table", f"0 {DISK_SIZE // 512} log-writes {' '.join(devices)}")
            try:
                run("mount", "-o", self._options, f"/dev/mapper/{DEVICE}", self._mounted)
                try:
                    run(self._program, "--worker", "write-until-power-cut", self._mounted, self._level, n_writes, DEVICE)
                finally:
                    run("umount", self._mounted)
            finally:
                run("dmsetup", "remove", DEVICE)
        finally:
            run("losetup", "--detach", *devices)

    def _moments(self, found, n_cuts):
        """Where the power is cut: before which flush, and what was not flushed then."""
        flushes = [at for at, entry in enumerate(found) if entry.flags & FLUSH]
        marks = [at for at, entry in enumerate(found) if entry.is_acknowledgement()]
        print(
            f"   {self._name}, {self._level}: {len(marks)} writes acknowledged, {len(flushes)} flushes,"
            f" {sum(entry.length for entry in found) / MIB:.1f} MiB",
            flush=True,
        )
        first = bisect_left(flushes, marks[0])
        last = bisect_left(flushes, marks[-1])
        # Also the moment after the last of them.
        last = min(last + 1, len(flushes))
        chosen = sorted(self._random.choices(range(first, last), k=n_cuts))
        return [(flushes[at - 1] + 1 if at else 0, flushes[at]) for at in chosen]

    def _check(self, acknowledged):
        """Mounts the disk of a cut; returns the numbers of what is wrong."""
        device = loop(self._cut)
        try:
            # It identifies a file system by its number, and the first disk has the same.
            if self._name == "Btrfs":
                subprocess.run(["btrfs", "device", "scan", "--forget"], capture_output=True)
            run("mount", "-o", self._options, device, self._mounted)
            try:
                check = [self._program, "--worker", "check-after-power-cut", self._mounted, str(acknowledged)]
                result = subprocess.run(check, capture_output=True, text=True)
                if result.returncode:
                    raise OSError(result.stderr)
                *numbers, examples = result.stdout.split(" ", 4)
                if examples.strip():
                    print(f"   {self._name}, {self._level}, {acknowledged} writes{examples.rstrip()}", flush=True)
                return [int(number) for number in numbers]
            finally:
                run("umount", self._mounted)
        finally:
            run("losetup", "--detach", device)
