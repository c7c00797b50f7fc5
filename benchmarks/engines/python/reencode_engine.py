"""zarrs_reencode, which is a program: its process is measured. It keeps the chunks of its source unless there are shards."""

import os
import resource
import subprocess
import sys

from measure import Measure, request

R = request()
if R["operation"] != "copy" or not R["to_shards"]:
    raise SystemExit(f"zarrs_reencode does not {R['operation']} into other chunks")
PROGRAM = sys.argv[1]


def shape(n):
    return ",".join(map(str, n))


command = [PROGRAM, "--chunk-shape", shape(R["to_chunks"]), "--shard-shape", shape(R["to_shards"])]
command += [R["source"], R["path"]]
measure = Measure()
subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "RAYON_NUM_THREADS": str(R["threads"])})
report = measure.stop().report
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = int((usage.ru_utime + usage.ru_stime) * 1e9)
report["other_cpu_ns"] = max(0, report["other_cpu_ns"] - cpu)
report |= {"cpu_ns": report["cpu_ns"] + cpu, "peak_bytes": usage.ru_maxrss * 1024, "page_faults": usage.ru_minflt}
measure.print()
