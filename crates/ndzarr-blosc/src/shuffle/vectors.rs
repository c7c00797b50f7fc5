//! Elements of 2, 4 or 8 bytes in vectors of 16.

use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};

/// Number of elements shuffled at once.
const GROUP: usize = 16;

/// Shuffles elements from the first one on, as long as they fill whole groups; returns their
/// number.
///
/// A group has `N * 16` bytes. In the position of a byte, the four bits of its element number come
/// before those of its offset within the element. Interleaving the first half of the vectors with
/// the second rotates these bits left by one. After four rounds the element number comes last.
#[target_feature(enable = "sse2")]
pub(super) fn shuffle_groups<const N: usize>(src: &[u8], dst: &mut [u8]) -> usize {
    let mut planes = dst.chunks_exact_mut((src.len() / N).max(1));
    let mut planes: [_; N] = std::array::from_fn(|_| {
        let plane = planes.next().unwrap_or_default();
        plane.as_chunks_mut::<GROUP>().0.iter_mut()
    });
    let groups = src.as_chunks::<GROUP>().0.as_chunks::<N>().0;
    for group in groups {
        let mut vectors: [__m128i; N] = group.map(bytemuck::cast);
        for _ in 0..GROUP.ilog2() {
            let before = vectors;
            let (first, second) = before.split_at(N / 2);
            for ((pair, first), second) in vectors
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip(first)
                .zip(second)
            {
                *pair = [
                    _mm_unpacklo_epi8(*first, *second),
                    _mm_unpackhi_epi8(*first, *second),
                ];
            }
        }
        for (plane, vector) in planes.iter_mut().zip(vectors) {
            if let Some(to) = plane.next() {
                *to = bytemuck::cast(vector);
            }
        }
    }
    groups.len() * GROUP
}
