//! The codec `sharding_indexed`: inner chunks and the index that locates them.

pub(crate) mod shard_index;
pub(crate) mod shard_layout;
mod whole_shard;

use bytes::Bytes;
use ndzarr_model::{CodecSpec, DataType, FillValue, IndexLocation, PayloadBounds, ShardingConfig};

use crate::sharding::shard_index::ShardIndex;
use crate::sharding::shard_layout::{EMPTY, ShardBuilder, ShardLayout};
use crate::{Binding, CodecChain, CodecError, Elements, Layout, Workspace};

const NAME: &str = "sharding_indexed";

/// The bound sharding codec: inner chunks and an index of them. All shapes and indices here are
/// over the axes of the codec's input array.
///
/// To read one inner chunk of a shard with a store's range requests, first read the index, then its
/// bytes.
///
/// ```
/// use ndzarr_codec::{Access, CodecChain, CodecError, CodecRegistry, Elements, Workspace};
/// use ndzarr_model::{CodecConfig, DataType, FillValue, IndexLocation, ShardingConfig};
///
/// let plain = || vec![CodecConfig::Bytes { endian: Some(ndzarr_model::Endian::Little) }.into()];
/// let config = ShardingConfig {
///     chunk_shape: vec![2],
///     codecs: plain(),
///     index_codecs: plain(),
///     index_location: IndexLocation::End,
///     payload: Default::default(),
/// };
/// let specs = [CodecConfig::Sharding(Box::new(config)).into()];
/// let data_type = DataType::UInt { bits: 8 };
/// let fill = FillValue::defined([0]);
/// let chain = CodecChain::bind(&specs, &data_type, &fill, 1, &CodecRegistry::new())?;
/// let mut workspace = Workspace::new();
/// let mut shard = Vec::new();
/// chain.encode(&[0, 0, 7, 8, 9, 9], &[6], &mut workspace, &mut shard)?;
///
/// let Access::Indexed(sharding) = chain.access() else { unreachable!("no codec follows the sharding") };
/// // Three inner chunks: the shard ends with three pairs of u64.
/// assert_eq!(sharding.index_len(&[6]), Some(48));
/// let tail = bytes::Bytes::copy_from_slice(&shard[shard.len() - 48..]);
/// let index = sharding.decode_index(&tail, &[6], shard.len() as u64, &mut workspace)?;
/// // The first contains only the fill value and is not stored.
/// assert_eq!((index.entry(0)?, index.entry(1)?), (None, Some(0..2)));
/// sharding.chunks().decode(&shard[0..2], sharding.chunk_shape(), &mut workspace, |elements, _| {
///     assert!(matches!(elements, Elements::Fixed { bytes: &[7, 8], size: 1 }));
///     Ok::<_, CodecError>(())
/// })?;
/// # Ok::<_, CodecError>(())
/// ```
#[derive(Debug)]
pub struct Sharding {
    chunk_shape: Vec<u64>,
    chunks: std::sync::Arc<CodecChain>,
    index: CodecChain,
    index_codecs: Vec<CodecSpec>,
    location: IndexLocation,
    payload: PayloadBounds,
}

impl Sharding {
    pub(crate) fn bind(
        config: &ShardingConfig,
        data_type: &DataType,
        fill: &FillValue,
        ndim: usize,
        binding: Binding<'_>,
    ) -> Result<Self, CodecError> {
        if config.chunk_shape.len() != ndim || config.chunk_shape.contains(&0) {
            let what = format!(
                "chunk_shape {:?} is not {ndim} lengths above 0",
                config.chunk_shape
            );
            return Err(CodecError::config(NAME, what));
        }
        let chunks = CodecChain::bind_with(&config.codecs, data_type, fill, ndim, binding)?;
        chunks.check(&config.chunk_shape)?;
        let u64s = DataType::UInt { bits: 64 };
        let index = CodecChain::bind_with(
            &config.index_codecs,
            &u64s,
            &FillValue::defined(EMPTY.to_ne_bytes()),
            ndim + 1,
            binding,
        )?;
        // The index of a single inner chunk is enough to see that the size can be computed.
        let mut index_shape = vec![1; ndim + 1];
        index_shape[ndim] = 2;
        if index.encoded_len(&index_shape).is_none() {
            return Err(CodecError::config(
                NAME,
                "the index_codecs have no fixed encoded size",
            ));
        }
        Ok(Self {
            chunk_shape: config.chunk_shape.clone(),
            chunks: chunks.into(),
            index,
            index_codecs: config.index_codecs.clone(),
            location: config.index_location,
            payload: config.payload,
        })
    }

    /// True if both decode the index of a shard in the same way.
    #[must_use]
    pub fn has_same_index(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.chunk_shape == other.chunk_shape
                && self.index_codecs == other.index_codecs
                && self.location == other.location
                && self.payload == other.payload
    }

    pub(crate) fn check(&self, shard_shape: &[u64]) -> Result<(), CodecError> {
        for (shard, chunk) in shard_shape.iter().zip(&self.chunk_shape) {
            if shard % chunk != 0 {
                let what = format!(
                    "inner chunks of shape {:?} do not divide {shard_shape:?}",
                    self.chunk_shape
                );
                return Err(CodecError::config(NAME, what));
            }
        }
        if self.index_len(shard_shape).is_none() {
            return Err(CodecError::config(
                NAME,
                format!("the index of a shard of shape {shard_shape:?} is too large"),
            ));
        }
        Ok(())
    }

    pub(crate) fn check_writable(&self) -> Result<(), CodecError> {
        self.chunks.check_writable()?;
        self.index.check_writable()
    }

    /// Shape of an inner chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// The chain of the inner chunks.
    #[must_use]
    pub fn chunks(&self) -> &std::sync::Arc<CodecChain> {
        &self.chunks
    }

    /// The layout of a shard of this shape.
    #[must_use]
    pub fn layout(&self, shard_shape: &[u64]) -> ShardLayout {
        let mut counts = self.index_shape(shard_shape);
        let index_len = self.index.encoded_len(&counts);
        counts.pop();
        ShardLayout::new(counts, index_len, self.location)
    }

    /// Size of the encoded index in bytes; `None` if it exceeds the address space.
    #[must_use]
    pub fn index_len(&self, shard_shape: &[u64]) -> Option<usize> {
        self.index.encoded_len(&self.index_shape(shard_shape))
    }

    fn index_shape(&self, shard_shape: &[u64]) -> Vec<u64> {
        shard_shape
            .iter()
            .zip(&self.chunk_shape)
            .map(|(shard, chunk)| shard / chunk)
            .chain([2])
            .collect()
    }

    pub(crate) fn overhead(&self, shard_shape: &[u64]) -> u64 {
        // For each inner chunk: its index entry, the overhead that a codec may add to
        // incompressible data, and what filters that widen elements add.
        let Some(len) = self.index_len(shard_shape) else {
            return u64::MAX >> 2;
        };
        let counts = shard_shape
            .iter()
            .zip(&self.chunk_shape)
            .map(|(shard, chunk)| shard / chunk);
        let n = counts.fold(1, u64::saturating_mul);
        let added = self.chunks.overhead(&self.chunk_shape).saturating_mul(n);
        (len as u64).saturating_mul(64).saturating_add(added)
    }

    /// Decodes the index. `encoded` is the index's bytes, `value_len` the size of the shard. The
    /// index shares these bytes if its codecs do not change them.
    ///
    /// # Errors
    /// The number of bytes is not that of the index; its codecs fail.
    pub fn decode_index(
        &self,
        encoded: &Bytes,
        shard_shape: &[u64],
        value_len: u64,
        workspace: &mut Workspace,
    ) -> Result<ShardIndex, CodecError> {
        let layout = self.layout(shard_shape);
        if encoded.len() as u64 != layout.index_len() {
            return Err(no_index(value_len, &layout));
        }
        let mut entries = Default::default();
        let put = |elements: Elements<'_>, layout: &Layout| {
            entries = ShardIndex::entries_of(elements, layout, encoded);
            Ok::<_, CodecError>(())
        };
        let decoded = self
            .index
            .decode(encoded, &self.index_shape(shard_shape), workspace, put);
        decoded.map_err(|error| error.in_part("the index of the shard"))?;
        Ok(ShardIndex::new(entries, &layout, value_len, self.payload))
    }

    /// Ends a shard after all of its inner chunks were given to the builder. Returns the position
    /// of its index, and the encoded index.
    ///
    /// # Errors
    /// The codecs of the index fail.
    pub fn end(
        &self,
        mut shard: ShardBuilder,
        workspace: &mut Workspace,
    ) -> Result<(u64, Vec<u8>), CodecError> {
        let mut out = Vec::new();
        let mut shape = shard.layout.counts().to_vec();
        shape.push(2);
        let position = shard.index_position();
        let entries = bytemuck::cast_slice_mut(&mut shard.entries);
        // An index may be large, so its byte order is changed in place.
        if self.index.is_c_order() {
            self.index
                .encode_stored(entries, &shape, workspace, &mut out)?;
        } else {
            self.index.encode(entries, &shape, workspace, &mut out)?;
        }
        Ok((position, out))
    }
}

fn no_index(shard_len: u64, layout: &ShardLayout) -> CodecError {
    let index_len = layout.index_len();
    CodecError::corrupt(
        NAME,
        format!("{shard_len} bytes are too few for an index of {index_len} bytes"),
    )
}
