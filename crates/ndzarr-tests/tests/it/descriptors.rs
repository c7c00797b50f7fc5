//! Open arrays keep few files open.
#![cfg(target_os = "linux")]

use ndzarr::Array;
use ndzarr_testkit::in_own_process;

/// 64 for each open array with shards, as long as it is open.
#[test]
fn open_arrays_do_not_use_up_the_descriptors() {
    in_own_process!();
    let count = || {
        std::fs::read_dir("/proc/self/fd")
            .expect("it works")
            .count()
    };
    let folder = tempfile::tempdir().expect("it works");
    let before = count();
    let arrays: Vec<_> = (0..8)
        .map(|i| {
            let a = Array::<u8>::builder([64 * 64]).chunks([16]).shards([64]);
            let a = a
                .create((folder.path(), &format!("a{i}")))
                .expect("it works");
            a.fill(.., 3).expect("it works");
            (0..64).for_each(|shard| drop(a.read([shard * 64..shard * 64 + 1]).expect("it works")));
            a
        })
        .collect();
    assert!(
        count() - before < 100,
        "{} more for {} arrays",
        count() - before,
        arrays.len()
    );
}
