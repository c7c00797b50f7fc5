//! Zarr v3: the codec `sharding_indexed`.

use ndzarr_model::{CodecConfig, CodecSpec, IndexLocation, ShardingConfig};

use crate::it::zarr3::codecs::{CRC32C, LITTLE, grid};
use crate::it::zarr3::spec;

#[test]
fn v3_t26_sharding() {
    let sharded = |shape: &str, before: &str, configuration: &str| {
        let grid = grid(shape);
        let codecs = format!(
            r#"[{before}{{"name":"sharding_indexed","configuration":{{{configuration}}}}}]"#
        );
        spec(&[
            ("shape", shape),
            ("data_type", "\"uint8\""),
            ("chunk_grid", &grid),
            ("codecs", &codecs),
        ])
        .map(|spec| spec.codecs.to_vec())
    };
    let index = r#""index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]"#;
    let config = |chunk_shape: &[u64], index_location| -> CodecSpec {
        CodecConfig::Sharding(Box::new(ShardingConfig {
            payload: Default::default(),
            chunk_shape: chunk_shape.to_vec(),
            codecs: vec![CodecConfig::Bytes { endian: None }.into()],
            index_codecs: vec![LITTLE.into(), CRC32C.into()],
            index_location,
        }))
        .into()
    };
    let inner = r#""codecs":["bytes"]"#;
    for (members, location) in [
        (
            format!(r#""chunk_shape":[2,2],{inner},{index}"#),
            IndexLocation::End,
        ),
        (
            format!(r#""chunk_shape":[2,2],{inner},{index},"index_location":"start""#),
            IndexLocation::Start,
        ),
        // zarr-python's meaning of an absent list.
        (
            format!(r#""chunk_shape":[2,2],{inner}"#),
            IndexLocation::End,
        ),
    ] {
        assert_eq!(
            sharded("[4,4]", "", &members),
            Ok(vec![config(&[2, 2], location)])
        );
    }
    // V3-T19: in the axes that reach the codec.
    let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}},"#;
    let members = format!(r#""chunk_shape":[2,1],{inner},{index}"#);
    assert!(sharded("[3,4]", transpose, &members).is_ok());
    assert!(sharded("[3,4]", "", &members).is_err());
    for bad in [
        format!(r#""chunk_shape":[2,3],{inner},{index}"#),
        format!(r#""chunk_shape":[2],{inner},{index}"#),
        format!(r#""chunk_shape":[0,2],{inner},{index}"#),
        format!(r#"{inner},{index}"#),
        format!(r#""chunk_shape":[2,2],{index}"#),
        format!(r#""chunk_shape":[2,2],{inner},{index},"index_location":"middle""#),
        format!(r#""chunk_shape":[2,2],{inner},{index},"x":1"#),
        format!(r#""chunk_shape":[2,2],{inner},"index_codecs":[]"#),
        // The index needs a byte order and a fixed size.
        format!(r#""chunk_shape":[2,2],{inner},"index_codecs":["bytes"]"#),
        format!(
            r#""chunk_shape":[2,2],{inner},"index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},
               {{"name":"zstd","configuration":{{"level":1}}}}]"#
        ),
    ] {
        let error = sharded("[4,4]", "", &bad).expect_err(&bad);
        assert!(error.contains("codecs"), "{error}");
    }
    // Nested, with rank and divisibility checked inside, to a depth that JSON limits.
    let nested = |chunk: &str| {
        format!(
            r#""chunk_shape":[2,2],"codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk},
               {inner}}}}}]"#
        )
    };
    assert!(sharded("[4,4]", "", &nested("[1,2]")).is_ok());
    assert!(sharded("[4,4]", "", &nested("[4,4]")).is_err());
    let mut deep = format!(r#""chunk_shape":[1,1],{inner}"#);
    for _ in 0..100 {
        deep = format!(
            r#""chunk_shape":[1,1],"codecs":[{{"name":"sharding_indexed","configuration":{{{deep}}}}}]"#
        );
    }
    assert!(
        sharded("[4,4]", "", &deep)
            .expect_err("deep")
            .contains("nested")
    );
}
