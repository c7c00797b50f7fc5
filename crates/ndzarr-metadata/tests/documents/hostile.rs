//! Documents cut short or with a bit turned are read or refused, and nothing else.

use crate::store::Store;
use crate::{zarr2, zarr3};

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

/// Opening must come back; what it says is not looked at but for the key that errors name.
fn survives(key: &str, text: &[u8]) {
    let mut store = ndzarr_metadata::Known::new();
    for name in ["zarr.json", ".zarray", ".zgroup", ".zattrs", "attributes.json"] {
        store.add_document(name, None);
    }
    store.add_document(key, Some(text.to_vec().into()));
    let path = ndzarr_metadata::NodePath::root();
    let _ = ndzarr_metadata::open(&path, &store, &ndzarr_metadata::OpenOptions::default());
}

#[test]
fn samples_open() {
    Store::new(&[(".zarray", RICH2)]).open("").expect("a valid sample");
    Store::new(&[("zarr.json", RICH3)]).open("").expect("a valid sample");
}

#[test]
fn every_prefix() {
    for (key, text) in
        [(".zarray", RICH2), (".zarray", zarr2::ARRAY), ("zarr.json", RICH3), ("zarr.json", zarr3::ARRAY)]
    {
        for end in 0..text.len() {
            survives(key, &text.as_bytes()[..end]);
        }
    }
}

#[test]
fn every_flipped_bit() {
    for (key, text) in [(".zarray", RICH2), ("zarr.json", RICH3), (".zgroup", "{\"zarr_format\":2}")] {
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                survives(key, &bytes);
            }
        }
    }
}

/// Each number of a document, replaced by what is hard to bear.
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
                survives(key, format!("{}{extreme}{}", &text[..start], &text[end..]).as_bytes());
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

/// zarr-v2.md V2-012, V2-T59.
#[test]
fn v2_t59_deep_nesting() {
    for (opening, closing) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", opening.repeat(100_000), closing.repeat(100_000));
        for (documents, key) in [
            (
                vec![(".zgroup", "{\"zarr_format\":2}".to_owned()), (".zattrs", format!("{{\"a\":{deep}}}"))],
                ".zattrs",
            ),
            (vec![(".zarray", format!("{{\"dtype\":{deep}}}"))], ".zarray"),
            (vec![("zarr.json", format!("{{\"attributes\":{deep}}}"))], "zarr.json"),
        ] {
            let documents: Vec<(&str, &str)> =
                documents.iter().map(|(key, text)| (*key, text.as_str())).collect();
            let error = Store::new(&documents).open("").expect_err("too deep").to_string();
            assert!(error.starts_with(&format!("{key}: ")) && error.contains("nested"), "{error}");
        }
    }
}
