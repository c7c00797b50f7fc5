//! Calls that could remove or hide a whole hierarchy by mistake: an empty name, an array over a
//! group.

use ndzarr::store::Prefix;
use ndzarr::{Array, ErrorKind, Format, FsStore, Group, MemberKind, MemoryStore, Storage, Store};

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

/// A file-system store and one in memory, for the values and as a storage.
fn stores(folder: &std::path::Path) -> Vec<(Box<dyn Store>, Storage)> {
    let files = FsStore::new(folder);
    let memory = MemoryStore::new();
    vec![
        (
            Box::new(files.clone()) as Box<dyn Store>,
            Storage::from(files),
        ),
        (Box::new(memory.clone()), Storage::from(memory)),
    ]
}

fn keys(store: &dyn Store) -> Vec<String> {
    let keys = store.list_prefix(&Prefix::root()).expect("a listing");
    let mut keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.sort();
    keys
}

fn in_every_format(test: impl Fn(Format, &dyn Store, &Storage)) {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        for (store, storage) in stores(folder.path()) {
            test(format, &*store, &storage);
        }
    }
}

/// An array at `g/h/a`, with a chunk.
fn make(storage: &Storage, format: Format) -> Group {
    let root = Group::create(storage, format).expect("a new group");
    let below = root
        .create_group("g")
        .expect("a new group")
        .create_group("h")
        .expect("a new group");
    below
        .create_array("a", Array::<u8>::builder([4]))
        .expect("a new array")
        .fill(.., 7)
        .expect("a write");
    root
}

#[test]
fn an_empty_name_is_no_node_below_a_group() {
    in_every_format(|format, store, storage| {
        let root = make(storage, format);
        let before = keys(store);
        for group in [&root, &root.group("g").expect("it exists")] {
            for name in ["", "/", "//", "\\"] {
                let array = || Array::<u8>::builder([4]);
                let errors = [
                    group.erase(name).expect_err("no name"),
                    group.create_group(name).expect_err("no name"),
                    group.create_array(name, array()).expect_err("no name"),
                    group
                        .create_array(name, array().overwrite())
                        .expect_err("no name"),
                ];
                for error in errors {
                    assert_eq!(
                        error.kind(),
                        ErrorKind::InvalidArgument,
                        "{format}: {error}"
                    );
                }
            }
        }
        assert_eq!(keys(store), before, "{format}");
    });
}

#[test]
fn a_group_erases_itself_on_request() {
    in_every_format(|format, store, storage| {
        let root = make(storage, format);
        root.create_array("b", Array::<u8>::builder([4]))
            .expect("a new array");
        root.group("g")
            .expect("it exists")
            .erase_self()
            .expect("it exists");
        assert_eq!(
            root.walk()
                .expect("a listing")
                .iter()
                .map(|child| (child.path(), child.kind()))
                .collect::<Vec<_>>(),
            [("b".to_owned(), Some(MemberKind::Array))],
            "{format}"
        );
        assert!(
            keys(store).iter().all(|key| !key.contains("g/")),
            "{format}: {:?}",
            keys(store)
        );
        root.erase_self().expect("it exists");
        let entry: &[&str] = match format {
            // The entry point of the hierarchy stays.
            Format::DraftA | Format::DraftB => &["zarr.json"],
            _ => &[],
        };
        assert_eq!(keys(store), entry, "{format}");
    });
}

#[test]
fn an_array_overwrites_no_group_with_nodes() {
    in_every_format(|format, store, storage| {
        make(storage, format);
        let before = keys(store);
        for path in ["", "g", "g/h"] {
            let array = Array::<u8>::builder([4]).format(format).overwrite();
            let error = array
                .create((storage, path))
                .expect_err("a group with nodes");
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{format}: {error}");
        }
        assert_eq!(keys(store), before, "{format}");
    });
}

#[test]
fn an_array_overwrites_an_array_and_a_group_without_nodes() {
    in_every_format(|format, _, storage| {
        let root = make(storage, format);
        let array = || Array::<u8>::builder([2]).format(format).overwrite();
        let new = array().create((storage, "g/h/a")).expect("over an array");
        assert_eq!(new.read(..).expect("a read").sum(), 0, "{format}");
        root.create_group("empty").expect("a new group");
        assert_eq!(
            array()
                .create((storage, "empty"))
                .expect("over a group")
                .shape(),
            [2],
            "{format}"
        );
    });
}

/// tensorstore writes no groups, and N5 needs none: a folder with nodes below it still is a group.
#[test]
fn an_array_hides_no_nodes_below_a_group_without_document() {
    in_every_format(|format, store, storage| {
        let array = || Array::<u8>::builder([4]).format(format);
        array().create((storage, "g/h/a")).expect("a new array");
        for key in store.list_prefix(&Prefix::root()).expect("a listing") {
            let name = key.as_str();
            let is_group =
                name.ends_with(".zgroup") || name.contains(".group") || name == "g/zarr.json";
            if is_group || name == "g/h/zarr.json" {
                store
                    .erase(&key, ndzarr::store::Precondition::None)
                    .expect("it goes");
            }
        }
        for path in ["g", "g/h"] {
            for array in [array(), array().overwrite()] {
                let error = array
                    .create((storage, path))
                    .expect_err("nodes would be hidden");
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{format}: {error}");
            }
        }
        assert_eq!(
            Array::<u8>::open((storage, "g/h/a"))
                .expect("it exists")
                .shape(),
            [4],
            "{format}"
        );
    });
}
