"""zarr-python's own tests: of indices, against ndzarr's array; of codecs and arrays, under the pipeline.

    python zarr_tests.py <checkout of zarr-python>

The tests are copied to a temporary folder. Those of indices get their arrays from `ndzarr.create`. Those of codecs,
arrays and Zarr v2 run under zarr-python's own pipeline and then under ndzarr's, and what fails only under the latter
counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PLUGIN = '''
import numpy as np
import pytest
import ndzarr

COUNT = iter(range(10**9))


# The type of an exception is what counts, its text is not zarr-python's.
raises = pytest.raises
pytest.raises = lambda *types, match=None, **options: raises(*types, **options)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    root = pytest.ndzarr_folder
    for item in items:
        module = item.module
        if hasattr(module, "zarr_array_from_numpy_array"):
            def made(store, a, chunk_shape=None, shards=None):
                chunks = chunk_shape or a.shape or ()
                z = ndzarr.create(f"{root}/{next(COUNT)}", shape=a.shape, dtype=a.dtype, chunks=chunks, shards=shards)
                z[()] = a
                return z
            module.zarr_array_from_numpy_array = made


def pytest_configure(config):
    import tempfile
    pytest.ndzarr_folder = tempfile.mkdtemp()


def pytest_unconfigure(config):
    import shutil
    shutil.rmtree(pytest.ndzarr_folder, ignore_errors=True)
'''

# Expectations of tests/test_indexing.py that ndzarr does not share on purpose, by the name of the test.
MEANT = {
    "test_get_basic_selection_1d_raises[negative-step]": "negative steps work as in NumPy",
    "test_get_basic_selection_2d_raises[negative-step]": "negative steps work as in NumPy",
    "test_get_orthogonal_selection_2d_raises[negative-step]": "negative steps work as in NumPy",
    "test_get_basic_selection_1d_raises[none]": "None is a new axis, as in NumPy",
    "test_orthogonal_bool_indexing_like_numpy_ix": "masks of several axes select points in NumPy: they are refused",
    "test_accessed_chunks": "counts the requests to a store of zarr-python's",
}

PIPELINE = "ndzarr.zarr.NdzarrCodecPipeline"
UNDER_THE_PIPELINE = ["tests/test_codecs", "tests/test_array.py", "tests/test_v2.py"]
# They replace private methods of zarr-python's own pipeline and codecs.
REPLACE_PRIVATE = re.compile(r"test_sharding_partial_shard_read__index_chunk_slice_fails")


def outcomes(folder: Path, tests: list[str], *options: str, **environment: str) -> dict[str, str]:
    """The outcome of each test."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore"]
    command += ["-o", "addopts=", "-o", "filterwarnings=", "-o", "log_cli=false", *options, *tests]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    found = dict(reversed(line.split(" ", 1)) for line in done.stdout.splitlines() if re.match(r"(PASSED|FAILED|ERROR) ", line))
    found = {name.split(" - ")[0]: outcome for name, outcome in found.items()}
    if not found:
        sys.exit(f"no test ran:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(Path(sys.argv[1]) / "tests", folder / "tests")
        shutil.copy(Path(sys.argv[1]) / "pyproject.toml", folder)
        (folder / "ndzarr_arrays.py").write_text(PLUGIN)

        found = outcomes(folder, ["tests/test_indexing.py"], "-p", "ndzarr_arrays", PYTHONPATH=str(folder))
        failed = sorted(name for name, outcome in found.items() if outcome != "PASSED")
        print(f"indices: {len(found) - len(failed)} of {len(found)} pass")
        ended = False
        for name in failed:
            why = next((why for test, why in MEANT.items() if f"::{test}" in name), None)
            print(f"  {name}: {why or 'not meant'}")
            ended |= why is None

        own = outcomes(folder, UNDER_THE_PIPELINE)
        ours = outcomes(folder, UNDER_THE_PIPELINE, ZARR_CODEC_PIPELINE__PATH=PIPELINE)
        passed = {name for name, outcome in own.items() if outcome == "PASSED"}
        lost = sorted(name for name in passed if ours.get(name) != "PASSED")
        print(f"pipeline: {len(passed) - len(lost)} of the {len(passed)} that pass under zarr-python's own")
        for name in lost:
            print(f"  {name}")
        ended |= any(not REPLACE_PRIVATE.search(name) for name in lost)
    sys.exit(1 if ended else 0)


if __name__ == "__main__":
    main()
