//! Copies that are killed, fail or are cancelled, and go on later.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::Array3;
use ndzarr::{
    Array, Cancel, CopyOptions, ErrorKind, Existing, Format, FsStore, Group, MemoryStore, Progress,
    RunOptions, Storage, codec, copy, s,
};
use ndzarr_testkit::CountingStore;

const ROLE: &str = "NDZARR_COPY_CHILD";

fn data() -> Array3<u16> {
    Array3::from_shape_fn((64, 64, 64), |(i, j, k)| (i * 4096 + j * 64 + k) as u16 | 1)
}

/// A group with two arrays of planes, some of them not stored.
fn source(folder: &Path) {
    let root = Group::create((folder, "from"), Format::Zarr3).expect("a new group");
    for name in ["a", "b"] {
        let array = Array::<u16>::builder([64, 64, 64])
            .chunks([2, 64, 64])
            .codecs([codec::zstd(1)]);
        let array = root.create_array(name, array).expect("a new array");
        array
            .write(s![..60, .., ..], &data().slice(ndarray::s![..60, .., ..]))
            .expect("elements");
    }
}

fn assert_whole(to: &Storage) {
    let mut expected = data();
    expected.slice_mut(ndarray::s![60.., .., ..]).fill(0);
    for name in ["to/a", "to/b"] {
        let array =
            Array::<u16>::open((to, name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            array.read(..).expect("elements") == expected.clone().into_dyn(),
            "{name}"
        );
    }
}

/// With little memory: columns by a temporary array, others in many blocks.
fn options(kind: &str) -> CopyOptions {
    let run = RunOptions::default().threads(NonZeroUsize::new(2));
    let options = CopyOptions::new().run(run).memory((2 << 20) + (400 << 10));
    match kind {
        "columns" => options.chunks([64, 4, 8]).memory((2 << 20) + (200 << 10)),
        "slabs" => options.chunks([5, 64, 64]),
        "encoded" => options,
        _ => panic!("no such kind"),
    }
}

/// In a process of its own: copies until progress was reported this many times, prints a line, and
/// waits to be killed.
fn child(role: &str) {
    let parts: Vec<&str> = role.splitn(3, ' ').collect();
    let kind = parts[0];
    let folder = Path::new(parts[2]);
    let most: u64 = parts[1].parse().expect("a number");
    let n_reports = AtomicU64::new(0);
    let wait = move |_: Progress| {
        if n_reports.fetch_add(1, Ordering::SeqCst) + 1 == most {
            let mut out = std::io::stdout();
            out.write_all(b"\nwaits\n")
                .and_then(|()| out.flush())
                .expect("it is read");
            let _ = std::io::stdin().lines().next();
            panic!("it was not killed");
        }
    };
    let options = options(kind)
        .run(
            RunOptions::default()
                .threads(NonZeroUsize::new(2))
                .progress(wait),
        )
        .resume();
    copy((folder, "from"), (folder, "to"), &options).expect("a copy");
    let mut out = std::io::stdout();
    out.write_all(b"\nended\n")
        .and_then(|()| out.flush())
        .expect("it is read");
}

/// The line that the process prints: that it waits to be killed, or has ended.
fn killed_after(kind: &str, most: u64, folder: &Path) -> String {
    let program = std::env::current_exe().expect("the system says which program this is");
    let test = "copy_resumed::cli_03_a_killed_copy_goes_on";
    let mut process = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, format!("{kind} {most} {}", folder.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(process.stdout.take().expect("it is piped"))
        .lines()
        .map_while(Result::ok);
    let line = lines.find(|line| line == "waits" || line == "ended");
    process.kill().expect("the process exists");
    process.wait().expect("the process exists");
    line.expect("it prints a line")
}

#[test]
fn cli_03_a_killed_copy_goes_on() {
    if let Ok(role) = std::env::var(ROLE) {
        return child(&role);
    }
    for (kind, points) in [
        ("columns", [1, 2, 3, 5, 8]),
        ("slabs", [1, 4, 7, 11, 15]),
        ("encoded", [1, 12, 33, 34, 60]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        source(folder.path());
        // Each process goes on where the last one was killed, and is killed later on.
        let mut n_killed = 0;
        for most in points {
            if killed_after(kind, most, folder.path()) == "ended" {
                break;
            }
            n_killed += 1;
            assert!(
                Array::<u16>::open((folder.path(), "to/b")).is_err(),
                "{kind}: it is not complete"
            );
        }
        assert!(n_killed > 1, "{kind}");
        let to = Storage::folder(folder.path());
        let resumed = options(kind).resume();
        if Array::<u16>::open((folder.path(), "to/b")).is_err() {
            copy((folder.path(), "from"), (&to, "to"), &resumed).expect("it goes on");
        }
        assert_whole(&to);
        let planned = copy(
            (folder.path(), "from"),
            (MemoryStore::new(), "to"),
            &options(kind).temporary((MemoryStore::new(), "")).dry_run(),
        );
        let planned = planned.expect("a plan").nodes;
        let by_temporary = planned
            .iter()
            .any(|node| node.notes.iter().any(|note| note.contains("temporary")));
        assert_eq!(by_temporary, kind == "columns", "{planned:?}");
        let left = ["to", "to/a", "to/b"]
            .map(|path| std::fs::read_dir(folder.path().join(path)).expect("a folder"));
        let left: Vec<_> = left
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert!(
            !left
                .iter()
                .any(|name| name.to_string_lossy().contains(".ndzarr")),
            "{kind}: {left:?}"
        );
        // Now the copy exists.
        let error =
            copy((folder.path(), "from"), (&to, "to"), &resumed).expect_err("it is complete");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }
}

/// Copies, and cancels it when progress was reported this many times.
fn cancelled(from: (&Storage, &str), to: (&Storage, &str), options: CopyOptions, most: u64) {
    let cancel = Cancel::new();
    let n_reports = AtomicU64::new(0);
    let stop = cancel.clone();
    let count = move |_: Progress| {
        if n_reports.fetch_add(1, Ordering::SeqCst) + 1 == most {
            stop.cancel();
        }
    };
    let run = RunOptions::default()
        .threads(NonZeroUsize::new(2))
        .cancel(cancel)
        .progress(count);
    let error = copy(from, to, &options.run(run)).expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn chunks_at_the_target_are_not_copied_again() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    for kind in ["slabs", "encoded"] {
        let memory = MemoryStore::new();
        let to = Storage::from(&memory);
        cancelled((&from, "from/a"), (&to, "to"), options(kind), 7);
        let before: Vec<String> = memory
            .keys()
            .into_iter()
            .filter(|key| key.starts_with("to/c/"))
            .collect();
        assert!(before.len() >= 5, "{kind}: {before:?}");
        let counted = CountingStore::new(FsStore::new(folder.path()));
        let counters = counted.clone();
        let puts = CountingStore::new(memory.clone());
        let of_puts = puts.clone();
        // The name of the source is the same.
        let resumed = options(kind).resume();
        copy(
            (Storage::blocking(counted), "from/a"),
            (Storage::blocking(puts), "to"),
            &resumed,
        )
        .expect("it goes on");
        let all = memory
            .keys()
            .iter()
            .filter(|key| key.starts_with("to/c/"))
            .count();
        let written = of_puts.counts().puts as usize;
        // The note, and the documents of the array and of the root.
        assert!(
            written <= all - before.len() + 3,
            "{kind}: {written} of {all}, {} were there",
            before.len()
        );
        assert!(counters.counts().fetches > 1);
    }
}

#[test]
fn only_the_same_copy_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    let memory = MemoryStore::new();
    let to = Storage::from(&memory);
    cancelled((&from, "from/a"), (&to, "to"), options("slabs"), 2);
    let begun = memory.keys();
    let refused = |source: &str, options: CopyOptions, says: &str| {
        let error = copy((&from, source), (&to, "to"), &options).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(memory.keys(), begun);
    };
    refused("from/a", options("slabs"), "can be resumed");
    refused("from/b", options("slabs").resume(), "another source");
    refused(
        "from/a",
        options("slabs").chunks([6, 64, 64]).resume(),
        "other options",
    );
    refused(
        "from/a",
        options("slabs").scale(2.0).resume(),
        "other options",
    );
    refused(
        "from/a",
        options("slabs").codecs([codec::gzip(1)]).resume(),
        "other options",
    );
    // A source that has changed.
    let mut changed = Array::<u16>::open((&from, "from/a")).expect("the source");
    changed
        .merge_attributes(serde_json::json!({"n": 1}))
        .expect("an attribute");
    refused("from/a", options("slabs").resume(), "another source");
    // It may be replaced.
    let replacing = options("slabs").existing(Existing::Replace).resume();
    copy((&from, "from/a"), (&to, "to"), &replacing).expect("a copy");
    assert_eq!(
        Array::<u16>::open((&to, "to"))
            .expect("the copy")
            .attributes()["n"],
        1
    );
    assert!(!memory.keys().iter().any(|key| key.contains(".ndzarr")));
}

/// The error does not say that a node exists.
#[test]
fn only_the_same_copy_of_a_group_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    // The first array has not ended, or has.
    for most in [2, 15] {
        let memory = MemoryStore::new();
        let to = Storage::from(&memory);
        cancelled((&from, "from"), (&to, "to"), options("slabs"), most);
        let begun = memory.keys();
        let says = "a copy of another source, or with other options, began here and has not ended";
        for other in [
            options("slabs").chunks([6, 64, 64]),
            options("slabs").format(Format::Zarr2),
        ] {
            for options in [other.clone(), other.resume()] {
                let error =
                    copy((&from, "from"), (&to, "to"), &options).expect_err("it is another");
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
                assert!(error.to_string().contains(says), "{error}");
                assert_eq!(memory.keys(), begun);
            }
        }
    }
}

/// Chunks without a note are not those of a copy.
#[test]
fn foreign_chunks_are_not_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    let memory = MemoryStore::new();
    memory.set("to/c/0/0/0", vec![1, 2, 3]).expect("a value");
    for options in [options("slabs"), options("slabs").resume()] {
        let error = copy((&from, "from/a"), (&memory, "to"), &options).expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    }
    let replacing = options("slabs").existing(Existing::Replace);
    copy((&from, "from/a"), (&memory, "to"), &replacing).expect("a copy");
    let copy = Array::<u16>::open((&memory, "to")).expect("the copy");
    assert_eq!(copy.read(s![0, 0, 5]).expect("an element").into_scalar(), 5);
}

/// The first array is complete, the second was not begun: neither is lost.
#[test]
fn a_copy_of_a_group_goes_on_after_its_complete_arrays() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    let memory = MemoryStore::new();
    let to = Storage::from(&memory);
    // 12 of 13 slabs of each have elements.
    cancelled((&from, "from"), (&to, "to"), options("slabs"), 15);
    assert!(
        Array::<u16>::open((&to, "to/a")).is_ok() && Array::<u16>::open((&to, "to/b")).is_err()
    );
    let report =
        copy((&from, "from"), (&to, "to"), &options("slabs").resume()).expect("it goes on");
    assert!(
        report.nodes[1]
            .notes
            .iter()
            .any(|note| note.contains("there already")),
        "{report:?}"
    );
    assert_whole(&to);
    assert!(!memory.keys().iter().any(|key| key.contains(".ndzarr")));
}

/// At no step of a copy does a group exist, for our readers and for others, before everything in it
/// does.
#[test]
fn a_group_exists_once_everything_in_it_does() {
    let names = ["zarr.json", ".zgroup", "attributes.json"];
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        let memory = MemoryStore::new();
        let from = Storage::from(&memory);
        let group = Group::create((&from, "from"), format).expect("a new group");
        let inner = group.create_group("inner").expect("a new group");
        for (group, name) in [(&group, "a"), (&inner, "b"), (&inner, "c")] {
            let array =
                group.create_array(name, Array::<u8>::builder([6]).chunks([2]).format(format));
            array.expect("a new array").fill(.., 7).expect("elements");
        }
        for (encoded, n_steps) in [(false, 9), (true, 3)] {
            for most in 1..n_steps {
                let memory = MemoryStore::new();
                let to = Storage::from(&memory);
                let options = CopyOptions::new();
                let options = if encoded {
                    options.chunks([3])
                } else {
                    options
                };
                cancelled((&from, "from"), (&to, "to"), options.clone(), most);
                for path in ["to", "to/inner"] {
                    let documents = names.map(|name| memory.get(&format!("{path}/{name}")));
                    assert!(
                        documents.iter().all(Option::is_none),
                        "{format} {most} {path}"
                    );
                }
                let error = Group::open((&to, "to")).expect_err("it is not complete");
                assert_eq!(
                    error.kind(),
                    ErrorKind::NotFound,
                    "{format} {most}: {error}"
                );
                assert!(
                    error.to_string().contains("has not ended"),
                    "{format} {most}: {error}"
                );
                copy((&from, "from"), (&to, "to"), &options.resume()).expect("it goes on");
                let group = Group::open((&to, "to")).expect("it is complete");
                for name in ["a", "inner/b", "inner/c"] {
                    let array = group
                        .array::<u8>(name)
                        .expect("an array")
                        .read(..)
                        .expect("elements");
                    assert!(
                        array.iter().all(|element| *element == 7),
                        "{format} {most} {name}"
                    );
                }
                assert!(
                    !memory.keys().iter().any(|key| key.contains(".ndzarr")),
                    "{format} {most}"
                );
            }
        }
    }
}

#[test]
fn a_copy_that_another_has_ended_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let path = folder.path().to_owned();
    let from = Storage::folder(folder.path());
    for most in 1..40 {
        let to = MemoryStore::new();
        let n_reports = AtomicU64::new(0);
        let own = to.clone();
        let path = path.clone();
        let complete = move |_: Progress| {
            if n_reports.fetch_add(1, Ordering::SeqCst) + 1 == most {
                let options = options("columns").temporary((&own, "between")).resume();
                copy((&path, "from/a"), (&own, "a"), &options).expect("it goes on");
            }
        };
        let run = RunOptions::default()
            .threads(NonZeroUsize::new(2))
            .progress(complete);
        let options = options("columns").run(run).temporary((&to, "between"));
        // The first one ends as well, or says that another has.
        if let Err(error) = copy((&from, "from/a"), (&to, "a"), &options) {
            let kinds = [ErrorKind::Conflict, ErrorKind::AlreadyExists];
            assert!(kinds.contains(&error.kind()), "{most}: {error}");
        }
        let read = Array::<u16>::open((&to, "a"))
            .expect("the array")
            .read(..)
            .expect("elements");
        let mut expected = data();
        expected.slice_mut(ndarray::s![60.., .., ..]).fill(0);
        assert!(read == expected.into_dyn(), "{most}");
    }
}

#[test]
fn a_copy_begun_again_forgets_its_old_temporary_array() {
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path());
    let from = Storage::folder(folder.path());
    let to = Storage::from(MemoryStore::new());
    let again = || options("columns").temporary((&to, "between"));
    cancelled((&from, "from/a"), (&to, "a"), again(), 4);
    let source = Array::<u16>::open((&from, "from/a")).expect("the source");
    (0..29).for_each(|chunk| source.units().erase(&[chunk, 0, 0]).expect("erased"));
    let options = again().existing(Existing::Replace);
    copy((&from, "from/a"), (&to, "a"), &options).expect("a copy");
    let read = Array::<u16>::open((&to, "a"))
        .expect("the array")
        .read(s![..58, .., ..])
        .expect("elements");
    assert!(read.iter().all(|element| *element == 0));
}
