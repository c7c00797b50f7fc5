"""ndzarr from Python, by its own object."""

import ndzarr
from measure import Measure, data, region, request

R = request()
ndzarr.config.threads = R["threads"]


def opened():
    return ndzarr.open_array(R["path"], n5_axes="reversed" if R["reversed_axes"] else "native")


operation = R["operation"]
if operation == "read":
    measure = Measure()
    result = opened()[region(R)]
    measure.stop().print_for([result])
elif operation == "write":
    values = data(R)
    measure = Measure()
    opened()[region(R)] = values
    measure.stop().print()
elif operation == "elements":
    measure = Measure()
    array = opened()
    results = [array[tuple(point)] for point in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "slices":
    measure = Measure()
    array = opened()
    results = [array[:, :, at] for (at,) in R["chunks"]]
    measure.stop().print_for(results)
else:
    raise SystemExit(f"ndzarr does not {operation} here")
