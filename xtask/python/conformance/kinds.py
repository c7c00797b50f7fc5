"""Data types of `cargo xtask conformance` other than plain numbers: their names in the formats, and elements."""

import json
from dataclasses import dataclass

import numpy as np
from fixture import data_type_of, fill_of, float_of, packed, ramp

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


@dataclass
class Packed:
    """What a reader without numpy gives: packed elements."""

    shape: tuple
    data: bytes


@dataclass
class Kind:
    """A data type. Elements of types that numpy does not know are given as bytes or `V`."""

    dtype: np.dtype
    # As `data_type` of Zarr v3, in the wider form that ndzarr-conformance reads.
    data_type: object = None
    # Values to go round in, and the fill values; None: those of `ramp`, zeros and no other fill value.
    values: object = None
    zero: object = None
    other: object = None
    # Variable size: the object codec of v2 in numcodecs' form, and the array→bytes codec of v3.
    object_codec: dict | None = None
    array_codec: str | None = None
    # What ndzarr calls it, where it reads one name as another.
    read_as: str | None = None
    # Its name in zarr-python 3, if it does not follow from numpy's dtype.
    zarr_python_3: str | None = None
    # What tensorstore calls it.
    tensorstore: str | None = None
    # The data type has a byte order.
    swaps: bool = True
    # The data type follows from numpy's dtype.
    native: bool = True
    # The byte orders are those of the dtype, not of the layout.
    keeps_order: bool = False
    # ndzarr writes it in this format.
    written: bool = True
    # Cells: every codec and some layouts, or the first of both.
    codecs: str = "all"

    def __post_init__(self):
        if self.data_type is None:
            self.data_type = data_type_of(self.dtype)
        elif not self.is_variable and self.dtype.kind == "V" and self.dtype.names is None:
            self.native = self.data_type == data_type_of(self.dtype)

    @property
    def is_variable(self):
        return self.dtype.kind == "O"

    def ramp(self, shape):
        n = int(np.prod(shape, dtype=int))
        if callable(self.values):
            return self.values(n).reshape(shape)
        if self.values is None:
            return elements(n, self.dtype).reshape(shape)
        all = np.empty(n, self.dtype)
        for i in range(n):
            all[i] = self.values[i % len(self.values)]
        return all.reshape(shape)

    def fill(self, kind):
        """The fill value as a scalar of numpy or Python; None = null."""
        if kind == "null":
            return None
        if kind == "other":
            return self.ramp((5,))[4] if self.other is None else self.other
        if self.zero is not None or self.is_variable:
            return self.zero
        return np.zeros((), self.dtype)[()]

    def fill_json(self, value):
        return None if value is None else fill_json(self.data_type, value)


def fill_json(data_type, value):
    """As Zarr v3 writes it."""
    name = data_type if isinstance(data_type, str) else data_type["name"]
    if name == "struct":
        fields = data_type["configuration"]["fields"]
        return {field["name"]: of_field(field, value[field["name"]]) for field in fields if field["name"]}
    if name == "null_terminated_bytes":
        length = data_type["configuration"]["length_bytes"]
        return fill_of(bytes(value).ljust(length, b"\0"), data_type)
    if name == "bytes":
        return fill_of(value, {"name": "null_terminated_bytes"})
    if name == "fixed_length_utf32":
        return str(value)
    if name.startswith("complex_"):
        halves = np.split(np.atleast_1d(np.array(value)).view("u1"), 2)
        return [number(half.view(number_type(name.removeprefix("complex_")))[0]) for half in halves]
    if name.startswith(("float4_", "float6_", "float8_")):
        return number(np.atleast_1d(np.array(value)).view(number_type(name))[0])
    if isinstance(value, np.void):
        return list(value.tobytes())
    return fill_of(value, data_type)


def number_type(name):
    return getattr(ml_dtypes, name, None) or np.dtype(name)


def number(value):
    return "NaN" if np.isnan(value) else float_of(float(value))


def of_field(field, value):
    """Of a sub-array: nested lists."""

    def nested(value, depth):
        if depth == 0:
            return fill_json(field["data_type"], value)
        return [nested(item, depth - 1) for item in value]

    return nested(value, len(field.get("shape", ())))


def elements(n, dtype):
    """Elements that differ, for any fixed size."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return elements(n * int(np.prod(shape)), base).reshape(n, *shape)
    if dtype.names is not None:
        all = np.zeros(n, dtype)
        for name in dtype.names:
            all[name] = elements(n, dtype[name])
        return all
    if dtype.kind == "S":
        texts = [b"", b"a", b"bcd", b"\xff", b"x\0y"]
        return np.array([texts[i % 5][: dtype.itemsize] for i in range(n)], dtype)
    if dtype.kind == "U":
        texts = ["", "a", "é", "日本語", "𝄞x"]
        return np.array([texts[i % 5] for i in range(n)], dtype)
    return ramp((n,), dtype)


def rounded(data_type, value):
    """A fill value in the form of v3, with numbers as the type has them: 0.33 may mean 0.328125."""
    name = data_type if isinstance(data_type, str) else data_type["name"]
    base = {"complex64": "float32", "complex128": "float64"}.get(name, name.removeprefix("complex_"))
    if isinstance(value, list) and name.startswith("complex"):
        return [rounded(base, part) for part in value]
    if name == "struct":
        fields = data_type["configuration"]["fields"]
        return {field["name"]: rounded_field(field["data_type"], value[field["name"]]) for field in fields if field["name"]}
    if isinstance(value, (int, float)) and not isinstance(value, bool) and base.startswith(("float", "bfloat")):
        return float(np.float64(value).astype(number_type(base)))
    return value


def rounded_field(data_type, value):
    if isinstance(value, list) and not (isinstance(data_type, str) and data_type.startswith(("complex", "r"))):
        return [rounded_field(data_type, item) for item in value]
    return rounded(data_type, value)


def small(bits):
    """Bytes with values in the low bits only."""
    return lambda n: (np.arange(n) * 37 % 2**bits).astype("u1")


def pairs(bits):
    return lambda n: small(bits)(2 * n).view("V2")


def ml(name):
    """A type that both numpy's extension and tensorstore have."""

    def values(n):
        dtype = np.dtype(getattr(ml_dtypes, name))
        if name.startswith(("int", "uint")):
            low, high = (-2, 2) if name == "int2" else (-8, 8)
            return (np.arange(n) % (high - low) + low).astype(dtype)
        return small(4 if name.startswith("float4") else 8)(n).view(dtype)

    if name == "float8_e8m0fnu":
        # Powers of two, and nothing else: no zero.
        one = np.uint8(127).view(ml_dtypes.float8_e8m0fnu)
        return Kind(np.dtype(ml_dtypes.float8_e8m0fnu), name, values=values, zero=one, tensorstore=name, swaps=False, keeps_order=True)
    return Kind(np.dtype(getattr(ml_dtypes, name)), name, values=values, tensorstore=name, swaps=False, keeps_order=True)


def structs():
    inner = np.dtype([("baz", "<f4"), ("qux", "<i4")])
    return {
        "struct": np.dtype([("a", "<i2"), ("b", "u1"), ("c", "<f4")]),
        "struct nested": np.dtype([("foo", "<f8"), ("bar", inner), ("t", "u1")]),
        "struct of texts": np.dtype([("s", "S2"), ("u", "<U2"), ("v", "V3"), ("c", "<c8"), ("b", "?")]),
        "struct with sub-arrays": np.dtype([("a", "<i2"), ("m", "<f4", (2, 2)), ("p", inner, (2,))]),
        "struct with padding": np.dtype([("a", "u1"), ("b", "<u4"), ("c", "<u2")], align=True),
        "struct of mixed byte orders": np.dtype([("a", "<i2"), ("b", ">f4"), ("c", ">u8"), ("d", "<i8")]),
        "struct of dates": np.dtype([("t", "<M8[s]"), ("d", "<m8[ns]")]),
    }


def padded_data_type(dtype):
    """With padding as fields without a name."""
    fields = []
    end = 0
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        if offset > end:
            fields.append({"name": "", "data_type": f"r{8 * (offset - end)}"})
        fields.append({"name": name, "data_type": data_type_of(field)})
        end = offset + field.itemsize
    if dtype.itemsize > end:
        fields.append({"name": "", "data_type": f"r{8 * (dtype.itemsize - end)}"})
    return {"name": "struct", "configuration": {"fields": fields}}


OBJECT = np.dtype(object)
TEXTS = ["a", "", "bé", "日本", "x" * 40]
BINARY = [b"", b"\0\xff", b"abc"]
JSON_VALUES = [None, {"x": [1, -2.5, True], "é": {}}, 2**40, -300, "日本", [], ""]


def fixed_kinds():
    kinds = {
        "datetime64[ns]": Kind(np.dtype("<M8[ns]"), other=np.datetime64("NaT", "ns")),
        "timedelta64[25s]": Kind(np.dtype("<m8[25s]"), other=np.timedelta64(-7, "25s")),
        "S3": Kind(np.dtype("S3"), other=b"q", zero=b"", swaps=False),
        "U3": Kind(np.dtype("<U3"), other="ü", zero=""),
    }
    for unit in UNITS:
        for letter, name in [("M", "datetime64"), ("m", "timedelta64")]:
            if f"{name}[{unit}]" not in kinds:
                kinds[f"{name}[{unit}]"] = Kind(np.dtype(f"<{letter}8[{unit}]"), codecs="first")
    return kinds


def zarr2():
    kinds = fixed_kinds()
    for name, dtype in structs().items():
        data_type = padded_data_type(dtype) if name == "struct with padding" else None
        kinds[name] = Kind(dtype, data_type, keeps_order=name in ("struct of mixed byte orders", "struct with padding"))
    kinds |= {
        "O vlen-utf8": Kind(OBJECT, "string", values=TEXTS, zero="", other="ü", object_codec={"id": "vlen-utf8"}, zarr_python_3="string"),
        "O vlen-bytes": Kind(OBJECT, "bytes", values=BINARY, object_codec={"id": "vlen-bytes"}, zarr_python_3="bytes"),
        "O vlen-array": Kind(
            OBJECT,
            {"name": "vlen-array", "configuration": {"data_type": "int16"}},
            values=[np.array(items, "<i2") for items in ([1, 2], [], [-1])],
            object_codec={"id": "vlen-array", "dtype": "<i2"},
        ),
        "O categorize": Kind(
            OBJECT,
            "string",
            values=TEXTS,
            zero="",
            other="ü",
            object_codec={"id": "categorize", "labels": [text for text in [*TEXTS, "ü"] if text], "dtype": "|O", "astype": "|u1"},
        ),
        "O json2": Kind(OBJECT, "json", values=JSON_VALUES, zero="", object_codec=JSON2),
        "O msgpack2": Kind(OBJECT, "json", values=JSON_VALUES, zero="", object_codec={"id": "msgpack2", "raw": False, "use_bin_type": True, "use_single_float": False}),
    }
    if ml_dtypes is not None:
        for name in ["bfloat16", "int2", "int4", *FLOAT8, "float4_e2m1fn"]:
            kinds[name] = ml(name)
        # Names that tensorstore has put into Zarr v2: they are read.
        for name in ["bfloat16", "int2", "int4", *FLOAT8, "float4_e2m1fn"]:
            kinds[name].written = False
        kinds["bfloat16"].values = lambda n: np.arange(n).astype(ml_dtypes.bfloat16)
    return kinds


# As numcodecs writes it.
JSON2 = {
    "id": "json2",
    "encoding": "utf-8",
    "allow_nan": True,
    "check_circular": True,
    "ensure_ascii": True,
    "indent": None,
    "separators": [",", ":"],
    "skipkeys": False,
    "sort_keys": True,
    "strict": True,
}
FLOAT8 = ["float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


def zarr3():
    kinds = {
        {"S3": "null_terminated_bytes", "U3": "fixed_length_utf32"}.get(name, f"numpy.{name}"): kind for name, kind in fixed_kinds().items()
    }
    for name in ["struct", "struct nested", "struct of texts", "struct of dates"]:
        kinds[name] = Kind(structs()[name])
    kinds |= {
        "string": Kind(OBJECT, "string", values=TEXTS, zero="", other="ü", array_codec="vlen-utf8", zarr_python_3="string"),
        "bytes": Kind(OBJECT, "bytes", values=BINARY, zero=b"", other=b"q\0", array_codec="vlen-bytes", zarr_python_3="bytes"),
        "r8": Kind(np.dtype("V1"), other=np.void(b"\7"), swaps=False),
        "r16": Kind(np.dtype("V2"), other=np.void(b"\7\1"), swaps=False),
        "r128": Kind(np.dtype("V16"), other=np.void(bytes(range(16))), swaps=False),
    }
    if ml_dtypes is not None:
        for name in ["int2", "int4", *FLOAT8, "float4_e2m1fn"]:
            kinds[name] = ml(name)
    # Types that neither zarr-python nor tensorstore has; the crate zarrs takes bytes.
    for name, bits in [("uint2", 2), ("uint4", 4), ("float6_e2m3fn", 6), ("float6_e3m2fn", 6), ("float8_e4m3", 8)]:
        kinds[name] = Kind(np.dtype("u1"), name, values=small(bits), swaps=False, native=False)
    for name, bits in [("float4_e2m1fn", 4), ("float6_e2m3fn", 6), ("float6_e3m2fn", 6), *((name, 8) for name in [*FLOAT8, "float8_e4m3"])]:
        if name not in ("float8_e4m3fn",):
            zero = np.void(b"\x7f\x7f") if "e8m0" in name else None
            kinds[f"complex_{name}"] = Kind(np.dtype("V2"), f"complex_{name}", values=pairs(bits), zero=zero, swaps=False)
    for name, size in [("complex_bfloat16", 4), ("complex_float16", 4), ("complex_float32", 8), ("complex_float64", 16)]:
        same = {"complex_float32": "complex64", "complex_float64": "complex128"}.get(name)
        kinds[name] = Kind(np.dtype(f"V{size}"), name, read_as=same, written=same is None)
    return kinds


def draft_b():
    kinds = fixed_kinds()
    for name in ["struct", "struct nested", "struct with sub-arrays", "struct of mixed byte orders"]:
        kinds[name] = Kind(structs()[name], keeps_order=name == "struct of mixed byte orders")
    every = zarr2()
    return kinds | {name: every[name] for name in every if name.startswith("O ")}


def as_bytes(kind, values):
    """The elements as ndzarr-conformance gives them out: little endian and packed, padding as zeros."""
    if kind.data_type == "json":
        texts = np.empty(values.size, dtype=object)
        for i, value in enumerate(values.ravel()):
            texts[i] = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return packed(texts)
    if kind.is_variable:
        return packed(values.astype(object))
    if values.dtype.names is None:
        return packed(values)
    clean = np.zeros(values.shape, kind.dtype.newbyteorder("<"))
    for name in kind.dtype.names:
        clean[name] = values[name]
    return clean.tobytes()


KINDS = {"zarr2": zarr2(), "zarr3": zarr3(), "zarr3-draft-b": draft_b(), "n5": {}}
