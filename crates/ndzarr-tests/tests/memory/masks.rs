//! Masks that select nearly everything.

use ndarray::{Array1, Array3};
use ndzarr::{Array, MemoryStore, asynchronous, codec};
use ndzarr_testkit::{block_on, in_own_process};

use crate::with_peak;

/// 16 Mi elements, in chunks of 256 Ki. As a list of points, each would take about 100 bytes.
#[test]
fn a_dense_mask_takes_the_memory_of_its_chunks() {
    in_own_process!();
    let shape = [256_u64; 3];
    let array = Array::<u8>::builder(shape)
        .chunks([64, 64, 64])
        .codecs([codec::zstd(1)])
        .fill_value(3);
    let array = array.create((MemoryStore::new(), "a")).expect("it is new");
    array.fill((..128, .., ..), 5).expect("it is written");
    let mut mask = Array3::from_elem(shape.map(|n| n as usize), true);
    mask[[0, 0, 0]] = false;
    let result = mask.len();
    let (found, peak) = with_peak(|| array.read(&mask).expect("a read"));
    assert_eq!(
        (found.len(), found[0], found[result - 2]),
        (result - 1, 5, 3)
    );
    // The result, about a bit for each element, and the chunks in work.
    assert!(peak < result + (24 << 20), "{} MiB", peak >> 20);
}

/// The elements that a mask selects in a shard have no list of their own.
#[test]
fn a_dense_mask_is_written_in_the_memory_of_its_shards() {
    in_own_process!();
    let array = Array::<u8>::builder([256; 3])
        .chunks([64; 3])
        .shards([256; 3])
        .codecs([codec::zstd(1)]);
    let array = array.create((MemoryStore::new(), "a")).expect("it is new");
    let mut mask = Array3::from_elem([256; 3], true);
    mask[[0, 0, 0]] = false;
    let values = Array1::from_shape_fn(mask.len() - 1, |at| (at >> 16) as u8);
    let peak_of = |write: &dyn Fn()| with_peak(write).1 >> 20;
    // About a bit for each element, the shard as it was and as it is, and the chunks in work.
    let peak = peak_of(&|| array.write(&mask, &values).expect("a write"));
    assert!(peak < 40, "{peak} MiB");
    let peak = peak_of(&|| array.fill(&mask, 3).expect("a fill"));
    assert!(peak < 40, "{peak} MiB");
    // A copy of the values and of the mask for each chunk besides.
    let other = asynchronous::Array::from(array.clone());
    let peak = peak_of(&|| block_on(other.write(&mask, &values)).expect("a write"));
    assert!(peak < 100, "{peak} MiB");
    assert_eq!(array.read((255, 255, 255)).expect("a read")[[]], 255);
    assert_eq!(array.read((0, 0, ..2)).expect("a read").to_vec(), [0, 0]);
}
