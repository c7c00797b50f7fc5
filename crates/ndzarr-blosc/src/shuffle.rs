//! The order that c-blosc calls shuffled: all first bytes of the elements, all second ones …

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors;

/// Elements of this size and more, in bytes, are left to c-blosc, which shuffles them in tiles.
pub(crate) const LARGE_ELEMENT: usize = 16;

/// Writes `src` to `dst`, which has its length, shuffled. What follows the last whole element stays there.
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let (elements, tail) = src.split_at(src.len() / typesize * typesize);
    let (planes, to_tail) = dst.split_at_mut(elements.len());
    to_tail.copy_from_slice(tail);
    let done = match typesize {
        2 => return pairs(elements, planes),
        4 => groups::<4>(elements, planes),
        8 => groups::<8>(elements, planes),
        _ => 0,
    };
    // At least 1, since no chunks of 0 can be.
    let n = (elements.len() / typesize).max(1);
    for (byte, plane) in planes.chunks_exact_mut(n).enumerate() {
        let elements = elements.chunks_exact(typesize).skip(done);
        for (to, element) in plane[done..].iter_mut().zip(elements) {
            *to = element[byte];
        }
    }
}

/// The compiler makes vectors of numbers that are cut, not of bytes that are picked.
fn pairs(src: &[u8], dst: &mut [u8]) {
    let (low, high) = dst.split_at_mut(src.len() / 2);
    for ((pair, low), high) in src.as_chunks::<2>().0.iter().zip(low).zip(high) {
        let number = u16::from_le_bytes(*pair);
        *low = number as u8;
        *high = (number >> 8) as u8;
    }
}

/// Shuffles as many elements from the first one on as vectors hold; returns how many.
fn groups<const N: usize>(src: &[u8], dst: &mut [u8]) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: SSE2 is part of x86_64.
        unsafe { vectors::groups::<N>(src, dst) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let _ = (src, dst);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte `b` of the element `i` goes to `b * n + i`.
    fn by_hand(typesize: usize, src: &[u8]) -> Vec<u8> {
        let n = src.len() / typesize;
        let mut dst = src.to_vec();
        for (at, byte) in src[..n * typesize].iter().enumerate() {
            dst[at % typesize * n + at / typesize] = *byte;
        }
        dst
    }

    #[test]
    fn every_size_and_length_goes_where_it_belongs() {
        let src: Vec<u8> = (0..2000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for typesize in 1..=20 {
            for len in (0..200).chain([255, 256, 257, 1024, 1030, 1999]) {
                let mut dst = vec![0; len];
                shuffle(typesize, &src[1..=len], &mut dst);
                assert_eq!(dst, by_hand(typesize, &src[1..=len]), "{typesize} {len}");
            }
        }
    }
}
