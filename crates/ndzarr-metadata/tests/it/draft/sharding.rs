//! The draft: sharding and other storage transformers.

use ndzarr_model::{CodecConfig, Endian, IndexLocation, PayloadBounds};

use crate::it::draft::{ARRAY_A, ARRAY_B, array_a, array_b, configs, refused};
use crate::it::store::with;

#[test]
fn d3_t19_sharding() {
    let sharded = |uri: &str, counts: &str| {
        let list = format!(
            r#"[{{"extension":"{uri}","type":"indexed","configuration":{{"chunks_per_shard":{counts}}}}}]"#
        );
        [
            ("shape".to_owned(), "[6]".to_owned()),
            ("storage_transformers".to_owned(), list),
        ]
    };
    let document = |base: &str, members: &[(String, String)]| {
        let members: Vec<(&str, &str)> = members
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        with(base, &members)
    };
    for uri in [
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
        "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
        "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
    ] {
        for (base, open) in [(ARRAY_A, array_a as fn(&str) -> _), (ARRAY_B, array_b)] {
            let spec = open(&document(base, &sharded(uri, "[2]"))).expect(uri);
            assert_eq!(spec.unit_shape, [4]);
            let [CodecConfig::Sharding(sharding)] = &configs(&spec)[..] else {
                panic!("{spec:?}")
            };
            assert_eq!(sharding.chunk_shape, [2]);
            assert_eq!(
                sharding.codecs[0].config,
                CodecConfig::Bytes {
                    endian: Some(Endian::Big)
                }
            );
            let index = vec![
                CodecConfig::Bytes {
                    endian: Some(Endian::Little),
                }
                .into(),
            ];
            assert_eq!(sharding.index_codecs, index, "D3-T20: no checksum");
            assert_eq!(sharding.index_location, IndexLocation::End);
            assert_eq!(
                sharding.payload,
                PayloadBounds::BeforeIndex,
                "D3-107, D3-T43"
            );
        }
    }
    let uri = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";
    for counts in [
        "[]",
        "[2,2]",
        "[0]",
        "2",
        "[-1]",
        "[9223372036854775807]",
        "[1152921504606846976]",
    ] {
        refused(
            array_a(&document(ARRAY_A, &sharded(uri, counts))),
            &["meta/a.array.json"],
        );
    }
    let scalar = r#"{"type":"regular","chunk_shape":[],"separator":"/"}"#.to_owned();
    let mut members = sharded(uri, "[1]").to_vec();
    members[0].1 = "[]".to_owned();
    members.push(("chunk_grid".to_owned(), scalar));
    assert!(
        array_b(&document(ARRAY_B, &members))
            .expect("as zarr-python 2")
            .unit_shape
            .is_empty()
    );
    refused(array_a(&document(ARRAY_A, &members)), &["chunks_per_shard"]);
    // A shorter list, for zarr-python 2's subarrays; the transpose is inside the shard.
    let plane = r#"{"type":"regular","chunk_shape":[2,3],"separator":"/"}"#.to_owned();
    let mut members = sharded(uri, "[32]").to_vec();
    members[0].1 = "[200,60]".to_owned();
    members.push(("chunk_grid".to_owned(), plane));
    let spec = array_b(&document(ARRAY_B, &members)).expect("padded with 1");
    assert_eq!(spec.unit_shape, [64, 3]);
    let [CodecConfig::Sharding(sharding)] = &configs(&spec)[..] else {
        panic!("{spec:?}")
    };
    assert_eq!(
        sharding.codecs[0].config,
        CodecConfig::Transpose { order: vec![1, 0] }
    );
}

#[test]
fn d3_t39_unknown_storage_transformers() {
    for base in [ARRAY_A, ARRAY_B] {
        let open = if base == ARRAY_A { array_a } else { array_b };
        assert!(open(&with(base, &[("storage_transformers", "[]")])).is_ok());
        for list in [
            r#"[{"extension":"http://x/y","type":"indexed","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"other","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed"}]"#,
            r#"["sharding"]"#,
            "{}",
        ] {
            refused(
                open(&with(base, &[("storage_transformers", list)])),
                &["a.array.json"],
            );
        }
    }
}
