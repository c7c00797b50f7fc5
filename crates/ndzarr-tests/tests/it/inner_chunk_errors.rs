//! An error within a shard names the inner chunk: the chunks of a large shard are too many to
//! search.

use ndzarr::ndarray::{Array1, Array2, array, s};
use ndzarr::{Array, Error, ErrorKind, MemoryStore, Storage, asynchronous, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};
use serde_json::{Value, json};

fn check<T>(result: Result<T, Error>, inner_chunk: &[Vec<u64>], part: &str) {
    let Err(error) = result else {
        panic!("{inner_chunk:?}: it succeeds")
    };
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(
        (error.key(), error.chunk()),
        (Some("a/c/0"), Some(&[0][..])),
        "{error}"
    );
    assert_eq!(error.inner_chunk(), inner_chunk, "{error}");
    let message = error.to_string();
    assert!(message.contains(part), "{message}");
    for index in inner_chunk {
        assert!(
            message.contains(&format!("inner chunk {index:?}")),
            "{message}"
        );
    }
}

/// Calls on an array of 16 elements, of which the second half cannot be read.
fn check_calls(a: &Array<u16>, inner_chunk: &[Vec<u64>], part: &str) {
    let future = asynchronous::Array::from(a.clone());
    check(a.read(..), inner_chunk, part);
    check(a.read([12..13]), inner_chunk, part);
    check(a.read(s![0..16;3]), inner_chunk, part);
    check(a.read_many([[0..1], [12..14]]), inner_chunk, part);
    check(block_on(future.read(..)), inner_chunk, part);
    check(block_on(future.read([12..13])), inner_chunk, part);
    check(a.write([13..14], &array![5]), inner_chunk, part);
    check(
        block_on(future.write([13..14], &array![5])),
        inner_chunk,
        part,
    );
}

fn flipped(store: &MemoryStore, at: usize) -> (MemoryStore, Array<u16>) {
    let other = MemoryStore::new();
    for key in ["a/zarr.json", "a/c/0"] {
        let mut value = store.get(key).expect("a value").to_vec();
        if key == "a/c/0" {
            value[at] ^= 1;
        }
        other.set(key, value).expect("a key");
    }
    let a = Array::<u16>::open((&other, "a")).expect("it opens");
    (other, a)
}

#[test]
fn errors_in_a_shard_name_the_inner_chunk() {
    let store = MemoryStore::new();
    let builder = Array::<u16>::builder([16])
        .chunks([2])
        .shards([16])
        .codecs([codec::crc32c()]);
    builder
        .create((&store, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a shard");
    // Eight inner chunks of two elements and a checksum, the index, and its checksum.
    assert_eq!(
        store.get("a/c/0").expect("a shard").len(),
        8 * 8 + 8 * 16 + 4
    );
    let (other, a) = flipped(&store, 6 * 8);
    check_calls(&a, &[vec![6]], "crc32c");
    check(a.read_chunk(&[6]), &[vec![6]], "crc32c");
    assert_eq!(
        a.read([0..12]).expect("the others are intact"),
        Array1::<u16>::ones(12)
    );
    let place = Storage::asynchronous(AsyncMemoryStore::over(other, Latency::default()));
    let a = block_on(asynchronous::Array::<u16>::open((place, "a"))).expect("it opens");
    check(block_on(a.read(..)), &[vec![6]], "crc32c");
    check(
        block_on(a.write([13..14], &array![5])),
        &[vec![6]],
        "crc32c",
    );

    // The entry of an inner chunk ends after the value.
    let plain = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let configuration = json!({
        "chunk_shape": [2], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": plain,
    });
    let store = MemoryStore::new();
    let builder = Array::<u16>::builder([16]).chunks([16]);
    let builder =
        builder.codecs_json(json!([{"name": "sharding_indexed", "configuration": configuration}]));
    builder
        .create((&store, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a shard");
    let (_, a) = flipped(&store, 8 * 4 + 6 * 16 + 6);
    check_calls(&a, &[vec![6]], "index entry 6");
}

#[test]
fn errors_in_the_index_name_no_inner_chunk() {
    let store = MemoryStore::new();
    let builder = Array::<u16>::builder([16])
        .chunks([2])
        .shards([16])
        .codecs([codec::crc32c()]);
    builder
        .create((&store, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a shard");
    let (_, a) = flipped(&store, 8 * 8 + 3);
    check_calls(&a, &[], "crc32c: the index of the shard: ");
}

fn nested(chunk_shape: u64, codecs: Value) -> Value {
    let index_codecs =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let configuration =
        json!({"chunk_shape": [chunk_shape], "codecs": codecs, "index_codecs": index_codecs});
    json!([{"name": "sharding_indexed", "configuration": configuration}])
}

#[test]
fn errors_in_nested_shards_name_an_inner_chunk_of_each_level() {
    let store = MemoryStore::new();
    let plain =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let codecs = nested(8, nested(2, plain));
    let a = Array::<u16>::builder([16]).chunks([16]).codecs_json(codecs);
    a.create((&store, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a shard");
    // Two shards of four inner chunks with checksums, an index and its checksum; their index.
    let inner = 4 * 8 + 4 * 16 + 4;
    assert_eq!(
        store.get("a/c/0").expect("a shard").len(),
        2 * inner + 2 * 16 + 4
    );
    let (_, a) = flipped(&store, inner + 2 * 8);
    check(a.read(..), &[vec![1], vec![2]], "crc32c");
    check(a.read([12..13]), &[vec![1], vec![2]], "crc32c");
    check(
        block_on(asynchronous::Array::from(a.clone()).read(..)),
        &[vec![1], vec![2]],
        "crc32c",
    );
    // A partial write decodes a shard within a shard as a whole.
    check(
        a.write([13..14], &array![5]),
        &[vec![1]],
        "crc32c: inner chunk number 2: ",
    );
    let (_, a) = flipped(&store, inner + 4 * 8);
    check_calls(&a, &[vec![1]], "crc32c: the index of the shard: ");
    let (_, a) = flipped(&store, 2 * inner);
    check_calls(&a, &[], "crc32c: the index of the shard: ");
}

/// The index of an inner chunk is by the axes of the array, whatever the order in the shard.
#[test]
fn errors_in_transposed_shards_name_the_inner_chunk() {
    let store = MemoryStore::new();
    let plain =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let mut codecs = nested(1, plain);
    codecs[0]["configuration"]["chunk_shape"] = json!([1, 2]);
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let codecs = json!([transpose, codecs[0]]);
    let a = Array::<u16>::builder([4, 3])
        .chunks([4, 3])
        .codecs_json(codecs);
    a.create((&store, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a shard");
    // Three by two inner chunks in the shard, two by three in the array.
    let mut shard = store.get("a/c/0/0").expect("a shard").to_vec();
    shard[3 * 8] ^= 1;
    store.set("a/c/0/0", shard).expect("a key");
    let a = Array::<u16>::open((&store, "a")).expect("it opens");
    for error in [a.read(..).map(drop), a.write([2..3, 1..2], &array![[5]])] {
        let error = error.expect_err("one is broken");
        assert_eq!(error.inner_chunk(), [[1, 1]], "{error}");
    }
    assert_eq!(
        a.read([0..2, 0..3]).expect("others are intact"),
        Array2::<u16>::ones((2, 3))
    );
}

#[test]
fn a_shard_writer_reports_a_damaged_index() {
    let store = MemoryStore::new();
    let builder = Array::<u16>::builder([16])
        .chunks([2])
        .shards([16])
        .codecs([codec::crc32c()]);
    let a = builder.create((&store, "a")).expect("a new array");
    a.fill(.., 1).expect("a shard");
    let a = flipped(&store, 8 * 8 + 3).1;
    let writer = a.shard_writer(&[0]).expect("a writer");
    writer
        .write_chunk(&[3], &array![5, 6].into_dyn())
        .expect("it takes an inner chunk");
    check(writer.finish(), &[], "crc32c: the index of the shard: ");
}
