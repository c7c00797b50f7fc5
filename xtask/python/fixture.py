"""What every fixture script shares: one `Case` = one folder below testdata/.

The scripts hand the numpy array that they gave to the foreign writer to `Case.array`; the expected bytes come from
that array and never from a reader.
"""

import base64
import fnmatch
import importlib.metadata
import json
import math
import os
import shutil
import struct
import sys
import traceback
from pathlib import Path

import numpy as np

# numcodecs 0.15 cannot parse the version "1.0.1.post0" of zfpy.
_version = importlib.metadata.version
importlib.metadata.version = lambda name: _version(name).split(".post")[0]

ROOT = Path(__file__).resolve().parents[2]
TESTDATA = Path(os.environ.get("NDZARR_TESTDATA", ROOT / "testdata"))
SHARED = Path(os.environ.get("NDZARR_SHARED", ROOT.parent / "shared"))
ONLY = os.environ.get("NDZARR_FIXTURES_ONLY", "*")
HAND = "hand, from the checklist"

_seen = set()


def begin(name, **fields):
    """The case `family/case`, with an empty folder, or None when `--only` leaves it out."""
    if name in _seen:
        raise SystemExit(f"two cases are called {name}")
    _seen.add(name)
    # The task runner collects these lines to find folders that no script makes any more.
    print(f"case {name}", flush=True)
    if not fnmatch.fnmatchcase(name, ONLY):
        return None
    return Case(name, **fields)


def keep(name):
    """Says that the folder of a case stays as it is, because its source is not at hand."""
    print(f"case {name}", flush=True)


class Case:
    """A case under construction."""

    def __init__(self, name, *, writer, version, format, node="", traps=(), note="", features=(), kind="array", open_as=None):
        self.name = name
        self.path = TESTDATA / name
        if self.path.exists():
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_back.f_code is not run.__code__:
            frame = frame.f_back
        self.fields = {
            "writer": writer,
            "version": version,
            "made_by": f"xtask/python/{Path(frame.f_code.co_filename).name}: {frame.f_code.co_name}",
            "format": format,
            "kind": kind,
            "node": node,
        }
        if format == "n5" and kind == "array":
            self.fields["n5_axes"] = "native"
        self.fields["traps"] = list(traps)
        self.fields["note"] = note
        if note.startswith("lenient") and "lenient" not in features:
            features = [*features, "lenient"]
        if features:
            self.fields["features"] = list(features)
        if open_as is not None:
            self.fields["open_as"] = open_as

    @property
    def store(self):
        """The folder that the writer fills."""
        return str(self.path / "store")

    def put(self, key, value):
        """Stores one key by hand: bytes, text, or a document to be written as JSON."""
        file = self.path / "store" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, (dict, list)):
            value = json.dumps(value, indent=1, ensure_ascii=False)
        if isinstance(value, str):
            value = value.encode()
        file.write_bytes(value)

    def put_hex(self, key, text):
        """Stores one key given as hexadecimal digits; spaces are ignored."""
        self.put(key, bytes.fromhex(text.replace(" ", "")))

    def files(self):
        """All keys of the store, sorted."""
        base = self.path / "store"
        return sorted(str(f.relative_to(base)) for f in base.rglob("*") if f.is_file())

    def array(
        self,
        values,
        *,
        chunk_shape,
        shard_shape=None,
        data_type=None,
        fill_value=None,
        dimension_names=None,
        attributes=None,
    ):
        """Finishes a case of kind array. `fill_value` is a Python or numpy value, None = none."""
        values = np.asarray(values) if not isinstance(values, Raw) else values
        if data_type is None:
            data_type = data_type_of(values.dtype)
        if self.fields["kind"] != "array":
            raise SystemExit(f"{self.name} is not of kind array")
        self._finish(
            {
                "shape": [int(n) for n in values.shape],
                "chunk_shape": [int(n) for n in chunk_shape],
                "shard_shape": None if shard_shape is None else [int(n) for n in shard_shape],
                "data_type": data_type,
                "fill_value": fill_of(fill_value, data_type),
                "dimension_names": dimension_names,
                "attributes": strict(attributes or {}),
            }
        )
        (self.path / "expected.bin").write_bytes(packed(values))

    def hierarchy(self, nodes, attributes=None):
        """Finishes a case of kind hierarchy. `nodes` maps every path, the root "" included, to array or group."""
        members = {}
        for path, node in nodes.items():
            if node != "group":
                continue
            prefix = path + "/" if path else ""
            members[path] = {
                p[len(prefix) :]: n
                for p, n in sorted(nodes.items())
                if p != path and p.startswith(prefix) and "/" not in p[len(prefix) :]
            }
        self._finish(
            {
                "nodes": [{"path": p, "node": n} for p, n in sorted(nodes.items())],
                "members": members,
                "attributes": {p: strict(a) for p, a in sorted((attributes or {}).items())},
            }
        )

    def error(self, fails, why):
        """Finishes a case of kind error; `fails` is "open" or "read"."""
        assert fails in ("open", "read")
        self._finish({"error": why, "fails": fails, "node": self.fields["node"]})

    def block(self, expected):
        """Finishes a case of kind block: N5 blocks that only the block interface can give out."""
        self._finish(expected)

    def _finish(self, expected):
        (self.path / "expected.json").write_text(lines(expected))
        (self.path / "case.toml").write_text(
            "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in self.fields.items())
        )


class Raw:
    """Elements given as packed little-endian bytes, for types that numpy does not know."""

    def __init__(self, shape, data):
        self.shape, self.data, self.dtype = shape, bytes(data), None


def lines(document):
    """A JSON object with one member per line."""
    members = (f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False, allow_nan=False)}" for k, v in document.items())
    return "{\n" + ",\n".join(members) + "\n}\n"


def strict(value):
    """A JSON value without bare NaN or Infinity: these become {"$number": "NaN"}."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        return {k: strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(v) for v in value]
    return value


def data_type_of(dtype):
    """The Zarr v3 form of a numpy dtype."""
    dtype = np.dtype(dtype)
    if dtype.name in ("bfloat16", "int4", "uint4", "int2", "uint2") or dtype.name.startswith("float8"):
        return dtype.name
    if dtype.names is not None:
        fields = []
        for name in dtype.names:
            field = dtype.fields[name][0]
            base, shape = field.subdtype or (field, ())
            entry = {"name": name, "data_type": data_type_of(base)}
            if shape:
                entry["shape"] = list(shape)
            fields.append(entry)
        return {"name": "struct", "configuration": {"fields": fields}}
    if dtype.kind == "V":
        return f"r{8 * dtype.itemsize}"
    if dtype.kind == "S":
        return {"name": "null_terminated_bytes", "configuration": {"length_bytes": dtype.itemsize}}
    if dtype.kind == "U":
        return {"name": "fixed_length_utf32", "configuration": {"length_bytes": dtype.itemsize}}
    if dtype.kind in "mM":
        unit, scale = np.datetime_data(dtype)
        name = "numpy.datetime64" if dtype.kind == "M" else "numpy.timedelta64"
        return {"name": name, "configuration": {"unit": unit, "scale_factor": scale}}
    if dtype.kind in "biufc":
        return dtype.name
    raise TypeError(f"no v3 name for {dtype}")


def packed(values):
    """The elements little-endian in C order without padding; strings and byte strings with a u32 LE length before each."""
    if isinstance(values, Raw):
        return values.data
    if values.dtype.kind == "O":
        out = []
        for item in values.ravel(order="C"):
            data = item.encode() if isinstance(item, str) else b"" if item is None else bytes(item)
            out.append(struct.pack("<I", len(data)) + data)
        return b"".join(out)
    if values.dtype.name in ("int2", "int4"):
        values = values.astype("i1")
    if values.dtype.kind in "biufcmMSU" or values.dtype.names is not None:
        values = values.astype(values.dtype.newbyteorder("<"))
    return np.ascontiguousarray(values).tobytes()


def fill_of(value, data_type):
    """The Zarr v3 form of a fill value; None stays None."""
    if value is None:
        return None
    name = data_type if isinstance(data_type, str) else data_type["name"]
    if name == "bool":
        return bool(value)
    if name.startswith(("int", "uint")):
        return int(value)
    if name in ("float16", "float32", "float64", "bfloat16") or name.startswith("float8"):
        if isinstance(value, str):
            return value
        return float_of(float(value))
    if name.startswith("complex"):
        value = complex(value)
        return [float_of(value.real), float_of(value.imag)]
    if name.startswith("r") and name[1:].isdigit():
        return list(np.void(value).tobytes() if not isinstance(value, bytes) else value)
    if name == "null_terminated_bytes":
        return base64.b64encode(bytes(value)).decode()
    if name.startswith("numpy."):
        if isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.view("i8").item()
        return "NaT" if value == -(2**63) else int(value)
    # Texts, structs (an object per field) and byte strings are given in their final form.
    return value


def float_of(value):
    """A finite float as a number, the rest as the text of the spec."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def agree(actual, expected, what):
    """Fails unless a reader returned exactly the expected elements (NaN equals NaN, -0.0 differs from 0.0)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        raise AssertionError(f"{what}: shape {actual.shape}, expected {expected.shape}")
    if packed(actual.astype(expected.dtype)) != packed(expected):
        raise AssertionError(f"{what}: {actual!r}, expected {expected!r}")


def ramp(shape, dtype, start=0):
    """An array whose elements all differ as far as the type allows it, with awkward values among them."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=int))
    k = np.arange(start, start + n)
    if dtype.kind == "b":
        out = (k * 7 % 5 % 2).astype(dtype)
    elif dtype.kind in "iu":
        # Multiplying by an odd number visits all bytes of the type.
        out = (k.astype("u8") * np.uint64(0x9E3779B97F4A7C15)).astype("u8") >> np.uint64(64 - 8 * dtype.itemsize)
        out = out.astype(f"u{dtype.itemsize}").view(f"i{dtype.itemsize}" if dtype.kind == "i" else f"u{dtype.itemsize}")
        out = out.astype(dtype)
    elif dtype.kind == "f":
        out = (k * 0.5 - 3.25).astype(dtype)
        if n > 6:
            out[1:6] = [np.nan, np.inf, -np.inf, -0.0, 65504]
    elif dtype.kind == "c":
        out = (k * 0.5 - 3.25 + 1j * (k + 0.125)).astype(dtype)
        if n > 3:
            out[1:3] = [complex(np.nan, -0.0), complex(-np.inf, 2)]
    elif dtype.kind in "mM":
        out = (k.astype("i8") * 1_000_003 - 7).view("i8").astype("i8").view(dtype.newbyteorder("=")).astype(dtype)
        if n > 1:
            out[1] = np.array("NaT", dtype=dtype)
    elif dtype.kind == "V":
        out = np.frombuffer(bytes((i * 37 + 1) % 256 for i in range(n * dtype.itemsize)), dtype=dtype)
    else:
        raise TypeError(dtype)
    return out.reshape(shape)


def run(*groups):
    """Runs every group of cases, then fails if one of them did, so that a single run shows all that is broken."""
    broken = 0
    for group in groups:
        try:
            group()
        except Exception:
            broken += 1
            traceback.print_exc()
    sys.exit(1 if broken else 0)
