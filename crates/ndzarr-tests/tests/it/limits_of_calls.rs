//! Limits hold in every call, and documents within them cost little.

use ndzarr::ndarray::Array1;
use ndzarr::{Any, AnyNode, Array, ErrorKind, Group, Limits, MemoryStore, OpenOptions, codec};
use serde_json::json;

use crate::limits::{BYTES, assert_cheap, computed, open, refused, v3};

/// If a member occurs twice the last one counts, as in every peer; a hundred thousand of them cost
/// no more than others.
#[test]
fn many_repeated_members_are_cheap() {
    let twice = v3("[4]", "[4]", BYTES).replace("\"shape\":[4]", "\"shape\":[9],\"shape\":[4]");
    let AnyNode::Array(array) = open(&[("zarr.json", twice)], Limits::default()).expect("opens")
    else {
        panic!("is an array")
    };
    assert_eq!(array.shape(), [4]);
    let same = vec!["\"a\":1"; 100_000].join(",");
    let all_different = (0..100_000)
        .map(|i| format!("\"a{i}\":1"))
        .collect::<Vec<_>>()
        .join(",");
    for members in [same, all_different] {
        let start = computed();
        let group =
            format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{{members}}}}}"#);
        assert!(open(&[("zarr.json", group.clone())], Limits::default()).is_ok());
        // Unknown members of the document itself must be understood.
        refused(
            "zarr.json",
            group.replace("\"attributes\":{", "").replacen("}}", "}", 1),
            Limits::default(),
            &[],
        );
        assert_cheap(start);
    }
}

/// Writing checks each number of the attributes and reports the place of one that JSON cannot
/// express. That costs no more than the document, however long the names above it are.
#[test]
fn a_long_name_above_many_members_is_cheap() {
    let name = "n".repeat(1 << 20);
    let members = (0..50_000)
        .map(|i| format!("\"{i}\":1"))
        .collect::<Vec<_>>()
        .join(",");
    let store = MemoryStore::new();
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"group","attributes":{{"{name}":{{{members}}}}}}}"#
    );
    store.set("zarr.json", document).expect("the key is valid");
    let start = computed();
    let mut group = Group::open(&store).expect("opens");
    group
        .merge_attributes(json!({"more": 1}))
        .expect("is written");
    assert_cheap(start);
    assert_eq!(group.attributes()["more"], 1);
}

/// The limits with which a group was opened apply to nodes opened through it.
#[test]
fn the_limits_of_a_group_apply_below_it() {
    let store = MemoryStore::new();
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
    store.set("zarr.json", group).expect("the key is valid");
    store
        .set("a/zarr.json", v3("[4000]", "[2000]", BYTES))
        .expect("the key is valid");
    store
        .set(
            "b/zarr.json",
            group.replace("{}", &format!("{{\"a\":{:?}}}", "x".repeat(5000))),
        )
        .expect("the key is valid");
    let limits = Limits::default().chunk_bytes(1000).document_bytes(4000);
    let options = OpenOptions::new().limits(limits);
    let root = options.open_group(&store).expect("opens");
    for error in [
        root.array::<Any>("a").expect_err("has too large chunks"),
        root.group("b").expect_err("has too large a document"),
        root.children().expect_err("has too large a document"),
        options
            .open_array::<Any>((&store, "a"))
            .expect_err("has too large chunks"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error:?}");
    }
    let root = Group::open(&store).expect("opens");
    assert_eq!(root.children().expect("lists").len(), 2);
}

/// A few bytes may decompress to any number of strings of any length.
#[test]
fn decompressed_strings_are_limited() {
    let store = MemoryStore::new();
    let names = Array::<String>::builder([1])
        .codecs([codec::gzip(5)])
        .create((&store, "a"));
    let text = Array1::from_elem(1, "a".repeat(1000));
    names
        .expect("a new array")
        .write([0..1], &text)
        .expect("is within the defaults");
    let read = |limit: u64| {
        let options = OpenOptions::new().limits(Limits::default().vlen_chunk_bytes(limit));
        let group = options.open_group(&store).expect("opens");
        let through_group = group.array::<String>("a").expect("opens").read([0..1]);
        let by_path = options
            .open_array::<String>((&store, "a"))
            .expect("opens")
            .read([0..1]);
        [through_group, by_path].map(|read| read.map_err(|error| error.kind()))
    };
    // In Zarr v3 the number of strings and the length of each take four bytes.
    assert_eq!(read(1008), [Ok(text.clone()), Ok(text)]);
    assert_eq!(
        read(1007),
        [Err(ErrorKind::Corrupt), Err(ErrorKind::Corrupt)]
    );
}
