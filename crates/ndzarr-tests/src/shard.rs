//! Stored shards. The first byte chooses the configuration, the rest is the whole shard, including
//! its index.

use ndzarr::codec::{CodecError, Workspace};
use ndzarr::ndarray::Slice;
use ndzarr::{Array, ErrorKind, MemoryStore};
use ndzarr_codec::Elements;
use serde_json::{Value, json};

/// Memory limit for an input: shards have 128 bytes of elements.
pub const MAX_BYTES: usize = 8 << 20;

/// The document of a first byte.
#[must_use]
pub fn document(choice: u8) -> Value {
    let has = |bit: u8| choice & (1 << bit) != 0;
    let bytes = |endian: &str| json!({"name": "bytes", "configuration": {"endian": endian}});
    let endian = if has(0) { "big" } else { "little" };
    let location = if has(1) { "start" } else { "end" };
    let mut index_codecs = vec![bytes(endian)];
    if has(2) {
        index_codecs.push(json!("crc32c"));
    }
    let mut inner_codecs = vec![bytes("little")];
    if has(3) {
        inner_codecs.push(json!({"name": "gzip", "configuration": {"level": 1}}));
    }
    if has(4) {
        inner_codecs = vec![json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2, 2], "codecs": inner_codecs, "index_codecs": index_codecs,
            "index_location": location}})];
    }
    let mut codecs = vec![json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [4, 4], "codecs": inner_codecs, "index_codecs": index_codecs, "index_location": location}})];
    if has(5) {
        codecs.insert(
            0,
            json!({"name": "transpose", "configuration": {"order": [1, 0]}}),
        );
    }
    if has(6) {
        codecs.push(json!("crc32c"));
    }
    json!({"zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "uint16", "fill_value": 9,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs})
}

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&choice, shard)) = data.split_first() else {
        return;
    };
    let store = MemoryStore::new();
    store
        .set("zarr.json", document(choice).to_string())
        .expect("the key is valid");
    store
        .set("c/0/0", shard.to_vec())
        .expect("the key is valid");
    let array = Array::<u16>::open(&store).expect("the document is valid");
    let whole = array.read([0..8, 0..8]);
    if let Err(error) = &whole {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!(error.key(), Some("c/0/0"));
    }
    // Each inner chunk reads as the same part of the whole, and all are valid if the whole is.
    let mut all_good = true;
    for (y, x) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
        let part = array.read([y..y + 4, x..x + 4]);
        all_good &= part.is_ok();
        if let (Ok(whole), Ok(part)) = (&whole, &part) {
            let start = [y as isize, x as isize];
            let expected = whole.slice_each_axis(|axis| {
                let start = start[axis.axis.index()];
                Slice::from(start..start + 4)
            });
            assert_eq!(part, expected);
        }
    }
    assert_eq!(all_good, whole.is_ok());
    check_in_memory(&array, shard, whole.ok());
}

/// Decodes the shard with all of it in memory, as a shard within further codecs is.
fn check_in_memory(array: &Array<u16>, shard: &[u8], whole: Option<ndzarr::ndarray::Array2<u16>>) {
    let spec = array.spec();
    let chain = ndzarr_codec::CodecChain::bind(
        &spec.codecs,
        &spec.data_type,
        &spec.fill_value,
        2,
        &ndzarr::CodecRegistry::new(),
    );
    let decoded = chain.expect("the same chain opened").decode(
        shard,
        &[8, 8],
        &mut Workspace::new(),
        |elements, layout| {
            let Elements::Fixed { bytes, size: 2 } = elements else {
                panic!("u16 has two bytes")
            };
            let Some(whole) = &whole else {
                panic!("decoded in memory, but not by parts")
            };
            for ((y, x), expected) in whole.indexed_iter() {
                let at = 2 * (y * layout.strides[0] as usize + x * layout.strides[1] as usize);
                let mut bytes = [bytes[at], bytes[at + 1]];
                layout.swap.apply(&mut bytes);
                assert_eq!(u16::from_ne_bytes(bytes), *expected, "at {y}, {x}");
            }
            Ok::<_, CodecError>(())
        },
    );
    assert_eq!(decoded.is_ok(), whole.is_some(), "{decoded:?}");
}
