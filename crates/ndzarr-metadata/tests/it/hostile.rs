//! Truncated documents and documents with a flipped bit are either read or refused.

use std::sync::Arc;

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Format, Limits, NodePath, OpenOptions, create_array, create_group,
};
use ndzarr_model::DataType;

use crate::it::store::{Store, with};
use crate::it::zarr2::ARRAY as ARRAY2;
use crate::it::{zarr2, zarr3};

const RICH2: &str = r#"{"zarr_format":2,"shape":[20,30],"chunks":[10,10],"dtype":">c8","order":"F",
    "compressor":{"id":"blosc","cname":"zstd","clevel":5,"shuffle":2,"blocksize":0},
    "filters":[{"id":"lzma","format":3,"filters":[{"id":33,"preset":1}]},{"id":"zstd","level":1,"checksum":true}],
    "fill_value":["NaN",-1.5e3],"dimension_separator":"/"}"#;

const RICH3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[20,30],"data_type":{"name":"float16"},
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[10,10]}},
    "chunk_key_encoding":{"name":"v2","configuration":{"separator":"/"}},"fill_value":"0x7e01",
    "codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{
    "chunk_shape":[5,2],"codecs":[{"name":"bytes","configuration":{"endian":"big"}},
    {"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":2,"blocksize":0}}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"],"index_location":"start"}}],
    "attributes":{"a":[NaN,{"b":"\u00e9\n"}]},"dimension_names":["y",null],"storage_transformers":[]}"#;

/// Opening must end, twice with the same result: a node, or an error that names the document.
fn survives(key: &str, text: &[u8]) {
    let mut store = ndzarr_metadata::Known::new();
    for name in [
        "zarr.json",
        ".zarray",
        ".zgroup",
        ".zattrs",
        "attributes.json",
    ] {
        store.add_document(name, None);
    }
    store.add_document(key, Some(text.to_vec().into()));
    let path = ndzarr_metadata::NodePath::root();
    let open = || ndzarr_metadata::open(&path, &store, &ndzarr_metadata::OpenOptions::default());
    let shown = || String::from_utf8_lossy(text);
    match (open(), open()) {
        // Compared by their debug output, since a fill value may be NaN.
        (Ok(first), Ok(second)) => {
            assert_eq!(format!("{first:?}"), format!("{second:?}"), "{}", shown())
        }
        (Err(first), Err(second)) => {
            let first = first.to_string();
            let second = second.to_string();
            assert_eq!(first, second, "{}", shown());
            assert!(first.contains(key), "{first}: {}", shown());
        }
        (first, second) => panic!("{first:?}, then {second:?}: {}", shown()),
    }
}

#[test]
fn samples_open() {
    Store::new(&[(".zarray", RICH2)])
        .open("")
        .expect("a valid sample");
    Store::new(&[("zarr.json", RICH3)])
        .open("")
        .expect("a valid sample");
}

#[test]
fn every_prefix() {
    for (key, text) in [
        (".zarray", RICH2),
        (".zarray", zarr2::ARRAY),
        ("zarr.json", RICH3),
        ("zarr.json", zarr3::ARRAY),
    ] {
        for end in 0..text.len() {
            survives(key, &text.as_bytes()[..end]);
        }
    }
}

#[test]
fn every_flipped_bit() {
    for (key, text) in [
        (".zarray", RICH2),
        ("zarr.json", RICH3),
        (".zgroup", "{\"zarr_format\":2}"),
    ] {
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                survives(key, &bytes);
            }
        }
    }
}

/// Each number of a document, replaced by an extreme value.
#[test]
fn every_number_made_extreme() {
    let extremes = [
        "0",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "1e999",
        "-0.0",
        "0.5",
        "null",
        "[]",
        "{}",
        "\"\"",
        "NaN",
        "4611686018427387904",
    ];
    for (key, text) in [(".zarray", RICH2), ("zarr.json", RICH3)] {
        let digits: Vec<(usize, usize)> = numbers(text);
        for (start, end) in digits {
            for extreme in extremes {
                survives(
                    key,
                    format!("{}{extreme}{}", &text[..start], &text[end..]).as_bytes(),
                );
            }
        }
    }
}

fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, b) in text.bytes().enumerate() {
        match (b.is_ascii_digit(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// V2-T59.
#[test]
fn v2_t59_deep_nesting() {
    for (opening, closing) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", opening.repeat(100_000), closing.repeat(100_000));
        for (documents, key) in [
            (
                vec![
                    (".zgroup", "{\"zarr_format\":2}".to_owned()),
                    (".zattrs", format!("{{\"a\":{deep}}}")),
                ],
                ".zattrs",
            ),
            (
                vec![(".zarray", format!("{{\"dtype\":{deep}}}"))],
                ".zarray",
            ),
            (
                vec![("zarr.json", format!("{{\"attributes\":{deep}}}"))],
                "zarr.json",
            ),
        ] {
            let documents: Vec<(&str, &str)> = documents
                .iter()
                .map(|(key, text)| (*key, text.as_str()))
                .collect();
            let error = Store::new(&documents)
                .open("")
                .expect_err("too deep")
                .to_string();
            assert!(
                error.starts_with(&format!("{key}: ")) && error.contains("nested"),
                "{error}"
            );
        }
    }
}

/// Numbers that JSON does not have are accepted where Python writes them. Users see them as
/// strings, and a copy has them as they were.
#[test]
fn numbers_that_json_does_not_have() {
    let filter = ARRAY2.replace(
        "\"filters\":null",
        "\"filters\":[{\"id\":\"own\",\"a\":[NaN]}]",
    );
    let store = Store::new(&[(".zarray", &filter), (".zattrs", "{\"a\":{\"b\":NaN}}")]);
    let node = store.open("").expect("opens");
    let spec = node.kind.array().expect("an array");
    let shown = ndzarr_metadata::codecs_json(&spec.codecs, &spec.data_type).to_string();
    assert!(shown.contains("[\"NaN\"]"), "{shown}");

    for format in [
        Format::Zarr2,
        Format::Zarr3,
        Format::DraftA,
        Format::DraftB,
        Format::N5,
    ] {
        let empty = Store::new(&[]);
        let path = NodePath::new("new").expect("a path");
        let options = CreateOptions {
            attributes_of: Some(Arc::new(node.clone())),
            ..CreateOptions::new(format)
        };
        let mut request = ArrayRequest::new(vec![4], vec![2], DataType::UInt { bits: 8 });
        request.attributes = node.attributes.clone();
        let array = empty
            .ask(|known| create_array(&path, &request, known, &options))
            .expect("made");
        let group = empty
            .ask(|known| create_group(&path, &node.attributes, known, &options))
            .expect("made");
        for creation in [array, group] {
            assert_eq!(creation.node.attributes, node.attributes, "{format}");
            for document in creation.put {
                let compact: String = String::from_utf8_lossy(&document.value)
                    .split_whitespace()
                    .collect();
                let has_attributes = compact.contains(r#"{"a":"#);
                assert_eq!(
                    has_attributes,
                    compact.contains(r#"{"a":{"b":NaN}"#),
                    "{format}: {compact}"
                );
            }
            let written = creation
                .node
                .documents
                .iter()
                .any(|(_, text)| text.windows(3).any(|part| part == b"NaN"));
            assert!(written, "{format}");
        }
    }
}

/// A transpose of order "F" has as many numbers as the array dimensions: neither is counted only
/// after all codecs are read, the last of which is invalid here.
#[test]
fn limits_hold_before_codecs_are_read() {
    let check = |limits: Limits, codecs: &str, expected: &str| {
        let document = with(zarr3::ARRAY, &[("codecs", codecs)]);
        let options = OpenOptions {
            limits,
            ..OpenOptions::default()
        };
        let error = Store::new(&[("zarr.json", &document)])
            .open_with("", &options)
            .expect_err("too many");
        assert!(error.to_string().contains(expected), "{error}");
    };
    let transpose = r#"{"name":"transpose","configuration":{"order":"F"}}"#;
    let many = format!("[{transpose},{transpose},{transpose},5]");
    let shards = |codecs: &str, index_codecs: &str| {
        format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1],
            "codecs":{codecs},"index_codecs":{index_codecs}}}}}]"#
        )
    };
    let few = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    let of_codecs = "4 codecs in a chain, more than the limit of 3";
    check(Limits::default().codecs(3), &many, of_codecs);
    check(Limits::default().codecs(3), &shards(&many, few), of_codecs);
    check(Limits::default().codecs(3), &shards(few, &many), of_codecs);
    check(
        Limits::default().dimensions(0),
        &many,
        "1 dimensions, more than the limit of 0",
    );
}
