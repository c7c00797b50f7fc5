"""zarrista: zarrs from Python, without zarr-python. It writes in place."""

import zarrista
from measure import Measure, data, region, request

R = request()


def opened():
    return zarrista.Array.open(zarrista.store.FilesystemStore(R["path"]), "/")


operation = R["operation"]
if operation == "read":
    measure = Measure()
    result = opened()[region(R)].to_numpy()
    measure.stop().print_for([result])
elif operation == "write":
    values = data(R)
    measure = Measure()
    opened().store_array_subset(region(R), values)
    measure.stop().print()
elif operation == "elements":
    measure = Measure()
    array = opened()
    results = [array[tuple(point)].to_numpy() for point in R["chunks"]]
    measure.stop().print_for(results)
elif operation == "slices":
    measure = Measure()
    array = opened()
    results = [array[:, :, at].to_numpy() for (at,) in R["chunks"]]
    measure.stop().print_for(results)
else:
    raise SystemExit(f"zarrista does not {operation}")
