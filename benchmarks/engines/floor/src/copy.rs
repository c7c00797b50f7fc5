//! Copies between chunks and the result.

use crate::Box3;
use crate::output::Shared;

pub(crate) fn bytes_mut(elements: &mut [u16]) -> &mut [u8] {
    // SAFETY: the bytes of the same memory.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len() * 2) }
}

pub(crate) fn bytes(elements: &[u16]) -> &[u8] {
    // SAFETY: the bytes of the same memory.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), elements.len() * 2) }
}

/// Copies `inside` of a chunk in C order to `start` of the output.
pub(crate) fn scatter(
    chunk: &[u16],
    side: usize,
    inside: &Box3,
    out: Shared,
    start: [usize; 3],
    swap: bool,
) {
    let len = inside[2][1] - inside[2][0];
    for z in inside[0][0]..inside[0][1] {
        for y in inside[1][0]..inside[1][1] {
            let src = &chunk[(z * side + y) * side + inside[2][0]..][..len];
            let at = ((start[0] + z - inside[0][0]) * out.shape[1] + start[1] + y - inside[1][0])
                * out.shape[2]
                + start[2];
            // SAFETY: the row is inside the output and belongs to no other thread.
            unsafe {
                let dst = out.pointer.add(at);
                if swap {
                    let dst = std::slice::from_raw_parts_mut(dst, len);
                    dst.iter_mut()
                        .zip(src)
                        .for_each(|(dst, src)| *dst = src.swap_bytes());
                } else {
                    stream(src, dst);
                }
            }
        }
    }
}

/// Bypasses the caches where the row is aligned.
///
/// # Safety
/// `dst` is valid for the length of `src`.
unsafe fn stream(src: &[u16], dst: *mut u16) {
    #[cfg(target_arch = "x86_64")]
    if (dst as usize).is_multiple_of(32)
        && src.len().is_multiple_of(16)
        && std::is_x86_feature_detected!("avx")
    {
        // SAFETY: aligned, in whole vectors, and the processor has the instructions.
        unsafe { stream_avx(src, dst) };
        return;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst, src.len()) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream_avx(src: &[u16], dst: *mut u16) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};
    for at in (0..src.len()).step_by(16) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            _mm256_stream_si256(
                dst.add(at).cast(),
                _mm256_loadu_si256(src.as_ptr().add(at).cast()),
            )
        };
    }
}

/// Copies `inside` of a chunk whose axes are stored in reverse order to `start` of the output.
pub(crate) fn scatter_reversed(
    chunk: &[u16],
    side: usize,
    inside: &Box3,
    out: Shared,
    start: [usize; 3],
) {
    const TILE: usize = 32;
    for y in inside[1][0]..inside[1][1] {
        for z0 in (inside[0][0]..inside[0][1]).step_by(TILE) {
            for x0 in (inside[2][0]..inside[2][1]).step_by(TILE) {
                let z1 = (z0 + TILE).min(inside[0][1]);
                let x1 = (x0 + TILE).min(inside[2][1]);
                for z in z0..z1 {
                    let at = ((start[0] + z - inside[0][0]) * out.shape[1] + start[1] + y
                        - inside[1][0])
                        * out.shape[2]
                        + start[2]
                        - inside[2][0];
                    for x in x0..x1 {
                        // SAFETY: inside the output and the chunk.
                        unsafe {
                            *out.pointer.add(at + x) =
                                *chunk.get_unchecked((x * side + y) * side + z)
                        };
                    }
                }
            }
        }
    }
}

/// Copies from `start` of the data to `inside` of a chunk in C order.
pub(crate) fn gather(
    data: &[u16],
    shape: [usize; 3],
    start: [usize; 3],
    inside: &Box3,
    chunk: &mut [u16],
    side: usize,
) {
    let len = inside[2][1] - inside[2][0];
    for z in inside[0][0]..inside[0][1] {
        for y in inside[1][0]..inside[1][1] {
            let at = ((start[0] + z - inside[0][0]) * shape[1] + start[1] + y - inside[1][0])
                * shape[2]
                + start[2];
            chunk[(z * side + y) * side + inside[2][0]..][..len]
                .copy_from_slice(&data[at..at + len]);
        }
    }
}
