//! Writes the seeds of the fuzz targets below `corpus/`, from the cases of `testdata/`:
//! `cargo run --example seeds`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use ndzarr::Endian;
use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::store::{Key, Precondition, ZipWriter};
use ndzarr::{AnyArray, DataType, FillValue, Store};
use ndzarr_tests::cases;
use ndzarr_tests::{codecs, draft_document, elements, n5_block, shard};
use serde_json::Value;

/// libFuzzer's default limit on the size of an input.
const MAX_SEED: usize = 4096;

fn main() -> io::Result<()> {
    let mut seeds = Seeds::default();
    for case in cases()? {
        for (key, value) in case.files()? {
            let name = format!("{}-{}", case.name, key.replace('/', "-"));
            documents(&mut seeds, &case.format, &name, &key, &value);
            if case.format == "n5" && !key.ends_with("attributes.json") {
                n5_blocks(&mut seeds, &case.store_dir(), &name, &key, &value);
            }
        }
    }
    archives(&mut seeds)?;
    encoded(&mut seeds);
    chunks_of_elements(&mut seeds);
    names(&mut seeds);
    urls(&mut seeds);
    // Any random arrays and chunks will do.
    let mut random = ndzarr_testkit::Random::seeded("round_trip");
    for i in 0..200 {
        let mut bytes = |n: usize| (0..n).map(|_| random.number() as u8).collect();
        seeds.add("round_trip", format!("random-{i}"), bytes(150));
        seeds.add("large_chunk", format!("random-{i}"), bytes(100));
        seeds.add("deflate_encode", format!("random-{i}"), bytes(100));
        seeds.add("deflate_two", format!("random-{i}"), bytes(200));
        seeds.add("two_values", format!("random-{i}"), bytes(200));
    }
    seeds.write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"))
}

/// Archives of the small files of each case.
fn archives(seeds: &mut Seeds) -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("ndzarr-seed-{}.zip", std::process::id()));
    for case in cases()? {
        let archive = ZipWriter::create_file(&path).map_err(io::Error::other)?;
        for (key, value) in case
            .files()?
            .into_iter()
            .filter(|(_, value)| value.len() < 500)
        {
            let Ok(key) = Key::new(key) else { continue };
            archive
                .put(&key, &[value.into()], Precondition::None)
                .map_err(io::Error::other)?;
        }
        archive.finish().map_err(io::Error::other)?;
        seeds.add("archive", case.name.clone(), fs::read(&path)?);
    }
    fs::remove_file(path)
}

#[derive(Default)]
struct Seeds(BTreeMap<(&'static str, String), Vec<u8>>);

impl Seeds {
    fn add(&mut self, target: &'static str, name: String, bytes: Vec<u8>) {
        if bytes.len() <= MAX_SEED {
            self.0.insert((target, name), bytes);
        }
    }

    fn write(&self, corpus: &Path) -> io::Result<()> {
        for ((target, name), bytes) in &self.0 {
            let folder = corpus.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(name), bytes)?;
        }
        Ok(())
    }
}

/// A value after a first byte, which chooses how the target reads it.
fn after_byte(first: u8, value: &[u8]) -> Vec<u8> {
    [&[first], value].concat()
}

fn documents(seeds: &mut Seeds, format: &str, name: &str, key: &str, value: &[u8]) {
    match format {
        "zarr3" if key.ends_with("zarr.json") => {
            seeds.add("zarr3_document", name.into(), value.to_vec())
        }
        "zarr2" => {
            for (kind, end) in ndzarr_tests::zarr2_document::KINDS.iter().enumerate() {
                if key.ends_with(end) {
                    seeds.add(
                        "zarr2_document",
                        format!("{kind}-{name}"),
                        after_byte(kind as u8, value),
                    );
                }
            }
        }
        "n5" if key.ends_with("attributes.json") => {
            for place in 0..3 {
                seeds.add(
                    "n5_document",
                    format!("{place}-{name}"),
                    after_byte(place, value),
                );
            }
        }
        "zarr3-draft-a" | "zarr3-draft-b" => {
            for (kind, (dialect, end)) in draft_document::KINDS.iter().enumerate() {
                if key.ends_with(end) && format.ends_with(*dialect) {
                    seeds.add(
                        "draft_document",
                        format!("{kind}-{name}"),
                        after_byte(kind as u8, value),
                    );
                }
            }
        }
        _ => {}
    }
}

/// A block after the first bytes, which encode the type and compression of its dataset.
fn n5_blocks(seeds: &mut Seeds, store: &Path, name: &str, key: &str, value: &[u8]) {
    let folders = Path::new(key).ancestors().skip(1);
    let documents =
        folders.filter_map(|folder| fs::read(store.join(folder).join("attributes.json")).ok());
    let parsed = documents.filter_map(|document| serde_json::from_slice::<Value>(&document).ok());
    let Some(document) = parsed
        .into_iter()
        .find(|document| document["dataType"].is_string())
    else {
        return;
    };
    for choice in 0..64u8 {
        let same_type = document["dataType"] == n5_block::TYPES[usize::from(choice % 8)];
        if same_type && n5_block::compression(choice)["type"] == document["compression"]["type"] {
            seeds.add(
                "n5_block",
                format!("{choice}-{name}"),
                after_byte(choice, value),
            );
        }
    }
}

/// Valid values for every chain of the targets that decode values.
fn encoded(seeds: &mut Seeds) {
    let mut workspace = ndzarr::codec::Workspace::new();
    for choice in 0..codecs::CHOICES {
        for size in [0, 3, 8, 0x86] {
            let n = 1u64 << (size % 16);
            let data_type = DataType::UInt {
                bits: if size & 0x80 == 0 { 8 } else { 32 },
            };
            let bytes = CodecSpec::from(CodecConfig::Bytes {
                endian: Some(Endian::Big),
            });
            let mut configs = codecs::codecs(choice);
            if choice == 8 {
                // This target only decodes.
                configs = codecs::codecs(9);
            }
            let specs: Vec<_> = [bytes]
                .into_iter()
                .chain(configs.into_iter().map(CodecSpec::from))
                .collect();
            let fill = FillValue::zero(&data_type);
            let registry = ndzarr::CodecRegistry::new();
            let chain = ndzarr_codec::CodecChain::bind(&specs, &data_type, &fill, 1, &registry);
            let chain = chain.expect("the chain is valid");
            let elements: Vec<u8> = (0..n as usize * fill.bytes().len())
                .map(|i| (i * i / 7) as u8)
                .collect();
            let mut value = Vec::new();
            // pco takes neither bytes nor big-endian numbers.
            if chain
                .encode(&elements, &[n], &mut workspace, &mut value)
                .is_err()
            {
                assert!(codecs::is_pcodec(choice), "elements can be encoded");
                continue;
            }
            seeds.add(
                "codecs",
                format!("{choice}-{size}"),
                [&[choice, size], &value[..]].concat(),
            );
        }
    }
    for choice in 0..128u8 {
        let store = ndzarr::MemoryStore::new();
        store
            .set("zarr.json", shard::document(choice).to_string())
            .expect("the key is valid");
        let array = AnyArray::open(&store).expect("the document is valid");
        let array = array
            .typed::<u16>()
            .expect("the type is that of the document");
        for (name, end) in [("half", 4), ("whole", 8)] {
            array
                .fill([0..8, 0..end], 0x1234)
                .expect("the array can be filled");
            let value = array
                .units()
                .encoded(&[0, 0])
                .expect("it is stored")
                .expect("it is stored");
            seeds.add(
                "shard",
                format!("{choice}-{name}"),
                after_byte(choice, &value),
            );
        }
    }
}

/// Valid chunks for every document of the target of elements, from any contents that the type
/// accepts.
fn chunks_of_elements(seeds: &mut Seeds) {
    let contents: [&[&[u8]]; 4] = [
        &[
            b"",
            b"a",
            b"\xc3\xbc",
            b"abc",
            b"\0",
            b"0123456789",
            b"",
            b"z",
        ],
        &[
            b"",
            b"\x01\0",
            b"\x02\0\x03\0",
            b"",
            b"",
            b"\xff\xff",
            b"",
            b"",
        ],
        &[
            b"\"a\"",
            b"1",
            b"[]",
            b"{\"a\":[1,2]}",
            b"null",
            b"true",
            b"\"\"",
            b"-1.5",
        ],
        &[&b""[..]; 8],
    ];
    for choice in 0..elements::choices() {
        let store = ndzarr::MemoryStore::new();
        let array = elements::array(choice, &store);
        for (i, contents) in contents.iter().enumerate() {
            let written = if elements::is_vlen(array.data_type()) {
                let contents: Vec<_> = contents.iter().map(|content| content.to_vec()).collect();
                array.write_vlen(&[0..8], &contents)
            } else {
                // Small integers and floats, including zeros; some types only accept zeros.
                let size = array.read_bytes(&[0..1]).expect("there is no chunk").len();
                let bytes: Vec<u8> = (0..8 * size)
                    .map(|at| {
                        if at % size == i {
                            (at / size % 2) as u8
                        } else {
                            0
                        }
                    })
                    .collect();
                array.write_bytes(&[0..8], &bytes)
            };
            if written.is_ok()
                && let Some(chunk) = store.get("0")
            {
                seeds.add(
                    "elements",
                    format!("{choice}-{i}"),
                    after_byte(choice, &chunk),
                );
            }
        }
    }
}

fn urls(seeds: &mut Seeds) {
    for (i, text) in ndzarr_tests::url::EXAMPLES.iter().enumerate() {
        seeds.add("url", i.to_string(), text.as_bytes().to_vec());
    }
}

fn names(seeds: &mut Seeds) {
    let names = [
        "a",
        "a/b",
        "/a//b/",
        "..",
        "a/../b",
        "a\\..\\b",
        "C:",
        "a\0",
        "c/0/0",
        "zarr.json",
        "a.array.json",
        "__a",
        "é",
        "meta/root",
        ".zarray",
        "a[1]",
        "a/b[2]/c",
        "\\/a",
        "[3]",
        "attributes.json",
        "0",
        "a.__lock",
        "root/c0",
    ];
    for (i, name) in names.iter().enumerate() {
        for place in [0, 1, 2, 3, 4, 0x82, 0x83] {
            seeds.add(
                "keys",
                format!("{place}-{i}"),
                after_byte(place, name.as_bytes()),
            );
        }
    }
}
