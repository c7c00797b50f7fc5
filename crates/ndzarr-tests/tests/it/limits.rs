//! Limits on documents: what exceeds one is refused, at little cost.

use std::fs;

use ndzarr::{
    AnyNode, Array, Error, ErrorKind, Format, Group, Limits, MemoryStore, OpenOptions, Storage,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::json;

pub(crate) fn open(documents: &[(&str, String)], limits: Limits) -> Result<AnyNode, Error> {
    let store = MemoryStore::new();
    for (key, text) in documents {
        store.set(key, text.clone()).expect("the key is valid");
    }
    OpenOptions::new().limits(limits).open_node(&store)
}

/// Processor time of this thread in seconds, without waiting; 0 if the system does not report it.
pub(crate) fn computed() -> u64 {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat
        .split(' ')
        .next()
        .and_then(|nanos| nanos.parse().ok())
        .unwrap_or(0_u64)
        / 1_000_000_000
}

/// Fails if the thread has computed for long since `start`. Each of these tests takes a second or
/// less unoptimised, and hours if the cost grows with the square of a document's size.
pub(crate) fn assert_cheap(start: u64) {
    let took = computed() - start;
    assert!(took < 60, "it computed for {took} s");
}

/// Opening must be refused, cheaply, with an error that names the document and contains all of
/// `parts`.
pub(crate) fn refused(key: &str, text: String, limits: Limits, parts: &[&str]) {
    let start = computed();
    let error = open(&[(key, text)], limits).expect_err("has to be refused");
    let kind = error.kind();
    assert!(
        matches!(kind, ErrorKind::InvalidMetadata | ErrorKind::Unsupported),
        "{kind:?}"
    );
    assert_eq!(error.key(), Some(key));
    let message = error.to_string();
    for part in parts {
        assert!(
            message.contains(part),
            "{part:?} is not in {}",
            &message[..message.len().min(500)]
        );
    }
    assert_cheap(start);
}

pub(crate) fn v3(shape: &str, chunks: &str, codecs: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"uint8","fill_value":0,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}},
        "chunk_key_encoding":{{"name":"default"}},"codecs":{codecs}}}"#
    )
}

fn v2(shape: &str, chunks: &str, filters: &str) -> String {
    format!(
        r#"{{"zarr_format":2,"shape":{shape},"chunks":{chunks},"dtype":"|u1","compressor":null,
        "filters":{filters},"fill_value":0,"order":"C"}}"#
    )
}

fn n5(shape: &str, chunks: &str) -> String {
    format!(
        r#"{{"dimensions":{shape},"blockSize":{chunks},"dataType":"uint8","compression":{{"type":"raw"}}}}"#
    )
}

fn list(item: &str, n: usize) -> String {
    format!("[{}]", vec![item; n].join(","))
}

fn sharding(chunk_shape: &str, codecs: &str) -> String {
    format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk_shape},"codecs":{codecs},
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}]"#
    )
}

pub(crate) const BYTES: &str = r#"["bytes"]"#;

#[test]
fn the_size_of_a_document_is_limited() {
    let limits = Limits::default().document_bytes(1 << 20);
    let long = "x".repeat(100 << 20);
    refused(
        "zarr.json",
        format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":"{long}"}}}}"#),
        limits,
        &["limit of 1048576"],
    );
    let attributes = format!(r#"{{"a":"{long}"}}"#);
    let group = (".zgroup", r#"{"zarr_format":2}"#.to_owned());
    let error = open(&[group, (".zattrs", attributes)], limits).expect_err("is too long");
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::InvalidMetadata, Some(".zattrs"))
    );
    // By default it is fine.
    let group = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":"{long}"}}}}"#);
    assert!(open(&[("zarr.json", group)], Limits::default()).is_ok());
}

#[test]
fn the_depth_of_a_document_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let group = |depth| {
        format!(
            r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":{}}}}}"#,
            nested(depth)
        )
    };
    for depth in [127, 1000, 10_000_000] {
        refused(
            "zarr.json",
            group(depth),
            Limits::default(),
            &["nested deeper"],
        );
        refused(
            "attributes.json",
            format!(r#"{{"a":{}}}"#, nested(depth + 1)),
            Limits::default(),
            &["nested"],
        );
    }
    assert!(open(&[("zarr.json", group(126))], Limits::default()).is_ok());
    let limits = Limits::default().json_depth(10);
    refused("zarr.json", group(9), limits, &["limit of 10"]);
    assert!(open(&[("zarr.json", group(8))], limits).is_ok());
    // The other brackets, none of which is ever closed.
    refused(
        "zarr.json",
        "{\"a\":".repeat(1_000_000),
        Limits::default(),
        &["nested deeper"],
    );
}

#[test]
fn the_memory_of_values_is_limited() {
    // 1,000 empty objects: much more in memory than in text.
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":{}}}}}"#,
        list("{}", 1000)
    );
    assert!(open(&[("zarr.json", text.clone())], Limits::default()).is_ok());
    let limits = Limits::default().json_bytes(10_000);
    refused(
        "zarr.json",
        text,
        limits,
        &["its values would take more than the limit of 10000 bytes"],
    );
    let small = r#"{"zarr_format":3,"node_type":"group"}"#.to_owned();
    assert!(open(&[("zarr.json", small)], limits).is_ok());
}

/// Of 100 children, or chunks, each has a name of two or more bytes.
#[test]
fn the_names_in_a_list_are_limited() -> Result<(), Error> {
    let memory = MemoryStore::new();
    let root = Group::create(&memory, Format::Zarr2)?;
    for number in 10..110 {
        root.create_array(&format!("a{number}"), Array::<u8>::builder([1]))?;
    }
    root.create_array("a", Array::<u8>::builder([100]).chunks([1]))?
        .fill(.., 1)?;
    let storages = [
        Storage::from(&memory),
        Storage::asynchronous(AsyncMemoryStore::over(memory, Latency::default())),
    ];
    for storage in storages {
        let of = |limit| OpenOptions::new().limits(Limits::default().listed_bytes(limit));
        assert_eq!(of(1000).open_group(&storage)?.children()?.len(), 101);
        let error = of(100)
            .open_group(&storage)?
            .children()
            .expect_err("there are more names");
        assert!(error.to_string().contains("more than 100 bytes"), "{error}");
        let chunks = |limit| {
            of(limit)
                .open_array::<u8>((&storage, "a"))?
                .units()
                .stored()
        };
        assert_eq!(chunks(1000)?.len(), 100);
        if let Err(error) = chunks(100) {
            assert!(error.to_string().contains("more than 100 bytes"), "{error}");
        } else {
            // All keys of a blocking store have come when they could be counted.
            assert!(storage.name().starts_with("memory"), "{}", storage.name());
        }
    }
    Ok(())
}

#[test]
fn dimensions_are_limited() {
    for n in [70_000, 1_000_000] {
        let ones = list("1", n);
        refused(
            "zarr.json",
            v3(&ones, &ones, BYTES),
            Limits::default(),
            &["dimensions", "65535"],
        );
        refused(
            ".zarray",
            v2(&ones, &ones, "null"),
            Limits::default(),
            &["dimensions", "65535"],
        );
        refused(
            "attributes.json",
            n5(&ones, &ones),
            Limits::default(),
            &["more than a block can have"],
        );
        // With a transpose of all of them, and ranks that do not match.
        let order: Vec<usize> = (0..n).rev().collect();
        let transpose = json!([{"name": "transpose", "configuration": {"order": order}}, "bytes"]);
        refused(
            "zarr.json",
            v3(&ones, &ones, &transpose.to_string()),
            Limits::default(),
            &["dimensions"],
        );
        refused("zarr.json", v3(&ones, "[1]", BYTES), Limits::default(), &[]);
        refused("zarr.json", v3("[1]", &ones, BYTES), Limits::default(), &[]);
        refused(".zarray", v2("[1]", &ones, "null"), Limits::default(), &[]);
        refused("attributes.json", n5("[1]", &ones), Limits::default(), &[]);
    }
    let limits = Limits::default().dimensions(4);
    let text = |n| v3(&list("2", n), &list("1", n), BYTES);
    refused(
        "zarr.json",
        text(5),
        limits,
        &["5 dimensions", "limit of 4"],
    );
    assert!(open(&[("zarr.json", text(4))], limits).is_ok());
}

#[test]
fn codecs_are_limited() {
    let chain = |n: usize| {
        let mut items = vec![r#""bytes""#];
        items.resize(n, r#""crc32c""#);
        format!("[{}]", items.join(","))
    };
    refused(
        "zarr.json",
        v3("[4]", "[4]", &chain(100_000)),
        Limits::default(),
        &["100000 codecs", "1024"],
    );
    let filters = list(r#"{"id":"crc32c"}"#, 100_000);
    refused(
        ".zarray",
        v2("[4]", "[4]", &filters),
        Limits::default(),
        &["codecs in a chain"],
    );
    let unknown = list(r#"{"name":"https://example.com/none"}"#, 100_000);
    refused(
        "zarr.json",
        v3("[4]", "[4]", &unknown),
        Limits::default(),
        &["codecs in a chain"],
    );
    let inner = sharding("[2]", &chain(2000));
    refused(
        "zarr.json",
        v3("[4]", "[4]", &inner),
        Limits::default(),
        &["2000 codecs"],
    );
    let limits = Limits::default().codecs(3);
    refused(
        "zarr.json",
        v3("[4]", "[4]", &chain(4)),
        limits,
        &["4 codecs", "limit of 3"],
    );
    assert!(open(&[("zarr.json", v3("[4]", "[4]", &chain(3)))], limits).is_ok());
}

#[test]
fn shards_within_shards_are_limited() {
    let nested =
        |levels: usize| (0..levels).fold(BYTES.to_owned(), |codecs, _| sharding("[4]", &codecs));
    let limits = Limits::default().shard_levels(2);
    refused(
        "zarr.json",
        v3("[4]", "[4]", &nested(3)),
        limits,
        &["shards within shards", "limit of 2"],
    );
    assert!(open(&[("zarr.json", v3("[4]", "[4]", &nested(2)))], limits).is_ok());
    // Far deeper, the nesting of the document is the limit.
    refused(
        "zarr.json",
        v3("[4]", "[4]", &nested(1000)),
        Limits::default(),
        &["nested deeper"],
    );
    let limits = Limits::default().shard_levels(0);
    refused(
        "zarr.json",
        v3("[4]", "[4]", &nested(1)),
        limits,
        &["shards"],
    );
}

#[test]
fn sizes_of_chunks_and_indexes_are_limited() {
    let max = u64::MAX.to_string();
    let beyond = "18446744073709551616";
    for (shape, chunks) in [
        (format!("[{beyond}]"), "[1]".to_owned()),
        ("[1]".to_owned(), format!("[{beyond}]")),
        (format!("[{max},{max}]"), format!("[{max},{max}]")),
        (format!("[{max}]"), format!("[{max}]")),
        (format!("[{max}]"), "[0]".to_owned()),
        ("[-1]".to_owned(), "[1]".to_owned()),
        ("[1.5]".to_owned(), "[1]".to_owned()),
    ] {
        refused(
            "zarr.json",
            v3(&shape, &chunks, BYTES),
            Limits::default(),
            &[],
        );
        refused(
            ".zarray",
            v2(&shape, &chunks, "null"),
            Limits::default(),
            &[],
        );
        refused(
            "attributes.json",
            n5(&shape, &chunks),
            Limits::default(),
            &[],
        );
    }
    // A huge array of small chunks is not affected.
    let huge = format!("[{max},{max},{max}]");
    for documents in [
        ("zarr.json", v3(&huge, "[2,2,2]", BYTES)),
        (".zarray", v2(&huge, "[2,2,2]", "null")),
        ("attributes.json", n5(&huge, "[2,2,2]")),
    ] {
        let AnyNode::Array(array) = open(&[documents], Limits::default()).expect("opens") else {
            panic!("is an array")
        };
        let last = [u64::MAX - 1..u64::MAX, u64::MAX - 3..u64::MAX - 1, 0..1];
        assert_eq!(array.read_bytes(&last).expect("nothing is stored"), [0, 0]);
        let all: Vec<_> = array.shape().iter().map(|&n| 0..n).collect();
        assert_eq!(
            array.read_bytes(&all).expect_err("is too large").kind(),
            ErrorKind::OutOfMemory
        );
    }
    let limits = Limits::default().chunk_bytes(1000).shard_index_entries(8);
    refused(
        "zarr.json",
        v3("[4000]", "[1001]", BYTES),
        limits,
        &["1001", "limit of 1000"],
    );
    assert!(open(&[("zarr.json", v3("[4000]", "[1000]", BYTES))], limits).is_ok());
    refused(
        "zarr.json",
        v3("[900]", "[900]", &sharding("[100]", BYTES)),
        limits,
        &["9 inner chunks", "limit of 8"],
    );
    assert!(
        open(
            &[("zarr.json", v3("[800]", "[800]", &sharding("[100]", BYTES)))],
            limits
        )
        .is_ok()
    );
    let many = (1u64 << 26).to_string();
    let text = v3(
        &format!("[{many}]"),
        &format!("[{many}]"),
        &sharding("[1]", BYTES),
    );
    let limits = Limits::default().shard_index_entries(1 << 25);
    refused("zarr.json", text, limits, &["inner chunks"]);
}
