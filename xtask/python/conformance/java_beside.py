"""A Java writer, two of ndzarr and a reader on one dataset at once, compared with docs/guarantees.md.

The workers are those of `ndzarr-torture`, and Java takes the place of one of them.
"""

import json
import os
import subprocess
from pathlib import Path

WHAT = ["attributes", "blocks"]
ELEMENTS = 16 * 1024
# Figures of a worker, in this order.
FIGURES = ["done", "lost", "failed", "torn"]


def workers(what, root):
    torture = [os.environ["NDZARR_TORTURE"], "--worker", "beside-java", what]
    yield ["java", "-cp", os.environ["NDZARR_JAVA_CLASS_PATH"], "Beside", what, root]
    for role in ["1", "2", "reader"]:
        yield [*torture, role, root]


def beside(ndzarr, folder, what, seconds):
    """Figures of Java, of ndzarr's writers together, and of the reader."""
    root = Path(folder, f"beside-{what}.n5")
    spec = Path(folder, "beside.json")
    data = Path(folder, "beside.bin")
    spec.write_text(json.dumps({"format": "n5", "shape": [ELEMENTS], "chunk_shape": [ELEMENTS], "data_type": "uint32", "codecs": {"type": "gzip", "level": 1}}))
    # A block of nothing but the fill value is not stored. This element is no writer's.
    data.write_bytes(bytes(16) + b"\1" + bytes(4 * ELEMENTS - 17))
    ndzarr("write", str(root), "a", "--spec", str(spec), "--in", str(data))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for command in workers(what, str(root))]
    try:
        for worker in running:
            if worker.stdout.readline().strip() != "ready":
                raise SystemExit(f"{worker.args} is not ready")
        for worker in running:
            worker.stdin.write(f"{1000 * seconds}\n")
            worker.stdin.flush()
        tallies = [dict(zip(FIGURES, map(int, worker.stdout.readline().split()))) for worker in running]
    finally:
        for worker in running:
            worker.stdin.close()
            worker.wait(60)
    java, one, two, reader = tallies
    return {"beside": what, "seconds": seconds, "java": java, "ndzarr": {figure: one[figure] + two[figure] for figure in FIGURES}, "reader": reader}


def wrong(figures):
    """What guarantees.md rules out, in words."""
    java = figures["java"]
    ndzarr = figures["ndzarr"]
    reader = figures["reader"]
    never = {
        "Java's changes lost": java["lost"], "ndzarr's changes failed": ndzarr["failed"], "reads failed": reader["failed"],
        "torn values": java["torn"] + ndzarr["torn"] + reader["torn"],
        "writers or readers that did nothing": [java["done"], ndzarr["done"], reader["done"]].count(0),
    }
    return [f"{figures['beside']}: {what}: {n}" for what, n in never.items() if n]
