//! The format-neutral description of a chunked array: the narrow waist of ndzarr.
//!
//! Documents of every format are lowered to an [`ArraySpec`] when an array is opened and raised
//! from one when it is created; nothing in between knows the format.
//!
//! ```
//! use ndzarr_model::{ArraySpec, ChunkKeys, CodecConfig, CodecSpec, DataType, Endian, FillValue, KeyEncoding};
//!
//! let spec = ArraySpec {
//!     shape: vec![100, 80],
//!     unit_shape: vec![32, 32],
//!     chunk_edges: None,
//!     custom_grid: None,
//!     data_type: DataType::UInt { bits: 16 },
//!     fill_value: FillValue::defined(7u16.to_ne_bytes()),
//!     codecs: [CodecSpec::from(CodecConfig::Bytes { endian: Some(Endian::Little) })].into(),
//!     codec_check: Default::default(),
//!     keys: ChunkKeys { prefix: "a/".into(), encoding: KeyEncoding::Default { separator: '/' } },
//!     dimension_names: None,
//! };
//! assert_eq!(spec.keys.key(&[3, 1]), "a/c/3/1");
//! assert_eq!(spec.data_type.to_string(), "uint16");
//! ```
#![forbid(unsafe_code)]

mod array_spec;
mod codec_spec;
mod concurrent_update;
mod custom_chunk_grid;
mod custom_type;
mod data_type;
mod endian;
mod fill_value;
mod filter_spec;
mod floats;
mod foreign;
mod key_encoding;
mod struct_type;
mod time_unit;

pub use array_spec::{ArraySpec, Attributes, CodecCheck};
pub use codec_spec::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, EdgeBlocks,
    IndexLocation, LzmaConfig, LzmaFilter, LzmaFormat, N5BlockConfig, PayloadBounds,
    ShardingConfig, VlenConfig,
};
pub use concurrent_update::ConcurrentUpdate;
pub use custom_chunk_grid::CustomChunkGrid;
pub use custom_type::{CustomType, TypeRules};
pub use data_type::{ComplexPart, DataType, ElemKind, Leaf, LeafForm};
pub use endian::Endian;
pub use fill_value::FillValue;
pub use filter_spec::{
    CastValueConfig, CategorizeConfig, FilterNumber, FilterTypes, FixedScaleOffsetConfig,
    LabelsConfig, OutOfRange, PackbitsConfig, PaddingEncoding, PcodecConfig, PcodecDelta,
    PcodecMode, ReshapeDim, Rounding, ScaleOffsetConfig, StoredType, ZfpMode,
};
pub use floats::{SmallFloat, odd_f32, odd_f32_of_int, odd_f32_of_uint};
pub use foreign::Foreign;
pub use key_encoding::{ChunkKeys, KeyEncoding};
pub use ndzarr_grid::{ChunkEdges, ChunkGrid, Region};
pub use struct_type::{Field, StructError, StructType};
pub use time_unit::TimeUnit;
