//! Arrays opened next to similar ones equal the same arrays opened by themselves, whatever their
//! documents are.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_metadata::{
    Children, Format, Known, Limits, Listing, Node, NodePath, OpenOptions, Resolved, open,
};

const DOCUMENT: &str = r#" {"zarr_format": 3, "node_type":"array", "shape": [10, 7], "data_type": "float32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 7]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "fill_value": "NaN",
  "attributes": {"number": 1.50, "é\n": [true, NaN]} , "codecs": [{"name": "bytes",
  "configuration": {"endian": "big"}}, "crc32c"], "dimension_names": ["y", null]}
"#;

fn options() -> OpenOptions {
    OpenOptions {
        format: Some(Format::Zarr3),
        ..OpenOptions::default()
    }
}

fn node(path: &str, document: &str, options: &OpenOptions) -> Node {
    let mut known = Known::new();
    known.add_document(
        format!("{path}/zarr.json"),
        Some(Bytes::copy_from_slice(document.as_bytes())),
    );
    match open(&NodePath::new(path).expect("a path"), &known, options) {
        Ok(Resolved::Done(node)) => node,
        other => panic!("{document}: {other:?}"),
    }
}

/// The child `b` of the group `g`: opened first, and after its sibling `a`.
fn both(document: &[u8], options: &OpenOptions, first: &str) -> [Option<Node>; 2] {
    let group = node("g", r#"{"zarr_format": 3, "node_type": "group"}"#, options);
    let mut listed = Known::new();
    let prefixes = vec!["a".to_owned(), "b".to_owned()];
    listed.add_listing(
        "g/",
        Listing {
            keys: vec![],
            prefixes,
        },
    );
    [&[1][..], &[0, 1]].map(|order| {
        let Ok(Resolved::Done(children)) = Children::of(&group, None, &listed, options.clone())
        else {
            panic!("all is known");
        };
        let opened = order.iter().map(|&at| {
            let mut known = children.known(at);
            let (key, document) = [
                ("g/a/zarr.json", first.as_bytes()),
                ("g/b/zarr.json", document),
            ][at];
            known.add_document(key, Some(Bytes::copy_from_slice(document)));
            match children.open(at, &known) {
                Ok(Resolved::Done(Some(child))) => child.node.ok().map(Arc::unwrap_or_clone),
                Ok(Resolved::Done(None)) | Err(_) => None,
                Ok(Resolved::Need(need)) => panic!("{need:?} is known"),
            }
        });
        opened.last().flatten()
    })
}

/// Compares the nodes as text, since `NaN` in the attributes does not equal itself.
fn check(document: &[u8]) -> bool {
    let [alone, beside] = both(document, &options(), DOCUMENT);
    assert_eq!(
        format!("{alone:?}"),
        format!("{beside:?}"),
        "{}",
        String::from_utf8_lossy(document)
    );
    alone.is_some()
}

#[test]
fn other_attributes_are_read() {
    let (before, rest) = DOCUMENT.split_once("{\"number\"").expect("attributes");
    let (_, after) = rest.split_once(']').expect("attributes");
    let after = after.strip_prefix('}').expect("attributes");
    for attributes in [
        "{}",
        "null",
        "{\"a\":{\"b\":[1e5,-Infinity]}}",
        "{\"attributes\": 1}",
        " {} ",
        "{\"a\":1,\"a\":2}",
    ] {
        assert!(
            check(format!("{before}{attributes}{after}").as_bytes()),
            "{attributes}"
        );
    }
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(check(format!("{before}{}{after}", nested(126)).as_bytes()));
    assert!(!check(format!("{before}{}{after}", nested(127)).as_bytes()));
    for attributes in [
        "",
        "1",
        "[]",
        "{",
        "}",
        "{}}",
        "{} {}",
        "{\"a\":1,}",
        "{}, \"x\": 1",
        "\u{feff}{}",
        "{\"a\":nul}",
    ] {
        assert!(
            !check(format!("{before}{attributes}{after}").as_bytes()),
            "{attributes}"
        );
    }
    // An optional unknown member, and repeated attributes, of which the last count.
    for attributes in [
        "{}, \"x\": {\"must_understand\": false}",
        "{}, \"attributes\": {\"a\": 1}",
    ] {
        assert!(
            check(format!("{before}{attributes}{after}").as_bytes()),
            "{attributes}"
        );
    }
}

#[test]
fn other_shapes_are_read() {
    for shape in ["[10, 7]", "[ 0,18446744073709551615 ]", "[10,0]"] {
        assert!(
            check(DOCUMENT.replace("[10, 7]", shape).as_bytes()),
            "{shape}"
        );
    }
    for shape in [
        "[]",
        "[1]",
        "[1,1,1]",
        "[10, -1]",
        "[10, 7.0]",
        "[10, NaN]",
        "[10, 18446744073709551616]",
        "10",
        "{}",
        "",
    ] {
        assert!(
            !check(DOCUMENT.replace("[10, 7]", shape).as_bytes()),
            "{shape}"
        );
    }
    let shaped = DOCUMENT.replace("[10, 7]", "[10, 7], \"shape\": [3, 3]");
    assert!(check(shaped.as_bytes()));
    assert!(check(
        DOCUMENT
            .replace("[10, 7]", "[3, 3]")
            .replace("1.50", "1.5")
            .as_bytes()
    ));
}

#[test]
fn attributes_may_be_missing() {
    let (before, rest) = DOCUMENT.split_once("\"attributes\"").expect("attributes");
    let (_, after) = rest.split_once("} , ").expect("attributes");
    let without = format!("{before}{after}");
    for document in [&without, &without.replace("10", "11"), DOCUMENT] {
        let [alone, beside] =
            both(document.as_bytes(), &options(), &without).map(|node| format!("{node:?}"));
        assert_eq!(alone, beside);
    }
}

#[test]
fn every_truncation_and_every_changed_byte_is_seen() {
    let mut opened = 0;
    for end in 0..DOCUMENT.len() {
        assert!(!check(&DOCUMENT.as_bytes()[..end]) || DOCUMENT[end..].trim().is_empty());
    }
    for at in 0..DOCUMENT.len() {
        for byte in [b' ', b'1', b'"', b'}', b',', 0xff] {
            let mut document = DOCUMENT.as_bytes().to_vec();
            document[at] = byte;
            opened += u32::from(check(&document));
            document.insert(at, DOCUMENT.as_bytes()[at]);
            opened += u32::from(check(&document));
        }
    }
    assert!(opened > 100, "{opened}");
}

#[test]
fn limits_hold_beside_another() {
    let limits = Limits::default()
        .document_bytes(DOCUMENT.len() as u64 + 2)
        .json_depth(4);
    let options = OpenOptions {
        limits,
        ..options()
    };
    for (attributes, fits) in [
        ("1.50", true),
        ("1.5012", true),
        ("1.50123", false),
        ("[[0]]", true),
        ("[[[]]]", false),
    ] {
        let document = DOCUMENT.replace("1.50", attributes);
        let opened = both(document.as_bytes(), &options, DOCUMENT).map(|node| node.is_some());
        assert_eq!(opened, [fits, fits], "{attributes}");
    }
    // The limits of another call are checked again.
    let tight = OpenOptions {
        limits: limits.dimensions(1),
        ..options
    };
    assert!(
        both(DOCUMENT.as_bytes(), &tight, DOCUMENT)
            .iter()
            .all(Option::is_none)
    );
}
