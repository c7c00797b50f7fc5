//! Masks that select nearly everything.

use ndarray::Array3;
use ndzarr::{Array, MemoryStore, codec};
use ndzarr_testkit::in_own_process;

use crate::ALLOCATOR;

/// 16 Mi elements, in chunks of 256 Ki. As a list of points, each would take about 100 bytes.
#[test]
fn a_dense_mask_takes_the_memory_of_its_chunks() {
    in_own_process!();
    let shape = [256_u64; 3];
    let array = Array::<u8>::builder(shape).chunks([64, 64, 64]).codecs([codec::zstd(1)]).fill_value(3);
    let array = array.create((MemoryStore::new(), "a")).expect("it is new");
    array.fill((..128, .., ..), 5).expect("it is written");
    let mut mask = Array3::from_elem(shape.map(|n| n as usize), true);
    mask[[0, 0, 0]] = false;
    let (before, result) = (ALLOCATOR.current_usage(), mask.len());
    ALLOCATOR.reset_peak_usage();
    let found = array.read(&mask).expect("a read");
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    assert_eq!((found.len(), found[0], found[result - 2]), (result - 1, 5, 3));
    // The result, about a bit for each element, and the chunks in work.
    assert!(peak < result + (24 << 20), "{} MiB", peak >> 20);
}
