//! `Limits`: bounds on what a document may ask for.

use ndzarr_json::JsonText;
use ndzarr_model::{ArraySpec, CodecConfig, CodecSpec, StructType};

use crate::json::{MAX_DOCUMENT_BYTES, takes_more};
use crate::{Known, MetadataError};

/// Maximum size of an opaque element in bytes: a fill value of this size is held in memory.
pub(crate) const MAX_RAW_BYTES: usize = StructType::MAX_BYTES;

/// Deepest nesting of data types.
pub(crate) const MAX_TYPE_DEPTH: usize = 32;

/// Limits on what a store may ask for. A document that exceeds one is an error when it is opened,
/// and a chunk when it is read, before memory is allocated for it.
///
/// The defaults are far above what writers produce; set tighter ones for untrusted stores.
/// Regardless of the limits, a chunk whose shape is much larger than its stored value is given
/// memory only as its content turns out to need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Size of a document in bytes. The default, 256 MiB, is also the maximum.
    pub document_bytes: u64,
    /// Nesting of lists and objects in a document. The default, 128, is also the maximum.
    pub json_depth: usize,
    /// Dimensions of an array. Default: 65535, the maximum of an N5 block.
    pub dimensions: usize,
    /// Codecs of a chain; those of inner chunks and of an index form separate chains. Default:
    /// 1024.
    pub codecs: usize,
    /// Shards within shards: 1 is an array of plain shards. Default: 32.
    pub shard_levels: usize,
    /// Size of a decoded chunk (of a shard in a sharded array) in bytes. Default: addressable
    /// memory.
    pub chunk_bytes: u64,
    /// Inner chunks of one shard, each of which takes 16 bytes in the index. An index is never read
    /// unless the stored shard is large enough to contain it. Default: addressable memory.
    pub shard_index_entries: u64,
    /// Size in bytes that a chunk of elements of variable size may decompress to, because its shape
    /// does not determine its size. Default: 1 GiB.
    pub vlen_chunk_bytes: u64,
    /// Size in bytes of the names in one list of a store: the children of a group, the chunks of an
    /// array, counted without the prefix that they share. Default: 1 GiB. A service whose list
    /// never ends is an error then. Lists of all keys below a prefix of a blocking store, for
    /// copies, are not counted.
    pub listed_bytes: u64,
    /// Size in bytes that the values of one document may take in memory. Default: 256 MiB, which is
    /// also the maximum.
    pub json_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: MAX_DOCUMENT_BYTES as u64,
            json_depth: JsonText::MAX_DEPTH,
            dimensions: u16::MAX as usize,
            codecs: 1024,
            shard_levels: 32,
            chunk_bytes: i64::MAX as u64,
            shard_index_entries: i64::MAX as u64 / 16,
            vlen_chunk_bytes: 1 << 30,
            listed_bytes: 1 << 30,
            json_bytes: MAX_DOCUMENT_BYTES as u64,
        }
    }
}

impl Limits {
    /// Sets [`document_bytes`](Self#structfield.document_bytes).
    #[must_use]
    pub fn document_bytes(mut self, limit: u64) -> Self {
        self.document_bytes = limit;
        self
    }

    /// Sets [`json_depth`](Self#structfield.json_depth).
    #[must_use]
    pub fn json_depth(mut self, limit: usize) -> Self {
        self.json_depth = limit;
        self
    }

    /// Sets [`dimensions`](Self#structfield.dimensions).
    #[must_use]
    pub fn dimensions(mut self, limit: usize) -> Self {
        self.dimensions = limit;
        self
    }

    /// Sets [`codecs`](Self#structfield.codecs).
    #[must_use]
    pub fn codecs(mut self, limit: usize) -> Self {
        self.codecs = limit;
        self
    }

    /// Sets [`shard_levels`](Self#structfield.shard_levels).
    #[must_use]
    pub fn shard_levels(mut self, limit: usize) -> Self {
        self.shard_levels = limit;
        self
    }

    /// Sets [`chunk_bytes`](Self#structfield.chunk_bytes).
    #[must_use]
    pub fn chunk_bytes(mut self, limit: u64) -> Self {
        self.chunk_bytes = limit;
        self
    }

    /// Sets [`shard_index_entries`](Self#structfield.shard_index_entries).
    #[must_use]
    pub fn shard_index_entries(mut self, limit: u64) -> Self {
        self.shard_index_entries = limit;
        self
    }

    /// Sets [`vlen_chunk_bytes`](Self#structfield.vlen_chunk_bytes).
    #[must_use]
    pub fn vlen_chunk_bytes(mut self, limit: u64) -> Self {
        self.vlen_chunk_bytes = limit;
        self
    }

    /// Sets [`listed_bytes`](Self#structfield.listed_bytes).
    #[must_use]
    pub fn listed_bytes(mut self, limit: u64) -> Self {
        self.listed_bytes = limit;
        self
    }

    /// Sets [`json_bytes`](Self#structfield.json_bytes).
    #[must_use]
    pub fn json_bytes(mut self, limit: u64) -> Self {
        self.json_bytes = limit;
        self
    }

    /// Checks what was read, before it is parsed.
    pub(crate) fn check_documents(&self, known: &Known) -> Result<(), MetadataError> {
        // Closed facts consist of documents that were checked.
        if known.is_closed() {
            return Ok(());
        }
        known
            .values()
            .try_for_each(|(key, bytes)| self.check_document(key, bytes))
    }

    /// Checks the text of a document that was read, or is to be written.
    ///
    /// # Errors
    /// It is too large, in the store or in memory, or too deeply nested.
    #[doc(hidden)]
    pub fn check_document(&self, key: &str, bytes: &[u8]) -> Result<(), MetadataError> {
        let limit = self.document_bytes;
        if bytes.len() as u64 > limit {
            let what = format_args!("has {} bytes, more than the limit of {limit}", bytes.len());
            return Err(MetadataError::invalid(key, what));
        }
        // The parser itself enforces the maxima.
        let json_bytes = usize::try_from(self.json_bytes).unwrap_or(usize::MAX);
        if json_bytes < MAX_DOCUMENT_BYTES && takes_more(bytes, json_bytes) {
            let what = format_args!(
                "its values would take more than the limit of {json_bytes} bytes of memory"
            );
            return Err(MetadataError::invalid(key, what));
        }
        if self.json_depth < JsonText::MAX_DEPTH && JsonText::is_deeper(bytes, self.json_depth) {
            let what = format_args!("nested deeper than the limit of {} levels", self.json_depth);
            return Err(MetadataError::invalid(key, what));
        }
        Ok(())
    }

    /// Checks what a document describes before anything is built from it.
    pub(crate) fn check_array(&self, key: &str, spec: &ArraySpec) -> Result<(), MetadataError> {
        self.check_ndim(key, spec.shape.len())?;
        let elem_size = spec.data_type.elem_size().unwrap_or(1) as u64;
        let byte_len = product(&spec.unit_shape).and_then(|n| n.checked_mul(elem_size));
        if byte_len.is_none_or(|byte_len| byte_len > self.chunk_bytes) {
            let limit = self.chunk_bytes;
            let what =
                format_args!("a chunk has {byte_len:?} bytes, more than the limit of {limit}");
            return Err(MetadataError::invalid(key, what));
        }
        // The order of the axes does not change the number of inner chunks, as the transposes apply
        // only to the outer shape.
        self.check_chain(key, &spec.codecs, &spec.unit_shape, self.shard_levels)
    }

    /// Checks the number of dimensions: before codecs are read, each of which may have a number for
    /// every one.
    pub(crate) fn check_ndim(&self, key: &str, ndim: usize) -> Result<(), MetadataError> {
        if ndim > self.dimensions {
            let what = format_args!(
                "{ndim} dimensions, more than the limit of {}",
                self.dimensions
            );
            return Err(MetadataError::invalid(key, what));
        }
        Ok(())
    }

    /// Checks the number of codecs in a chain, before they are read.
    pub(crate) fn check_n_codecs(&self, key: &str, n: usize) -> Result<(), MetadataError> {
        if n > self.codecs {
            let what = format_args!(
                "{n} codecs in a chain, more than the limit of {}",
                self.codecs
            );
            return Err(MetadataError::invalid(key, what));
        }
        Ok(())
    }

    fn check_chain(
        &self,
        key: &str,
        codecs: &[CodecSpec],
        shape: &[u64],
        levels: usize,
    ) -> Result<(), MetadataError> {
        self.check_n_codecs(key, codecs.len())?;
        for codec in codecs {
            let CodecConfig::Sharding(sharding) = &codec.config else {
                continue;
            };
            let Some(levels) = levels.checked_sub(1) else {
                let what = format_args!(
                    "shards within shards, more than the limit of {}",
                    self.shard_levels
                );
                return Err(MetadataError::invalid(key, what));
            };
            let inner = product(&sharding.chunk_shape).unwrap_or(u64::MAX).max(1);
            let n = product(shape).unwrap_or(u64::MAX) / inner;
            let limit = self.shard_index_entries;
            if n > limit {
                let what =
                    format_args!("{n} inner chunks in a shard, more than the limit of {limit}");
                return Err(MetadataError::invalid(key, what));
            }
            self.check_chain(key, &sharding.codecs, &sharding.chunk_shape, levels)?;
            self.check_chain(key, &sharding.index_codecs, &[], 0)?;
        }
        Ok(())
    }
}

fn product(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1u64, |product, &n| product.checked_mul(n))
}
