//! Chunked N-dimensional arrays in Zarr v2, Zarr v3, the May-2022 draft of Zarr v3, and N5.
//!
//! ```
//! use ndarray::Array2;
//! use ndzarr::{Array, MemoryStore, codec, s};
//!
//! let store = MemoryStore::new();
//! let a = Array::<f32>::builder([100, 80])
//!     .chunks([10, 10])
//!     .shards([50, 40])
//!     .codecs([codec::zstd(3)])
//!     .fill_value(f32::NAN)
//!     .dimension_names(["y", "x"])
//!     .create((&store, "temperature"))?;
//! a.write(s![0..2, ..], &Array2::ones((2, 80)))?;
//!
//! let a = Array::<f32>::open((&store, "temperature"))?;
//! let corner = a.read(s![0..3, 0..2])?;
//! assert_eq!(corner[[1, 1]], 1.0);
//! assert!(corner[[2, 0]].is_nan());
//! # Ok::<(), ndzarr::Error>(())
//! ```
//!
//! The calls of the root block their thread; [`asynchronous`] has the same as futures. [`codec`]
//! says how chunks are compressed, and takes codecs of your own; [`store`] is for stores of your
//! own; [`metadata`] has what documents say.
// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub use ndarray;
#[doc(hidden)]
pub use ndzarr_array::structured;
pub use ndzarr_array::{
    Any, AnyArray, AnyElements, AnyNode, Appender, Array, ArrayBuilder, ArrayIn, ArrayInfo,
    Asynchronous, AxisBounds, AxisSelection, AxisSlice, Blocking, Cast, Child, Chunk, Chunks,
    CopiedNode, CopyAccount, CopyLevel, CopyOptions, CopyReport, Datetime64, Element, ElementType,
    Error, ErrorKind, FieldMismatch, FieldPlan, FixedBytes, FixedUtf32, Float4E2M1Fn, Float6E2M3Fn,
    Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz, Float8E4M3Fn, Float8E4M3Fnuz,
    Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu, Group, GroupBuilder, GroupIn, GroupInfo, Integer,
    KeyList, LeftOut, LeftOutReason, Mode, N5Block, N5Blocks, Named, NewArray, NotCopied, Number,
    OpenOptions, Place, PlainElement, Points, Repr, Resolved, Result, Selection, ShardWriter,
    Storage, StructField, Timedelta64, ToShape, ToView, Units, asynchronous, copy, for_each_type,
    par_fold, par_fold_stored, par_map, par_write, s,
};
pub use ndzarr_codec::CodecRegistry;
/// ```
/// use ndarray::array;
/// use ndzarr::{Array, MemoryStore, Structured};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Structured)]
/// struct Moon {
///     #[structured(name = "naif id")]
///     id: u32,
///     speed: f64,
/// }
///
/// let moons = Array::<Moon>::builder([3]).create((MemoryStore::new(), "moons"))?;
/// moons.write([1..2], &array![Moon { id: 801, speed: 4.39 }])?;
/// assert_eq!(moons.read((1,))?[[]].speed, 4.39);
/// assert!(moons.data_type().to_string().contains("naif id"));
/// # Ok::<(), ndzarr::Error>(())
/// ```
///
/// Only structs with named fields can be elements:
///
/// ```compile_fail
/// #[derive(ndzarr::Structured)]
/// struct Pair(u8, u16);
/// ```
pub use ndzarr_derive::Structured;
pub use ndzarr_engine::{
    Cache, Cancel, ConcurrentUpdate, DamageReport, Damaged, DamagedChunk, FillChunks, Foreign,
    MemoryOrder, OnProgress, Progress, RunOptions, UnitPlace,
};
pub use ndzarr_metadata::{
    ArrayRequest, AttributeChange, CodecRequest, ConsolidatedUse, Existing, Extensions,
    FillRequest, Format, Limits, MemberKind, N5Axes, Order,
};
pub use ndzarr_model::{
    Attributes, ChunkEdges, ChunkGrid, ComplexPart, CustomChunkGrid, CustomType, DataType,
    EdgeBlocks, ElemKind, Endian, Field, FillValue, Region, SmallFloat, StructError, StructType,
    TimeUnit, TypeRules,
};
pub use ndzarr_store::{AsyncStore, MemoryStore, Store};
#[cfg(feature = "fs")]
pub use ndzarr_store_fs::FsStore;

pub mod codec {
    //! How chunks are compressed, and codecs of your own.
    //!
    //! ```
    //! use ndzarr::{Array, MemoryStore, codec};
    //!
    //! let a = Array::<u32>::builder([64]).codecs([codec::delta(ndzarr::DataType::UInt { bits: 32 }), codec::gzip(5)]);
    //! # Ok::<(), ndzarr::Error>(())
    //! ```

    pub use ndzarr_array::codec::{
        bitround, blosc, bz2, crc32c, delta, fletcher32, gzip, lz4, named, packbits, pcodec,
        shuffle, transpose, xz, zlib, zstd,
    };
    pub use ndzarr_codec::{
        ArrayToArray, ArrayToBytes, Buffer, BytesToBytes, CodecError, Dst, OutOfMemory, Workspace,
    };
    pub use ndzarr_model::{
        BloscCname, BloscConfig, BloscShuffle, CastValueConfig, CategorizeConfig, ChecksumLocation,
        CodecConfig, CodecSpec, FilterNumber, FilterTypes, FixedScaleOffsetConfig, IndexLocation,
        LabelsConfig, LzmaConfig, LzmaFilter, LzmaFormat, N5BlockConfig, OutOfRange,
        PackbitsConfig, PaddingEncoding, PayloadBounds, PcodecConfig, PcodecDelta, PcodecMode,
        ReshapeDim, Rounding, ScaleOffsetConfig, ShardingConfig, StoredType, VlenConfig, ZfpMode,
    };
}

pub mod metadata {
    //! What the documents of a node say, in the terms that all formats share.

    pub use ndzarr_grid::{GridError, Overlap, Overlaps};
    pub use ndzarr_model::{ArraySpec, ChunkKeys, CodecCheck, KeyEncoding, Leaf, LeafForm};
}

pub mod store {
    //! Stores, what lies in them, and what one of your own is made of.

    pub use ndzarr_array::{Contents, KeyName};
    pub use ndzarr_store::{
        BoxFuture, BoxStream, Can, DirListing, Fetch, Fetched, FetchedPieces, Key, KeyLock, Listed,
        Locked, Of, Pin, Precondition, Prefix, Put, RangeMerging, StoreError, Temporary, Wait,
        Want, block_on, bytes,
    };
    #[cfg(feature = "fs")]
    pub use ndzarr_store_fs::{Durability, FileSystem, FsStoreBuilder, Leftover, Links, Locking};
    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
    pub use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions, Service};
    #[cfg(feature = "zip")]
    pub use ndzarr_store_zip::ZipWriter;
}

#[cfg(any(doc, doctest))]
pub mod guide;
