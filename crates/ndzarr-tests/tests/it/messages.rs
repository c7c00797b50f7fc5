//! Error messages name the problem and its place.

use ndzarr::ndarray::{self, s};
use ndzarr::{
    AnyArray, Array, DataType, Error, ErrorKind, Format, Group, MemoryStore, asynchronous,
};
use ndzarr_testkit::block_on;

fn check<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = result else {
        panic!("{parts:?}: it succeeds")
    };
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for part in parts {
        assert!(message.contains(part), "{message:?} has no {part:?}");
    }
}

#[test]
fn a_node_of_another_kind_is_named() {
    for format in [
        Format::Zarr2,
        Format::Zarr3,
        Format::N5,
        Format::DraftA,
        Format::DraftB,
    ] {
        let store = MemoryStore::new();
        let root = Group::create(&store, format).expect("a new group");
        root.create_group("g").expect("a new group");
        root.create_array("a", Array::<u8>::builder([4]))
            .expect("a new array");
        let kind = ErrorKind::WrongNodeKind;
        check(
            Array::<u8>::open((&store, "g")),
            kind,
            &["\"/g\" is a group, not an array"],
        );
        check(
            root.array::<u8>("g"),
            kind,
            &["\"/g\" is a group, not an array"],
        );
        check(
            Group::open((&store, "a")),
            kind,
            &["\"/a\" is an array, not a group"],
        );
        check(root.group("a"), kind, &["\"/a\" is an array, not a group"]);
    }
}

#[test]
fn elements_of_another_type_are_named() {
    let root = Group::create(MemoryStore::new(), Format::Zarr3).expect("a new group");
    root.create_array("t2m", Array::<i16>::builder([4]))
        .expect("a new array");
    check(
        root.array::<f32>("t2m"),
        ErrorKind::WrongType,
        &["int16, not float32", "t2m/zarr.json"],
    );
}

/// A store may have hundreds of arrays: every error of a call on one of them names it.
#[test]
fn errors_name_their_array() {
    fn named<T>(result: Result<T, Error>, what: &str) {
        let Err(error) = result else {
            panic!("{what}: it succeeds")
        };
        let message = error.to_string();
        assert!(message.contains("climate/t2m"), "{what}: {message:?}");
        assert!(message.contains("memory"), "{what}: {message:?}");
    }
    let store = MemoryStore::new();
    let array = |name: &str| {
        Array::<i16>::builder([4, 6, 8])
            .chunks([2, 6, 8])
            .create((&store, name))
    };
    let mut a = array("climate/t2m").expect("a new array");
    let wrong = ndarray::Array3::<i16>::zeros((1, 2, 3));
    let two = [0..1, 0..1];
    named(a.read(two.clone()), "read");
    named(a.read([3..5, 0..1, 0..1]), "read beyond the end");
    named(a.read(s![.., 9, ..]), "read of an index beyond the end");
    named(
        block_on(asynchronous::Array::from(a.clone()).read(two.clone())),
        "read_async",
    );
    named(a.read_many([two.clone()]), "read_many");
    named(
        a.read_into([0..1, 0..1, 0..1], &mut wrong.clone()),
        "read_into",
    );
    named(a.write([0..1, 0..1, 0..1], &wrong), "write");
    named(
        block_on(asynchronous::Array::from(a.clone()).write([0..1, 0..1, 0..1], &wrong)),
        "write_async",
    );
    named(a.fill(two.clone(), 1), "fill");
    named(a.read_chunk(&[9, 0, 0]), "read_chunk");
    named(a.chunks_in(two.clone()), "chunks_in");
    named(a.units().iter_in(two.clone()), "iter_in");
    named(
        a.write_chunk(&[9, 0, 0], &wrong.clone().into_dyn()),
        "write_chunk",
    );
    named(
        a.write_chunk(&[0, 0, 0], &wrong.clone().into_dyn()),
        "write_chunk of another shape",
    );
    named(a.units().encoded(&[9, 0, 0]), "encoded");
    named(a.units().is_stored(&[9, 0, 0]), "is_stored");
    named(
        a.units().write_encoded(&[9, 0, 0], vec![0]),
        "write_encoded",
    );
    named(a.units().erase(&[9, 0, 0]), "erase");
    named(a.shard_writer(&[0, 0, 0]), "shard_writer without shards");
    named(a.append(0, &wrong), "append");
    named(
        block_on(asynchronous::Array::from(a.clone()).append(0, &wrong)),
        "append_async",
    );
    named(a.resize([1]), "resize");
    named(a.merge_attributes(serde_json::json!(1)), "merge_attributes");
    named(a.n5_blocks().read(&[9, 0, 0]), "read_n5_block");
    let cancel = ndzarr::Cancel::new();
    cancel.cancel();
    let options = ndzarr::RunOptions::default().cancel(cancel);
    named(a.clone().with_options(options).read(..), "a cancelled read");

    let mut any = AnyArray::from(a.clone());
    named(any.read_bytes(&two), "read_bytes");
    named(
        block_on(asynchronous::Array::from(any.clone()).read_bytes(&two)),
        "read_bytes_async",
    );
    named(any.write_bytes(&two, &[]), "write_bytes");
    named(
        any.write_bytes(&[0..1, 0..1, 0..1], &[0]),
        "write_bytes of another length",
    );
    named(any.append_bytes(0, &[0]), "append_bytes");
    named(any.append_bytes(7, &[0, 0]), "append_bytes along no axis");
    named(any.read_vlen(&[0..1, 0..1, 0..1]), "read_vlen");
    named(any.write_vlen(&[0..1, 0..1, 0..1], &[vec![]]), "write_vlen");
    named(any.read_field::<f32, _>("mass", [0..1]), "read_field");
    named(any.n5_blocks().read_object(&[0, 0, 0]), "read_n5_object");

    let builder = Array::<u8>::builder([8])
        .chunks([2])
        .shards([4])
        .data_type(DataType::UInt { bits: 2 });
    let sharded = builder
        .create((&store, "climate/t2m-2"))
        .expect("a new array");
    named(sharded.shard_writer(&[2]), "shard_writer beyond the end");
    let writer = sharded.shard_writer(&[0]).expect("a writer");
    named(
        writer.write_chunk(&[2], &ndarray::arr1(&[1, 1])),
        "write_chunk of another shard",
    );
    named(
        writer.write_chunk(&[0], &ndarray::arr1(&[1])),
        "write_chunk of another shape, in a shard",
    );
    named(
        writer.write_chunk(&[0], &ndarray::arr1(&[1, 4])),
        "write_chunk of what is no element",
    );
    named(
        sharded.write([0..1], &ndarray::arr1(&[4])),
        "write of what is no element",
    );
    named(sharded.fill([0..1], 4), "fill with what is no element");
    named(
        AnyArray::from(sharded.clone()).write_bytes(&[0..1], &[4]),
        "write_bytes of what is no element",
    );
}

#[test]
fn an_error_says_what_is_at_a_path_without_a_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("empty")).expect("a folder");
    std::fs::create_dir_all(at("plain/below")).expect("a folder");
    std::fs::write(at("a.tif"), "PK").expect("a file");
    Array::<u8>::builder([1])
        .create(at("run/2026/volume"))
        .expect("a new array");
    let below = std::path::Path::new("2026").join("volume");
    let below = format!("the nearest below it is {}", below.display());
    for (name, state) in [
        ("none", "no such folder"),
        ("empty", "the folder is empty"),
        ("a.tif", "a file"),
        ("plain", "no node"),
        ("run", below.as_str()),
    ] {
        let path = at(name);
        let shown = path.display().to_string();
        check(
            Array::<u8>::open(&path),
            ErrorKind::NotFound,
            &[&shown, state, "zarr.json"],
        );
    }
}

#[test]
fn ranges_that_do_not_fit_are_named() {
    let a = Array::<u8>::builder([10, 20])
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    let kind = ErrorKind::WrongShape;
    check(
        a.read([5..11, 0..20]),
        kind,
        &["the range 5..11 does not fit axis 0 of length 10"],
    );
    check(
        a.read(s![0..11, ..]),
        kind,
        &["the range 0..11 does not fit axis 0 of length 10"],
    );
    check(
        a.read(s![0..11;2, ..]),
        kind,
        &["the range 0..11;2 does not"],
    );
}

#[test]
fn a_chunk_without_memory_is_named() {
    let array = Array::<u8>::builder([1 << 50])
        .chunks([1 << 50])
        .create((MemoryStore::new(), "a"));
    if cfg!(target_pointer_width = "32") {
        return check(
            array,
            ErrorKind::InvalidArgument,
            &["a/zarr.json", "too large"],
        );
    }
    check(
        array.expect("a new array").fill([0..1], 1),
        ErrorKind::OutOfMemory,
        &["a/c/0"],
    );
}

#[test]
fn an_unknown_format_is_named() {
    let store = MemoryStore::new();
    store
        .set("a/zarr.json", r#"{"zarr_format": 4, "node_type": "array"}"#)
        .expect("a key");
    check(
        Array::<u8>::open((&store, "a")),
        ErrorKind::Unsupported,
        &["unsupported zarr_format 4"],
    );
}

#[test]
fn an_unknown_scheme_is_answered_with_the_known_ones() {
    let parts = ["ftp", "the known ones are s3,"];
    check(
        Array::<u8>::open("ftp://example.com/a"),
        ErrorKind::Unsupported,
        &parts,
    );
}
