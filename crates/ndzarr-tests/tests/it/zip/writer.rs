//! New archives: what is in the file, and what is left when they are not finished.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ndzarr_store::{
    Fetch, Fetched, Key, KeyLock, Locked, Of, Precondition, Put, Store, Wait, Want,
};
use ndzarr_store_fs::{Durability, FsStore};
use ndzarr_store_zip::{ZipStore, ZipWriter};
use tempfile::TempDir;

use crate::zip::by_hand::{assert_fails, assert_value, crc, get, key};

fn folder() -> TempDir {
    tempfile::tempdir().expect("the system has a folder for temporaries")
}

fn put(store: &impl Store, name: &str, value: impl AsRef<[u8]>) {
    let value = value.as_ref().to_vec();
    let put = store
        .put(&key(name), &[value.into()], Precondition::None)
        .expect("it stores");
    assert!(matches!(put, Put::Done(Some(_))));
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it lists");
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn hold(store: &impl Store, name: &str) -> Box<dyn KeyLock> {
    match store.lock(&key(name), Wait::Block) {
        Ok(Locked::Held(lock)) => lock,
        other => panic!("{other:?}"),
    }
}

/// What a file has, read only by the format's description: the name, and where the local header
/// is, in the order of the directory.
fn parsed(bytes: &[u8]) -> Vec<(String, usize)> {
    let short = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let long = |at: usize| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
    };
    let end = bytes.len() - 22;
    assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
    let n = short(end + 10);
    let mut at = long(end + 16);
    assert_eq!(at + long(end + 12), end, "nothing is after the directory");
    let mut found = Vec::new();
    for _ in 0..n {
        assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
        let local = long(at + 42);
        assert_eq!(&bytes[local..local + 4], b"PK\x03\x04");
        let name = &bytes[at + 46..at + 46 + short(at + 28)];
        assert_eq!(name, &bytes[local + 30..local + 30 + short(local + 26)]);
        for (central, local) in [(at + 8, local + 6), (at + 10, local + 8)] {
            assert_eq!(
                (short(central), short(local)),
                (short(local), short(central))
            );
        }
        assert_eq!(
            (short(at + 8) & !0x800, short(at + 10)),
            (0, 0),
            "no descriptor, and stored"
        );
        assert_eq!(
            bytes[at + 16..at + 28],
            bytes[local + 14..local + 26],
            "checksum and sizes"
        );
        assert_eq!(
            (short(at + 30), short(at + 32), short(local + 28)),
            (0, 0, 0),
            "no extra fields"
        );
        let value = &bytes[local + 30 + name.len()..][..long(at + 24)];
        assert_eq!(crc(value) as usize, long(at + 16));
        found.push((String::from_utf8(name.to_vec()).expect("UTF-8"), local));
        at += 46 + name.len();
    }
    assert_eq!(at, end);
    found
}

#[test]
fn rs_43_each_name_is_stored_once_with_its_last_value() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let new = ZipWriter::create_file(&path).expect("it begins");
    for i in 0..40_u8 {
        put(&new, "zarr.json", [i; 10]);
        put(&new, &format!("c/{}", i % 10), vec![i; 100]);
    }
    put(&new, "é/日本", "");
    new.erase(&key("c/3"), Precondition::None)
        .expect("it erases");
    new.finish().expect("it finishes");
    assert_eq!(names_in(folder.path()), ["a.zip"]);
    let bytes = fs::read(&path).expect("it reads");
    let found = parsed(&bytes);
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| &name[..]).collect();
    let expected = BTreeSet::from([
        "zarr.json",
        "c/0",
        "c/1",
        "c/2",
        "c/4",
        "c/5",
        "c/6",
        "c/7",
        "c/8",
        "c/9",
        "é/日本",
    ]);
    assert_eq!((found.len(), names), (expected.len(), expected));
    let store = ZipStore::open_file(&path).expect("it opens");
    assert_value(&store, "zarr.json", [39; 10]);
    assert_value(&store, "c/9", [39; 100]);
    assert_value(&store, "é/日本", "");
    assert!(get(&store, "c/3").expect("it reads").is_none());
}

#[test]
fn rs_43_documents_come_first_and_by_depth() {
    let folder = folder();
    let path = folder.path().join("a.ozx");
    let new = ZipWriter::create_file(&path).expect("it begins");
    let names = [
        "b/c/zarr.json",
        "b/c/c/0",
        "c/0",
        "b/zarr.json",
        "a/x/y/zarr.json",
        "zarr.json",
        "a/zarr.json",
    ];
    names.iter().for_each(|name| put(&new, name, "value"));
    new.finish_with_comment(br#"{"ome": {"version": "0.5"}}"#)
        .expect("it finishes");
    let mut bytes = fs::read(&path).expect("it reads");
    assert!(bytes.ends_with(br#"{"ome": {"version": "0.5"}}"#));
    assert_eq!(
        bytes[bytes.len() - 29..bytes.len() - 27],
        27_u16.to_le_bytes()
    );
    bytes.truncate(bytes.len() - 27);
    let found: Vec<String> = parsed(&bytes).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "zarr.json",
        "a/zarr.json",
        "b/zarr.json",
        "b/c/zarr.json",
        "a/x/y/zarr.json",
        "b/c/c/0",
        "c/0",
    ];
    assert_eq!(found, expected);
}

#[test]
fn unused_bytes_are_copied_away_above_a_tenth() {
    let folder = folder();
    // Ten values of 1,000 bytes, of which some are written again.
    for (again, values) in [(0, 10), (1, 11), (2, 10), (10, 10)] {
        let path = folder.path().join("a.zip");
        let new = ZipWriter::create_file(&path).expect("it begins");
        for i in (0..10).chain(0..again) {
            put(&new, &format!("c/{i}"), vec![i + again; 1000]);
        }
        new.finish().expect("it finishes");
        let bytes = fs::read(&path).expect("it reads");
        let found = parsed(&bytes);
        // Each with a local header of 30 bytes and a name of 3.
        let start = found
            .iter()
            .map(|(_, at)| *at)
            .max()
            .expect("there are ten")
            + 1033;
        assert_eq!(start, values * 1033, "{again} were written again");
        let store = ZipStore::open_file(&path).expect("it opens");
        (0..10).for_each(|i| assert_value(&store, &format!("c/{i}"), [i + again; 1000]));
        assert_eq!(names_in(folder.path()), ["a.zip"]);
    }
}

#[test]
fn nothing_is_visible_before_it_is_finished_and_nothing_is_left_without() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    fs::write(&path, "old").expect("it writes");
    let new = ZipWriter::create_file(&path).expect("it begins");
    put(&new, "a", "value");
    let held = hold(&new, "b");
    assert_eq!(fs::read(&path).expect("it reads"), b"old");
    assert_eq!(
        names_in(folder.path()).len(),
        2,
        "the old one and a temporary"
    );
    drop(new.clone());
    assert_eq!(names_in(folder.path()).len(), 2);
    drop((new, held));
    assert_eq!(names_in(folder.path()), ["a.zip"]);
    assert_eq!(fs::read(&path).expect("it reads"), b"old");
}

#[test]
fn a_finished_archive_is_read_and_not_written() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let new = ZipWriter::create_file(&path).expect("it begins");
    put(&new, "a", "value");
    let Ok(Fetched::Parts { pin, .. }) = new.fetch(&Fetch {
        key: key("a"),
        of: Of::Any,
        want: Want::Size,
    }) else {
        panic!("it was put")
    };
    let mut held = hold(&new, "b");
    held.append(b"too late").expect("it appends");
    new.finish().expect("it finishes");
    assert_fails(held.publish(), "finished");
    assert_fails(new.finish(), "finished");
    assert_fails(new.put(&key("a"), &[], Precondition::None), "finished");
    assert_fails(new.erase(&key("a"), Precondition::None), "finished");
    assert_value(&new, "a", "value");
    let pinned = new.fetch(&Fetch {
        key: key("a"),
        of: Of::Snapshot(pin),
        want: Want::Size,
    });
    assert!(matches!(pinned, Ok(Fetched::Changed)));
    assert_eq!(names_in(folder.path()), ["a.zip"]);
}

#[test]
fn pins_of_replaced_values_stay_valid() {
    let folder = folder();
    let new = ZipWriter::create_file(folder.path().join("a.zip")).expect("it begins");
    let Ok(Put::Done(Some(pin))) = new.put(&key("a"), &["old".into()], Precondition::None) else {
        panic!("it is put")
    };
    put(&new, "a", "newer");
    let want = Want::Whole { limit: 10 };
    let fetched = new
        .fetch(&Fetch {
            key: key("a"),
            of: Of::Snapshot(pin),
            want,
        })
        .expect("it reads");
    assert!(matches!(fetched, Fetched::Parts { parts, .. } if parts == ["old"]));
}

/// More than what is held in memory, in parts that leave gaps and overlap.
#[test]
fn large_values_are_written_under_a_lock() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let new = ZipWriter::create_file(&path).expect("it begins");
    let mut expected = vec![0; 40 << 20];
    let mut held = hold(&new, "a");
    for (at, len, fill) in [
        (0, 10 << 20, 1),
        (15 << 20, 5 << 20, 2),
        (30 << 20, 10 << 20, 3),
        (19 << 20, 12 << 20, 4),
    ] {
        let part = vec![fill; len];
        held.write_at(at as u64, &part).expect("it writes");
        expected[at..at + len].copy_from_slice(&part);
    }
    assert_eq!(held.append(b"end").expect("it appends"), 40 << 20);
    expected.extend(b"end");
    held.publish().expect("it publishes");
    new.finish().expect("it finishes");
    parsed(&fs::read(&path).expect("it reads"));
    let store = ZipStore::open_file(&path).expect("it opens");
    let parts = crate::zip::by_hand::fetch(&store, "a", Want::Whole { limit: 1 << 30 });
    assert!(parts.expect("it reads").expect("it exists")[0][..] == expected);
    assert_eq!(names_in(folder.path()), ["a.zip"]);
}

#[test]
fn several_threads_write_at_once() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let store = FsStore::builder(folder.path())
        .durability(Durability::Full)
        .build();
    let new = ZipWriter::create(store, key("a.zip")).expect("it begins");
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let new = &new;
            scope.spawn(move || {
                for i in 0..100 {
                    put(new, &format!("{thread}/{i}"), vec![thread; 1 + i]);
                    assert_value(new, &format!("{thread}/{i}"), vec![thread; 1 + i]);
                }
            });
        }
    });
    new.finish().expect("it finishes");
    parsed(&fs::read(&path).expect("it reads"));
    let store = ZipStore::open_file(&path).expect("it opens");
    for (thread, i) in (0..4).flat_map(|thread| (0..100).map(move |i| (thread, i))) {
        assert_value(&store, &format!("{thread}/{i}"), vec![thread; 1 + i]);
    }
}

/// An erasure that succeeds while the archive is finished is in it. Which of them comes first is up
/// to the system, so it is tried often.
#[test]
fn what_is_erased_before_the_end_is_not_in_the_archive() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let keys: Vec<Key> = (0..300).map(|i| key(&format!("c/{i}"))).collect();
    for _ in 0..200 {
        let new = ZipWriter::create_file(&path).expect("it begins");
        keys.iter().for_each(|key| put(&new, key.as_str(), ""));
        let n_erased = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for key in &keys {
                    if new.erase(key, Precondition::None).is_err() {
                        break;
                    }
                    n_erased.fetch_add(1, Ordering::Relaxed);
                }
            });
            while n_erased.load(Ordering::Relaxed) < 20 {
                thread::yield_now();
            }
            new.finish().expect("it finishes");
        });
        let store = ZipStore::open_file(&path).expect("it opens");
        let n_left = keys.len() - n_erased.load(Ordering::Relaxed);
        assert_eq!(store.n_values(), n_left);
    }
}

#[test]
fn names_and_comments_that_do_not_fit_are_refused() {
    let folder = folder();
    let new = ZipWriter::create_file(folder.path().join("a.zip")).expect("it begins");
    let long = Key::new("x".repeat(65536)).expect("a key");
    assert_fails(new.put(&long, &[], Precondition::None), "65535");
    put(&new, &"y".repeat(65535), "value");
    assert_fails(new.finish_with_comment(&[b'c'; 65536]), "comment");
    new.finish_with_comment(&[b'c'; 65535]).expect("it fits");
    assert_value(&new, &"y".repeat(65535), "value");
    assert_fails(
        ZipWriter::create_file(folder.path().join("..")),
        "name of a file",
    );
}

const ROLE: &str = "NDZARR_STORE_ZIP_CHILD";

#[test]
fn rs_46_a_killed_writer_leaves_the_old_archive_and_one_temporary() {
    if let Some(path) = std::env::var_os(ROLE) {
        let new = ZipWriter::create_file(Path::new(&path)).expect("it begins");
        put(&new, "a", vec![1; 100_000]);
        let mut out = std::io::stdout();
        out.write_all(b"\nwritten\n")
            .and_then(|()| out.flush())
            .expect("it is read");
        // Until it is killed.
        let _ = std::io::stdin().lines().next();
        panic!("it was not killed");
    }
    let folder = folder();
    let path = folder.path().join("a.zip");
    let old = ZipWriter::create_file(&path).expect("it begins");
    put(&old, "a", "old");
    old.finish().expect("it finishes");
    for _ in 0..3 {
        let mut child =
            Command::new(std::env::current_exe().expect("the system says which program this is"))
                .args([
                    "--exact",
                    "zip::writer::rs_46_a_killed_writer_leaves_the_old_archive_and_one_temporary",
                    "--nocapture",
                ])
                .env(ROLE, &path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line == "written")));
        child.kill().expect("it exists");
        child.wait().expect("it exists");
        assert_value(&ZipStore::open_file(&path).expect("it opens"), "a", "old");
        assert_eq!(
            names_in(folder.path()).len(),
            2,
            "{:?}",
            names_in(folder.path())
        );
    }
    // The next writer takes the temporary over, and nothing of it is left.
    let new = ZipWriter::create_file(&path).expect("it begins");
    put(&new, "b", "new");
    assert_eq!(names_in(folder.path()).len(), 2);
    new.finish().expect("it finishes");
    assert_eq!(names_in(folder.path()), ["a.zip"]);
    parsed(&fs::read(&path).expect("it reads"));
    let store = ZipStore::open_file(&path).expect("it opens");
    assert_eq!(store.n_values(), 1);
    assert_value(&store, "b", "new");
}
