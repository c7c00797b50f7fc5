//! A conversion that would replace its own source is refused before anything is removed, whatever
//! the spelling of the paths.

use std::path::Path;
use std::sync::Arc;

use ndzarr::{
    Array, CopyOptions, ErrorKind, Existing, Format, FsStore, MemoryStore, Storage, Store, copy,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

fn replacing(format: Format) -> CopyOptions {
    CopyOptions::new()
        .format(format)
        .existing(Existing::Replace)
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
        array
            .create((storage, path))
            .expect("a new array")
            .fill(.., value)
            .expect("a write");
    }
}

fn assert_whole(storage: &Storage, format: Format) {
    for (path, value) in [("g/a", 7), ("g/h/b", 8)] {
        let array =
            Array::<u8>::open((storage, path)).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(array.format(), format);
        let elements: Vec<u8> = array.read(..).expect("a read").into_iter().collect();
        assert_eq!(elements, [value; 16], "{format} {path}");
    }
}

fn refused(source: (&Storage, &str), target: (&Storage, &str), to: Format) {
    let error = copy((source.0, source.1), (target.0, target.1), &replacing(to))
        .expect_err("it is refused");
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::AlreadyExists];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}

/// Different handles of one store.
fn handles(folder: &Path) -> Vec<[Storage; 2]> {
    let memory = MemoryStore::new();
    let asynchronous: Arc<dyn ndzarr::AsyncStore> =
        Arc::new(AsyncMemoryStore::new(Latency::default()));
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::new());
    vec![
        [
            Storage::folder(folder),
            Storage::from(FsStore::new(folder.join("x/.."))),
        ],
        [Storage::from(&memory), Storage::blocking(memory)],
        [
            Storage::from(Arc::clone(&asynchronous)),
            Storage::from(asynchronous),
        ],
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
            assert_whole(&source, format);
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
            assert_whole(&source, format);
        }
    }
}

/// The copy would be among what is copied, and the next call would copy it as well.
#[test]
fn nothing_is_copied_into_itself() {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("x")).expect("a folder");
        for [source, target] in handles(folder.path()) {
            make(&source, format);
            for (from, to) in [
                ("g", "g/copy"),
                ("g", "g/h/copy"),
                ("", "copy"),
                ("g/a", "g/a/copy"),
            ] {
                let error = copy(
                    (&source, from),
                    (&target, to),
                    &CopyOptions::new().format(format),
                );
                let error = error.expect_err("it is inside");
                assert_eq!(
                    error.kind(),
                    ErrorKind::InvalidArgument,
                    "{format}: {error}"
                );
                assert!(error.to_string().contains("inside"), "{error}");
            }
            assert_whole(&source, format);
        }
    }
}

/// By another root, and by a link to the source or into it.
#[cfg(unix)]
#[test]
fn nothing_is_copied_into_itself_by_another_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |below: &str| folder.path().join(below);
    make(&Storage::folder(folder.path()), Format::Zarr3);
    std::os::unix::fs::symlink("g", at("link")).expect("a link");
    std::fs::create_dir(at("g/empty")).expect("a folder");
    std::os::unix::fs::symlink("g/empty", at("into")).expect("a link");
    for to in ["g/copy", "link/copy", "link/h/copy", "into", "into/copy"] {
        for from in ["g", "link"] {
            let error = copy(at(from), at(to), &CopyOptions::new()).expect_err("it is inside");
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidArgument,
                "{from}, {to}: {error}"
            );
            let file = format!("file://{}", at(to).display());
            copy(at(from), file, &CopyOptions::new()).expect_err("it is inside");
        }
    }
    copy(at("g"), at("other"), &CopyOptions::new()).expect("it is outside");
    copy(at("g/h"), at("g-copy"), &CopyOptions::new()).expect("it begins with the same name");
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
        assert_whole(&whole, format);
    }
}

/// Chunks can be in folders, too.
#[test]
fn an_array_is_not_converted_into_its_own_chunks() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = Storage::folder(folder.path());
    make(&whole, Format::Zarr3);
    refused(
        (&whole, "g/a"),
        (&Storage::folder(folder.path().join("g/a/c")), ""),
        Format::Zarr2,
    );
    assert_whole(&whole, Format::Zarr3);
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
    link("g", "s/alias");
    for to in [Format::Zarr2, Format::Zarr3] {
        let linked = Storage::folder(folder.path().join("to-the-root"));
        refused((&whole, "g/a"), (&linked, "g"), to);
        refused((&linked, "g"), (&whole, "g/h"), to);
        refused(
            (&whole, "g/a"),
            (&Storage::folder(folder.path().join("to-the-group")), ""),
            to,
        );
        refused((&whole, "g/a"), (&whole, "alias"), to);
        refused((&whole, "alias"), (&whole, "g/h"), to);
    }
    assert_whole(&whole, Format::Zarr3);
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
        let link =
            || std::os::unix::fs::symlink("g/a", folder.path().join("latest")).expect("a link");
        link();
        let new = Array::<u8>::builder([2])
            .format(format)
            .overwrite()
            .create((&whole, "latest"));
        assert_eq!(new.expect("a new array").read(..).expect("a read").sum(), 0);
        assert_whole(&whole, format);
        root.erase("latest").expect("it exists");
        link();
        root.erase("latest").expect("it exists");
        assert!(!folder.path().join("latest").exists());
        assert_whole(&whole, format);
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
        stale
            .clone()
            .create((&source, "target"))
            .expect("a new array");
        stale.create((&other, "g")).expect("a new array");
        copy((&source, "g/a"), (&source, "target"), &replacing(format)).expect("another place");
        copy((&source, "g"), (&other, "g"), &replacing(format)).expect("another store");
        // Again, over the result.
        copy((&source, "g"), (&other, "g"), &replacing(format)).expect("another store");
        assert_whole(&source, format);
        assert_whole(&other, format);
        assert_eq!(
            Array::<u8>::open((&source, "target"))
                .expect("it exists")
                .shape(),
            [16]
        );
    }
}

/// N5 groups without documents, at one path of two stores in memory: these are two places.
#[test]
fn groups_without_documents_are_distinguished_by_their_content() {
    let source = MemoryStore::new();
    let other = MemoryStore::new();
    for store in [&source, &other] {
        make(&Storage::from(store), Format::N5);
        Array::<u8>::builder([1])
            .format(Format::N5)
            .create((store, "g/c"))
            .expect("a new array");
    }
    // In place, by another handle: documents next to the old ones.
    let handle = Storage::blocking(source.clone());
    copy(
        (&source, "g"),
        (&handle, "g"),
        &CopyOptions::new().format(Format::Zarr3),
    )
    .expect("one store");
    assert_eq!(
        Array::<u8>::open((&source, "g/a"))
            .expect("it exists")
            .format(),
        Format::Zarr3
    );
    // Elsewhere something is in the way.
    let open = CopyOptions::new()
        .format(Format::Zarr3)
        .open(ndzarr::OpenOptions::new().format(Format::N5));
    let error = copy((&source, "g"), (&other, "g"), &open).expect_err("another store");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

/// A document of its own next to a link to the chunks of another array, as people make views of it:
/// by a link to the folder of the chunks, to one in it, or to single chunks.
#[cfg(unix)]
#[test]
fn what_links_in_the_source_lead_to_is_not_replaced() {
    use std::os::unix::fs::symlink;

    for (link, to) in [
        ("c", "../orig/c"),
        ("c/0", "../../orig/c/0"),
        ("c/1/1", "../../../orig/c/1/1"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |below: &str| folder.path().join(below);
        let orig = Array::<u8>::builder([8, 8])
            .chunks([4, 4])
            .create((folder.path(), "orig"));
        orig.expect("a new array").fill(.., 7).expect("a write");
        let view = at("view").join(link);
        std::fs::create_dir_all(view.parent().expect("a folder")).expect("a folder");
        std::fs::copy(at("orig/zarr.json"), at("view/zarr.json")).expect("a document");
        symlink(to, view).expect("a link");
        // As a user has it, and by a store that wraps another.
        let wrapped: Arc<dyn Store> = Arc::new(FsStore::new(folder.path()));
        for source in [Storage::folder(folder.path()), Storage::from(wrapped)] {
            for options in [
                replacing(Format::Zarr3),
                replacing(Format::Zarr3).chunks([8, 8]),
            ] {
                let options = options.clone();
                let error =
                    copy((&source, "view"), (folder.path(), "orig"), &options).expect_err(link);
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{link}: {error}");
                let dry = options.dry_run();
                copy((&source, "view"), (folder.path(), "orig"), &dry).expect_err("it is refused");
            }
        }
        let sum: u32 = Array::<u8>::open((folder.path(), "orig"))
            .expect("an array")
            .read(..)
            .expect("elements")
            .iter()
            .map(|&element| u32::from(element))
            .sum();
        assert_eq!(sum, 64 * 7, "{link}");
        // The other way round nothing is lost.
        copy(
            (folder.path(), "orig"),
            (folder.path(), "view"),
            &replacing(Format::Zarr3),
        )
        .expect("a copy");
        let view = Array::<u8>::open((folder.path(), "view")).expect("the copy");
        assert!(
            view.read(..)
                .expect("elements")
                .iter()
                .all(|element| *element == 7),
            "{link}"
        );
    }
}

/// A group with a link to a group in the target; a link that leads through the target; a link that
/// is replaced itself.
#[cfg(unix)]
#[test]
fn what_is_read_through_the_target_is_not_replaced() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().expect("a folder");
    let at = |below: &str| folder.path().join(below);
    for (path, value) in [("src/own", 1), ("dst/shared/b", 8), ("apart/d", 9)] {
        let array = Array::<u8>::builder([16]).chunks([4]);
        array
            .create((folder.path(), path))
            .expect("a new array")
            .fill(.., value)
            .expect("a write");
    }
    symlink("../dst/shared", at("src/linked")).expect("a link");
    let error = copy(
        (folder.path(), "src"),
        (folder.path(), "dst"),
        &replacing(Format::Zarr3),
    );
    assert_eq!(
        error.expect_err("it is refused").kind(),
        ErrorKind::InvalidArgument
    );
    assert!(at("dst/shared/b/c/0").is_file());
    std::fs::remove_file(at("src/linked")).expect("a link");
    // `src/linked` leads to `apart`, by a link in `dst`, and by a path through it.
    symlink("../apart", at("dst/onwards")).expect("a link");
    for to in ["../dst/onwards", "../dst/shared/../../apart"] {
        symlink(to, at("src/linked")).expect("a link");
        let error = copy(
            (folder.path(), "src"),
            (folder.path(), "dst"),
            &replacing(Format::Zarr3),
        );
        assert_eq!(
            error.expect_err(to).kind(),
            ErrorKind::InvalidArgument,
            "{to}"
        );
        std::fs::remove_file(at("src/linked")).expect("a link");
    }
    symlink("../apart", at("src/linked")).expect("a link");
    copy(
        (folder.path(), "src"),
        (folder.path(), "dst"),
        &replacing(Format::Zarr3),
    )
    .expect("a copy");
    let copied = Array::<u8>::open((folder.path(), "dst/linked/d")).expect("the copy");
    assert!(
        copied
            .read(..)
            .expect("elements")
            .iter()
            .all(|element| *element == 9)
    );
    assert!(at("apart/d/c/0").is_file() && !at("dst/shared").exists());
}

/// The source is removed while it is copied, by whatever name: the copy is not complete then.
#[test]
fn a_source_that_is_removed_meanwhile_is_not_copied() {
    for format in FORMATS {
        let source = MemoryStore::new();
        let target = MemoryStore::new();
        make(&Storage::from(&source), format);
        let removes = source.clone();
        let remove = move |_| {
            for key in removes.keys() {
                let key = ndzarr_store::Key::new(&key).expect("a key");
                removes
                    .erase(&key, ndzarr_store::Precondition::None)
                    .expect("it is removed");
            }
        };
        let options = CopyOptions::new().run(ndzarr::RunOptions::default().progress(remove));
        let error = copy((&source, "g/a"), (&target, "a"), &options).expect_err("it is removed");
        assert_eq!(error.kind(), ErrorKind::Conflict, "{format}: {error}");
        assert!(error.to_string().contains("was removed"), "{error}");
        assert!(Array::<u8>::open((&target, "a")).is_err(), "{format}");
    }
}
