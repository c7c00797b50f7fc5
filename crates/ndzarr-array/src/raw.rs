//! The only unsafe code of this crate: what the system is told about the memory of results.
//!
//! It has a safe signature, does nothing that a plain path would not do, and is nothing where the system is another, and for miri.
#![allow(unsafe_code)]

/// Size of a huge page, in bytes, on what is advised here.
#[cfg(all(target_os = "linux", not(miri)))]
const HUGE_PAGE: usize = 2 << 20;

/// Tells the system that memory that nobody has touched yet is best made of huge pages. What is in it stays.
///
/// `cargo bench -p ndzarr --bench scatter` ("first touch") shows what it is worth: the first touch of 256 MiB takes less than half of
/// the time.
pub(crate) fn advise_huge<T>(memory: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let bytes = size_of_val(memory);
        let address = memory.as_mut_ptr().addr();
        // The whole huge pages inside; a part of one would take in memory of others.
        let skip = address.next_multiple_of(HUGE_PAGE) - address;
        let len = bytes.saturating_sub(skip) / HUGE_PAGE * HUGE_PAGE;
        if len == 0 {
            return;
        }
        // SAFETY: `skip + len` is at most the size of the slice in bytes, so that the range lies inside the memory that is
        // borrowed here for writing. The advice changes neither what is in it nor whether it is mapped: it is of the kind that
        // only concerns speed. The system may refuse it, which is no loss.
        let _ = unsafe {
            let start = memory.as_mut_ptr().cast::<u8>().add(skip);
            rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxHugepage)
        };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_memory_keeps_its_content() {
        for len in [0, 1, 4096, 3 << 20, 9 << 20] {
            let mut memory = vec![7u8; len];
            advise_huge(&mut memory);
            assert!(memory.iter().all(|&byte| byte == 7));
            // A slice that begins anywhere.
            advise_huge(&mut memory[len / 3..]);
            assert!(memory.iter().all(|&byte| byte == 7));
        }
        advise_huge(&mut [] as &mut [u64]);
    }
}
