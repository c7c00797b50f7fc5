//! Light pins: of files that nothing touched for a while.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, Store, Want};

use crate::FsStore;
use crate::system::stat::Stat;
use crate::system::syscalls::Syscalls;

/// Says that every file was touched this much earlier, and counts files that are opened.
#[derive(Debug, Default)]
struct Earlier {
    nanos: i128,
    opened: AtomicUsize,
}

impl Earlier {
    fn shifted(&self, stat: Stat) -> Stat {
        // The last digits are kept: a clock that counts seconds is another matter.
        Stat {
            modified: stat.modified - self.nanos,
            changed: stat.changed - self.nanos,
            ..stat
        }
    }
}

impl Syscalls for Earlier {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        File::open(path)
    }

    fn file_stat(&self, file: &File) -> io::Result<Stat> {
        crate::system::syscalls::System
            .file_stat(file)
            .map(|stat| self.shifted(stat))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        crate::system::syscalls::System
            .stat(path)
            .map(|stat| self.shifted(stat))
    }
}

fn store(nanos: i128) -> (tempfile::TempDir, Arc<Earlier>, FsStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let sys = Arc::new(Earlier {
        nanos,
        ..Earlier::default()
    });
    let store = FsStore::builder(folder.path()).build_on(sys.clone());
    (folder, sys, store)
}

fn fetch(store: &FsStore, of: Of, want: Want) -> Fetched {
    store
        .fetch(&Fetch {
            key: Key::new("a").expect("a key"),
            of,
            want,
        })
        .expect("it works")
}

fn put(store: &FsStore, value: &'static str) {
    store
        .put(
            &Key::new("a").expect("a key"),
            &[value.into()],
            Precondition::None,
        )
        .expect("it works");
}

fn pin(store: &FsStore) -> Pin {
    match fetch(store, Of::Any, Want::Size) {
        Fetched::Parts { pin, .. } => pin,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_light_pin_is_checked_without_opening_the_file() {
    let (_folder, sys, store) = store(3_600_000_000_000);
    put(&store, "first");
    let light = pin(&store).light().expect("it was touched an hour ago");
    assert!(light.is_light());
    let opened = sys.opened.load(Ordering::Relaxed);
    assert!(matches!(
        fetch(&store, Of::IfCurrent(light.clone()), Want::Size),
        Fetched::Parts { size: 5, .. }
    ));
    assert_eq!(sys.opened.load(Ordering::Relaxed), opened);
    let whole = Want::Whole { limit: 10 };
    let Fetched::Parts { pin, parts, .. } =
        fetch(&store, Of::Snapshot(light.clone()), whole.clone())
    else {
        panic!("it exists");
    };
    assert_eq!(
        (&parts[0][..], pin.is_light()),
        (&b"first"[..], false),
        "the file is open from now on"
    );
    put(&store, "other");
    for (of, want) in [
        (Of::IfCurrent(light.clone()), Want::Size),
        (Of::IfCurrent(light.clone()), whole.clone()),
        (Of::Snapshot(light), whole.clone()),
    ] {
        assert!(matches!(fetch(&store, of, want), Fetched::Changed));
    }
    assert!(matches!(
        fetch(&store, Of::Snapshot(pin), whole),
        Fetched::Parts { .. }
    ));
}

/// What is written next may have its number, its size and its time.
#[test]
fn a_file_that_was_just_written_has_no_light_pin() {
    let (_folder, _, store) = store(-3_600_000_000_000);
    put(&store, "first");
    assert!(pin(&store).light().is_none());
}
