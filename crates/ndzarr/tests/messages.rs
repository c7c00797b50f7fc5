//! What errors say: what is wrong, and where.

use ndzarr::ndarray::s;
use ndzarr::{Array, Error, ErrorKind, Format, Group, MemoryStore};

fn check<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = result else { panic!("{parts:?}: it succeeds") };
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for part in parts {
        assert!(message.contains(part), "{message:?} has no {part:?}");
    }
}

#[test]
fn a_node_of_another_kind() {
    for format in [Format::Zarr2, Format::Zarr3, Format::N5, Format::DraftA, Format::DraftB] {
        let store = MemoryStore::new();
        let root = Group::create(&store, "", format).expect("a new group");
        root.create_group("g").expect("a new group");
        root.create_array("a", Array::<u8>::builder([4])).expect("a new array");
        let kind = ErrorKind::WrongNodeKind;
        check(Array::<u8>::open_in(&store, "g"), kind, &["\"/g\" is a group, not an array"]);
        check(root.array::<u8>("g"), kind, &["\"/g\" is a group, not an array"]);
        check(Group::open_in(&store, "a"), kind, &["\"/a\" is an array, not a group"]);
        check(root.group("a"), kind, &["\"/a\" is an array, not a group"]);
    }
}

#[test]
fn elements_of_another_type() {
    let root = Group::create(MemoryStore::new(), "", Format::Zarr3).expect("a new group");
    root.create_array("t2m", Array::<i16>::builder([4])).expect("a new array");
    check(root.array::<f32>("t2m"), ErrorKind::WrongType, &["int16, not float32", "t2m/zarr.json"]);
}

#[test]
fn nothing_at_a_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("empty")).expect("a folder");
    std::fs::create_dir_all(at("plain/below")).expect("a folder");
    std::fs::write(at("a.zip"), "PK").expect("a file");
    for (name, state) in [
        ("none", "no such folder"),
        ("empty", "the folder is empty"),
        ("a.zip", "a file"),
        ("plain", "no node"),
    ] {
        let path = at(name);
        let shown = path.display().to_string();
        check(Array::<u8>::open(&path), ErrorKind::NotFound, &[&shown, state, "zarr.json"]);
    }
}

#[test]
fn selections() {
    let a = Array::<u8>::builder([10, 20]).create(MemoryStore::new(), "a").expect("a new array");
    let kind = ErrorKind::WrongShape;
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = a.read([5..3, 0..20]);
    check(backwards, kind, &["the range 5..3 ends before it starts"]);
    check(a.read([5..11, 0..20]), kind, &["the range 5..11 does not fit axis 0 of length 10"]);
    check(a.read(s![0..11, ..]), kind, &["the slice 0..11 does not fit axis 0 of length 10"]);
    check(a.read(s![0..11;2, ..]), kind, &["the slice 0..11;2 does not"]);
}

#[test]
fn no_memory_for_a_chunk() {
    let a = Array::<u8>::builder([1 << 50])
        .chunks([1 << 50])
        .create(MemoryStore::new(), "a")
        .expect("a new array");
    check(a.fill([0..1], 1), ErrorKind::OutOfMemory, &["a/c/0"]);
}

#[test]
fn a_format_of_the_future() {
    let store = MemoryStore::new();
    store.set("a/zarr.json", r#"{"zarr_format": 4, "node_type": "array"}"#).expect("a key");
    check(Array::<u8>::open_in(&store, "a"), ErrorKind::Unsupported, &["unsupported zarr_format 4"]);
}

#[test]
fn a_store_that_is_no_part_of_the_library() {
    check(Array::<u8>::open("https://example.com/a"), ErrorKind::Unsupported, &["\"https\"", "Store"]);
}
