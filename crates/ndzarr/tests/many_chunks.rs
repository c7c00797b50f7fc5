//! A call over very many chunks. In a process of its own, since it counts the memory of all of it.

use ndzarr::{Array, MemoryStore};
use ndzarr_testkit::block_on;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most bytes that a call has at once beyond what there was before.
fn extra(call: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    call();
    MEMORY.peak_usage() - before
}

/// Memory is for the chunks that are worked on, not for all that a call meets.
#[test]
fn memory_does_not_grow_with_the_number_of_chunks() {
    const CHUNKS: u64 = 1_000_000;
    const RESULT: usize = CHUNKS as usize;
    const MOST: usize = 16 << 20;
    let a = Array::<u8>::builder([CHUNKS]).chunks([1]).create(MemoryStore::new(), "a").expect("it works");
    let read = extra(|| assert_eq!(a.read(..).expect("it works").len(), RESULT));
    assert!(read < RESULT + MOST, "read: {read}");
    // What would be 300 bytes for each of these is more than is allowed too.
    let part = 0..CHUNKS / 8;
    let read = extra(|| drop(block_on(a.read_async([part.clone()])).expect("it works")));
    assert!(read < RESULT + MOST, "read_async: {read}");
    // Nothing is stored, so that the store has no part in it.
    let fill = extra(|| a.fill([part], 0).expect("it works"));
    assert!(fill < MOST, "fill: {fill}");
}
