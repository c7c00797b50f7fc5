"""The cells of `cargo xtask conformance`: every format x data type x codec x layout, independent of any program.

A cell describes an array in the terms of the formats, and has the numpy array that every writer gets and every
reader has to return.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
from kinds import KINDS, as_bytes, ml_dtypes
from fixture import packed, ramp

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
TYPES = {
    "zarr2": ["bool", *NUMBERS, *FLOATS, "complex64", "complex128", "r24"],
    "zarr3": ["bool", *NUMBERS, *FLOATS, "bfloat16", "complex64", "complex128", "r24"],
    "zarr3-draft-b": ["bool", *NUMBERS, *FLOATS, "complex64", "complex128", "r24"],
    "n5": [*NUMBERS, "float32", "float64"],
}


@dataclass
class Layout:
    """How an array is cut, ordered, keyed and filled."""

    shape: tuple = (5, 7)
    chunks: tuple = (2, 3)
    shards: tuple | None = None
    endian: str = "little"
    order: str = "C"
    separator: str | None = None
    key_encoding: str | None = None
    # Codecs of v3: array→array ones in front, `sharding_indexed` with `inner`, bytes→bytes ones after it.
    before: list = field(default_factory=list)
    sharding: dict | None = None
    behind: list = field(default_factory=list)
    # Elements outside of `written` have the fill value.
    written: tuple = ()
    # "zero", "other" (not zero) or "null"
    fill: str = "zero"
    node: str = "a"
    attributes: dict = field(default_factory=dict)
    names: list | None = None
    # N5: how `shape` and `chunks` are meant, and how we write blocks at the edge.
    axes: str = "native"
    edge: str = "truncated"
    # Rectilinear grids: `chunk_shapes` as v3 has it; `chunks` is the shape of the first chunk then.
    edges: list | None = None
    # All documents but the consolidated one are taken away before the array is read.
    consolidated: bool = False
    # Numbers that hardly repeat, as instruments give them.
    noisy: bool = False


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


BIG = {"name": "bytes", "configuration": {"endian": "big"}}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
CRC32C = {"name": "crc32c"}
# Large chunks of noise, for which codecs have code paths of their own.
NOISY = {"shape": (700, 600), "chunks": (512, 600), "noisy": True}
MISSING = {"written": np.s_[2:4, 3:6], "fill": "other"}
ATTRIBUTES = {"text": "ü \" \\", "list": [1, 2.5, None, True], "nested": {"a": {"b": -3}}}

CONSOLIDATED = Layout(node="g/h/a", attributes=ATTRIBUTES, consolidated=True)

LAYOUTS = {
    "zarr2": {
        "C, dot": Layout(),
        "C, slash": Layout(separator="/"),
        "F, dot": Layout(order="F"),
        "F, slash, big endian": Layout(order="F", separator="/", endian="big"),
        "C, big endian": Layout(endian="big"),
        "even chunks": Layout(shape=(4, 6)),
        "chunk larger than array": Layout(shape=(3, 2), chunks=(4, 5)),
        "missing chunks": Layout(**MISSING),
        "missing chunks, F, big endian": Layout(**MISSING, order="F", endian="big"),
        "fill null": Layout(fill="null"),
        "0-d": Layout(shape=(), chunks=()),
        "1-d": Layout(shape=(7,), chunks=(3,)),
        "4-d, F, slash": Layout(shape=(3, 2, 5, 4), chunks=(2, 2, 3, 2), order="F", separator="/"),
        "zero length": Layout(shape=(0, 3)),
        "below groups, attributes": Layout(node="g/h/a", attributes=ATTRIBUTES),
    },
    "zarr3": {
        "default, slash": Layout(),
        "default, dot": Layout(separator="."),
        "v2, dot": Layout(key_encoding="v2", separator="."),
        "v2, slash": Layout(key_encoding="v2", separator="/"),
        "big endian": Layout(endian="big"),
        "transposed": Layout(before=[transpose(1, 0)]),
        "transposed, 3-cycle, big endian": Layout(shape=(3, 5, 7), chunks=(2, 3, 4), before=[transpose(1, 2, 0)], endian="big"),
        "chunk larger than array": Layout(shape=(3, 2), chunks=(4, 5)),
        "missing chunks": Layout(**MISSING),
        "0-d": Layout(shape=(), chunks=()),
        "0-d, v2": Layout(shape=(), chunks=(), key_encoding="v2", separator="."),
        "1-d": Layout(shape=(7,), chunks=(3,)),
        "zero length": Layout(shape=(0, 3)),
        "below groups, attributes": Layout(node="g/h/a", attributes=ATTRIBUTES),
        "dimension names": Layout(names=["y", None]),
        "shards": Layout(shards=(4, 6)),
        "shards, missing inner chunks": Layout(shape=(9, 13), shards=(4, 6), written=np.s_[2:4, 3:6], fill="other"),
        "shards, index at the start": Layout(shards=(4, 6), sharding={"index_location": "start"}),
        "shards, index big endian, no checksum": Layout(shards=(4, 6), sharding={"index_codecs": [BIG]}, endian="big"),
        "shards, inner transpose": Layout(shards=(4, 6), sharding={"before": [transpose(1, 0)]}),
        "shards, transpose outside": Layout(shape=(5, 9, 7), shards=(4, 4, 4), chunks=(2, 2, 2), before=[transpose(2, 0, 1)]),
        "shards of unequal sides, transpose outside": Layout(shape=(5, 9, 7), shards=(4, 6, 2), chunks=(2, 3, 1), before=[transpose(2, 0, 1)]),
        "shards, crc32c outside": Layout(shards=(4, 6), behind=[CRC32C]),
        "shards, nested": Layout(shape=(9, 13), shards=(8, 12), chunks=(2, 3), sharding={"nested": (4, 6)}),
    },
    "zarr3-draft-b": {
        "C, slash": Layout(),
        "C, dot": Layout(separator="."),
        "F, slash": Layout(order="F"),
        "F, dot, big endian": Layout(order="F", separator=".", endian="big"),
        "even chunks": Layout(shape=(4, 6)),
        "missing chunks": Layout(**MISSING),
        "fill null": Layout(fill="null"),
        "0-d": Layout(shape=(), chunks=()),
        "zero length": Layout(shape=(0, 3)),
        "below groups, attributes": Layout(node="g/h/a", attributes=ATTRIBUTES),
        "shards": Layout(shards=(4, 6)),
        "shards, F, dot, big endian": Layout(shards=(4, 6), order="F", separator=".", endian="big"),
        "shards, missing inner chunks": Layout(shape=(9, 13), shards=(4, 6), written=np.s_[2:4, 3:6], fill="other"),
    },
    "n5": {
        "edges truncated by us": Layout(),
        "edges padded by us": Layout(edge="padded"),
        "axes reversed": Layout(axes="reversed"),
        "axes reversed, padded": Layout(axes="reversed", edge="padded"),
        "even blocks": Layout(shape=(4, 6)),
        "block larger than array": Layout(shape=(3, 2), chunks=(4, 5)),
        "missing blocks": Layout(written=np.s_[2:4, 3:6]),
        "1-d": Layout(shape=(7,), chunks=(3,)),
        "3-d, axes reversed": Layout(shape=(3, 5, 7), chunks=(2, 3, 4), axes="reversed"),
        "below groups, attributes": Layout(node="g/h/a", attributes=ATTRIBUTES),
    },
}

# The first layout of each format.
BASE = {next(iter(layouts)) for layouts in LAYOUTS.values()}
BLOSC = [(cname, shuffle) for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] for shuffle in range(3)]
SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]


def numcodecs(id, **members):
    return {"id": id, **members}


INTEGERS = NUMBERS
# Layouts of filtered cells, and of the types in kinds.py.
FEW = {
    "zarr2": ["C, dot", "F, slash, big endian", "missing chunks", "1-d", "0-d"],
    "zarr3": ["default, slash", "transposed", "big endian", "missing chunks", "0-d", "shards"],
    "zarr3-draft-b": ["C, slash", "F, dot, big endian", "missing chunks", "0-d", "shards"],
}
# Layouts that every type has with the first codec, and uint16 with every codec, and no other cell.
RARE = {
    "zarr2": {"large, noisy": Layout(**NOISY)},
    "zarr3-draft-b": {"large, noisy": Layout(**NOISY)},
    "n5": {"large, noisy": Layout(**NOISY)},
    "zarr3": {
        "large, noisy": Layout(**NOISY),
        "rectilinear": Layout(chunks=(2, 4), edges=[[2, [1, 3]], [4, 3]]),
        "rectilinear, repeated": Layout(chunks=(3, 1), edges=[3, [[1, 4], 3]]),
        "rectilinear, missing chunks": Layout(chunks=(2, 3), edges=[[2, 2, 1], [3, [2, 2]]], **MISSING),
        "rectilinear, big endian, transposed": Layout(chunks=(2, 4), edges=[[2, [1, 3]], [4, 3]], before=[transpose(1, 0)], endian="big"),
        "rectilinear, shards": Layout(chunks=(2, 3), shards=(4, 6), edges=[[4, 2], [6, 3]]),
    },
}
# Types of cells with consolidated metadata, with the first codec.
CONSOLIDATED_TYPES = ["bool", "uint16", "float32", "complex64", "r24", "struct", "datetime64[ns]", "numpy.datetime64[ns]", "U3", "O vlen-utf8", "string"]


for _format, _layouts in RARE.items():
    LAYOUTS[_format] |= _layouts
for _format in ("zarr2", "zarr3", "zarr3-draft-b"):
    LAYOUTS[_format]["consolidated"] = CONSOLIDATED


@dataclass
class Filtered:
    """Codecs of elements, or several codecs: for some types, in a few layouts. `filters` are made for a dtype."""

    types: list
    # Codecs in numcodecs' form, as `filters` of v2 and as numcodecs.* in front of the bytes of v3.
    filters: object = lambda dtype: []
    # Codecs of bytes, in that form.
    behind: list = field(default_factory=list)
    # What reaches the codec `bytes`, if it is not what the array has.
    stored: str | None = None
    # Codecs of v3 only: array→array ones, and one that replaces `bytes`.
    before: list = field(default_factory=list)
    array_codec: dict | None = None
    # Numbers of dimensions.
    ranks: tuple = (0, 1, 2, 3, 4)


VARIABLE = [name for kinds in KINDS.values() for name, kind in kinds.items() if kind.is_variable]
BITS = ["bool", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e5m2"]


def filtered():
    """For v2 and, where zarr-python has them, v3."""
    every = [*NUMBERS, *FLOATS, *KINDS["zarr2"], *KINDS["zarr3"]]
    return {
        "delta": Filtered(INTEGERS, lambda dtype: [numcodecs("delta", dtype=dtype, astype=dtype)]),
        "fixedscaleoffset": Filtered(
            ["int8", "int16", "int32", "uint8", "uint16", "uint32"],
            lambda dtype: [numcodecs("fixedscaleoffset", offset=1, scale=1, dtype=dtype, astype=dtype)],
        ),
        "quantize": Filtered(["float32", "float64"], lambda dtype: [numcodecs("quantize", digits=1, dtype=dtype, astype=dtype)]),
        "packbits": Filtered(["bool"], lambda dtype: [numcodecs("packbits")], stored="uint8"),
        "astype": Filtered(
            ["int16", "float32"],
            lambda dtype: [numcodecs("astype", encode_dtype=dtype[:-1] + "8", decode_dtype=dtype)],
        ),
        "bitround": Filtered(["float16", "float32", "float64"], lambda dtype: [numcodecs("bitround", keepbits=10)]),
        "delta of dates": Filtered(
            [name for name in [*KINDS["zarr2"], *KINDS["zarr3"]] if "[ns]" in name or "[25s]" in name],
            lambda dtype: [numcodecs("delta", dtype=dtype[0] + "i8", astype=dtype[0] + "i8")],
        ),
        "shuffle": Filtered([name for name in every if name not in VARIABLE], behind=[numcodecs("shuffle", elementsize=0)]),
        "shuffle, zlib, bz2": Filtered(["int32"], behind=[numcodecs("shuffle", elementsize=4), numcodecs("zlib", level=1), numcodecs("bz2", level=1)]),
        "delta, shuffle, gzip": Filtered(
            ["int32"],
            lambda dtype: [numcodecs("delta", dtype=dtype, astype=dtype)],
            [numcodecs("shuffle", elementsize=4), numcodecs("gzip", level=1)],
        ),
        "crc32": Filtered(every, behind=[numcodecs("crc32", location="start")]),
        "crc32 at the end": Filtered(["uint16"], behind=[numcodecs("crc32", location="end")]),
        "adler32": Filtered(every, behind=[numcodecs("adler32", location="start")]),
        "fletcher32": Filtered(every, behind=[numcodecs("fletcher32")]),
        "jenkins_lookup3": Filtered(every, behind=[numcodecs("jenkins_lookup3", initval=7, prefix=None)]),
    }


def v2_filtered():
    codecs = {f"filter {name}": codec for name, codec in filtered().items()}
    numbers = [name for name in [*NUMBERS, *FLOATS] if not name.endswith("int8")]
    return codecs | {
        "filter base64": Filtered(["uint16", "float64", *KINDS["zarr2"]], behind=[numcodecs("base64")]),
        "filter crc32c": Filtered(["uint16", *KINDS["zarr2"]], behind=[numcodecs("crc32c", location="start")]),
        "filter categorize": Filtered(["U3"], lambda dtype: [numcodecs("categorize", labels=["a", "é", "日本語", "𝄞x", "ü"], dtype=dtype, astype="|u1")]),
        "pcodec": Filtered(numbers, behind=[PCODEC]),
    }


PCODEC = numcodecs("pcodec", level=8, delta_encoding_order=None, mode_spec="auto", delta_spec="auto", paging_spec="equal_pages_up_to", equal_pages_up_to=262144)


def v3_filtered():
    packbits = {f"packbits, padding {where}": {"padding_encoding": where} for where in ["none", "first_byte", "last_byte"]}
    numbers = [name for name in [*NUMBERS, *FLOATS] if not name.endswith("int8")]
    return {
        **{f"numcodecs.{name}": codec for name, codec in filtered().items()},
        "numcodecs.pcodec": Filtered(numbers, array_codec=named(PCODEC)),
        "bitround": Filtered([*FLOATS, "bfloat16"], before=[{"name": "bitround", "configuration": {"keepbits": 10}}]),
        "reshape": Filtered(["uint16", "float32", "string", "struct"], before=[{"name": "reshape", "configuration": {"shape": [[0, 1]]}}], ranks=(2,)),
        "packbits": Filtered([*BITS, *NUMBERS, *FLOATS], array_codec={"name": "packbits"}),
        **{name: Filtered(["bool", "int4", "uint2"], array_codec={"name": "packbits", "configuration": config}) for name, config in packbits.items()},
    }


def v2_codecs():
    codecs = {
        "none": None,
        "zlib": numcodecs("zlib", level=1),
        "gzip": numcodecs("gzip", level=1),
        "bz2": numcodecs("bz2", level=1),
        "lzma": numcodecs("lzma", format=1, check=-1, preset=None, filters=None),
        "lz4": numcodecs("lz4", acceleration=1),
        "zstd": numcodecs("zstd", level=1),
    }
    for cname, shuffle in BLOSC:
        config = numcodecs("blosc", cname=cname, clevel=5, shuffle=shuffle, blocksize=0)
        codecs[f"blosc {cname} {SHUFFLES[shuffle]}"] = config
    return codecs


def v3_codecs(itemsize):
    codecs = {
        "none": [],
        "gzip": [{"name": "gzip", "configuration": {"level": 1}}],
        "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
        "zstd with checksum": [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}],
        "crc32c": [CRC32C],
        "gzip, crc32c": [{"name": "gzip", "configuration": {"level": 1}}, CRC32C],
    }
    for cname, shuffle in BLOSC:
        config = {"cname": cname, "clevel": 5, "shuffle": SHUFFLES[shuffle], "typesize": itemsize, "blocksize": 0}
        codecs[f"blosc {cname} {SHUFFLES[shuffle]}"] = [{"name": "blosc", "configuration": config}]
    for id, config in [("zlib", {"level": 1}), ("bz2", {"level": 1}), ("lz4", {"acceleration": 1}), ("lzma", {"format": 1, "check": -1, "preset": None, "filters": None})]:
        codecs[f"numcodecs.{id}"] = [{"name": f"numcodecs.{id}", "configuration": config}]
    return codecs


def n5_codecs():
    codecs = {
        "raw": {"type": "raw"},
        "gzip": {"type": "gzip", "level": 1, "useZlib": False},
        "zlib": {"type": "gzip", "level": 1, "useZlib": True},
        "bzip2": {"type": "bzip2", "blockSize": 1},
        "xz": {"type": "xz", "preset": 1},
        "lz4": {"type": "lz4", "blockSize": 65536},
        "zstd": {"type": "zstd", "level": 1},
    }
    for cname, shuffle in BLOSC:
        codecs[f"blosc {cname} {SHUFFLES[shuffle]}"] = {"type": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
    return codecs


def noise(shape, dtype):
    mean, deviation = (64, 12) if dtype.itemsize == 1 else (2000, 300)
    values = np.random.default_rng(7).normal(mean, deviation, shape)
    return np.clip(values, 0, None if dtype.itemsize > 1 else 127).astype(dtype)


def dtype_of(name):
    if name == "bfloat16":
        return None if ml_dtypes is None else np.dtype(ml_dtypes.bfloat16)
    return np.dtype("V3") if name == "r24" else np.dtype(name)


def fill_of(name, kind):
    """The fill value as a numpy scalar; None = null."""
    dtype = dtype_of(name)
    if kind == "null":
        return None
    if kind == "zero":
        return np.zeros((), dtype)[()]
    others = {"b": True, "i": -5, "u": 250, "f": np.nan, "c": complex(np.nan, -1.5), "V": b"\1\2\3"}
    if name == "bfloat16":
        return dtype.type(-1.5)
    if name == "float64":
        return np.float64(-np.inf)
    return np.void(others["V"]) if name == "r24" else dtype.type(others[dtype.kind])


def fill_json(name, value):
    """The fill value as Zarr v3 writes it."""
    if value is None:
        return None

    def number(x):
        x = float(x)
        return "NaN" if np.isnan(x) else "Infinity" if x == np.inf else "-Infinity" if x == -np.inf else x

    if name == "bool":
        return bool(value)
    if name == "r24":
        return list(bytes(value))
    if name.startswith("complex"):
        return [number(value.real), number(value.imag)]
    return int(value) if "int" in name else number(value)


def named(codec):
    """A codec of numcodecs as v3 has it."""
    return {"name": f"numcodecs.{codec['id']}", "configuration": {name: value for name, value in codec.items() if name != "id"}}


class Cell:
    """One array."""

    def __init__(self, format, type, codec, layout, config):
        self.format = format
        self.type = type
        self.codec = codec
        self.layout = layout
        self.config = config
        self.is_v3 = format == "zarr3"
        self.how = LAYOUTS[format][layout]
        # A type of kinds.py.
        self.kind = None if type in TYPES[format] else KINDS[format][type]
        how = self.how
        if self.kind is not None:
            dtype = self.kind.dtype
            self.fill = self.kind.fill(how.fill)
            values = self.kind.ramp(how.shape)
        else:
            dtype = dtype_of(type)
            self.fill = fill_of(type, how.fill)
            values = np.arange(np.prod(how.shape)).reshape(how.shape).astype(dtype) if type == "bfloat16" else ramp(how.shape, dtype)
            if how.noisy and dtype.kind in "iuf":
                values = noise(how.shape, dtype)
        if how.written != ():
            full = np.empty(how.shape, dtype)
            # Byte by byte: numpy would drop NULs at the end of byte strings.
            full.fill(np.zeros((), dtype)[()] if self.fill is None else self.fill)
            full[how.written] = values[how.written]
            values = full
        self.values = values

    @property
    def is_written(self):
        """True if ndzarr writes such arrays; it reads them all."""
        if self.how.consolidated and self.format == "zarr3-draft-b":
            return False
        return self.kind is None or self.kind.written

    @property
    def data_type(self):
        """As v3 has it, and for what v3 has not, as ndzarr-conformance does."""
        return self.type if self.kind is None else self.kind.data_type

    @property
    def fill_json(self):
        """The fill value as v3 writes it."""
        return fill_json(self.type, self.fill) if self.kind is None else self.kind.fill_json(self.fill)

    def packed(self, values):
        """Elements as ndzarr-conformance reads and prints them."""
        return packed(values) if self.kind is None else as_bytes(self.kind, values)

    @property
    def filters(self):
        """Filters of v2 in numcodecs' form."""
        first = [self.kind.object_codec] if self.kind is not None and self.kind.object_codec else []
        if not isinstance(self.config, Filtered):
            return first
        *filters, last = [*self.config.filters(self.stored_dtype.str), *self.steps()]
        return [*first, *filters, last] if last["id"] not in ("gzip", "bz2", "pcodec") else [*first, *filters]

    @property
    def compressor(self):
        """The compressor of v2 in numcodecs' form."""
        if not isinstance(self.config, Filtered):
            return self.config
        steps = self.steps()
        return steps[-1] if steps and steps[-1]["id"] in ("gzip", "bz2", "pcodec") else None

    def steps(self):
        """The codecs of bytes, with the size of the elements where they want it."""
        size = {"elementsize": self.values.dtype.itemsize}
        return [{**step, **size} if step.get("elementsize") == 0 else step for step in self.config.behind]

    @property
    def stored_dtype(self):
        """With the byte order of the store."""
        if self.kind is not None and self.kind.keeps_order:
            return self.values.dtype
        return self.values.dtype.newbyteorder("<" if self.how.endian == "little" else ">")

    def v3_codecs(self):
        """The list of codecs of a v3 document."""
        how = self.how
        config = self.config
        kind = self.kind
        endian = {"name": "bytes"}
        before = []
        behind = config
        if isinstance(config, Filtered):
            before, behind = ([named(codec) for codec in codecs] for codecs in (config.filters(self.values.dtype.str), self.steps()))
            before = [*config.before, *before]
        if kind is not None and kind.array_codec:
            endian = {"name": kind.array_codec}
        elif isinstance(config, Filtered) and config.array_codec:
            endian = config.array_codec
        elif isinstance(config, Filtered) and config.stored == "uint8":
            pass
        elif self.type != "r24" if kind is None else kind.swaps:
            if self.values.dtype.itemsize > 1:
                endian = BIG if how.endian == "big" else LITTLE
        chain = [*before, endian, *behind]
        if how.sharding is None and how.shards is None:
            return [*how.before, *chain, *how.behind]
        options = how.sharding or {}
        axes = next((codec["configuration"]["order"] for codec in how.before), range(len(how.shape)))

        def shard(chunks, codecs):
            index = options.get("index_codecs", [LITTLE, CRC32C])
            configuration = {"chunk_shape": [chunks[axis] for axis in axes], "codecs": codecs, "index_codecs": index, "index_location": options.get("index_location", "end")}
            return {"name": "sharding_indexed", "configuration": configuration}

        inner = shard(how.chunks, [*options.get("before", []), *chain])
        if "nested" in options:
            inner = shard(options["nested"], [inner])
        return [*how.before, inner, *how.behind]

    def v3_key_encoding(self):
        how = self.how
        return {"name": how.key_encoding or "default", "configuration": {"separator": how.separator or "/"}}

    def spec(self):
        """The specification for `ndzarr-conformance write`."""
        how = self.how
        spec = {
            "format": self.format,
            "shape": how.shape,
            "chunk_shape": how.chunks,
            "data_type": self.data_type,
            "fill_value": self.fill_json,
            "attributes": how.attributes,
            "dimension_names": how.names,
        }
        if self.format == "n5":
            return {**spec, "codecs": self.config, "n5_axes": how.axes, "edge_blocks": how.edge, "n5_group_documents": "all"}
        if self.is_v3:
            spec |= {"codecs": self.v3_codecs(), "chunk_key_encoding": self.v3_key_encoding()}
            # The list is complete: the option that makes shards is not used.
            return {**spec, "chunk_shape": how.shards or how.chunks, "chunk_edges": how.edges}
        codecs = {"compressor": self.compressor, "filters": self.filters or None}
        return {**spec, "codecs": codecs, "order": how.order, "endian": how.endian, "dimension_separator": how.separator, "shard_shape": how.shards}


def cells(which, formats):
    """The cells of these formats. `which` is "full" or "quick"."""
    for format in formats:
        for type in TYPES[format]:
            if dtype_of(type) is not None:
                yield from cells_of_type(which, format, type, dtype_of(type).itemsize, None)
        for type, kind in KINDS[format].items():
            yield from cells_of_type(which, format, type, 1 if kind.is_variable else kind.dtype.itemsize, kind)


def cells_of_type(which, format, type, itemsize, kind):
    codecs = {"n5": n5_codecs, "zarr3": lambda: v3_codecs(itemsize)}.get(format, v2_codecs)()
    more = {"zarr2": v2_filtered, "zarr3": v3_filtered}.get(format, dict)()
    few = FEW.get(format, [])
    rare = RARE.get(format, {})
    of_all_kinds = [layout for layout in [*few, *rare] if not LAYOUTS[format][layout].noisy]
    layouts = [layout for layout in LAYOUTS[format] if kind is None or layout in of_all_kinds]
    first_layout = layouts[0]
    first_codec = next(iter(codecs))

    def fits(layout):
        how = LAYOUTS[format][layout]
        if kind is None:
            return True
        has_fill = how.fill != "other" or not kind.is_variable or kind.other is not None
        return has_fill and not (how.endian == "big" and kind.keeps_order)

    for layout, codec in itertools.product(few, more):
        if kind is not None and (kind.codecs == "first" or which != "full"):
            continue
        how = LAYOUTS[format][layout]
        # numcodecs does not accept big-endian elements for these two.
        unswapped = codec == "pcodec" or codec.endswith("bitround")
        if unswapped and format == "zarr2" and how.endian == "big":
            continue
        if type not in more[codec].types or len(how.shape) not in more[codec].ranks or not fits(layout):
            continue
        if which == "full" and kind is None or layout == few[0]:
            yield Cell(format, type, codec, layout, more[codec])
    for layout, codec in itertools.product(layouts, codecs):
        if layout == "consolidated" or not fits(layout):
            continue
        is_base = layout == first_layout or codec == first_codec
        is_cross = layout == first_layout and codec == first_codec or type == "uint16" and (layout == first_layout or codec == "gzip")
        if kind is not None and kind.codecs == "first":
            wanted = layout == first_layout and codec == first_codec
        elif kind is not None:
            wanted = is_base if which == "full" else layout == first_layout and codec == first_codec
        elif layout in rare:
            wanted = codec == first_codec or type == "uint16"
            wanted = wanted if which == "full" else is_cross
        else:
            wanted = which == "full" or is_cross
        if wanted:
            yield Cell(format, type, codec, layout, codecs[codec])
    if "consolidated" in LAYOUTS[format] and type in CONSOLIDATED_TYPES:
        yield Cell(format, type, first_codec, "consolidated", codecs[first_codec])
