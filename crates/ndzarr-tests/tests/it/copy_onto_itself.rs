//! A conversion that would replace its own source is refused before anything is removed, whatever
//! the spelling of the paths.

use std::path::Path;
use std::sync::Arc;

use ndzarr::{Array, CopyOptions, ErrorKind, Existing, Format, FsStore, MemoryStore, Storage, Store, copy};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

const FORMATS: [Format; 5] = [Format::Zarr2, Format::Zarr3, Format::N5, Format::DraftA, Format::DraftB];

fn replacing(format: Format) -> CopyOptions {
    CopyOptions::new().format(format).existing(Existing::Replace)
}

/// Formats whose nodes are in the folders of their paths, as the source's are. The draft keeps its
/// nodes elsewhere.
fn targets(source: Format) -> Vec<Format> {
    match source {
        Format::DraftA | Format::DraftB => vec![source],
        _ => vec![Format::Zarr2, Format::Zarr3, Format::N5],
    }
}

/// An array of sevens at `g/a`, and one of eights at `g/h/b`.
fn make(storage: &Storage, format: Format) {
    for (path, value) in [("g/a", 7), ("g/h/b", 8)] {
        let array = Array::<u8>::builder([16]).chunks([4]).format(format);
        array.create((storage, path)).expect("a new array").fill(.., value).expect("a write");
    }
}

fn is_whole(storage: &Storage, format: Format) {
    for (path, value) in [("g/a", 7), ("g/h/b", 8)] {
        let array = Array::<u8>::open((storage, path)).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(array.format(), format);
        let elements: Vec<u8> = array.read(..).expect("a read").into_iter().collect();
        assert_eq!(elements, [value; 16], "{format} {path}");
    }
}

fn refused(source: (&Storage, &str), target: (&Storage, &str), to: Format) {
    let error = copy((source.0, source.1), (target.0, target.1), &replacing(to)).expect_err("it is refused");
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::AlreadyExists];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}

/// Different handles of one store.
fn handles(folder: &Path) -> Vec<[Storage; 2]> {
    let memory = MemoryStore::new();
    let asynchronous: Arc<dyn ndzarr::AsyncStore> = Arc::new(AsyncMemoryStore::new(Latency::default()));
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::new());
    vec![
        [Storage::folder(folder), Storage::from(FsStore::new(folder.join("x/..")))],
        [Storage::from(&memory), Storage::blocking(memory)],
        [Storage::from(Arc::clone(&asynchronous)), Storage::from(asynchronous)],
        [Storage::from(Arc::clone(&shared)), Storage::from(shared)],
    ]
}

#[test]
fn an_array_is_not_converted_over_a_group_that_it_is_in() {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("x")).expect("a folder");
        for [source, target] in handles(folder.path()) {
            make(&source, format);
            for to in targets(format) {
                for path in ["g", ""] {
                    refused((&source, "g/a"), (&target, path), to);
                    refused((&source, "g/h"), (&target, path), to);
                }
                refused((&source, "g"), (&target, ""), to);
            }
            is_whole(&source, format);
        }
    }
}

#[test]
fn a_group_is_not_converted_over_what_is_in_it() {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("x")).expect("a folder");
        for [source, target] in handles(folder.path()) {
            make(&source, format);
            for path in ["g/a", "g/h", "g/h/b"] {
                refused((&source, "g"), (&target, path), format);
            }
            is_whole(&source, format);
        }
    }
}

/// The draft finds nodes only from the root of a store.
#[test]
fn another_root_is_the_same_place() {
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |below: &str| Storage::folder(folder.path().join(below));
        let whole = at("");
        make(&whole, format);
        for to in targets(format) {
            refused((&whole, "g/a"), (&at("g/a"), ""), to);
            refused((&whole, "g/a"), (&at("g"), ""), to);
            refused((&at("g/a"), ""), (&whole, "g"), to);
            refused((&at("g"), "a"), (&whole, ""), to);
            // A container of N5 has a document at its root.
            if format != Format::N5 {
                refused((&at("g"), ""), (&at("g/h"), ""), to);
            }
        }
        is_whole(&whole, format);
    }
}

/// Chunks can be in folders, too.
#[test]
fn an_array_is_not_converted_into_its_own_chunks() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = Storage::folder(folder.path());
    make(&whole, Format::Zarr3);
    refused((&whole, "g/a"), (&Storage::folder(folder.path().join("g/a/c")), ""), Format::Zarr2);
    is_whole(&whole, Format::Zarr3);
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_same_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = Storage::folder(folder.path().join("s"));
    make(&whole, Format::Zarr3);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, folder.path().join(name)).expect("a link");
    };
    link("s", "to-the-root");
    link("s/g", "to-the-group");
    link("g", "s/beside");
    for to in [Format::Zarr2, Format::Zarr3] {
        let linked = Storage::folder(folder.path().join("to-the-root"));
        refused((&whole, "g/a"), (&linked, "g"), to);
        refused((&linked, "g"), (&whole, "g/h"), to);
        refused((&whole, "g/a"), (&Storage::folder(folder.path().join("to-the-group")), ""), to);
        refused((&whole, "g/a"), (&whole, "beside"), to);
        refused((&whole, "beside"), (&whole, "g/h"), to);
    }
    is_whole(&whole, Format::Zarr3);
}

/// The place to overwrite or remove may be a link: the link is removed, its target stays.
#[cfg(unix)]
#[test]
fn a_link_is_replaced_and_not_what_it_leads_to() {
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = Storage::folder(folder.path());
        make(&whole, format);
        let root = ndzarr::Group::open(&whole).expect("the root");
        let link = || std::os::unix::fs::symlink("g/a", folder.path().join("latest")).expect("a link");
        link();
        let new = Array::<u8>::builder([2]).format(format).overwrite().create((&whole, "latest"));
        assert_eq!(new.expect("a new array").read(..).expect("a read").sum(), 0);
        is_whole(&whole, format);
        root.erase("latest").expect("it is there");
        link();
        root.erase("latest").expect("it is there");
        assert!(!folder.path().join("latest").exists());
        is_whole(&whole, format);
    }
}

/// Places that must not be refused: others of the same store, and the same path in another store.
#[test]
fn other_places_are_replaced() {
    for format in FORMATS {
        let source = Storage::from(MemoryStore::new());
        let other = Storage::from(MemoryStore::new());
        make(&source, format);
        let stale = Array::<u8>::builder([1]).format(format);
        stale.clone().create((&source, "target")).expect("a new array");
        stale.create((&other, "g")).expect("a new array");
        copy((&source, "g/a"), (&source, "target"), &replacing(format)).expect("another place");
        copy((&source, "g"), (&other, "g"), &replacing(format)).expect("another store");
        // Again, over the result.
        copy((&source, "g"), (&other, "g"), &replacing(format)).expect("another store");
        is_whole(&source, format);
        is_whole(&other, format);
        assert_eq!(Array::<u8>::open((&source, "target")).expect("it is there").shape(), [16]);
    }
}

/// N5 groups without documents, at one path of two stores in memory: these are two places.
#[test]
fn groups_without_documents_are_told_apart_by_what_is_in_them() {
    let (source, other) = (MemoryStore::new(), MemoryStore::new());
    for store in [&source, &other] {
        make(&Storage::from(store), Format::N5);
        Array::<u8>::builder([1]).format(Format::N5).create((store, "g/c")).expect("a new array");
    }
    // In place, by another handle: documents beside the old ones.
    let handle = Storage::blocking(source.clone());
    copy((&source, "g"), (&handle, "g"), &CopyOptions::new().format(Format::Zarr3)).expect("one store");
    assert_eq!(Array::<u8>::open((&source, "g/a")).expect("it is there").format(), Format::Zarr3);
    // Elsewhere something is in the way.
    let open = CopyOptions::new().format(Format::Zarr3).open(ndzarr::OpenOptions::new().format(Format::N5));
    let error = copy((&source, "g"), (&other, "g"), &open).expect_err("another store");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}
