//! The only unsafe code of this crate: huge pages for results, writes that bypass the caches, and
//! views of memory as another plain type.
//!
//! Its interface is safe, and its results are those of the plain code, which replaces it on other
//! systems and processors, and under miri.
#![allow(unsafe_code)]

use bytemuck::Pod;
use ndarray::{ArrayViewD, ArrayViewMutD, CowArray, IxDyn};

/// Size of a huge page in bytes, on the systems where it is advised.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Advises the system to back untouched memory with huge pages. Its content does not change.
///
/// `benchmarks/parts/benches/scatter.rs` ("first touch") measures the gain: the first touch of
/// 256 MiB takes less than half of the time.
pub(crate) fn advise_huge<T>(memory: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let bytes = size_of_val(memory);
        let address = memory.as_mut_ptr().addr();
        // Only the huge pages entirely inside: part of one would include memory of other owners.
        let skip = address.next_multiple_of(HUGE_PAGE) - address;
        let len = bytes.saturating_sub(skip) / HUGE_PAGE * HUGE_PAGE;
        if len == 0 {
            return;
        }
        // SAFETY: `skip + len` is at most the size of the slice in bytes, so the range lies inside
        // the memory that is mutably borrowed here. The advice changes neither its content nor
        // whether it is mapped; it only concerns speed. If the system refuses it, nothing is lost.
        let _ = unsafe {
            let start = memory.as_mut_ptr().cast::<u8>().add(skip);
            rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxHugepage)
        };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}

/// Memory as elements of another type of the same size, with no more alignment.
pub(crate) fn words<T: Pod, W: Pod>(view: ArrayViewD<'_, T>) -> ArrayViewD<'_, W> {
    const { assert!(size_of::<T>() == size_of::<W>() && align_of::<T>() >= align_of::<W>()) };
    // SAFETY: the elements are where they were, of the same size and aligned for `W`, and any
    // initialized bytes are a `W`. The borrow is the same.
    unsafe { view.raw_view().cast::<W>().deref_into_view() }
}

/// [`words`] of what may be owned: a view stays a view, and what is owned is copied.
pub(crate) fn words_of<'a, T: Pod, W: Pod>(
    elements: &CowArray<'a, T, IxDyn>,
) -> CowArray<'a, W, IxDyn> {
    const { assert!(size_of::<T>() == size_of::<W>() && align_of::<T>() >= align_of::<W>()) };
    if !elements.is_view() {
        return words::<T, W>(elements.view()).to_owned().into();
    }
    // SAFETY: as in `words`; a view borrows its memory for `'a`, however long `elements` lives.
    let view: ArrayViewD<'a, W> = unsafe { elements.raw_view().cast::<W>().deref_into_view() };
    view.into()
}

/// [`words`] to be written.
pub(crate) fn words_mut<T: Pod, W: Pod>(mut view: ArrayViewMutD<'_, T>) -> ArrayViewMutD<'_, W> {
    const { assert!(size_of::<T>() == size_of::<W>() && align_of::<T>() >= align_of::<W>()) };
    // SAFETY: as in `words`; the view that had the exclusive borrow is gone, and any bytes that are
    // written are a `T` as well.
    unsafe { view.raw_view_mut().cast::<W>().deref_into_view_mut() }
}

/// Copies into memory that will not be read soon, bypassing the caches if the processor can do so.
/// Dropping it makes all writes visible to threads that synchronize with this one.
///
/// `benchmarks/parts/benches/scatter.rs` ("past the caches") measures the gain.
pub(crate) struct PastCaches {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    avx: bool,
}

impl PastCaches {
    pub(crate) fn begin() -> Self {
        Self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            avx: std::is_x86_feature_detected!("avx"),
        }
    }

    /// Copies a row.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub(crate) fn copy(&self, src: &[u8], dst: &mut [u8]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.avx {
            assert_eq!(src.len(), dst.len(), "rows of one length");
            // Only whole cache lines: part of one costs more than it saves. The parts before and
            // after them are copied by themselves, since a store across two lines is slow. Most
            // rows have no such parts, and a call for nothing costs a tenth of a row of 256 bytes.
            let head = dst.as_ptr().align_offset(avx::LINE).min(dst.len());
            let len = (dst.len() - head) / avx::LINE * avx::LINE;
            if head > 0 {
                dst[..head].copy_from_slice(&src[..head]);
            }
            // SAFETY: the processor has the instructions; the lines are inside both slices and
            // aligned to a cache line.
            unsafe { avx::stream(&src[head..head + len], &mut dst[head..head + len]) };
            if head + len < dst.len() {
                dst[head + len..].copy_from_slice(&src[head + len..]);
            }
            return;
        }
        dst.copy_from_slice(src);
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Drop for PastCaches {
    fn drop(&mut self) {
        if self.avx {
            // SAFETY: every processor with AVX has this instruction.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};

    /// Size of a cache line in bytes.
    pub(crate) const LINE: usize = 64;

    /// # Safety
    /// The processor has AVX; `src` and `dst` have the same length, a multiple of [`LINE`]; `dst`
    /// begins at a multiple of it.
    #[target_feature(enable = "avx")]
    pub(crate) unsafe fn stream(src: &[u8], dst: &mut [u8]) {
        for at in (0..src.len()).step_by(32) {
            // SAFETY: 32 bytes from `at` on are inside both slices, because the lengths are a
            // multiple of 64. `dst` is aligned to 32 there, because it begins at a multiple of 64.
            unsafe {
                let value = _mm256_loadu_si256(src.as_ptr().add(at).cast());
                _mm256_stream_si256(dst.as_mut_ptr().add(at).cast(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;

    #[test]
    fn advised_memory_keeps_its_content() {
        // miri, which gets no advice, takes minutes for each of the larger sizes.
        let large: &[usize] = if cfg!(miri) { &[] } else { &[3 << 20, 9 << 20] };
        for &len in [0, 1, 4096].iter().chain(large) {
            let mut memory = vec![7u8; len];
            advise_huge(&mut memory);
            assert!(memory.iter().all(|&byte| byte == 7));
            // A slice that begins anywhere.
            advise_huge(&mut memory[len / 3..]);
            assert!(memory.iter().all(|&byte| byte == 7));
        }
        advise_huge(&mut [] as &mut [u64]);
    }

    #[test]
    fn words_are_the_same_memory() {
        let mut floats = Array2::from_shape_fn((3, 5), |(i, j)| (i * 5 + j) as f32);
        let part = floats.slice(s![..;-1, 1..;2]).reversed_axes().into_dyn();
        let bits: ArrayViewD<'_, u32> = words(part.view());
        assert_eq!(bits.shape(), [2, 3]);
        assert!(
            bits.iter()
                .zip(&part)
                .all(|(bits, float)| *bits == float.to_bits())
        );
        let bytes: CowArray<'_, [u8; 4], IxDyn> = words_of(&CowArray::from(part.view()));
        assert!(bytes.is_view() && bytes.shape() == [2, 3]);
        assert!(
            bytes
                .iter()
                .zip(&part)
                .all(|(bytes, float)| *bytes == float.to_ne_bytes())
        );
        let owned: CowArray<'_, [u8; 4], IxDyn> = words_of(&CowArray::from(part.to_owned()));
        assert!(!owned.is_view());
        assert_eq!(owned, bytes);
        let column = floats.slice_mut(s![..;-1, 3]).into_dyn();
        words_mut::<f32, u32>(column)
            .iter_mut()
            .zip([1.5_f32, -2.0, 0.25])
            .for_each(|(to, n)| *to = n.to_bits());
        assert_eq!(floats.column(3).to_vec(), [0.25, -2.0, 1.5]);
        assert_eq!(floats.column(2).to_vec(), [2.0, 7.0, 12.0]);
    }

    #[test]
    fn rows_are_copied_wherever_they_begin_and_end() {
        let src: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
        for start in (0..130).step_by(if cfg!(miri) { 13 } else { 1 }) {
            for len in [0, 1, 31, 63, 64, 65, 127, 128, 200, 500] {
                let mut dst = vec![255u8; 1000];
                PastCaches::begin().copy(&src[3..3 + len], &mut dst[start..start + len]);
                assert_eq!(&dst[start..start + len], &src[3..3 + len]);
                assert!(
                    dst[..start]
                        .iter()
                        .chain(&dst[start + len..])
                        .all(|&byte| byte == 255)
                );
            }
        }
    }
}
