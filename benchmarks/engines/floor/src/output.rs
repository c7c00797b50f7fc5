//! The result: zeroed pages, aligned, huge if the kernel provides them, and written by several
//! threads at once.

/// Elements of a box in C order.
pub(crate) struct Output {
    pointer: *mut u16,
    shape: [usize; 3],
    len: usize,
}

/// The elements of an [`Output`], for threads that write disjoint parts.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    pub(crate) pointer: *mut u16,
    pub(crate) shape: [usize; 3],
}

// SAFETY: threads write only to disjoint parts, since chunks are disjoint.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Output {
    pub(crate) fn new(shape: [usize; 3]) -> Self {
        let len = shape.iter().product::<usize>() * 2;
        // SAFETY: a new mapping, zeroed by the kernel.
        let pointer = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(
                std::ptr::null_mut(),
                len.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        assert_ne!(pointer, libc::MAP_FAILED, "memory");
        let start = (pointer as usize).next_multiple_of(2 << 20);
        let end = (pointer as usize + len) & !((2 << 20) - 1);
        if end > start {
            // SAFETY: advice on pages inside the allocation.
            unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE) };
        }
        Self {
            pointer: pointer.cast(),
            shape,
            len,
        }
    }

    pub(crate) fn shared(&self) -> Shared {
        Shared {
            pointer: self.pointer,
            shape: self.shape,
        }
    }

    pub(crate) fn elements(&self) -> &[u16] {
        // SAFETY: this number of elements is zeroed or written.
        unsafe { std::slice::from_raw_parts(self.pointer, self.shape.iter().product()) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: mapped with this length.
        unsafe { libc::munmap(self.pointer.cast(), self.len.max(1)) };
    }
}
