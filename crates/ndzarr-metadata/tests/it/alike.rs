//! Arrays that are opened beside others which are alike: the same as by themselves, whatever their documents are.

use bytes::Bytes;
use ndzarr_metadata::{
    Alike, Format, Known, Limits, Listing, Node, NodePath, OpenOptions, Resolved, document_apart, open,
    open_apart,
};

const DOCUMENT: &str = r#" {"zarr_format": 3, "node_type":"array", "shape": [10, 7], "data_type": "float32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 7]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "fill_value": "NaN",
  "attributes": {"number": 1.50, "é\n": [true, NaN]} , "codecs": [{"name": "bytes",
  "configuration": {"endian": "big"}}, "crc32c"], "dimension_names": ["y", null]}
"#;

fn options() -> OpenOptions {
    OpenOptions { format: Some(Format::Zarr3), ..OpenOptions::default() }
}

fn node(path: &str, document: &str, options: &OpenOptions) -> Node {
    let mut known = Known::new();
    known.add_document(format!("{path}/zarr.json"), Some(Bytes::copy_from_slice(document.as_bytes())));
    match open(&NodePath::new(path).expect("a path"), &known, options) {
        Ok(Resolved::Done(node)) => node,
        other => panic!("{document}: {other:?}"),
    }
}

/// The child `b` of the group `g`: by itself, and beside another one.
fn both(document: &[u8], options: &OpenOptions, alike: &Alike) -> [Option<Node>; 2] {
    let group = node("g", r#"{"zarr_format": 3, "node_type": "group"}"#, options);
    let part = Listing { keys: vec![], prefixes: vec!["b".to_owned()] };
    let (path, key) = document_apart(&group, &part, options).expect("the name of a child");
    assert_eq!(key, "g/b/zarr.json");
    let document = Bytes::copy_from_slice(document);
    [None, Some(alike)].map(|alike| open_apart(&path, &key, &document, options, alike))
}

fn alike() -> Alike {
    Alike::to(&node("g/a", DOCUMENT, &options())).expect("an array")
}

/// As the nodes' equality takes `NaN` in the attributes for itself, their text is compared.
fn check(document: &[u8]) -> bool {
    let [alone, beside] = both(document, &options(), &alike());
    assert_eq!(format!("{alone:?}"), format!("{beside:?}"), "{}", String::from_utf8_lossy(document));
    alone.is_some()
}

#[test]
fn other_attributes_are_read() {
    let (before, rest) = DOCUMENT.split_once("{\"number\"").expect("attributes");
    let (_, after) = rest.split_once(']').expect("attributes");
    let after = after.strip_prefix('}').expect("attributes");
    for attributes in
        ["{}", "null", "{\"a\":{\"b\":[1e5,-Infinity]}}", "{\"attributes\": 1}", " {} ", "{\"a\":1,\"a\":2}"]
    {
        assert!(check(format!("{before}{attributes}{after}").as_bytes()), "{attributes}");
    }
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(check(format!("{before}{}{after}", nested(126)).as_bytes()));
    assert!(!check(format!("{before}{}{after}", nested(127)).as_bytes()));
    for attributes in
        ["", "1", "[]", "{", "}", "{}}", "{} {}", "{\"a\":1,}", "{}, \"x\": 1", "\u{feff}{}", "{\"a\":nul}"]
    {
        assert!(!check(format!("{before}{attributes}{after}").as_bytes()), "{attributes}");
    }
    // A member that need not be understood, and attributes once more, which count then.
    for attributes in ["{}, \"x\": {\"must_understand\": false}", "{}, \"attributes\": {\"a\": 1}"] {
        assert!(check(format!("{before}{attributes}{after}").as_bytes()), "{attributes}");
    }
}

#[test]
fn other_shapes_are_read() {
    for shape in ["[10, 7]", "[ 0,18446744073709551615 ]", "[10,0]"] {
        assert!(check(DOCUMENT.replace("[10, 7]", shape).as_bytes()), "{shape}");
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
        assert!(!check(DOCUMENT.replace("[10, 7]", shape).as_bytes()), "{shape}");
    }
    let shaped = DOCUMENT.replace("[10, 7]", "[10, 7], \"shape\": [3, 3]");
    assert!(check(shaped.as_bytes()));
    assert!(check(DOCUMENT.replace("[10, 7]", "[3, 3]").replace("1.50", "1.5").as_bytes()));
}

#[test]
fn attributes_may_be_missing() {
    let (before, rest) = DOCUMENT.split_once("\"attributes\"").expect("attributes");
    let (_, after) = rest.split_once("} , ").expect("attributes");
    let without = format!("{before}{after}");
    let alike = Alike::to(&node("g/a", &without, &options())).expect("an array");
    for document in [&without, &without.replace("10", "11"), DOCUMENT] {
        let [alone, beside] = both(document.as_bytes(), &options(), &alike).map(|node| format!("{node:?}"));
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
    let limits = Limits { document_bytes: DOCUMENT.len() as u64 + 2, json_depth: 4, ..Limits::default() };
    let options = OpenOptions { limits, ..options() };
    let alike = Alike::to(&node("g/a", DOCUMENT, &options)).expect("an array");
    for (attributes, fits) in
        [("1.50", true), ("1.5012", true), ("1.50123", false), ("[[0]]", true), ("[[[]]]", false)]
    {
        let document = DOCUMENT.replace("1.50", attributes);
        let opened = both(document.as_bytes(), &options, &alike).map(|node| node.is_some());
        assert_eq!(opened, [fits, fits], "{attributes}");
    }
    // Those of another call are checked anew.
    let tight = OpenOptions { limits: Limits { dimensions: 1, ..limits }, ..options };
    assert!(both(DOCUMENT.as_bytes(), &tight, &alike).iter().all(Option::is_none));
}

#[test]
fn what_others_cannot_be_alike_to() {
    let node = |document: &str| node("g/a", document, &options());
    assert!(Alike::to(&node(r#"{"zarr_format": 3, "node_type": "group"}"#)).is_none());
    assert!(Alike::to(&node(&DOCUMENT.replace("\"codecs\"", "\"attributes\": {}, \"codecs\""))).is_none());
    assert!(Alike::to(&node(&DOCUMENT.replace("\"codecs\"", "\"shape\": [1, 1], \"codecs\""))).is_none());
    let edges = DOCUMENT.replace("\"regular\"", "\"rectilinear\"");
    let edges =
        edges.replace("\"chunk_shape\": [5, 7]", "\"kind\": \"inline\", \"chunk_shapes\": [[4, 6], 7]");
    assert!(Alike::to(&node(&edges)).is_none());
    let transformers = r#""storage_transformers": [{"name": "x", "must_understand": false}], "codecs""#;
    assert!(Alike::to(&node(&DOCUMENT.replace("\"codecs\"", transformers))).is_none());
}
