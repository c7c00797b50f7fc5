//! Codecs and their configurations, independent of the format.

use serde_json::Value;

use crate::endian::Endian;
use crate::filter_spec::{
    CastValueConfig, CategorizeConfig, FilterTypes, FixedScaleOffsetConfig, LabelsConfig,
    PackbitsConfig, PcodecConfig, ReshapeDim, ScaleOffsetConfig, ZfpMode,
};

/// One codec of a chain with its configuration, independent of its id or name in the document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CodecSpec {
    /// The codec, with the parameters that decoding needs.
    pub config: CodecConfig,
    /// The reason why new chunks cannot be encoded with it, though stored ones can be decoded: a
    /// parameter that only affects encoding has an unknown value.
    pub unwritable: Option<String>,
}

impl CodecSpec {
    /// A codec, with the reason why it cannot encode, if it cannot.
    #[must_use]
    pub fn new(config: CodecConfig, unwritable: Option<String>) -> Self {
        Self { config, unwritable }
    }
}

impl From<CodecConfig> for CodecSpec {
    fn from(config: CodecConfig) -> Self {
        Self {
            config,
            unwritable: None,
        }
    }
}

/// A codec and its configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CodecConfig {
    /// Array→bytes: elements in C order.
    Bytes {
        /// Stored byte order; `None` where it does not matter.
        endian: Option<Endian>,
    },
    /// Array→bytes: structures in C order whose numbers are stored in different byte orders (Zarr
    /// v2).
    LeafBytes {
        /// Stored byte order of each of the type's leaves that has one, in their order.
        endians: Vec<Endian>,
    },
    /// Array→bytes: elements of variable size.
    Vlen(VlenConfig),
    /// Array→array: axis `i` of the result is axis `order[i]` of the input.
    Transpose {
        /// A permutation of the axes.
        order: Vec<usize>,
    },
    /// Array→bytes: inner chunks and an index of them.
    Sharding(Box<ShardingConfig>),
    /// Array→bytes: an N5 block, header and payload.
    N5Block(Box<N5BlockConfig>),
    /// Bytes→bytes: RFC 1952 members.
    Gzip {
        /// -1 (the compressor's default) or 0 to 9.
        level: i32,
    },
    /// Bytes→bytes: an RFC 1950 stream.
    Zlib {
        /// -1 (the compressor's default) or 0 to 9.
        level: i32,
    },
    /// Bytes→bytes: deflate as N5 calls it: written with or without the zlib wrapper, read as
    /// either.
    N5Gzip {
        /// -1 (the compressor's default) or 0 to 9.
        level: i32,
        /// Write the zlib wrapper (RFC 1950) instead of gzip's.
        use_zlib: bool,
    },
    /// Bytes→bytes: RFC 8878 frames.
    Zstd {
        /// Negative to 22; 0 is the library's default.
        level: i32,
        /// Write frames with a checksum of their content.
        checksum: bool,
    },
    /// Bytes→bytes: one chunk of c-blosc 1.
    Blosc(BloscConfig),
    /// Bytes→bytes: numcodecs' framing, u32 length and one raw LZ4 block.
    Lz4 {
        /// At least 1 in effect; larger is faster.
        acceleration: i32,
    },
    /// Bytes→bytes: the LZ4 block stream of lz4-java; the three other framings that N5 writers used
    /// are read too.
    N5Lz4 {
        /// Greatest size of a sub-block, in bytes of input.
        block_size: u32,
    },
    /// Bytes→bytes: bzip2 streams.
    Bz2 {
        /// Block size in units of 100 kB, 1 to 9.
        level: u32,
    },
    /// Bytes→bytes: the formats of liblzma.
    Lzma(LzmaConfig),
    /// Bytes→bytes: the payload and its CRC-32C.
    Crc32c {
        /// The side of the payload on which the checksum is.
        location: ChecksumLocation,
    },
    /// Bytes→bytes: the payload and its CRC-32.
    Crc32 {
        /// The side of the payload on which the checksum is.
        location: ChecksumLocation,
    },
    /// Bytes→bytes: the payload and its Adler-32.
    Adler32 {
        /// The side of the payload on which the checksum is.
        location: ChecksumLocation,
    },
    /// Bytes→bytes: the payload and the Fletcher-32 of HDF5.
    Fletcher32,
    /// Bytes→bytes: the payload and Bob Jenkins' lookup3 of it.
    JenkinsLookup3 {
        /// Start value of the hash.
        initval: u32,
    },
    /// Bytes→bytes: Base64 with the standard alphabet.
    Base64,
    /// Bytes→bytes: the bytes of each element separated, all first bytes in front.
    Shuffle {
        /// Size of an element in bytes; `None` for the size of the codec's input elements.
        elementsize: Option<usize>,
    },
    /// Elements or stored elements: differences between neighbours.
    Delta(FilterTypes),
    /// Elements or stored elements: shifted, scaled and rounded.
    FixedScaleOffset(FixedScaleOffsetConfig),
    /// Elements or stored elements: rounded to a number of decimal digits.
    Quantize {
        /// Decimal digits after the point.
        digits: i32,
        /// The types on both sides.
        types: FilterTypes,
    },
    /// Elements or stored elements: cast to another type, as C casts.
    AsType(FilterTypes),
    /// Elements or stored elements: texts as codes.
    Categorize(CategorizeConfig),
    /// Elements or stored elements: booleans as bits, the first one highest, after a byte with the
    /// number of unused bits.
    NumcodecsPackbits,
    /// Elements or stored elements: the low bits of the mantissa rounded away.
    Bitround {
        /// The number of bits that remain.
        keepbits: u32,
    },
    /// Array→bytes: some bits of each element, the lowest first.
    Packbits(PackbitsConfig),
    /// Array→array: each value in another type.
    CastValue(Box<CastValueConfig>),
    /// Array→array: shifted, then scaled.
    ScaleOffset(ScaleOffsetConfig),
    /// Array→array: the same elements in another shape.
    Reshape {
        /// The dimensions of the result.
        shape: Vec<ReshapeDim>,
    },
    /// Array→bytes, or stored elements: the standalone format of pco.
    Pcodec(PcodecConfig),
    /// Array→bytes, or stored elements: a zfp stream with its header.
    Zfpy(ZfpMode),
    /// Array→bytes: a zfp stream without a header.
    Zfp(ZfpMode),
    /// An unknown codec; binding it is an error that names it.
    Unknown {
        /// Id, name or URI as the document has it.
        name: String,
        /// Its configuration as the document has it.
        configuration: Value,
    },
}

impl CodecConfig {
    /// The codec's name, for messages: the name in v3's registry if it has one, otherwise the id in
    /// numcodecs or N5.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Bytes { .. } | Self::LeafBytes { .. } => "bytes",
            Self::Vlen(config) => config.name(),
            Self::Transpose { .. } => "transpose",
            Self::Sharding(_) => "sharding_indexed",
            Self::N5Block(_) => "n5_block",
            Self::Gzip { .. } | Self::N5Gzip { .. } => "gzip",
            Self::Zlib { .. } => "zlib",
            Self::Zstd { .. } => "zstd",
            Self::Blosc(_) => "blosc",
            Self::Lz4 { .. } | Self::N5Lz4 { .. } => "lz4",
            Self::Bz2 { .. } => "bz2",
            Self::Lzma(_) => "lzma",
            Self::Crc32c { .. } => "crc32c",
            Self::Crc32 { .. } => "crc32",
            Self::Adler32 { .. } => "adler32",
            Self::Fletcher32 => "fletcher32",
            Self::JenkinsLookup3 { .. } => "jenkins_lookup3",
            Self::Base64 => "base64",
            Self::Shuffle { .. } => "shuffle",
            Self::Delta(_) => "delta",
            Self::FixedScaleOffset(_) => "fixedscaleoffset",
            Self::Quantize { .. } => "quantize",
            Self::AsType(_) => "astype",
            Self::Categorize(_) => "categorize",
            Self::NumcodecsPackbits | Self::Packbits(_) => "packbits",
            Self::Bitround { .. } => "bitround",
            Self::CastValue(_) => "cast_value",
            Self::ScaleOffset(_) => "scale_offset",
            Self::Reshape { .. } => "reshape",
            Self::Pcodec(_) => "pcodec",
            Self::Zfpy(_) => "zfpy",
            Self::Zfp(_) => "zfp",
            Self::Unknown { name, .. } => name,
        }
    }
}

/// How elements of variable size are concatenated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VlenConfig {
    /// A count, then each text with its length in bytes.
    Utf8,
    /// A count, then each byte string with its length.
    Bytes,
    /// A count, then each list of numbers with its length in bytes.
    Array {
        /// Stored byte order of the numbers; `None` where it does not matter.
        endian: Option<Endian>,
    },
    /// A JSON list of the elements, the type and the shape.
    Json2,
    /// A MessagePack list of the elements, the type and the shape.
    Msgpack2,
    /// A code for each text.
    Categorize(LabelsConfig),
}

impl VlenConfig {
    /// The id of numcodecs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Utf8 => "vlen-utf8",
            Self::Bytes => "vlen-bytes",
            Self::Array { .. } => "vlen-array",
            Self::Json2 => "json2",
            Self::Msgpack2 => "msgpack2",
            Self::Categorize(_) => "categorize",
        }
    }
}

/// Configuration of sharding.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardingConfig {
    /// Shape of an inner chunk, in the axes of the codec's input array.
    pub chunk_shape: Vec<u64>,
    /// The chain of an inner chunk.
    pub codecs: Vec<CodecSpec>,
    /// The chain of the index.
    pub index_codecs: Vec<CodecSpec>,
    /// The side of the shard on which the index is.
    pub index_location: IndexLocation,
    /// The part of the shard that may contain inner chunks.
    pub payload: PayloadBounds,
}

/// The part of a shard that may contain inner chunks: an index entry outside it is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadBounds {
    /// The whole shard.
    #[default]
    Shard,
    /// Everything except the index.
    BeforeIndex,
}

/// The side of a shard on which its index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexLocation {
    /// Before the inner chunks.
    Start,
    /// After the inner chunks.
    #[default]
    End,
}

/// The side of the payload on which a checksum is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumLocation {
    /// Before the payload.
    Start,
    /// After the payload.
    #[default]
    End,
}

/// Configuration of an N5 block. Elements are big endian; the last axis of the codec's input array
/// is dimension 0 of the header.
#[derive(Clone, Debug, PartialEq)]
pub struct N5BlockConfig {
    /// The compression of the payload; `None` is `raw`.
    pub compression: Option<CodecSpec>,
    /// How blocks that extend beyond the array are written.
    pub edge_blocks: EdgeBlocks,
}

/// How N5 blocks that extend beyond the array are written. Both are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeBlocks {
    /// Cut to the array's end, as Java, z5 and rust-n5 do.
    #[default]
    Truncated,
    /// Of full size, zero outside, as tensorstore and zarr-python do.
    Padded,
}

/// Configuration of blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloscConfig {
    /// The compressor for encoding.
    pub cname: BloscCname,
    /// 0 to 9.
    pub clevel: u8,
    /// The shuffle before compression.
    pub shuffle: BloscShuffle,
    /// Element size that the shuffle uses, in bytes; `None` for the size of the codec's input
    /// elements.
    pub typesize: Option<usize>,
    /// Size of a block in bytes; 0 lets blosc choose.
    pub blocksize: usize,
}

/// A compressor inside blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BloscCname {
    BloscLz,
    Lz4,
    Lz4hc,
    Snappy,
    Zlib,
    Zstd,
}

impl BloscCname {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::BloscLz, "blosclz"),
        (Self::Lz4, "lz4"),
        (Self::Lz4hc, "lz4hc"),
        (Self::Snappy, "snappy"),
        (Self::Zlib, "zlib"),
        (Self::Zstd, "zstd"),
    ];

    /// The name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(cname, _)| *cname == self)
            .map_or("", |(_, name)| name)
    }

    /// The compressor with this name in documents.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(cname, _)| *cname)
    }
}

/// A shuffle of blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BloscShuffle {
    /// 0: none.
    None,
    /// 1: by byte.
    Byte,
    /// 2: by bit.
    Bit,
    /// -1: by bit for elements of one byte, else by byte.
    Auto,
}

/// Configuration of lzma.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LzmaConfig {
    /// Container of the stream.
    pub format: LzmaFormat,
    /// Integrity check of .xz: -1 default (CRC64), 0 none, 1 CRC32, 4 CRC64, 10 SHA-256.
    pub check: i32,
    /// 0 to 9, optionally with bit 31 set (extreme); `None` is the library's default of 6.
    pub preset: Option<u32>,
    /// An explicit filter chain; needed to decode raw streams.
    pub filters: Option<Vec<LzmaFilter>>,
}

/// Container of an lzma stream, by numcodecs' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LzmaFormat {
    /// 0: detected when decoding; not for encoding.
    Auto,
    /// 1: .xz
    Xz,
    /// 2: .lzma
    Alone,
    /// 3: no container
    Raw,
}

/// One filter of an lzma chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LzmaFilter {
    /// 0x21 LZMA2, 0x4000000000000001 LZMA1, 3 delta, 4 to 9 branch filters.
    pub id: u64,
    /// Its numeric options as named in documents (`preset`, `dict_size`, `dist` …).
    pub options: Vec<(String, u64)>,
}
