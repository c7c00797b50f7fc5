//! The draft: the entry point, its dialect, extensions and encoding of metadata.

use ndzarr_metadata::{Format, MetadataError};

use crate::it::draft::{ARRAY_A, ARRAY_B, ENTRY_A, ENTRY_B, array_a, array_b, refused};
use crate::it::store::{Store, with};

#[test]
fn d3_t04_what_is_a_draft() {
    let group = Store::new(&[("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#)]);
    assert_eq!(group.open("").expect("the final v3").format, Format::Zarr3);
    assert!(matches!(
        group.open("meta"),
        Err(MetadataError::NotFound { .. })
    ));
    for format in [
        "3",
        "https://purl.org/zarr/spec/core/4.0",
        "https://purl.org/zarr/spec/core/3",
        "",
        "https://purl.org/zarr/spec/core/3.x",
        "https://purl.org/zarr/other/3.0",
        "ftp://purl.org/zarr/spec/core/3.0",
    ] {
        let text = with(ENTRY_A, &[("zarr_format", &format!("{format:?}"))]);
        let store = Store::new(&[("zarr.json", &text), ("meta/a.array.json", ARRAY_A)]);
        refused(store.open(""), &["zarr.json", "zarr_format", format]);
        refused(store.open("a"), &["zarr.json", "zarr_format", format]);
    }
    let with_extra = |version: &str| {
        let uri = format!("\"https://purl.org/zarr/spec/core/{version}\"");
        let text = with(ENTRY_A, &[("zarr_format", &uri), ("extra", "1")]);
        Store::new(&[("zarr.json", &text)])
            .open("")
            .map(|node| node.format)
    };
    assert_eq!(
        with_extra("3.1").expect("a later minor version"),
        Format::DraftA
    );
    refused(with_extra("3.0"), &["zarr.json", "extra"]);
    let http = with(
        ENTRY_A,
        &[("zarr_format", r#""http://purl.org/zarr/spec/core/3.0""#)],
    );
    assert_eq!(
        Store::new(&[("zarr.json", &http)])
            .open("")
            .expect("opens")
            .format,
        Format::DraftA
    );
}

#[test]
fn d3_005_entry_points_are_of_one_dialect() {
    for (entry, members) in [
        (ENTRY_A, [("metadata_key_suffix", "\".json\"")]),
        (
            ENTRY_A,
            [(
                "metadata_encoding",
                "\"https://purl.org/zarr/spec/protocol/core/3.0\"",
            )],
        ),
        (ENTRY_A, [("metadata_encoding", "")]),
        (ENTRY_A, [("extensions", "")]),
        (ENTRY_B, [("metadata_key_suffix", "")]),
        (
            ENTRY_B,
            [(
                "metadata_encoding",
                r#"{"type":"json","metadata_key_suffix":".json"}"#,
            )],
        ),
        (ENTRY_B, [("extensions", "")]),
        (ENTRY_B, [("extra", "1")]),
        (ENTRY_B, [("metadata_key_suffix", "\"/x\"")]),
        (ENTRY_B, [("metadata_key_suffix", "\"\"")]),
    ] {
        let text = with(entry, &members);
        refused(
            Store::new(&[("zarr.json", &text)]).open(""),
            &["zarr.json", members[0].0],
        );
    }
}

#[test]
fn d3_t32_extensions_that_must_be_understood() {
    let list = |rest: &str| format!(r#"[{{"extension":"http://x/y"{rest}}}]"#);
    let entry = |base: &str, value: &str| {
        let text = with(base, &[("extensions", value)]);
        Store::new(&[("zarr.json", &text)]).open("")
    };
    for base in [ENTRY_A, ENTRY_B] {
        refused(
            entry(base, &list(r#","must_understand":true"#)),
            &["zarr.json", "http://x/y"],
        );
        assert!(entry(base, &list(r#","must_understand":false,"configuration":1"#)).is_ok());
        refused(entry(base, &list("")), &["must_understand"]);
        refused(
            entry(base, &list(r#","must_understand":"false""#)),
            &["must_understand"],
        );
        refused(entry(base, "{}"), &["extensions"]);
        refused(
            entry(base, r#"[{"must_understand":false}]"#),
            &["extensions[0]"],
        );
    }
    for (base, open) in [(ARRAY_A, array_a as fn(&str) -> _), (ARRAY_B, array_b)] {
        let array = |value: &str| open(&with(base, &[("extensions", value)]));
        refused(
            array(&list(r#","must_understand":true"#)),
            &["a.array.json", "http://x/y"],
        );
        assert!(array(&list(r#","must_understand":false"#)).is_ok());
        refused(array(&list("")), &["must_understand"]);
    }
}

#[test]
fn d3_t33_t41_foreign_metadata_encodings() {
    for encoding in [
        r#"{"extension":"http://x","type":"cbor","metadata_key_suffix":".cbor"}"#,
        r#"{"extension":"http://x","type":"json","metadata_key_suffix":".json"}"#,
        r#"{"type":"cbor","metadata_key_suffix":".cbor"}"#,
    ] {
        let text = with(ENTRY_A, &[("metadata_encoding", encoding)]);
        refused(
            Store::new(&[("zarr.json", &text)]).open(""),
            &["unsupported metadata encoding"],
        );
    }
    for uri in [
        "https://example.com/cbor",
        "https://purl.org/zarr/spec/protocol/core/4.0",
        "https://purl.org/zarr/spec/core/3.0",
    ] {
        let text = with(ENTRY_B, &[("metadata_encoding", &format!("{uri:?}"))]);
        refused(
            Store::new(&[("zarr.json", &text)]).open(""),
            &["unsupported metadata encoding", uri],
        );
    }
}
