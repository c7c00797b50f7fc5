//! Stored N5 blocks. The first byte chooses type and compression, the rest is the block.

use std::fmt::Debug;

use ndzarr::{AnyArray, Array, ErrorKind, MemoryStore, PlainElement};
use serde_json::{Value, json};

/// Memory limit for an input: blocks have up to 240 bytes, but those with a count as much as they
/// decode to.
pub const MAX_BYTES: usize = 16 << 20;

/// The data types, by the first byte modulo 8.
pub const TYPES: [&str; 8] = [
    "uint8", "uint16", "uint32", "uint64", "int8", "int64", "float32", "float64",
];

/// The compressions, by an eighth of the first byte.
#[must_use]
pub fn compression(choice: u8) -> Value {
    match (choice / 8) % 8 {
        0 => json!({"type": "raw"}),
        1 => json!({"type": "gzip", "level": 1}),
        2 => json!({"type": "gzip", "useZlib": true}),
        3 => json!({"type": "bzip2", "blockSize": 1}),
        4 => json!({"type": "xz", "preset": 0}),
        5 => json!({"type": "lz4", "blockSize": 65536}),
        6 => {
            json!({"type": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 1, "blocksize": 0, "nthreads": 1})
        }
        _ => json!({"type": "zstd", "level": 1}),
    }
}

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&choice, block)) = data.split_first() else {
        return;
    };
    let store = MemoryStore::new();
    let document = json!({"dimensions": [10, 7], "blockSize": [6, 5], "dataType": TYPES[usize::from(choice % 8)],
        "compression": compression(choice)});
    store
        .set("attributes.json", document.to_string())
        .expect("the key is valid");
    // An inner block and one at the end.
    for key in ["0/0", "1/1"] {
        store.set(key, block.to_vec()).expect("the key is valid");
    }
    let array = AnyArray::open(&store).expect("the document is valid");
    match choice % 8 {
        0 => blocks::<u8>(array),
        1 => blocks::<u16>(array),
        2 => blocks::<u32>(array),
        3 => blocks::<u64>(array),
        4 => blocks::<i8>(array),
        5 => blocks::<i64>(array),
        6 => blocks::<f32>(array),
        _ => blocks::<f64>(array),
    }
}

fn blocks<T: PlainElement + Debug>(array: AnyArray) {
    let array: Array<T> = array.typed().expect("the type is that of the document");
    for index in [[0, 0], [1, 1]] {
        let read = array.read_chunk(&index);
        let block = array.n5_blocks().read(&index);
        for error in [read.as_ref().err(), block.as_ref().err()]
            .into_iter()
            .flatten()
        {
            let is_other_count = error.to_string().contains("a varlength block of");
            let kind = if is_other_count {
                ErrorKind::Unsupported
            } else {
                ErrorKind::Corrupt
            };
            assert_eq!(error.kind(), kind, "{error:?}");
            assert_eq!(error.chunk(), Some(&index[..]), "{error:?}");
        }
        // A block that fills a place in the array can be read as one.
        if let Ok(read) = read {
            let block = block
                .expect("read as part of the array")
                .expect("the block is stored");
            assert_eq!(
                block.elements.len() as u64,
                block.size.iter().product::<u64>()
            );
            // Compares text: NaN is not equal to itself.
            if block.size.iter().all(|&n| n > 0) && !read.is_empty() {
                let text = |element: &T| format!("{element:?}");
                assert_eq!(read.first().map(text), block.elements.first().map(text));
            }
        }
    }
}
