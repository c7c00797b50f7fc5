"""Runs in a virtual machine, as its only process besides those of the kernel; xtask/src/torture/machine.rs starts it.

Prints figures on the second serial port, as ndzarr-torture does, and ends the machine.
"""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import power_cuts
import shares
from network import run
from table import Table

HERE = Path(__file__).parent
PROGRAM = HERE / "ndzarr-torture"


def main():
    # Written by the task.
    words = (HERE / "arguments").read_text().split()
    minute = "--minute" in words
    parts = [word for word in words if not word.startswith("-")] or ["network", "power"]
    table = Table()
    print(f"-- Linux {os.uname().release}, {os.cpu_count()} processors", flush=True)
    if "network" in parts:
        shares.torture(PROGRAM, table, ["NFS 4.2"] if minute else shares.KINDS)
    if "power" in parts:
        power_cuts.torture(PROGRAM, table, 2 if minute else 20, 60 if minute else 120)
    table.close()


def begin():
    run("stty", "-F", "/dev/ttyS1", "raw")
    port = os.open("/dev/ttyS1", os.O_WRONLY)
    os.dup2(port, 1)
    os.dup2(port, 2)
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    # dmsetup would wait for udev, which does not run here.
    os.environ["DM_DISABLE_UDEV"] = "1"
    run("mount", "-t", "tmpfs", "tmpfs", "/tmp")
    run("ip", "link", "set", "lo", "up")
    for module in ("loop", "dm-log-writes", "xfs", "btrfs", "nfs", "nfsd", "cifs"):
        run("modprobe", module)


if __name__ == "__main__":
    try:
        begin()
        main()
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    subprocess.run(["stty", "-F", "/dev/ttyS1", "sane"])
    Path("/proc/sysrq-trigger").write_text("b")
