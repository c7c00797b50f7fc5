//! The limits that are known.

use super::Limit;
use crate::conformance::outcome::{Direction, Verdict};

const BOTH: &[Direction] = &[Direction::PeerWrites, Direction::PeerReads];
const WRITES: &[Direction] = &[Direction::PeerWrites];
const READS: &[Direction] = &[Direction::PeerReads];

const TS: &str = "tensorstore";
const Z5: &str = "z5";
const ZP2: &str = "zarr-python 2";
const ZP3: &str = "zarr-python 3";
const ZARRS: &str = "zarrs";

/// A limit of every cell of a peer and format, to be narrowed.
const fn limit(peer: &'static str, format: &'static str, why: &'static str) -> Limit {
    Limit {
        peer,
        format,
        directions: BOTH,
        data_type: "*",
        codec: "*",
        layout: "*",
        result: Verdict::PeerRefuses,
        always: true,
        why,
    }
}

/// The table.
pub(in crate::conformance) const TABLE: &[Limit] = &[
    // tensorstore
    Limit {
        data_type: "r24",
        directions: WRITES,
        ..limit(TS, "zarr2", "shows raw bytes as one dimension more")
    },
    Limit {
        data_type: "r24",
        directions: READS,
        result: Verdict::Differs,
        ..limit(TS, "zarr2", "shows raw bytes as one dimension more")
    },
    Limit { codec: "lz4|lzma", ..limit(TS, "zarr2", "has no lz4 and no lzma in Zarr v2") },
    Limit {
        layout: "below groups, attributes",
        directions: WRITES,
        ..limit(TS, "zarr2", "writes no attributes in Zarr v2")
    },
    Limit { codec: "filter *", ..limit(TS, "zarr2", "has no filters") },
    Limit { codec: "pcodec", ..limit(TS, "zarr2", "has no pcodec") },
    Limit { codec: "numcodecs.*", ..limit(TS, "zarr3", "has no codec of numcodecs in Zarr v3") },
    Limit {
        layout: "shards, crc32c outside",
        ..limit(TS, "zarr3", "takes no codec behind sharding_indexed")
    },
    Limit {
        data_type: "r24|r8|r16|r128",
        directions: WRITES,
        ..limit(TS, "zarr3", "shows raw bytes as one dimension more")
    },
    Limit {
        data_type: "r24|r8|r16|r128",
        directions: READS,
        ..limit(
            TS,
            "zarr3",
            "expects the fill value of raw bits in Base64, where the specification has a list of bytes",
        )
    },
    Limit { codec: "lz4", ..limit(TS, "n5", "has no lz4 in N5") },
    // z5
    Limit {
        data_type: "bool|*float16|complex*|r24|r8|r16|r128|*datetime64*|*timedelta64*|S3|U3|null_*|fixed_*|struct*|O *|string|bytes|float*_*|int2|int4|uint2|uint4",
        ..limit(Z5, "zarr2|zarr3", "has no types but integers of whole bytes, float32 and float64")
    },
    Limit {
        codec: "lzma|lz4",
        directions: WRITES,
        ..limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2")
    },
    Limit { codec: "lzma", directions: READS, ..limit(Z5, "zarr2", "has no lz4 and no lzma in Zarr v2") },
    Limit {
        codec: "lz4",
        directions: READS,
        always: false,
        ..limit(Z5, "zarr2", "takes lz4 for one bare block, without the length that numcodecs puts in front")
    },
    Limit {
        layout: "C, slash",
        directions: WRITES,
        ..limit(Z5, "zarr2", "has no option for the separator when it writes")
    },
    Limit { codec: "filter *", ..limit(Z5, "zarr2", "has no filters") },
    Limit { codec: "pcodec", ..limit(Z5, "zarr2", "has no pcodec") },
    Limit { layout: "*F*", ..limit(Z5, "zarr2", "has no order F") },
    Limit { layout: "C, big endian", directions: WRITES, ..limit(Z5, "zarr2", "writes little endian only") },
    Limit {
        layout: "C, big endian",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*|complex*",
        directions: READS,
        ..limit(Z5, "zarr2", "refuses big-endian types")
    },
    Limit { layout: "fill null", directions: WRITES, ..limit(Z5, "zarr2", "always writes a fill value") },
    Limit {
        layout: "chunk larger than array",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(Z5, "zarr2|zarr3", "cuts the chunk shape to the shape of the array when it creates one")
    },
    Limit {
        layout: "block larger than array",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(Z5, "n5", "cuts the block size to the dimensions when it creates a dataset")
    },
    Limit { layout: "0-d*", ..limit(Z5, "zarr2|zarr3", "has no arrays without dimensions") },
    Limit {
        layout: "zero length",
        directions: WRITES,
        ..limit(Z5, "zarr2|zarr3", "divides by zero, and crashes, when a dimension has length 0")
    },
    Limit {
        codec: "*crc32c|numcodecs.*",
        ..limit(Z5, "zarr3", "has no codecs but gzip, zstd and blosc in Zarr v3")
    },
    Limit {
        codec: "zstd with checksum",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for the checksum of zstd when it writes")
    },
    Limit {
        layout: "default, dot|v2, *",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for the chunk key encoding when it writes")
    },
    Limit {
        layout: "dimension names",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no option for dimension names when it writes")
    },
    Limit { layout: "big endian", directions: WRITES, ..limit(Z5, "zarr3", "writes little endian only") },
    Limit {
        layout: "big endian",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*",
        directions: READS,
        result: Verdict::Differs,
        always: false,
        ..limit(Z5, "zarr3", "does not look at `endian` and swaps no bytes: wrong elements, without an error")
    },
    Limit { layout: "transposed*|shards, inner transpose", ..limit(Z5, "zarr3", "has no transpose") },
    Limit {
        layout: "shards*transpose outside",
        directions: WRITES,
        ..limit(Z5, "zarr3", "has no transpose")
    },
    Limit {
        layout: "shards, transpose outside",
        directions: READS,
        result: Verdict::Differs,
        always: false,
        ..limit(
            Z5,
            "zarr3",
            "does not see a transpose before sharding_indexed: wrong elements, without an error",
        )
    },
    Limit {
        layout: "shards of unequal sides, transpose outside",
        directions: READS,
        ..limit(Z5, "zarr3", "does not see a transpose before sharding_indexed, and divides by zero")
    },
    Limit {
        layout: "shards, index*|shards, crc32c outside",
        ..limit(Z5, "zarr3", "has shards with an index at the end, little endian and with its checksum only")
    },
    Limit { layout: "shards, nested", ..limit(Z5, "zarr3", "has no shards in shards") },
    Limit {
        codec: "lz4",
        directions: READS,
        always: false,
        ..limit(
            Z5,
            "n5",
            "takes lz4 for one bare block, without the framing of lz4-java that Java N5 defines",
        )
    },
    Limit {
        codec: "zlib",
        directions: WRITES,
        ..limit(Z5, "n5", "has no option for zlib when it writes N5")
    },
    // zarr-python 2
    Limit {
        codec: "lz4",
        directions: READS,
        ..limit(ZP2, "n5", "refuses the member blockSize that Java N5 writes for lz4")
    },
    // zarr-python 3
    Limit {
        data_type: "r24|r8|r16|r128|struct*",
        layout: "*shards*",
        directions: WRITES,
        ..limit(ZP3, "zarr3", "fails on raw bytes and structures in shards, as their fill value has no hash")
    },
    Limit {
        data_type: "*bfloat16|complex_*|float*_*|int2|int4|uint2|uint4",
        ..limit(
            ZP3,
            "zarr3",
            "has no small numbers, no bfloat16 and no complex numbers but complex64 and complex128",
        )
    },
    Limit {
        codec: "pcodec",
        ..limit(ZP3, "zarr2", "has pcodec only with a package that is not installed here")
    },
    Limit {
        codec: "numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.packbits",
        layout: "transposed",
        directions: WRITES,
        result: Verdict::Differs,
        ..limit(
            ZP3,
            "zarr3",
            "takes the elements behind a transpose in the order of its memory: wrong elements, for itself too",
        )
    },
    Limit {
        codec: "numcodecs.delta*|numcodecs.fixedscaleoffset|numcodecs.quantize|numcodecs.astype",
        data_type: "int16|int32|int64|uint16|uint32|uint64|float*",
        layout: "big endian",
        directions: READS,
        result: Verdict::Differs,
        ..limit(
            ZP3,
            "zarr3",
            "views big-endian elements as little-endian ones in front of a filter: wrong elements, for itself too",
        )
    },
    Limit {
        data_type: "r24|r8|r16|r128",
        directions: READS,
        ..limit(ZP3, "zarr3", "has a type raw_bytes of its own for the raw bits of the specification")
    },
    Limit {
        layout: "shards of unequal sides, transpose outside",
        ..limit(
            ZP3,
            "zarr3",
            "checks that inner chunks divide the shard before it transposes the shard's axes",
        )
    },
    // Types besides plain numbers, consolidated metadata, rectilinear grids
    Limit {
        data_type: "datetime64*|timedelta64*|U3|O *",
        ..limit(TS, "zarr2", "has no dates, texts and objects in Zarr v2")
    },
    Limit {
        data_type: "S3",
        directions: WRITES,
        ..limit(TS, "zarr2", "shows byte strings as one dimension more")
    },
    Limit {
        data_type: "S3",
        directions: READS,
        result: Verdict::Differs,
        ..limit(TS, "zarr2", "shows byte strings as one dimension more")
    },
    Limit {
        data_type: "float4_e2m1fn",
        directions: WRITES,
        ..limit(TS, "zarr2", "expects the fill value of float4_e2m1fn in Base64 in Zarr v2")
    },
    Limit { data_type: "struct*", ..limit(TS, "zarr2|zarr3", "has structures only field by field") },
    Limit {
        data_type: "numpy.*|null_*|fixed_*|string|bytes|complex_*|uint2|uint4|float6_*|float8_e4m3",
        ..limit(TS, "zarr3", "has no dates, texts and byte strings, and not all of the small numbers")
    },
    Limit {
        data_type: "float8_e8m0fnu",
        layout: "*missing*",
        directions: READS,
        result: Verdict::Differs,
        ..limit(TS, "zarr3", "takes the number of a fill value of float8_e8m0fnu for another one")
    },
    Limit {
        codec: "packbits*|bitround|reshape",
        ..limit(TS, "zarr3", "has no packbits, bitround and reshape")
    },
    Limit {
        codec: "packbits*|bitround|reshape",
        ..limit(Z5, "zarr3", "has no codecs but gzip, zstd and blosc in Zarr v3")
    },
    Limit { codec: "packbits*|reshape", ..limit(ZP3, "zarr3", "has no packbits and no reshape") },
    Limit {
        codec: "bitround",
        directions: WRITES,
        ..limit(ZP3, "zarr3", "knows bitround under the name of numcodecs alone")
    },
    Limit {
        codec: "bitround",
        data_type: "bfloat16",
        directions: READS,
        ..limit(ZP3, "zarr3", "knows bitround under the name of numcodecs alone")
    },
    Limit {
        codec: "numcodecs.pcodec",
        always: false,
        ..limit(ZP3, "zarr3", "has pcodec only with a package that is not installed here")
    },
    Limit { layout: "consolidated", ..limit(TS, "zarr2|zarr3", "has no consolidated metadata") },
    Limit { layout: "consolidated", ..limit(Z5, "zarr2|zarr3", "has no consolidated metadata") },
    Limit {
        layout: "consolidated",
        ..limit(ZARRS, "zarr2|zarr3", "has no consolidated metadata to open arrays")
    },
    Limit { layout: "rectilinear*", ..limit(TS, "zarr3", "has no rectilinear chunk grids") },
    Limit { layout: "rectilinear*", ..limit(Z5, "zarr3", "has no rectilinear chunk grids") },
    Limit {
        layout: "rectilinear*",
        ..limit(ZP3, "zarr3", "reads rectilinear chunk grids from 3.2 on, which needs a newer Python")
    },
    Limit {
        data_type: "struct with padding",
        directions: WRITES,
        ..limit(ZP2, "zarr2", "fails on padding when it writes, and shows it as a field when it reads")
    },
    Limit {
        data_type: "struct with padding",
        directions: READS,
        result: Verdict::Differs,
        ..limit(ZP2, "zarr2", "fails on padding when it writes, and shows it as a field when it reads")
    },
    Limit {
        data_type: "struct of dates",
        codec: "*gzip",
        directions: WRITES,
        ..limit(ZP2, "zarr2", "hands numcodecs structures of dates, which some of its codecs do not take")
    },
    Limit {
        data_type: "O msgpack2",
        layout: "0-d",
        ..limit(ZP2, "zarr2|zarr3-draft-b", "fails on msgpack2 without dimensions")
    },
    Limit {
        data_type: "O json2|O msgpack2",
        layout: "F, *",
        directions: READS,
        result: Verdict::Differs,
        ..limit(ZP2, "zarr2|zarr3-draft-b", "scrambles values of json2 and msgpack2 in order F, its own too")
    },
    Limit {
        data_type: "timedelta64[25s]",
        ..limit(ZP2, "zarr3-draft-b", "has no durations of several units in its draft")
    },
    Limit {
        data_type: "struct with padding",
        result: Verdict::Differs,
        always: false,
        ..limit(ZP3, "zarr2", "drops padding when it writes, and shows it as a field when it reads")
    },
    Limit {
        data_type: "struct with padding",
        codec: "filter shuffle",
        directions: WRITES,
        ..limit(ZP3, "zarr2", "drops padding when it writes, and shows it as a field when it reads")
    },
    Limit {
        data_type: "struct with sub-arrays",
        directions: WRITES,
        ..limit(ZP3, "zarr2", "has no sub-arrays in structures, and reads no structures in structures")
    },
    Limit {
        data_type: "struct with sub-arrays|struct nested",
        directions: READS,
        ..limit(ZP3, "zarr2", "has no sub-arrays in structures, and reads no structures in structures")
    },
    Limit {
        data_type: "struct of dates",
        directions: WRITES,
        always: false,
        ..limit(
            ZP3,
            "zarr2|zarr3",
            "hands numcodecs structures of dates, which some of its codecs do not take",
        )
    },
    Limit {
        data_type: "O vlen-array|O json2|O msgpack2|O categorize",
        ..limit(ZP3, "zarr2", "has no objects but texts and byte strings")
    },
    Limit {
        data_type: "bfloat16|int2|int4|float*_*",
        ..limit(ZP3, "zarr2", "has no such names of tensorstore in Zarr v2")
    },
    Limit {
        data_type: "struct*",
        directions: READS,
        ..limit(ZP3, "zarr3", "has a type structured of its own for the struct of the registry")
    },
    Limit {
        data_type: "string|bytes",
        layout: "transposed",
        directions: WRITES,
        result: Verdict::Differs,
        always: false,
        ..limit(
            ZP3,
            "zarr3",
            "takes the elements behind a transpose in the order of its memory: wrong elements, for itself too",
        )
    },
    // zarrs
    Limit {
        data_type: "datetime64*|timedelta64*|S3|struct*|O vlen-array|O json2|O msgpack2|O categorize|bfloat16|int2|int4|float*_*",
        ..limit(
            ZARRS,
            "zarr2",
            "has no types but plain numbers, raw bytes, texts and variable byte strings in Zarr v2",
        )
    },
    Limit {
        codec: "lz4|lzma|filter base64|filter bitround|filter categorize|filter crc32*|filter delta*|filter jenkins_lookup3|filter packbits|filter quantize|filter astype",
        ..limit(ZARRS, "zarr2", "has no more of the codecs of numcodecs in Zarr v2")
    },
    Limit {
        data_type: "complex*|r24",
        layout: "fill null",
        ..limit(ZARRS, "zarr2", "takes no fill value null for complex numbers and raw bytes")
    },
    Limit {
        codec: "numcodecs.crc32*|numcodecs.delta*|numcodecs.jenkins_lookup3|numcodecs.lz4|numcodecs.lzma|numcodecs.packbits|numcodecs.quantize|numcodecs.astype",
        ..limit(ZARRS, "zarr3", "has no more of the codecs of numcodecs")
    },
    Limit {
        data_type: "int8|uint8",
        codec: "*fixedscaleoffset",
        ..limit(ZARRS, "zarr2|zarr3", "does not know the spelling of one-byte types in fixedscaleoffset")
    },
    Limit {
        codec: "*fixedscaleoffset",
        result: Verdict::Differs,
        always: false,
        ..limit(
            ZARRS,
            "zarr2|zarr3",
            "computes fixedscaleoffset of integers in floats that are too narrow: wrong elements",
        )
    },
    Limit {
        data_type: "null_terminated_bytes|struct*|float8_e4m3fn",
        ..limit(ZARRS, "zarr3", "has no null_terminated_bytes, no structures and no float8_e4m3fn")
    },
    Limit {
        data_type: "int2|int4",
        codec: "packbits*",
        directions: READS,
        result: Verdict::Differs,
        ..limit(ZARRS, "zarr3", "leaves the upper bits of packed int2 and int4 zero, of negative numbers too")
    },
    Limit {
        data_type: "O *|string|bytes",
        codec: "*fletcher32",
        directions: READS,
        always: false,
        ..limit(ZARRS, "zarr2|zarr3", "has another fletcher32 of an odd number of bytes than numcodecs")
    },
    Limit {
        data_type: "O *|string|bytes",
        codec: "*fletcher32",
        directions: WRITES,
        result: Verdict::NdzarrRefuses,
        always: false,
        ..limit(ZARRS, "zarr2|zarr3", "has another fletcher32 of an odd number of bytes than numcodecs")
    },
    Limit {
        data_type: "O *|string|bytes",
        layout: "F, *|transposed",
        directions: READS,
        ..limit(ZARRS, "zarr2|zarr3", "reads no parts of transposed chunks that it has to decode as a whole")
    },
    Limit {
        codec: "numcodecs.pcodec|reshape",
        layout: "transposed|*big endian*",
        directions: READS,
        always: false,
        ..limit(ZARRS, "zarr2|zarr3", "reads no parts of transposed chunks that it has to decode as a whole")
    },
    Limit {
        data_type: "string",
        codec: "reshape",
        directions: READS,
        ..limit(ZARRS, "zarr3", "reads no parts of reshaped chunks of texts")
    },
];
