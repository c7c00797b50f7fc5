//! A large shard assembled from inner chunks.

use ndarray::{ArrayD, IxDyn};
use ndzarr::{Array, s};
use ndzarr_testkit::in_own_process;

use crate::with_peak;

#[test]
fn memory_does_not_grow_with_the_shard() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a temporary folder");
    // 128 MiB in inner chunks of 1 MiB, which do not compress.
    let a = Array::<u16>::builder([64 << 20])
        .chunks([1 << 19])
        .shards([64 << 20])
        .create((folder.path(), "a"));
    let a = a.expect("a new array");
    let chunk = ArrayD::from_elem(IxDyn(&[1 << 19]), 7u16);
    let ((), peak) = with_peak(|| {
        let writer = a.shard_writer(&[0]).expect("a writer");
        for index in (0..100).rev() {
            writer
                .write_chunk(&[index], &chunk)
                .expect("an inner chunk");
        }
        writer.finish().expect("a shard");
        // Again, with most of it copied from the existing shard.
        let writer = a.shard_writer(&[0]).expect("a writer");
        writer.write_chunk(&[127], &chunk).expect("an inner chunk");
        writer.finish().expect("a shard");
    });
    assert!(peak < 16 << 20, "{peak} bytes");
    assert_eq!(
        a.read(s![(127 << 19)..(127 << 19) + 3])
            .expect("it can be read")
            .sum(),
        21
    );
    assert_eq!(
        a.read(s![3..(1 << 19) + 3]).expect("it can be read").len(),
        1 << 19
    );
}
