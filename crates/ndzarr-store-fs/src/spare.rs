//! Memory that values are read into, used again: fresh memory of some size comes as pages that fault one by one.

use std::cell::Cell;
use std::collections::TryReserveError;

use bytes::Bytes;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Values of fewer bytes come from the allocator, which is quick with them.
const LEAST: usize = 64 << 10;
/// No thread keeps more than this.
const MOST: usize = 32 << 20;

/// An empty vector with room for `len` bytes.
pub(crate) fn take(len: usize) -> Result<Vec<u8>, TryReserveError> {
    if len >= LEAST {
        let mut spare = SPARE.take();
        // A small value must not hold much memory for as long as somebody keeps it.
        if (len..=4 * len).contains(&spare.capacity()) {
            spare.clear();
            return Ok(spare);
        }
        SPARE.set(spare);
    }
    // Encoded chunks vary a little in size: the next, somewhat larger one shall fit too.
    let room = if len >= LEAST { len.saturating_add(len / 8) } else { len };
    let mut fresh = Vec::new();
    fresh.try_reserve_exact(room)?;
    Ok(fresh)
}

/// The bytes, whose memory comes back when the last copy of them is dropped, to the thread that drops it.
pub(crate) fn lend(bytes: Vec<u8>) -> Bytes {
    if !(LEAST..=MOST).contains(&bytes.capacity()) {
        return bytes.into();
    }
    Bytes::from_owner(Lent(bytes))
}

struct Lent(Vec<u8>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        // A thread that is about to end has no place for it any more.
        let _ = SPARE.try_with(|spare| {
            let old = spare.take();
            spare.set(if bytes.capacity() >= old.capacity() { bytes } else { old });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_when_the_last_copy_is_gone() {
        let mut first = take(100_000).expect("memory");
        first.extend_from_slice(&[1; 100_000]);
        let at = first.as_ptr();
        let value = lend(first);
        let part = value.slice(7..9);
        drop(value);
        // The part still has it.
        assert_ne!(take(100_000).expect("memory").as_ptr(), at);
        assert_eq!(part, [1, 1][..]);
        drop(part);
        assert_ne!(take(1000).expect("memory").as_ptr(), at, "small values do not hold large memory");
        assert_ne!(take(20_000_000).expect("memory").as_ptr(), at);
        let again = take(90_000).expect("memory");
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
    }
}
