//! Codecs for [`ArrayBuilder::codecs`](crate::ArrayBuilder::codecs), with their most common
//! parameters.
//!
//! They are listed in encoding order. The codec that turns elements into bytes is not among them:
//! it follows from the builder's shards, byte order and format. Creating the array reports levels
//! out of range and codecs that the format does not have.
//!
//! ```
//! use ndzarr::{Array, MemoryStore, codec};
//!
//! let a = Array::<f64>::builder([100, 100])
//!     .codecs([codec::transpose([1, 0]), codec::zstd(3), codec::crc32c()])
//!     .create((MemoryStore::new(), "a"))?;
//! a.fill([0..100, 0..100], 0.5)?;
//! assert!(a.units().encoded(&[0, 0])?.is_some_and(|bytes| bytes.len() < 1000));
//! # Ok::<(), ndzarr::Error>(())
//! ```

pub use ndzarr_model::{BloscCname, BloscShuffle, CodecSpec};
use ndzarr_model::{
    BloscConfig, ChecksumLocation, CodecConfig, DataType, Endian, FilterTypes, LzmaConfig,
    LzmaFormat, PackbitsConfig, PcodecConfig, StoredType,
};
use serde_json::Value;

/// Zstandard; `level` from -131072 to 22, where 0 is the library's default.
#[must_use]
pub fn zstd(level: i32) -> CodecSpec {
    CodecConfig::Zstd {
        level,
        checksum: false,
    }
    .into()
}

/// gzip; `level` from 0 to 9.
#[must_use]
pub fn gzip(level: i32) -> CodecSpec {
    CodecConfig::Gzip { level }.into()
}

/// zlib; `level` from 0 to 9.
#[must_use]
pub fn zlib(level: i32) -> CodecSpec {
    CodecConfig::Zlib { level }.into()
}

/// blosc with one of its compressors; `level` from 0 to 9.
#[must_use]
pub fn blosc(cname: BloscCname, level: u8, shuffle: BloscShuffle) -> CodecSpec {
    CodecConfig::Blosc(BloscConfig {
        cname,
        clevel: level,
        shuffle,
        typesize: None,
        blocksize: 0,
    })
    .into()
}

/// LZ4 in the framing of numcodecs.
#[must_use]
pub fn lz4() -> CodecSpec {
    CodecConfig::Lz4 { acceleration: 1 }.into()
}

/// bzip2; `level` from 1 to 9.
#[must_use]
pub fn bz2(level: u32) -> CodecSpec {
    CodecConfig::Bz2 { level }.into()
}

/// xz; `preset` from 0 to 9.
#[must_use]
pub fn xz(preset: u32) -> CodecSpec {
    CodecConfig::Lzma(LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: Some(preset),
        filters: None,
    })
    .into()
}

/// Appends a CRC-32C to the payload and checks it on reading.
#[must_use]
pub fn crc32c() -> CodecSpec {
    CodecConfig::Crc32c {
        location: ChecksumLocation::End,
    }
    .into()
}

/// Stores the axes in another order: axis `i` of the stored array is axis `order[i]` of the array.
#[must_use]
pub fn transpose(order: impl Into<Vec<usize>>) -> CodecSpec {
    CodecConfig::Transpose {
        order: order.into(),
    }
    .into()
}

/// Groups the bytes of the elements by position: all first bytes, then all second bytes, and so on;
/// `elementsize` in bytes.
#[must_use]
pub fn shuffle(elementsize: usize) -> CodecSpec {
    CodecConfig::Shuffle {
        elementsize: Some(elementsize),
    }
    .into()
}

/// Appends the Fletcher-32 checksum of HDF5 to the payload and checks it on reading.
#[must_use]
pub fn fletcher32() -> CodecSpec {
    CodecConfig::Fletcher32.into()
}

/// Rounds floats to this number of mantissa bits on writing, so that they compress better.
#[must_use]
pub fn bitround(keepbits: u32) -> CodecSpec {
    CodecConfig::Bitround { keepbits }.into()
}

/// Stores differences between neighbours, for elements of this type.
///
/// ```
/// use ndzarr::{Array, DataType, MemoryStore, codec};
///
/// let times = Array::<i64>::builder([1000])
///     .codecs([codec::delta(DataType::Int { bits: 64 }), codec::zstd(3)])
///     .create((MemoryStore::new(), "times"))?;
/// times.write([0..1000], &ndarray::Array1::from_iter((0..1000).map(|i| 1_700_000_000 + 60 * i)))?;
/// assert!(times.units().encoded(&[0])?.is_some_and(|bytes| bytes.len() < 50));
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[must_use]
pub fn delta(data_type: DataType) -> CodecSpec {
    let stored = StoredType {
        data_type,
        endian: Endian::Little,
    };
    CodecConfig::Delta(FilterTypes {
        dtype: stored.clone(),
        astype: stored,
    })
    .into()
}

/// Packs bool and small integers into bits, as Zarr v3's packbits.
#[must_use]
pub fn packbits() -> CodecSpec {
    CodecConfig::Packbits(PackbitsConfig::default()).into()
}

/// pco's compression of numbers.
#[must_use]
pub fn pcodec(level: u8) -> CodecSpec {
    CodecConfig::Pcodec(PcodecConfig {
        level,
        ..PcodecConfig::default()
    })
    .into()
}

/// A custom codec: the name (in Zarr v2 the id) and configuration for the metadata. Its
/// implementation is in the [`CodecRegistry`](crate::CodecRegistry) given to
/// [`ArrayBuilder::registry`](crate::ArrayBuilder::registry).
#[must_use]
pub fn named(name: impl Into<String>, configuration: Value) -> CodecSpec {
    CodecConfig::Unknown {
        name: name.into(),
        configuration,
    }
    .into()
}
