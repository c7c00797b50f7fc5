//! The orders that c-blosc calls shuffled (all first bytes of the elements, then all second ones …)
//! and bitshuffled (the same with bits).
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors;

/// Elements of at least this many bytes are left to c-blosc, which shuffles them in tiles.
pub(crate) const LARGE_ELEMENT: usize = 16;

/// Writes `src`, shuffled, to `dst` of the same length. Bytes after the last whole element keep
/// their place.
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let (elements, tail) = src.split_at(src.len() / typesize * typesize);
    let (planes, to_tail) = dst.split_at_mut(elements.len());
    to_tail.copy_from_slice(tail);
    let done = match typesize {
        2 => return shuffle_pairs(elements, planes),
        4 => shuffle_groups::<4>(elements, planes),
        8 => shuffle_groups::<8>(elements, planes),
        _ => 0,
    };
    // At least 1, because chunks cannot be 0 bytes long.
    let n = (elements.len() / typesize).max(1);
    for (byte, plane) in planes.chunks_exact_mut(n).enumerate() {
        let elements = elements.chunks_exact(typesize).skip(done);
        for (to, element) in plane[done..].iter_mut().zip(elements) {
            *to = element[byte];
        }
    }
}

/// Writes `src`, bitshuffled, to `dst` of the same length: all lowest bits of the first bytes, then
/// all second lowest ones … Bytes after the last whole element keep their place, as does everything
/// if the number of elements is not a multiple of 8.
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    dst.copy_from_slice(src);
    if n == 0 || !n.is_multiple_of(8) {
        return;
    }
    let row_len = n / 8;
    for (column, elements) in src[..n * typesize].chunks_exact(8 * typesize).enumerate() {
        for byte in 0..typesize {
            let square = std::array::from_fn(|i| elements[i * typesize + byte]);
            for (bit, row) in transposed(square).into_iter().enumerate() {
                dst[(8 * byte + bit) * row_len + column] = row;
            }
        }
    }
}

/// Undoes [`shuffle`].
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    match typesize {
        2 => interleave::<2>(src, dst),
        4 => interleave::<4>(src, dst),
        8 => interleave::<8>(src, dst),
        _ => {
            let (planes, tail) = src.split_at(src.len() / typesize * typesize);
            let (elements, to_tail) = dst.split_at_mut(planes.len());
            to_tail.copy_from_slice(tail);
            // At least 1, because chunks cannot be 0 bytes long.
            let n = (planes.len() / typesize).max(1);
            for (byte, plane) in planes.chunks_exact(n).enumerate() {
                for (element, from) in elements.chunks_exact_mut(typesize).zip(plane) {
                    element[byte] = *from;
                }
            }
        }
    }
}

/// Undoes [`shuffle`] of elements of `N` bytes, with code that the compiler vectorizes.
fn interleave<const N: usize>(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / N;
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &src[byte * n..][..n]);
    let (elements, tail) = dst.as_chunks_mut::<N>();
    tail.copy_from_slice(&src[N * n..]);
    for (at, element) in elements.iter_mut().enumerate() {
        *element = std::array::from_fn(|byte| planes[byte][at]);
    }
}

/// Undoes [`bitshuffle`].
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    dst.copy_from_slice(src);
    if n == 0 || !n.is_multiple_of(8) {
        return;
    }
    let row_len = n / 8;
    for (column, elements) in dst[..n * typesize]
        .chunks_exact_mut(8 * typesize)
        .enumerate()
    {
        for byte in 0..typesize {
            let rows = std::array::from_fn(|bit| src[(8 * byte + bit) * row_len + column]);
            for (i, square) in transposed(rows).into_iter().enumerate() {
                elements[i * typesize + byte] = square;
            }
        }
    }
}

/// Bit `i` of byte `k` becomes bit `k` of byte `i` (Hacker's Delight, section 7-3).
fn transposed(square: [u8; 8]) -> [u8; 8] {
    let mut x = u64::from_le_bytes(square);
    for (mask, shift) in [
        (0x00aa_00aa_00aa_00aa, 7),
        (0x0000_cccc_0000_cccc, 14),
        (0xf0f0_f0f0, 28),
    ] {
        let swapped = (x ^ (x >> shift)) & mask;
        x ^= swapped ^ (swapped << shift);
    }
    x.to_le_bytes()
}

/// Shuffles elements of two bytes as numbers: the compiler vectorizes truncation of numbers, but
/// not selection of bytes.
fn shuffle_pairs(src: &[u8], dst: &mut [u8]) {
    let (low, high) = dst.split_at_mut(src.len() / 2);
    for ((pair, low), high) in src.as_chunks::<2>().0.iter().zip(low).zip(high) {
        let number = u16::from_le_bytes(*pair);
        *low = number as u8;
        *high = (number >> 8) as u8;
    }
}

/// Shuffles elements from the first one on, as long as they fill vectors; returns their number.
fn shuffle_groups<const N: usize>(src: &[u8], dst: &mut [u8]) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: SSE2 is part of x86_64.
        unsafe { vectors::shuffle_groups::<N>(src, dst) }
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

    /// Bit `b` of the element `i` goes to bit `i % 8` of byte `i / 8` of row `b`.
    fn bits_by_hand(typesize: usize, src: &[u8]) -> Vec<u8> {
        let n = src.len() / typesize;
        if !n.is_multiple_of(8) {
            return src.to_vec();
        }
        let mut dst = src.to_vec();
        dst[..n * typesize].fill(0);
        for (i, element) in src.chunks_exact(typesize).enumerate() {
            for bit in 0..8 * typesize {
                dst[bit * (n / 8) + i / 8] |= (element[bit / 8] >> (bit % 8) & 1) << (i % 8);
            }
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
                let mut back = vec![0; len];
                unshuffle(typesize, &dst, &mut back);
                assert_eq!(back, src[1..=len], "{typesize} {len}");
                bitshuffle(typesize, &src[1..=len], &mut dst);
                assert_eq!(
                    dst,
                    bits_by_hand(typesize, &src[1..=len]),
                    "bits, {typesize} {len}"
                );
                bitunshuffle(typesize, &dst, &mut back);
                assert_eq!(back, src[1..=len], "bits, {typesize} {len}");
            }
        }
    }
}
