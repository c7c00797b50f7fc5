//! `Limits`: bounds on what a document may ask for.

use ndzarr_model::{ArraySpec, CodecConfig, CodecSpec};

use crate::json::MAX_DEPTH;
use crate::{Known, MetadataError};

/// What a document may ask for. More is an error at opening, before memory is taken for it.
///
/// The defaults are far above what anybody writes; tighter ones are for stores that nobody vouches for. Whatever they
/// are, a chunk is given memory as its content turns out to need it, if its shape is much larger than its stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of a document in bytes. A parsed one takes a multiple of it. Default: 256 MiB.
    pub document_bytes: u64,
    /// Nesting of lists and objects in a document. Default, and the most there can be: 128.
    pub json_depth: usize,
    /// Dimensions of an array. Default: 65535, as many as an N5 block can have.
    pub dimensions: usize,
    /// Codecs of a chain; those of inner chunks and of an index are chains of their own. Default: 1024.
    pub codecs: usize,
    /// Shards within shards: 1 is an array of plain shards. Default: 32.
    pub shard_levels: usize,
    /// Size of a decoded chunk (of a shard, where there are such) in bytes. Default: what memory could ever hold.
    pub chunk_bytes: u64,
    /// Inner chunks of one shard, each of which has 16 bytes in the index. An index is never read unless the stored shard
    /// is large enough to have it. Default: what memory could ever hold.
    pub shard_index_entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: 256 << 20,
            json_depth: MAX_DEPTH,
            dimensions: u16::MAX as usize,
            codecs: 1024,
            shard_levels: 32,
            chunk_bytes: i64::MAX as u64,
            shard_index_entries: i64::MAX as u64 / 16,
        }
    }
}

impl Limits {
    /// Checks what was read, before it is parsed.
    pub(crate) fn check_documents(&self, known: &Known) -> Result<(), MetadataError> {
        // A closed one is made of documents that were checked.
        if known.is_closed() {
            return Ok(());
        }
        known.values().try_for_each(|(key, bytes)| self.check_document(key, bytes))
    }

    /// Checks the text of a document that was read, or is to be written.
    ///
    /// # Errors
    /// It is too large, or nested too deeply.
    pub fn check_document(&self, key: &str, bytes: &[u8]) -> Result<(), MetadataError> {
        let limit = self.document_bytes;
        if bytes.len() as u64 > limit {
            let what = format_args!("has {} bytes, more than the limit of {limit}", bytes.len());
            return Err(MetadataError::invalid(key, what));
        }
        // The parser itself has the greatest limit.
        if self.json_depth < MAX_DEPTH && is_deeper(bytes, self.json_depth) {
            let what = format_args!("nested deeper than the limit of {} levels", self.json_depth);
            return Err(MetadataError::invalid(key, what));
        }
        Ok(())
    }

    /// Checks what a document describes, before anything is made of it.
    pub(crate) fn check_array(&self, key: &str, spec: &ArraySpec) -> Result<(), MetadataError> {
        let ndim = spec.shape.len();
        if ndim > self.dimensions {
            let what = format_args!("{ndim} dimensions, more than the limit of {}", self.dimensions);
            return Err(MetadataError::invalid(key, what));
        }
        let elem_size = spec.data_type.elem_size().unwrap_or(1) as u64;
        let byte_len = product(&spec.chunk_shape).and_then(|n| n.checked_mul(elem_size));
        if byte_len.is_none_or(|byte_len| byte_len > self.chunk_bytes) {
            let limit = self.chunk_bytes;
            let what = format_args!("a chunk has {byte_len:?} bytes, more than the limit of {limit}");
            return Err(MetadataError::invalid(key, what));
        }
        // The order of the axes does not change how many inner chunks there are along all of them, as the transposes
        // apply to the outer shape alone.
        self.check_chain(key, &spec.codecs, &spec.chunk_shape, self.shard_levels)
    }

    fn check_chain(
        &self,
        key: &str,
        codecs: &[CodecSpec],
        shape: &[u64],
        levels: usize,
    ) -> Result<(), MetadataError> {
        if codecs.len() > self.codecs {
            let what =
                format_args!("{} codecs in a chain, more than the limit of {}", codecs.len(), self.codecs);
            return Err(MetadataError::invalid(key, what));
        }
        for codec in codecs {
            let CodecConfig::Sharding(sharding) = &codec.config else { continue };
            let Some(levels) = levels.checked_sub(1) else {
                let what = format_args!("shards within shards, more than the limit of {}", self.shard_levels);
                return Err(MetadataError::invalid(key, what));
            };
            let inner = product(&sharding.chunk_shape).unwrap_or(u64::MAX).max(1);
            let n = product(shape).unwrap_or(u64::MAX) / inner;
            let limit = self.shard_index_entries;
            if n > limit {
                let what = format_args!("{n} inner chunks in a shard, more than the limit of {limit}");
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
    shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
}

/// Whether brackets outside of strings are nested deeper than so many levels.
fn is_deeper(bytes: &[u8], limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        for (text, depth) in
            [("1", 0), ("[]", 1), ("{\"[[\\\"[[\":[1]}", 2), ("[[1],[2],[[3]]]", 3), ("\"\\\\\"[[", 2)]
        {
            assert!(!is_deeper(text.as_bytes(), depth), "{text}");
            assert!(depth == 0 || is_deeper(text.as_bytes(), depth - 1), "{text}");
        }
    }
}
