"""What was written to a block device, by the log of dm-log-writes, a part of the Linux kernel.

The device loses what was written since the last flush: when a flush of the log is reached, everything that was
written before the one before it is on the disk.
"""

import struct
from dataclasses import dataclass

SECTOR = 512

#: The unit that a power cut leaves or loses.
BLOCK = 4096

#: The flags of an entry.
FLUSH = 1
WRITE_THROUGH = 2
DISCARD = 4
MARK = 8

MAGIC = 0x6A736677736872


@dataclass
class Entry:
    #: Where on the device, in bytes.
    start: int
    #: Where in the log, in bytes.
    content: int
    length: int
    flags: int
    #: The text of a mark.
    text: str = ""

    def is_acknowledgement(self):
        """The kernel makes a mark of its own at the end."""
        return self.text.isdigit()


def entries(log):
    """The entries of a log, which is an open file."""
    log.seek(0)
    magic, _version, count, sector = struct.unpack("<QQQL", log.read(28))
    if magic != MAGIC or sector != SECTOR:
        raise ValueError(f"no log of dm-log-writes: {magic:#x}, sectors of {sector}")
    at = SECTOR
    found = []
    for _ in range(count):
        log.seek(at)
        start, n_sectors, flags, length = struct.unpack("<QQQQ", log.read(32))
        text = log.read(length).decode() if flags & MARK else ""
        length = 0 if flags & (MARK | DISCARD) else n_sectors * SECTOR
        found.append(Entry(start * SECTOR, at + SECTOR, length, flags, text))
        at += SECTOR + length
    return found


class Replay:
    """A file that becomes what the device was, entry by entry."""

    def __init__(self, log, entries):
        self._log = log
        self._entries = entries
        self._n_done = 0

    def until(self, disk, end):
        """Brings the file to where all entries before `end` were written."""
        for entry in self._entries[self._n_done : end]:
            self._write(disk, entry, 0, entry.length)
        self._n_done = end

    def unflushed(self, disk, begin, end, random):
        """Writes what the device held in its cache, in part: each block is lost, or not, by chance.

        So that most and few are lost, too, the chance is another one each time.
        """
        kept = random.choice((0.0, 0.1, 0.5, 0.9))
        for entry in self._entries[begin:end]:
            for at in range(0, entry.length, BLOCK):
                if entry.flags & WRITE_THROUGH or random.random() < kept:
                    self._write(disk, entry, at, min(BLOCK, entry.length - at))

    def _write(self, disk, entry, at, length):
        self._log.seek(entry.content + at)
        disk.seek(entry.start + at)
        disk.write(self._log.read(length))
