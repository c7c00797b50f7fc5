"""The known limits of peers.

An outcome other than agreement that no entry explains is a disagreement; an agreement that an entry
rules out is reported, since the peer has learned.
"""

import functools
import re
from typing import NamedTuple

BOTH = ("writes", "reads")
WRITES = ("writes",)
READS = ("reads",)
DIFFERS = "differs"

TS = "tensorstore"
Z5 = "z5"
ZP2 = "zarr-python 2"
ZP3 = "zarr-python 3"
ZARRS = "zarrs"


class Limit(NamedTuple):
    """Cells that a peer is known not to agree on. Texts are lists of patterns, but the last."""

    peer: str
    format: str
    why: str
    directions: tuple
    data_type: str
    codec: str
    layout: str
    # The result of these cells.
    result: str
    # True if none of these cells agrees; otherwise it depends on the elements.
    always: bool

    def __str__(self):
        about = [("type", self.data_type), ("codec", self.codec), ("layout", self.layout)]
        narrowed = [
            f"{name}: {pattern.replace('|', ' or ').replace('*', '…')}"
            for name, pattern in about if pattern != "*"
        ]
        text = f"{self.peer} {self.why}"
        return f"{text} ({'; '.join(narrowed)})" if narrowed else text

    def covers(self, outcome):
        """True if it is about the cell, peer and direction of an outcome."""
        return (
            self.peer == outcome.peer_name and outcome.direction in self.directions
            and fits(self.format, outcome.format) and fits(self.data_type, outcome.data_type)
            and fits(self.codec, outcome.codec) and fits(self.layout, outcome.layout)
        )


@functools.cache
def fits(patterns, text):
    """True if a text fits one of the patterns in a list like `int*|bool`."""
    expressions = [".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns.split("|")]
    return any(re.fullmatch(expression, text, re.DOTALL) for expression in expressions)


def limit(
    peer, format, why, *, directions=BOTH, data_type="*", codec="*", layout="*",
    result="peer refuses", always=True,
):
    return Limit(peer, format, why, directions, data_type, codec, layout, result, always)


LIMITS = [
    # tensorstore
    limit(TS, "zarr2", "shows raw bytes as one dimension more", data_type="r24", directions=WRITES),
    limit(
        TS, "zarr2", "shows raw bytes as one dimension more", data_type="r24", directions=READS,
        result=DIFFERS,
    ),
    limit(TS, "zarr2", "has no lz4 and no lzma in Zarr v2", codec="lz4|lzma"),
    limit(
        TS, "zarr2", "writes no attributes in Zarr v2", layout="below groups, attributes",
        directions=WRITES,
    ),
    limit(TS, "zarr2", "has no filters", codec="filter *"),
    limit(TS, "zarr2", "has no pcodec", codec="pcodec"),
    limit(TS, "zarr3", "has no codec of numcodecs in Zarr v3", codec="numcodecs.*"),
    limit(TS, "zarr3", "takes no codec behind sharding_indexed", layout="shards, crc32c outside"),
    limit(
        TS, "zarr3", "shows raw bytes as one dimension more", data_type="r24|r8|r16|r128",
        directions=WRITES,
    ),
    limit(
        TS, "zarr3",
        "expects the fill value of raw bits in Base64, where the specification has a list of bytes",
        data_type="r24|r8|r16|r128", directions=READS,
    ),
    limit(TS, "n5", "has no lz4 in N5", codec="lz4"),
    # z5
    limit(
        Z5, "zarr2|zarr3", "has no types but integers of whole bytes, float32 and float64",
        data_type=(
            "bool|*float16|complex*|r24|r8|r16|r128|*datetime64*|*timedelta64*|S3|U3|null_*|fixed_*"
            "|struct*|O *|string|bytes|float*_*|int2|int4|uint2|uint4"
        ),
    ),
    limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2", codec="lzma|lz4", directions=WRITES),
    limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2", codec="lzma", directions=READS),
    limit(
        Z5, "zarr2",
        "takes lz4 for one bare block, without the length that numcodecs puts in front",
        codec="lz4", directions=READS, always=False,
    ),
    limit(
        Z5, "zarr2", "has no option for the separator when it writes", layout="C, slash",
        directions=WRITES,
    ),
    limit(Z5, "zarr2", "has no filters", codec="filter *"),
    limit(Z5, "zarr2", "has no pcodec", codec="pcodec"),
    limit(Z5, "zarr2", "has no order F", layout="*F*"),
    limit(Z5, "zarr2", "writes little endian only", layout="C, big endian", directions=WRITES),
    limit(
        Z5, "zarr2", "refuses big-endian types", layout="C, big endian",
        data_type="int16|int32|int64|uint16|uint32|uint64|float*|complex*", directions=READS,
    ),
    limit(Z5, "zarr2", "always writes a fill value", layout="fill null", directions=WRITES),
    limit(
        Z5, "zarr2|zarr3", "cuts the chunk shape to the shape of the array when it creates one",
        layout="chunk larger than array", directions=WRITES, result=DIFFERS,
    ),
    limit(
        Z5, "n5", "cuts the block size to the dimensions when it creates a dataset",
        layout="block larger than array", directions=WRITES, result=DIFFERS,
    ),
    limit(Z5, "zarr2|zarr3", "has no arrays without dimensions", layout="0-d*"),
    limit(
        Z5, "zarr2|zarr3", "divides by zero, and crashes, when a dimension has length 0",
        layout="zero length", directions=WRITES,
    ),
    limit(
        Z5, "zarr3", "has no codecs but gzip, zstd and blosc in Zarr v3",
        codec="*crc32c|numcodecs.*",
    ),
    limit(
        Z5, "zarr3", "has no option for the checksum of zstd when it writes",
        codec="zstd with checksum", directions=WRITES,
    ),
    limit(
        Z5, "zarr3", "has no option for the chunk key encoding when it writes",
        layout="default, dot|v2, *", directions=WRITES,
    ),
    limit(
        Z5, "zarr3", "has no option for dimension names when it writes", layout="dimension names",
        directions=WRITES,
    ),
    limit(Z5, "zarr3", "writes little endian only", layout="big endian", directions=WRITES),
    limit(
        Z5, "zarr3",
        "does not look at `endian` and swaps no bytes: wrong elements, without an error",
        layout="big endian", data_type="int16|int32|int64|uint16|uint32|uint64|float*",
        directions=READS, result=DIFFERS, always=False,
    ),
    limit(Z5, "zarr3", "has no transpose", layout="transposed*|shards, inner transpose"),
    limit(Z5, "zarr3", "has no transpose", layout="shards*transpose outside", directions=WRITES),
    limit(
        Z5, "zarr3",
        "does not see a transpose before sharding_indexed: wrong elements, without an error",
        layout="shards, transpose outside", directions=READS, result=DIFFERS, always=False,
    ),
    limit(
        Z5, "zarr3", "does not see a transpose before sharding_indexed, and divides by zero",
        layout="shards of unequal sides, transpose outside", directions=READS,
    ),
    limit(
        Z5, "zarr3",
        "has shards with an index at the end, little endian and with its checksum only",
        layout="shards, index*|shards, crc32c outside",
    ),
    limit(Z5, "zarr3", "has no shards in shards", layout="shards, nested"),
    limit(
        Z5, "n5",
        "takes lz4 for one bare block, without the framing of lz4-java that Java N5 defines",
        codec="lz4", directions=READS, always=False,
    ),
    limit(Z5, "n5", "has no option for zlib when it writes N5", codec="zlib", directions=WRITES),
    # zarr-python 2
    limit(
        ZP2, "n5", "refuses the member blockSize that Java N5 writes for lz4", codec="lz4",
        directions=READS,
    ),
    # zarr-python 3
    limit(
        ZP3, "zarr3",
        "fails on raw bytes and structures in shards, as their fill value has no hash",
        data_type="r24|r8|r16|r128|struct*", layout="*shards*", directions=WRITES,
    ),
    limit(
        ZP3, "zarr3",
        "has no small numbers, no bfloat16 and no complex numbers but complex64 and complex128",
        data_type="*bfloat16|complex_*|float*_*|int2|int4|uint2|uint4",
    ),
    limit(
        ZP3, "zarr2", "has pcodec only with a package that is not installed here", codec="pcodec",
    ),
    limit(
        ZP3, "zarr3",
        "takes the elements behind a transpose in the order of its memory: wrong elements, for "
        "itself too",
        codec="numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.packbits", layout="transposed",
        directions=WRITES, result=DIFFERS,
    ),
    limit(
        ZP3, "zarr3",
        "views big-endian elements as little-endian ones in front of a filter: wrong elements, "
        "for itself too",
        codec="numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.quantize|numcodecs.astype",
        data_type="int16|int32|int64|uint16|uint32|uint64|float*", layout="big endian",
        directions=READS, result=DIFFERS,
    ),
    limit(
        ZP3, "zarr3", "has a type raw_bytes of its own for the raw bits of the specification",
        data_type="r24|r8|r16|r128", directions=READS,
    ),
    limit(
        ZP3, "zarr3",
        "checks that inner chunks divide the shard before it transposes the shard's axes",
        layout="shards of unequal sides, transpose outside",
    ),
    # Types other than plain numbers, consolidated metadata, rectilinear grids
    limit(
        TS, "zarr2", "has no dates, texts and objects in Zarr v2",
        data_type="datetime64*|timedelta64*|U3|O *",
    ),
    limit(
        TS, "zarr2", "shows byte strings as one dimension more", data_type="S3", directions=WRITES,
    ),
    limit(
        TS, "zarr2", "shows byte strings as one dimension more", data_type="S3", directions=READS,
        result=DIFFERS,
    ),
    limit(
        TS, "zarr2", "expects the fill value of float4_e2m1fn in Base64 in Zarr v2",
        data_type="float4_e2m1fn", directions=WRITES,
    ),
    limit(TS, "zarr2|zarr3", "has structures only field by field", data_type="struct*"),
    limit(
        TS, "zarr3", "has no dates, texts and byte strings, and not all of the small numbers",
        data_type="numpy.*|null_*|fixed_*|string|bytes|complex_*|uint2|uint4|float6_*|float8_e4m3",
    ),
    limit(
        TS, "zarr3", "takes the number of a fill value of float8_e8m0fnu for another one",
        data_type="float8_e8m0fnu", layout="*missing*", directions=READS, result=DIFFERS,
    ),
    limit(TS, "zarr3", "has no packbits, bitround and reshape", codec="packbits*|bitround|reshape"),
    limit(
        Z5, "zarr3", "has no codecs but gzip, zstd and blosc in Zarr v3",
        codec="packbits*|bitround|reshape",
    ),
    limit(ZP3, "zarr3", "has no packbits and no reshape", codec="packbits*|reshape"),
    limit(
        ZP3, "zarr3", "knows bitround under the name of numcodecs alone", codec="bitround",
        directions=WRITES,
    ),
    limit(
        ZP3, "zarr3", "knows bitround under the name of numcodecs alone", codec="bitround",
        data_type="bfloat16", directions=READS,
    ),
    limit(
        ZP3, "zarr3", "has pcodec only with a package that is not installed here",
        codec="numcodecs.pcodec", always=False,
    ),
    limit(TS, "zarr2|zarr3", "has no consolidated metadata", layout="consolidated"),
    limit(Z5, "zarr2|zarr3", "has no consolidated metadata", layout="consolidated"),
    limit(
        ZARRS, "zarr2|zarr3", "has no consolidated metadata to open arrays", layout="consolidated",
    ),
    limit(TS, "zarr3", "has no rectilinear chunk grids", layout="rectilinear*"),
    limit(Z5, "zarr3", "has no rectilinear chunk grids", layout="rectilinear*"),
    limit(
        ZP3, "zarr3", "reads rectilinear chunk grids from 3.2 on, which needs a newer Python",
        layout="rectilinear*",
    ),
    limit(
        ZP2, "zarr2", "fails on padding when it writes, and shows it as a field when it reads",
        data_type="struct with padding", directions=WRITES,
    ),
    limit(
        ZP2, "zarr2", "fails on padding when it writes, and shows it as a field when it reads",
        data_type="struct with padding", directions=READS, result=DIFFERS,
    ),
    limit(
        ZP2, "zarr2", "hands numcodecs structures of dates, which some of its codecs do not take",
        data_type="struct of dates", codec="*gzip", directions=WRITES,
    ),
    limit(
        ZP2, "zarr2|zarr3-draft-b", "fails on msgpack2 without dimensions", data_type="O msgpack2",
        layout="0-d",
    ),
    limit(
        ZP2, "zarr2|zarr3-draft-b",
        "scrambles values of json2 and msgpack2 in order F, its own too",
        data_type="O json2|O msgpack2", layout="F, *", directions=READS, result=DIFFERS,
    ),
    limit(
        ZP2, "zarr3-draft-b", "has no durations of several units in its draft",
        data_type="timedelta64[25s]",
    ),
    limit(
        ZP3, "zarr2", "drops padding when it writes, and shows it as a field when it reads",
        data_type="struct with padding", result=DIFFERS, always=False,
    ),
    limit(
        ZP3, "zarr2", "drops padding when it writes, and shows it as a field when it reads",
        data_type="struct with padding", codec="filter shuffle", directions=WRITES,
    ),
    limit(
        ZP3, "zarr2", "has no sub-arrays in structures, and reads no structures in structures",
        data_type="struct with sub-arrays", directions=WRITES,
    ),
    limit(
        ZP3, "zarr2", "has no sub-arrays in structures, and reads no structures in structures",
        data_type="struct with sub-arrays|struct nested", directions=READS,
    ),
    limit(
        ZP3, "zarr2|zarr3",
        "hands numcodecs structures of dates, which some of its codecs do not take",
        data_type="struct of dates", directions=WRITES, always=False,
    ),
    limit(
        ZP3, "zarr2", "has no objects but texts and byte strings",
        data_type="O vlen-array|O json2|O msgpack2|O categorize",
    ),
    limit(
        ZP3, "zarr2", "has no such names of tensorstore in Zarr v2",
        data_type="bfloat16|int2|int4|float*_*",
    ),
    limit(
        ZP3, "zarr3", "has a type structured of its own for the struct of the registry",
        data_type="struct*", directions=READS,
    ),
    limit(
        ZP3, "zarr3",
        "takes the elements behind a transpose in the order of its memory: wrong elements, for "
        "itself too",
        data_type="string|bytes", layout="transposed", directions=WRITES, result=DIFFERS,
        always=False,
    ),
    # zarrs
    limit(
        ZARRS, "zarr2",
        "has no types but plain numbers, raw bytes, texts and variable byte strings in Zarr v2",
        data_type=(
            "datetime64*|timedelta64*|S3|struct*|O vlen-array|O json2|O msgpack2|O "
            "categorize|bfloat16|int2|int4|float*_*"
        ),
    ),
    limit(
        ZARRS, "zarr2", "has no more of the codecs of numcodecs in Zarr v2",
        codec=(
            "lz4|lzma|filter base64|filter bitround|filter categorize|filter crc32*|filter "
            "delta*|filter jenkins_lookup3|filter packbits|filter quantize|filter astype"
        ),
    ),
    limit(
        ZARRS, "zarr2", "takes no fill value null for complex numbers and raw bytes",
        data_type="complex*|r24", layout="fill null",
    ),
    limit(
        ZARRS, "zarr3", "has no more of the codecs of numcodecs",
        codec=(
            "numcodecs.crc32*|numcodecs.delta*|numcodecs.jenkins_lookup3|numcodecs.lz4|numcodecs.lz"
            "ma|numcodecs.packbits|numcodecs.quantize|numcodecs.astype"
        ),
    ),
    limit(
        ZARRS, "zarr2|zarr3", "does not know the spelling of one-byte types in fixedscaleoffset",
        data_type="int8|uint8", codec="*fixedscaleoffset",
    ),
    limit(
        ZARRS, "zarr2|zarr3",
        "computes fixedscaleoffset of integers in floats that are too narrow: wrong elements",
        codec="*fixedscaleoffset", result=DIFFERS, always=False,
    ),
    limit(
        ZARRS, "zarr3", "has no null_terminated_bytes, no structures and no float8_e4m3fn",
        data_type="null_terminated_bytes|struct*|float8_e4m3fn",
    ),
    limit(
        ZARRS, "zarr3",
        "leaves the upper bits of packed int2 and int4 zero, of negative numbers too",
        data_type="int2|int4", codec="packbits*", directions=READS, result=DIFFERS,
    ),
    limit(
        ZARRS, "zarr2|zarr3", "has another fletcher32 of an odd number of bytes than numcodecs",
        data_type="O *|string|bytes", codec="*fletcher32", directions=READS, always=False,
    ),
    limit(
        ZARRS, "zarr2|zarr3", "has another fletcher32 of an odd number of bytes than numcodecs",
        data_type="O *|string|bytes", codec="*fletcher32", directions=WRITES,
        result="ndzarr refuses", always=False,
    ),
    limit(
        ZARRS, "zarr2|zarr3",
        "reads no parts of transposed chunks that it has to decode as a whole",
        data_type="O *|string|bytes", layout="F, *|transposed", directions=READS,
    ),
    limit(
        ZARRS, "zarr2|zarr3",
        "reads no parts of transposed chunks that it has to decode as a whole",
        codec="numcodecs.pcodec|reshape", layout="transposed|*big endian*", directions=READS,
        always=False,
    ),
    limit(
        ZARRS, "zarr3", "reads no parts of reshaped chunks of texts", data_type="string",
        codec="reshape", directions=READS,
    ),
]
