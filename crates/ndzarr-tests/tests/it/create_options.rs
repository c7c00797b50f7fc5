//! Nodes are created with the limits and the update mode that the caller requests.

use ndzarr::{
    AnyArray, Array, ArrayRequest, ConcurrentUpdate, CopyOptions, DataType, Error, ErrorKind,
    Existing, Format, Group, Limits, MemoryStore, OpenOptions, RunOptions, Storage, codec, copy,
};
use ndzarr_testkit::PlainStore;
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

fn refused<T>(result: Result<T, Error>, kind: ErrorKind, what: &str) {
    let Err(error) = result else {
        panic!("{what}: it succeeds")
    };
    assert_eq!(error.kind(), kind, "{what}: {error}");
    assert!(error.to_string().contains("limit of"), "{what}: {error}");
}

fn large() -> serde_json::Value {
    json!({"a": "x".repeat(5000)})
}

fn deep() -> serde_json::Value {
    json!({"a": [[[[[[[[[[1]]]]]]]]]]})
}

#[test]
fn nodes_beyond_tighter_limits_are_refused() {
    let chunks = Limits::default().chunk_bytes(1000);
    let documents = Limits::default().document_bytes(4000);
    let depth = Limits::default().json_depth(8);
    for format in FORMATS {
        let store = MemoryStore::new();
        let builder = || Array::<u8>::builder([4000]).chunks([1001]).format(format);
        let invalid = ErrorKind::InvalidArgument;
        refused(
            builder().limits(chunks).create((&store, "a")),
            invalid,
            "chunks",
        );
        refused(
            builder()
                .limits(documents)
                .attributes(large())
                .create((&store, "a")),
            invalid,
            "size",
        );
        refused(
            builder()
                .limits(depth)
                .attributes(deep())
                .create((&store, "a")),
            invalid,
            "depth",
        );

        let request = ArrayRequest::new(vec![4000], vec![1001], DataType::UInt { bits: 8 });
        let any = AnyArray::builder(&request.shape)
            .request(request.clone())
            .format(format);
        refused(
            any.limits(chunks).create((&store, "a")),
            invalid,
            "any array",
        );
        for (limits, attributes) in [(documents, large()), (depth, deep())] {
            let group = Group::builder()
                .format(format)
                .limits(limits)
                .attributes(attributes);
            refused(group.create((&store, "a")), invalid, "a group");
        }
        assert_eq!(store.keys(), [""; 0], "{format}");
        builder()
            .limits(documents)
            .create((&store, "a"))
            .expect("is within them");
    }
}

/// Documents that a creation reads have the same limits as those that opening reads.
#[test]
fn existing_documents_are_read_within_the_limits() {
    let limits = Limits::default().document_bytes(4000);
    let store = MemoryStore::new();
    Group::builder()
        .attributes(large())
        .create(&store)
        .expect("a new group");
    let created = Group::builder().limits(limits).create((&store, "g"));
    refused(created, ErrorKind::InvalidMetadata, "the group above");
    assert_eq!(store.keys(), ["zarr.json"]);
}

/// Options can allow what the defaults refuse.
#[test]
fn wider_limits_allow_what_the_defaults_refuse() {
    let limits = Limits::default().codecs(3000);
    let store = MemoryStore::new();
    let builder = || Array::<u8>::builder([4]).codecs(vec![codec::crc32c(); 2000]);
    refused(
        builder().create((&store, "a")),
        ErrorKind::InvalidArgument,
        "the defaults",
    );
    let mut a = builder()
        .limits(limits)
        .create((&store, "a"))
        .expect("is within the limits");
    // The handle has them as well.
    a.merge_attributes(json!({"b": 1}))
        .expect("is opened again");
    a.resize([8]).expect("is opened again");

    let options = OpenOptions::new().limits(limits);
    let root = options.open_group(&store).expect("opens");
    let builder = || Array::<u8>::builder([4]).codecs(vec![codec::crc32c(); 2000]);
    root.create_array("b", builder())
        .expect("the group's limits hold");
    let child = root.create_group("g").expect("a new group");
    child
        .create_array("c", builder())
        .expect("they are handed on");
    child.array::<u8>("c").expect("they are handed on");
}

#[test]
fn a_conversion_keeps_to_the_limits_of_its_target() {
    let source = MemoryStore::new();
    let target = MemoryStore::new();
    Array::<u8>::builder([1001])
        .chunks([1001])
        .create((&source, "a"))
        .expect("a new array");
    for format in FORMATS {
        let limits = Limits::default().chunk_bytes(1000);
        let options = CopyOptions::new().format(format).limits(limits);
        refused(
            copy((&source, "a"), (&target, "a"), &options),
            ErrorKind::InvalidArgument,
            "converted",
        );
        assert_eq!(target.keys(), [""; 0], "{format}");
    }
}

#[test]
fn a_groups_tighter_limits_hold_for_what_is_created_in_it() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let limits = Limits::default().chunk_bytes(1000).document_bytes(4000);
        let mut root = Group::builder()
            .format(format)
            .limits(limits)
            .create(&store)
            .expect("a new group");
        let child = root.create_group("g").expect("a new group");
        for group in [&root, &child] {
            let large = Array::<u8>::builder([4000]).chunks([1001]);
            refused(
                group.create_array("a", large),
                ErrorKind::InvalidArgument,
                "chunks",
            );
        }
        // A change that could not be read again with these limits is refused before it is made.
        refused(
            root.merge_attributes(large()),
            ErrorKind::InvalidMetadata,
            "attributes",
        );
        let mut array = child
            .create_array("a", Array::<u8>::builder([4]))
            .expect("is within them");
        refused(
            array.merge_attributes(large()),
            ErrorKind::InvalidMetadata,
            "attributes",
        );
        OpenOptions::new()
            .limits(limits)
            .open_group(&store)
            .and_then(|root| root.array::<u8>("g/a"))
            .unwrap_or_else(|error| panic!("{format}: {error:?}"));
    }
}

/// If writers cannot be serialized, consolidated metadata above a new node change only if the
/// caller requests it.
#[test]
fn nodes_are_created_with_the_requested_update_mode() {
    let storage = Storage::blocking(PlainStore::new(MemoryStore::new()));
    let concurrent_update = ConcurrentUpdate::LastWriterWins;
    let run = RunOptions::default().concurrent_update(concurrent_update);
    let mut root = Group::create(&storage, Format::Zarr3)
        .expect("a new group")
        .with_options(run.clone());
    root.create_array("first", Array::<u8>::builder([4]))
        .expect("a new array");
    root.consolidate().expect("is made");
    let merging = Array::<u8>::builder([4]).create((&storage, "merging"));
    assert_eq!(
        merging.map(drop).map_err(|error| error.kind()),
        Err(ErrorKind::NoLocking)
    );

    root.create_array("array", Array::<u8>::builder([4]))
        .expect("the group's mode holds");
    let child = root.create_group("group").expect("the group's mode holds");
    child
        .create_array("array", Array::<u8>::builder([4]))
        .expect("it is handed on");
    let builder = Array::<u8>::builder([4]).concurrent_update(concurrent_update);
    let mut built = builder
        .create((&storage, "built"))
        .expect("the builder's mode holds");
    built
        .merge_attributes(json!({"a": 1}))
        .expect("the new handle has it, too");
    let made = Group::builder().concurrent_update(concurrent_update);
    let mut made = made.create((&storage, "made")).expect("the mode holds");
    made.merge_attributes(json!({"a": 1}))
        .expect("the new handle has it, too");
    for part in [0..2, 2..4] {
        let or_open = Array::<u8>::builder([4]).chunks([4]).or_open();
        let opened = or_open
            .concurrent_update(concurrent_update)
            .create((&storage, "again"))
            .expect("the mode holds");
        opened
            .fill([part], 1)
            .expect("the handle has it, whether it was made or opened");
    }
    let any = AnyArray::builder([4])
        .data_type(DataType::Bool)
        .concurrent_update(concurrent_update);
    any.create((&storage, "any")).expect("the mode holds");
    let convert_options = CopyOptions::new().format(Format::Zarr3).run(run);
    copy(
        (&storage, "built"),
        (&storage, "converted"),
        &convert_options,
    )
    .expect("the mode holds");

    let names: Vec<String> = Group::open(&storage)
        .and_then(|root| root.children())
        .expect("a listing")
        .into_iter()
        .map(|child| child.name().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "again",
            "any",
            "array",
            "built",
            "converted",
            "first",
            "group",
            "made"
        ]
    );
}

#[test]
fn only_nodes_are_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    std::fs::create_dir_all(home.join("me")).expect("a folder");
    std::fs::write(home.join("me/thesis.tex"), "years").expect("a file");
    let other = Array::<u8>::builder([2])
        .create((MemoryStore::new(), "a"))
        .expect("an array");
    let from = (other.storage().clone(), "a");
    for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
        for place in [(folder.path(), "home"), (home.as_path(), "")] {
            let array = Array::<u8>::builder([4])
                .format(format)
                .overwrite()
                .create(place)
                .map(drop);
            let group = Group::builder()
                .format(format)
                .existing(Existing::Replace)
                .create(place)
                .map(drop);
            let options = CopyOptions::new()
                .format(format)
                .existing(Existing::Replace);
            let copied = copy(from.clone(), place, &options).map(drop);
            for made in [array, group, copied] {
                let error = made.expect_err("it is not a node");
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{format}");
                assert!(
                    error.to_string().contains("thesis.tex"),
                    "{format}: {error}"
                );
            }
        }
    }
    assert_eq!(
        std::fs::read_to_string(home.join("me/thesis.tex")).expect("the file exists"),
        "years"
    );
    // What an interrupted removal left is no obstacle.
    let left = folder.path().join("left");
    std::fs::create_dir_all(left.join("c/0")).expect("a folder");
    std::fs::write(left.join("c/0/1"), "old").expect("a file");
    Array::<u8>::builder([4, 4])
        .overwrite()
        .create((folder.path(), "left"))
        .expect("an array");
    assert!(!left.join("c").exists());
}
