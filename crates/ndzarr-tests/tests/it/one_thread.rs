//! With one thread, no pool is created.
#![cfg(target_os = "linux")]

use std::num::NonZeroUsize;

use ndarray::{ArrayD, IxDyn};
use ndzarr::{Array, FsStore, RunOptions, codec};
use ndzarr_testkit::in_own_process;

/// Names of the library's threads in this process.
fn own_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a folder of threads");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks
        .flatten()
        .filter_map(name)
        .filter(|name| name.starts_with("ndzarr-"))
        .collect()
}

#[test]
fn one_thread_uses_no_pool() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions::default().threads(NonZeroUsize::MIN);
    let array = Array::<u16>::builder([64, 64])
        .chunks([8, 8])
        .shards([32, 32])
        .codecs([codec::zstd(1)])
        .create((FsStore::new(folder.path()), "a"))
        .expect("an array")
        .with_options(options);
    let data = ArrayD::from_elem(IxDyn(&[64, 64]), 3);
    array.write(.., &data).expect("a write");
    array
        .write([1..40, 2..50], &ndarray::Array2::from_elem((39, 48), 4))
        .expect("an update");
    array.read(..).expect("a read");
    array
        .read_many([[0..3, 0..64], [30..40, 1..2]])
        .expect("a read");
    assert_eq!(own_threads(), [""; 0]);

    // Without the limit the same call starts some, which shows that the test can see them.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        let array = array.with_options(RunOptions::default());
        // A thread has its name once it has begun, which may be after the read.
        while own_threads().is_empty() {
            array.read(..).expect("a read");
            std::thread::yield_now();
        }
    }
}
