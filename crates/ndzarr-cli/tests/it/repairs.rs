//! `repair`: what it takes out, what it keeps, and what it leaves.

use std::fs;

use ndzarr::codec::CodecSpec;
use ndzarr::{AnyArray, Array, DataType, Format, Group, N5Block, codec};
use serde_json::{Value, json};

use crate::{Folder, files};

/// A folder with `a.zarr`, of 16 elements in shards of 8 with the given inner chunks, each with a
/// checksum, with the index at the start. The elements count from 1.
fn sharded(inner: &[u64]) -> Folder {
    let folder = Folder::new();
    let index =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let elements = json!([{"name": "bytes"}, {"name": "crc32c"}]);
    let codecs = inner.iter().rev().fold(elements, |codecs, len| {
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [len], "codecs": codecs, "index_codecs": index, "index_location": "start",
        }}])
    });
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    });
    fs::create_dir(folder.path("a.zarr")).expect("a folder");
    fs::write(folder.path("a.zarr/zarr.json"), document.to_string()).expect("a file");
    let array = Array::<u8>::open(folder.path("a.zarr")).expect("it is there");
    let elements: Vec<u8> = (1..=16).collect();
    array
        .write(.., &ndzarr::ndarray::Array1::from(elements))
        .expect("it is written");
    folder
}

fn elements(folder: &Folder) -> Vec<u8> {
    let array = Array::<u8>::open(folder.path("a.zarr")).expect("it is there");
    array
        .read(..)
        .expect("it can be read")
        .into_raw_vec_and_offset()
        .0
}

/// The bytes of the index are 4 entries of 16 bytes and a checksum of 4; each inner chunk has 2
/// elements and a checksum of 4 bytes.
#[test]
fn a_shard_that_is_cut_off_keeps_what_can_be_decoded() {
    let folder = sharded(&[2]);
    let shard = folder.path("a.zarr/c/0");
    let bytes = fs::read(&shard).expect("it is there");
    assert_eq!(bytes.len(), 68 + 4 * 6);
    fs::write(&shard, &bytes[..68 + 2 * 6 + 1]).expect("it is there");
    let mut other = fs::read(folder.path("a.zarr/c/1")).expect("it is there");
    *other.last_mut().expect("bytes") ^= 1;
    fs::write(folder.path("a.zarr/c/1"), &other).expect("it is there");
    // Two entries lead out of the value.
    let lines = folder.json(&["verify", "--quick", "a.zarr"]);
    assert_eq!(
        (&lines[0]["key"], &lines[0]["kind"]),
        (&json!("c/0"), &json!("damaged"))
    );
    assert_eq!(lines.last().expect("a last line")["done"]["found"], 1);
    let ran = folder.run(&["repair", "--yes", "a.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (0, ""), "{ran:?}");
    assert_eq!(
        elements(&folder),
        [1, 2, 3, 4, 0, 0, 0, 0, 9, 10, 11, 12, 13, 14, 0, 0]
    );
    assert_eq!(files(&folder.path("a.zarr.quarantine")), ["c/0", "c/1"]);
    assert_eq!(
        fs::read(folder.path("a.zarr.quarantine/c/0")).expect("it is kept"),
        bytes[..81]
    );
    folder.good(&["verify", "a.zarr"]);
    assert_eq!(
        folder.good(&["repair", "--yes", "a.zarr"]),
        "nothing to repair\n"
    );
}

#[test]
fn an_index_entry_far_outside_costs_its_inner_chunk_alone() {
    let folder = sharded(&[2]);
    let shard = folder.path("a.zarr/c/0");
    let mut bytes = fs::read(&shard).expect("it is there");
    bytes[16..24].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
    // The checksum of the index.
    let sum = crc32c(&bytes[..64]).to_le_bytes();
    bytes[64..68].copy_from_slice(&sum);
    fs::write(&shard, &bytes).expect("it is there");
    assert_eq!(folder.run(&["verify", "--quick", "a.zarr"]).status, 1);
    folder.good(&["repair", "--yes", "--quiet", "a.zarr"]);
    assert_eq!(elements(&folder)[..8], [1, 2, 0, 0, 5, 6, 7, 8]);
}

/// Bit by bit, as RFC 3720 defines it.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn of_nested_shards_only_the_innermost_chunk_is_lost() {
    let folder = sharded(&[4, 2]);
    let shard = folder.path("a.zarr/c/0");
    let mut bytes = fs::read(&shard).expect("it is there");
    *bytes.last_mut().expect("bytes") ^= 1;
    fs::write(&shard, &bytes).expect("it is there");
    let ran = folder.run(&["repair", "--yes", "a.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (0, ""), "{ran:?}");
    assert_eq!(elements(&folder)[..8], [1, 2, 3, 4, 5, 6, 0, 0]);
    assert_eq!(elements(&folder)[8..], [9, 10, 11, 12, 13, 14, 15, 16]);
}

#[test]
fn a_failed_repair_leaves_one_copy_at_most_and_goes_on() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([4])
        .chunks([2])
        .codecs([codec::crc32c()]);
    folder.array("a.zarr", array, |_| 1);
    for name in ["c/0", "c/1"] {
        fs::write(folder.path("a.zarr").join(name), "odd!!!").expect("it is there");
    }
    // A folder is in the way of the first copy.
    fs::create_dir_all(folder.path("q/c")).expect("a folder");
    fs::write(folder.path("q/c/0"), "other").expect("a file");
    for n in 0..10 {
        fs::write(folder.path(&format!("q/c/1.{n}")), "odd!!!").expect("a file");
    }
    fs::write(folder.path("q/c/1"), "odd!!!").expect("a file");
    folder.good(&["repair", "--yes", "a.zarr", "--quarantine", "q", "--quiet"]);
    let kept = files(&folder.path("q"));
    assert_eq!(
        kept.iter().filter(|name| name.starts_with("c/0")).count(),
        2,
        "{kept:?}"
    );
    assert_eq!(
        kept.iter().filter(|name| name.starts_with("c/1")).count(),
        11,
        "{kept:?}"
    );
}

/// Files may have no length there, as on a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_chunk_and_no_part_of_a_copy() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([2]).codecs([codec::crc32c()]);
    folder.array("a.zarr", array, |_| 1);
    fs::write(folder.path("a.zarr/c/0"), "odd!!!").expect("it is there");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" repair --yes a.zarr --json";
    let mut shell = std::process::Command::new("sh");
    let shell = shell
        .args(["-c", script, env!("CARGO_BIN_EXE_ndzarr")])
        .current_dir(folder.path(""));
    // A pipe is not limited.
    let ran = crate::Ran::of(&shell.output().expect("it runs"));
    assert_eq!(ran.status, 1, "{ran:?}");
    let line: Value = serde_json::from_str(ran.out.lines().next().expect("a line")).expect("JSON");
    assert_eq!(line["status"], "left", "{line}");
    let why = line["why"].as_str().expect("a reason");
    assert!(
        why.contains("a.zarr.quarantine/c/0: File too large"),
        "{why}"
    );
    assert_eq!(files(&folder.path("")), ["a.zarr/c/0", "a.zarr/zarr.json"]);
}

/// zarr-python reads any byte but 0 as True, and Python's bz2 ignores what follows a stream.
#[test]
fn what_others_may_read_is_named_and_stays() {
    let folder = Folder::new();
    folder.array("bool.zarr", Array::<bool>::builder([4]).codecs([]), |_| {
        true
    });
    fs::write(folder.path("bool.zarr/c/0"), [1, 2, 1, 1]).expect("it is there");
    let document = json!({
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "fill_value": 0, "order": "C",
        "filters": null, "compressor": {"id": "bz2", "level": 1},
    });
    fs::create_dir(folder.path("bz2.zarr")).expect("a folder");
    fs::write(folder.path("bz2.zarr/.zarray"), document.to_string()).expect("a file");
    let array = Array::<u8>::open(folder.path("bz2.zarr")).expect("it is there");
    array.fill(.., 1).expect("it is written");
    let mut bytes = fs::read(folder.path("bz2.zarr/0")).expect("it is there");
    bytes.extend(b"more");
    fs::write(folder.path("bz2.zarr/0"), &bytes).expect("it is there");
    for (name, key) in [("bool.zarr", "c/0"), ("bz2.zarr", "0")] {
        let before = fs::read(folder.path(name).join(key)).expect("it is there");
        let lines = folder.json(&["verify", name]);
        assert_eq!(
            (&lines[0]["key"], &lines[0]["kind"]),
            (&json!(key), &json!("odd")),
            "{lines:?}"
        );
        let ran = folder.run(&["repair", "--yes", name]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(
            ran.out.contains("others may read it") && ran.out.contains("nothing to repair"),
            "{ran:?}"
        );
        assert_eq!(
            fs::read(folder.path(name).join(key)).expect("it stays"),
            before
        );
    }
    // A stream in which a bit differs is read by none.
    bytes[20] ^= 1;
    fs::write(folder.path("bz2.zarr/0"), &bytes).expect("it is there");
    assert_eq!(folder.json(&["verify", "bz2.zarr"])[0]["kind"], "damaged");
}

/// Blocks of mode 1 (with a number of elements, as label multisets have) and of objects, mode 2,
/// are valid.
#[test]
fn blocks_of_n5_without_an_element_for_each_place_are_no_damage() {
    let folder = Folder::new();
    let root = Group::create(folder.path("c.n5"), Format::N5).expect("it is new");
    let array = Array::<u8>::builder([8])
        .chunks([4])
        .codecs(Vec::<CodecSpec>::new());
    let v = root.create_array("v", array.clone()).expect("it is new");
    v.n5_blocks()
        .write(
            &[0],
            &N5Block {
                size: vec![4],
                elements: vec![1, 2, 3],
            },
        )
        .expect("it is written");
    v.fill([4..8], 1).expect("it is written");
    let objects = AnyArray::builder([8])
        .chunks([4])
        .data_type(DataType::Object);
    let o = root.create_array("o", objects).expect("it is new");
    o.n5_blocks()
        .write_object(&[1], &[9, 8, 7])
        .expect("it is written");
    root.create_array("z", array)
        .expect("it is new")
        .fill(.., 1)
        .expect("it is written");
    let printed = folder.good(&["verify", "c.n5"]);
    assert!(
        printed.contains("o: 1 block is valid, and not decoded: objects"),
        "{printed}"
    );
    assert!(
        printed.contains("v: 1 block is valid, and not decoded: another number of elements"),
        "{printed}"
    );
    assert!(
        printed.contains("3 stored values of 3 arrays: nothing wrong"),
        "{printed}"
    );
    let done = folder.json(&["verify", "c.n5"]).pop().expect("a last line");
    assert_eq!(
        (&done["done"]["found"], &done["done"]["undecoded"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(
        folder.good(&["repair", "--yes", "c.n5"]),
        "nothing to repair\n"
    );
    folder.good(&["cp", "c.n5", "copy.n5", "--verify", "--quiet"]);
    folder.good(&["diff", "c.n5", "copy.n5"]);
    // What differs, or is cut off, is still found, and hides nothing.
    fs::write(folder.path("copy.n5/z/0"), "cut").expect("it is there");
    fs::write(
        folder.path("copy.n5/o/1"),
        &fs::read(folder.path("c.n5/o/1")).expect("the block exists")[..8],
    )
    .expect("it is there");
    let ran = folder.run(&["diff", "c.n5", "copy.n5"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(
        ran.out.contains("o: cannot be compared") && ran.out.contains("z: cannot be compared"),
        "{ran:?}"
    );
    let lines = folder.json(&["verify", "copy.n5"]);
    let damaged = lines
        .iter()
        .filter(|line| line["kind"] == "damaged")
        .count();
    assert_eq!(damaged, 2, "{lines:?}");
}

#[test]
fn files_of_others_that_end_like_locks_stay() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([2]), |_| 1);
    for name in ["c/0.__lock", "zarr.json.__lock", "notes.__lock"] {
        fs::write(folder.path("a.zarr").join(name), "mine").expect("a file");
    }
    let ran = folder.run(&["repair", "--yes", "a.zarr"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("notes.__lock: orphan"), "{ran:?}");
    assert_eq!(
        files(&folder.path("a.zarr")),
        ["c/0", "notes.__lock", "zarr.json"]
    );
}

#[test]
fn missing_chunks_of_a_huge_array_are_counted() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([1_u64 << 40, 1 << 20]).chunks([1, 1]);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    array.fill([0..1, 1..2], 1).expect("it is written");
    let lines = folder.json(&["verify", "--expect-all", "a.zarr"]);
    let missing: Vec<&Value> = lines
        .iter()
        .filter(|line| line["kind"] == "missing")
        .collect();
    assert_eq!(
        (&missing[0]["key"], &missing[1]["key"]),
        (&json!("c/0/0"), &json!("c/0/2"))
    );
    let rest = missing.last().expect("a last one")["what"]
        .as_str()
        .expect("a text");
    let all = (1_u64 << 60) - 1;
    assert_eq!(
        rest,
        format!(
            "{} more chunks are not stored",
            all - (missing.len() as u64 - 1)
        )
    );
    assert_eq!(lines.last().expect("a last line")["done"]["found"], all);
}

/// An archive of stored files, by the layout of APPNOTE.TXT, with the CRC-32 that each is printed
/// to have.
fn zip(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, content, crc) in files {
        let offset = out.len() as u32;
        let mut fields = Vec::new();
        // Version 2.0, no flags, stored, and no time.
        fields.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        fields.extend(crc.to_le_bytes());
        fields.extend(
            [content.len() as u32; 2]
                .iter()
                .flat_map(|len| len.to_le_bytes()),
        );
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&fields);
        out.extend(name.as_bytes());
        out.extend(*content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([files.len() as u16; 2].iter().flat_map(|n| n.to_le_bytes()));
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

#[test]
fn a_document_in_an_archive_is_broken_by_its_checksum_as_by_its_json() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([2]).codecs([]), |_| 1);
    let document = fs::read(folder.path("a.zarr/zarr.json")).expect("it is there");
    let chunk = fs::read(folder.path("a.zarr/c/0")).expect("it is there");
    let sum = |bytes: &[u8]| crc32fast::hash(bytes);
    let cut = &document[..document.len() / 2];
    let cases = [
        ("sound", &document[..], sum(&document), sum(&chunk), 0, None),
        (
            "crc",
            &document[..],
            sum(&document) ^ 1,
            sum(&chunk),
            1,
            Some(("zarr.json", "document")),
        ),
        (
            "json",
            cut,
            sum(cut),
            sum(&chunk),
            1,
            Some(("zarr.json", "document")),
        ),
        (
            "chunk",
            &document[..],
            sum(&document),
            sum(&chunk) ^ 1,
            1,
            Some(("c/0", "damaged")),
        ),
    ];
    for (name, document, of_document, of_chunk, status, expected) in cases {
        let archive = zip(&[
            ("zarr.json", document, of_document),
            ("c/0", &chunk, of_chunk),
        ]);
        let place = format!("{name}.zip");
        fs::write(folder.path(&place), archive).expect("a file");
        let ran = folder.run(&["verify", &place]);
        assert_eq!((ran.status, &ran.err[..]), (status, ""), "{name}: {ran:?}");
        let lines = folder.json(&["verify", &place]);
        let found = lines[0]["key"].as_str().zip(lines[0]["kind"].as_str());
        assert_eq!(found, expected, "{name}");
    }
}
