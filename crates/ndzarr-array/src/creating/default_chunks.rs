//! The shape of chunks, if the caller does not choose one.

/// Approximate size of a chunk in bytes.
const DEFAULT_CHUNK_BYTES: u64 = 1 << 20;

/// A chunk shape of about the default size, halved along the longest axis until it fits. It divides
/// a shard whose lengths are powers of two.
pub(crate) fn default_chunks(shape: &[u64], elem_size: u64) -> Vec<u64> {
    let mut chunks: Vec<u64> = shape.iter().map(|&n| n.max(1)).collect();
    let bytes = |chunks: &[u64]| {
        chunks
            .iter()
            .fold(elem_size.max(1), |bytes, &n| bytes.saturating_mul(n))
    };
    while bytes(&chunks) > DEFAULT_CHUNK_BYTES {
        let Some(longest) = chunks.iter_mut().max() else {
            break;
        };
        if *longest == 1 {
            break;
        }
        *longest = longest.div_ceil(2);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_chunks_have_about_a_mebibyte() {
        assert_eq!(default_chunks(&[10, 20], 8), [10, 20]);
        assert_eq!(default_chunks(&[512, 512, 512], 2), [128, 64, 64]);
        assert_eq!(default_chunks(&[], 8), [0u64; 0]);
        assert_eq!(default_chunks(&[0, 3], 8), [1, 3]);
        assert!(
            default_chunks(&[u64::MAX, u64::MAX], 8)
                .iter()
                .product::<u64>()
                <= 1 << 17
        );
    }
}
