"""z5py. It shows N5 with the axes reversed, and writes in place."""

import os

import z5py
from measure import Measure, data, region, request

R = request()
container, name = os.path.split(R["path"])


def opened(mode):
    dataset = z5py.File(container, mode=mode)[name]
    dataset.n_threads = R["threads"]
    return dataset


if R["operation"] == "read":
    measure = Measure()
    result = opened("r")[region(R)]
    measure.stop().print_for([result])
elif R["operation"] in ("write", "update"):
    values = data(R)
    measure = Measure()
    opened("r+")[region(R)] = values
    measure.stop().print()
else:
    raise SystemExit(f"z5py does not {R['operation']}")
