//! The draft: damaged documents.

use ndzarr_metadata::{NodePath, OpenOptions};

use crate::it::draft::{ARRAY_A, ARRAY_B, ENTRY_A, ENTRY_B, array_a, array_b};
use crate::it::store::with;

#[test]
fn draft_documents_that_are_damaged_never_panic() {
    let sharding = r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2]}}]"#;
    let rich_a = with(
        ARRAY_A,
        &[
            ("storage_transformers", sharding),
            ("data_type", "\"complex64\""),
            ("fill_value", "[\"0x7fc00001\",\"+Infinity\"]"),
        ],
    );
    let rich_b = with(
        ARRAY_B,
        &[
            ("storage_transformers", sharding),
            (
                "compressor",
                r#"{"codec":"https://purl.org/zarr/spec/codec/blosc/1.0","configuration":{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":1}}"#,
            ),
        ],
    );
    assert!(array_a(&rich_a).is_ok() && array_b(&rich_b).is_ok());
    let check = |entry: &str, key: &str, text: &str| {
        let damaged = |bytes: Vec<u8>| {
            let mut known = ndzarr_metadata::Known::new();
            for name in [
                "a/zarr.json",
                "a/.zarray",
                "a/.zgroup",
                "a/attributes.json",
                "attributes.json",
            ] {
                known.add_document(name, None);
            }
            for name in ["meta/array.json", "meta/a.array.json", "meta/a.group.json"] {
                known.add_document(name, None);
            }
            for name in [
                "meta/root.array.json",
                "meta/root/a.array.json",
                "meta/root/a.group.json",
            ] {
                known.add_document(name, None);
            }
            known.add_document("zarr.json", Some(entry.as_bytes().to_vec().into()));
            known.add_document(key, Some(bytes.into()));
            let path = NodePath::new("a").expect("a path");
            let _ = ndzarr_metadata::open(&path, &known, &OpenOptions::default());
        };
        for end in 0..text.len() {
            damaged(text.as_bytes()[..end].to_vec());
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[end] ^= 1 << bit;
                damaged(bytes);
            }
        }
    };
    check(ENTRY_A, "meta/a.array.json", &rich_a);
    check(ENTRY_B, "meta/root/a.array.json", &rich_b);
    check(ENTRY_A, "zarr.json", ENTRY_A);
    check(ENTRY_B, "zarr.json", ENTRY_B);
    check(
        ENTRY_A,
        "meta/a.group.json",
        r#"{"attributes":{"a":[NaN,1]}}"#,
    );
}
