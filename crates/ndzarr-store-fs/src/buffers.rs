//! Reuses the memory of large values.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ndzarr_store::PerProcess;

/// Memory of large values that were read and released, kept for the next ones: the system would
/// have to map and zero fresh memory page by page, which costs more than reading into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers(Arc<PerProcess<Mutex<Vec<Vec<u8>>>>>);

/// Sizes in bytes that are worth keeping: below, the allocator is as fast; above, too much memory
/// would be kept.
const REUSED_SIZES: std::ops::RangeInclusive<usize> = 32 << 10..=16 << 20;

/// The maximum number of buffers that are kept, and of their bytes.
const MAX_BUFFERS: usize = 16;
const MAX_BYTES: usize = 32 << 20;

impl Buffers {
    /// Empty memory with room for `len` bytes.
    ///
    /// # Errors
    /// The allocator refuses: a large size on disk can be a hole that cost its writer nothing.
    pub(crate) fn take(&self, len: usize) -> io::Result<Vec<u8>> {
        let is_reused = REUSED_SIZES.contains(&len);
        if is_reused && let Some(buffer) = self.reuse(len) {
            return Ok(buffer);
        }
        // Up to an eighth more than is needed, so that it serves the next value too, which is about
        // as large.
        let capacity = if is_reused {
            len.next_multiple_of(len.next_power_of_two() / 16)
        } else {
            len
        };
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(capacity)
            .map_err(|_| ErrorKind::OutOfMemory)?;
        Ok(buffer)
    }

    /// The smallest buffer that is large enough, unless it is far too large.
    fn reuse(&self, len: usize) -> Option<Vec<u8>> {
        let mut buffers = self.0.lock_inherited();
        let usable = len..=len.saturating_mul(4);
        let fitting = (0..buffers.len()).filter(|&i| usable.contains(&buffers[i].capacity()));
        let best = fitting.min_by_key(|&i| buffers[i].capacity())?;
        Some(buffers.swap_remove(best))
    }

    /// The bytes as a value whose memory returns here when it is released.
    pub(crate) fn lend(&self, bytes: Vec<u8>) -> Bytes {
        if !REUSED_SIZES.contains(&bytes.capacity()) {
            return bytes.into();
        }
        Bytes::from_owner(Lent {
            bytes,
            buffers: self.clone(),
        })
    }

    fn give_back(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        let mut buffers = self.0.lock_inherited();
        let n_bytes: usize = buffers.iter().map(Vec::capacity).sum();
        if buffers.len() < MAX_BUFFERS && n_bytes.saturating_add(bytes.capacity()) <= MAX_BYTES {
            buffers.push(bytes);
        }
    }
}

struct Lent {
    bytes: Vec<u8>,
    buffers: Buffers,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.buffers.give_back(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(buffers: &Buffers, len: usize) -> Bytes {
        let mut bytes = buffers.take(len).expect("memory for a test");
        bytes.resize(len, 7);
        buffers.lend(bytes)
    }

    #[test]
    fn memory_comes_back_when_the_last_part_of_a_value_is_let_go() {
        let buffers = Buffers::default();
        let value = filled(&buffers, 100_000);
        let at = value.as_ptr();
        let part = value.slice(5..10);
        drop(value);
        assert_eq!(&part[..], [7; 5]);
        assert_ne!(
            filled(&buffers, 100_000).as_ptr(),
            at,
            "a part of it is still used"
        );
        let before = buffers.0.lock().len();
        drop(part);
        assert_eq!(buffers.0.lock().len(), before + 1);
    }

    #[test]
    fn memory_serves_values_that_are_a_little_larger() {
        let buffers = Buffers::default();
        let at = filled(&buffers, 2_700_000).as_ptr();
        for len in [2_700_001, 2_750_000, 2_600_000] {
            assert_eq!(filled(&buffers, len).as_ptr(), at, "{len}");
        }
    }

    #[test]
    fn little_is_kept() {
        let buffers = Buffers::default();
        drop(
            (0..40)
                .map(|_| filled(&buffers, 8 << 20))
                .collect::<Vec<_>>(),
        );
        drop(filled(&buffers, 100));
        drop(filled(&buffers, 20 << 20));
        let capacities: Vec<usize> = buffers.0.lock().iter().map(Vec::capacity).collect();
        assert_eq!(capacities, [8 << 20; 4]);
        assert!(
            buffers
                .take(1 << 20)
                .is_ok_and(|buffer| buffer.capacity() < 8 << 20),
            "far too large for it"
        );
    }
}
