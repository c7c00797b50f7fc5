"""Examples, types and the cost of the package."""

from __future__ import annotations

import doctest
import errno
import importlib
import importlib.metadata
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndzarr
from ndzarr._errors import make


@pytest.mark.parametrize("module", ["", "_array", "_attributes", "_codecs", "_errors", "_group", "_open", "_places", "ome"])
def test_examples(module: str) -> None:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 prints scalars otherwise")
    found = doctest.testmod(importlib.import_module(f"ndzarr.{module}".rstrip(".")))
    assert found.failed == 0
    assert found.attempted > 0


@pytest.mark.parametrize(("page", "n_blocks"), [("python", 6), ("three-tasks", 3), ("cluster", 2)])
def test_the_examples_of_the_guide(folder: str, monkeypatch: pytest.MonkeyPatch, page: str, n_blocks: int) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("dask")
    guide = Path(__file__).parent.parent.parent.parent / "docs" / "guide" / f"{page}.md"
    monkeypatch.chdir(folder)
    if page == "cluster":
        pytest.importorskip("distributed")
    if page in ("three-tasks", "cluster"):
        volume = ndzarr.create("volume.n5", "s0", shape=(90, 80, 70), dtype="u2", chunks=(32,) * 3, format="n5")
        volume[...] = 3 if page == "three-tasks" else 2 * np.arange(90)[:, None, None]
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    assert len(blocks) == n_blocks
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("\n".join(blocks), names)
    if page == "three-tasks":
        assert ndzarr.open("copied.zarr")[...].sum(dtype=int) == 90 * 80 * 70 * 3
        assert ndzarr.open("rows.zarr")[...].sum() == 495_000
    if page == "cluster":
        a_job_goes_on(names["job"])
        np.testing.assert_array_equal(ndzarr.open("whole.zarr")[...], ndzarr.open("volume.n5/s0")[...])


def test_the_examples_of_the_readme(folder: str) -> None:
    """As a stranger: in an empty folder beside a clone, in a process of its own."""
    repository = Path(__file__).parent.parent.parent.parent
    section = (repository / "README.md").read_text().split("### Python\n")[1].split("\n### ")[0]
    [program] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    Path(folder, "ndzarr").mkdir()
    # Without a name for the clone's folder of Python, which would be imported.
    Path(folder, "ndzarr", "testdata").symlink_to(repository / "testdata")
    Path(folder, "first.py").write_text(program)
    done = subprocess.run([sys.executable, "first.py"], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


def a_job_goes_on(job: Callable[[], int]) -> None:
    """The job of the page is done: of planes with twice their number, those from 51 on are above 100."""
    expected = np.broadcast_to(np.arange(90)[:, None, None] > 50, (90, 80, 70))
    np.testing.assert_array_equal(ndzarr.open("mask.zarr")[...], expected)
    assert job() == 0
    for name in ("mask.zarr", "mask.done.zarr"):
        shutil.rmtree(name)
    damaged = Path("volume.n5/s0/2/0/0")
    stored = damaged.read_bytes()
    damaged.write_bytes(stored[:-1])
    with pytest.raises(OSError):
        job()
    damaged.write_bytes(stored)
    done = ndzarr.open_array("mask.done.zarr")[...]
    # Planes from 64 on are in the second block along the axis.
    assert not done[1, 0, 0]
    # Tasks that had begun may have ended since.
    assert 1 <= job() <= np.count_nonzero(~done)
    np.testing.assert_array_equal(ndzarr.open("mask.zarr")[...], expected)


def test_types_are_checked() -> None:
    pytest.importorskip("mypy")
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental"], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
def test_py30_the_wheel_names_the_oldest_glibc() -> None:
    text = importlib.metadata.distribution("ndzarr").read_text("WHEEL")
    assert text is not None
    if "Generator: maturin" not in text:
        pytest.skip("only maturin compares the symbols with those of a version of glibc")
    assert re.search(r"^Tag: cp311-abi3-manylinux_2_\d+_", text, re.MULTILINE), text


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
def test_py30_the_wheel_needs_libraries_of_the_system_alone() -> None:
    library = importlib.import_module("ndzarr._ndzarr").__file__
    assert library is not None
    lines = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout.splitlines()
    needed = {Path(line.split()[0]).name.split(".so")[0] for line in lines}
    assert {"libc"} <= needed <= {"linux-vdso", "libc", "libm", "libgcc_s", "libpthread", "libdl", "librt"} | {
        name for name in needed if name.startswith("ld-linux")
    }


def test_everything_public_is_documented() -> None:
    for name in ndzarr.__all__:
        found = getattr(ndzarr, name)
        assert name == "__version__" or found.__doc__, name
        if isinstance(found, type):
            for member, value in vars(found).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"


@pytest.mark.timing
def test_importing_costs_little_more_than_numpy() -> None:
    def seconds(code: str) -> float:
        text = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
        return float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout)

    seconds("import ndzarr")
    pairs = [(seconds("import ndzarr"), seconds("import numpy")) for _ in range(7)]
    more = statistics.median(own for own, _ in pairs) - statistics.median(numpy for _, numpy in pairs)
    assert more < 0.1, f"{more * 1000:.0f} ms"


@pytest.mark.parametrize(
    ("kind", "classes", "number"),
    [
        ("NotFound", (FileNotFoundError,), errno.ENOENT),
        ("AlreadyExists", (FileExistsError,), errno.EEXIST),
        ("Denied", (ndzarr.StoreError, PermissionError), errno.EACCES),
        ("Unavailable", (ndzarr.StoreError, ConnectionError, TimeoutError), None),
        ("StorageFull", (ndzarr.StoreError, OSError), errno.ENOSPC),
        ("UnknownOutcome", (ndzarr.StoreError, OSError), None),
    ],
)
def test_kinds_of_errors_are_those_of_python(kind: str, classes: tuple[type, ...], number: int | None) -> None:
    error = make(kind, "it fails", "a/c/0", (0,), ((1,),))
    assert all(isinstance(error, cls) for cls in (ndzarr.NdzarrError, *classes))
    assert (error.kind, error.key, error.chunk, error.inner_chunk) == (kind, "a/c/0", (0,), ((1,),))
    assert isinstance(error, OSError) and error.errno == number and str(error) == "it fails"
    # The number of the system comes first.
    assert make(kind, "it fails", errno=errno.EROFS).errno == errno.EROFS  # type: ignore[attr-defined]
