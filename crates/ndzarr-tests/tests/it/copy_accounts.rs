//! A copy of a group has everything that lies below it, or its report says what was left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ndzarr::store::block_on;
use ndzarr::{
    Array, CopyOptions, CopyReport, ErrorKind, Existing, Format, Group, KeyList, LeftOutReason,
    MemoryStore, RunOptions, Storage, asynchronous, codec, copy,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

/// What zarr-python, bioformats2raw and SpatialData put into one folder: an image of one array, a
/// file of OME-XML, a table, an array in an array; and what killed and careless writers leave.
const KEYS: [(&str, &str); 14] = [
    (".zgroup", r#"{"zarr_format": 2}"#),
    (".zattrs", r#"{"bioformats2raw.layout": 3}"#),
    (
        ".zmetadata",
        r#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}"#,
    ),
    ("0/.zarray", ARRAY),
    ("0/0", "\u{1}\u{2}"),
    // Outside of the three elements.
    ("0/7", "\u{9}\u{9}"),
    ("0/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#),
    ("0/.ndzarr-temporary/2/0", "x"),
    ("0/inner/.zarray", ARRAY),
    ("0/inner/0", "\u{5}\u{6}"),
    ("OME/.zgroup", r#"{"zarr_format": 2}"#),
    ("OME/METADATA.ome.xml", "<OME/>"),
    ("points.parquet/part.0.parquet", "PAR1"),
    ("ro-crate-metadata.json", "{}"),
];

const ARRAY: &str = r#"{"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|u1", "compressor": null,
    "filters": null, "order": "C", "fill_value": 0}"#;

/// Files of other programs, and of the array in an array.
const FILES: [&str; 5] = [
    "0/inner/.zarray",
    "0/inner/0",
    "OME/METADATA.ome.xml",
    "points.parquet/part.0.parquet",
    "ro-crate-metadata.json",
];

fn filled(keys: &[(&str, &str)]) -> MemoryStore {
    let store = MemoryStore::new();
    for (key, value) in keys {
        store
            .set(&format!("from/{key}"), value.as_bytes().to_vec())
            .expect("a key");
    }
    store
}

/// Writes a value past the library.
type Set = Box<dyn Fn(&str, &[u8])>;

/// The stores that a hierarchy may be in, and its copy.
pub(crate) fn stores(keys: &[(&str, &str)], folder: &Path) -> Vec<(Storage, Set)> {
    let of_memory = |store: MemoryStore| -> Set {
        Box::new(move |key: &str, value: &[u8]| store.set(key, value.to_vec()).expect("a key"))
    };
    let root = folder.to_owned();
    let of_folder: Set = Box::new(move |key: &str, value: &[u8]| {
        let file = root.join(key);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, value).expect("a file");
    });
    let memory = MemoryStore::new();
    let served = MemoryStore::new();
    let asynchronous =
        Storage::asynchronous(AsyncMemoryStore::over(served.clone(), Latency::default()));
    let stores = vec![
        (Storage::from(&memory), of_memory(memory)),
        (asynchronous, of_memory(served)),
        (Storage::folder(folder), of_folder),
    ];
    for (_, set) in &stores {
        keys.iter()
            .for_each(|(key, value)| set(&format!("from/{key}"), value.as_bytes()));
    }
    stores
}

/// Copies by a call that blocks, and by a future.
pub(crate) fn copies(storage: &Storage, options: &CopyOptions, check: impl Fn(&CopyReport, &str)) {
    let report = copy((storage, "from"), (storage, "to"), options).expect("a copy");
    check(&report, "to/");
    let copied = asynchronous::copy((storage, "from"), (storage, "then"), options);
    check(&block_on(copied).expect("a copy"), "then/");
}

pub(crate) fn values(storage: &Storage, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut keys = Vec::new();
    storage
        .each_listed(prefix, |key, listed| {
            if listed.byte_len().is_some() {
                keys.push(key.to_owned());
            }
        })
        .expect("a list");
    let value = |key: String| {
        let value = storage
            .read_key(&key, 1 << 20)
            .expect("a value")
            .expect("it was listed");
        (key[prefix.len()..].to_owned(), value.to_vec())
    };
    keys.into_iter().map(value).collect()
}

pub(crate) fn names(list: &KeyList) -> Vec<&str> {
    assert_eq!(list.n, list.first.len() as u64);
    let mut names: Vec<&str> = list
        .first
        .iter()
        .map(|key| key.strip_prefix("from/").expect("below"))
        .collect();
    names.sort_unstable();
    names
}

fn left_out(report: &CopyReport, reason: LeftOutReason) -> Vec<&str> {
    let account = report.account.as_ref().expect("an account");
    account
        .left_out
        .iter()
        .filter(|left_out| left_out.reason == reason)
        .flat_map(|left_out| names(&left_out.keys))
        .collect()
}

#[test]
fn every_key_of_a_group_is_copied_remade_or_left_out_with_the_reason() {
    for format in [None, Some(Format::Zarr3), Some(Format::N5)] {
        let folder = tempfile::tempdir().expect("a folder");
        for (storage, _) in stores(&KEYS, folder.path()) {
            let options = format.map_or(CopyOptions::new(), |format| {
                CopyOptions::new().format(format)
            });
            let planned = copy(
                (&storage, "from"),
                (&storage, "to"),
                &options.clone().dry_run(),
            );
            let planned = planned.expect("a plan").account;
            assert_eq!(values(&storage, "").len(), KEYS.len(), "nothing is written");
            copies(&storage, &options, |report, to| {
                assert_eq!(report.account, planned);
                let account = report.account.as_ref().expect("an account");
                assert_eq!(account.n_keys(), KEYS.len() as u64);
                // Of the root, its attributes, the array and OME.
                assert_eq!((account.n_documents, account.n_chunks), (4, 1));
                let n5 = format == Some(Format::N5);
                assert_eq!(account.n_remade, u64::from(!n5));
                let consolidated = left_out(report, LeftOutReason::Consolidated);
                assert_eq!(consolidated, if n5 { vec![".zmetadata"] } else { vec![] });
                assert_eq!(names(&account.files), FILES);
                assert_eq!(
                    left_out(report, LeftOutReason::OtherFormat),
                    ["0/zarr.json"]
                );
                assert_eq!(left_out(report, LeftOutReason::OutsideShape), ["0/7"]);
                assert_eq!(
                    left_out(report, LeftOutReason::Unfinished),
                    ["0/.ndzarr-temporary/2/0"]
                );
                assert!(report.is_complete());
                let [from, target] = ["from/", to].map(|prefix| values(&storage, prefix));
                FILES
                    .iter()
                    .for_each(|file| assert_eq!(target.get(*file), from.get(*file), "{file}"));
                assert!(
                    !target.keys().any(|key| key.contains(".ndzarr")),
                    "{target:?}"
                );
                let copied = Group::open((&storage, to.trim_end_matches('/'))).expect("a group");
                let zero = copied.array::<u8>("0").expect("an array");
                assert_eq!(
                    zero.read(..).expect("elements").into_raw_vec_and_offset().0,
                    [1, 2, 0]
                );
            });
        }
    }
}

#[test]
fn files_of_others_stay_if_the_user_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    for (storage, _) in stores(&KEYS, folder.path()) {
        copies(
            &storage,
            &CopyOptions::new().no_other_files(),
            |report, to| {
                let account = report.account.as_ref().expect("an account");
                assert_eq!((account.n_keys(), account.files.n), (KEYS.len() as u64, 0));
                assert_eq!(left_out(report, LeftOutReason::OtherFile), FILES);
                let target = values(&storage, to);
                let names: Vec<&str> = target.keys().map(String::as_str).collect();
                assert_eq!(
                    names,
                    [
                        ".zattrs",
                        ".zgroup",
                        ".zmetadata",
                        "0/.zarray",
                        "0/0",
                        "OME/.zgroup"
                    ]
                );
            },
        );
    }
}

#[test]
fn a_single_array_accounts_for_its_keys_by_the_list_of_its_chunks() {
    let folder = tempfile::tempdir().expect("a folder");
    let of_array: Vec<(&str, &str)> = KEYS
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("0/")?, *value)))
        .collect();
    let of_array: Vec<_> = of_array
        .into_iter()
        .filter(|(key, _)| *key != "zarr.json")
        .collect();
    for (storage, _) in stores(&of_array, folder.path()) {
        for options in [CopyOptions::new(), CopyOptions::new().chunks([3])] {
            let options = options
                .existing(Existing::Replace)
                .run(RunOptions::default().force());
            copies(&storage, &options, |report, to| {
                let account = report.account.as_ref().expect("an account");
                assert_eq!(
                    (account.n_keys(), account.n_documents, account.n_chunks),
                    (6, 1, 1)
                );
                assert_eq!(names(&account.files), ["inner/.zarray", "inner/0"]);
                assert_eq!(left_out(report, LeftOutReason::OutsideShape), ["7"]);
                let [from, target] = ["from/", to].map(|prefix| values(&storage, prefix));
                assert_eq!(target.get("inner/0"), from.get("inner/0"));
                let inner =
                    Array::<u8>::open((&storage, &format!("{to}inner")[..])).expect("an array");
                assert_eq!(inner.read(..).expect("elements")[1], 6);
            });
        }
    }
    // A list more would be one for each thousand chunks.
    let store = AsyncMemoryStore::over(filled(&of_array), Latency::default());
    let storage = Storage::asynchronous(store.clone());
    store.reset();
    copy(
        (&storage, "from"),
        (MemoryStore::new(), "to"),
        &CopyOptions::new(),
    )
    .expect("a copy");
    assert_eq!(store.counts().lists, 1, "{:?}", store.counts());
    let store = Arc::new(CountingStore::new(filled(&of_array)));
    let storage = Storage::blocking(Arc::clone(&store));
    store.reset();
    copy(
        (&storage, "from"),
        (MemoryStore::new(), "to"),
        &CopyOptions::new(),
    )
    .expect("a copy");
    assert_eq!(store.counts().lists, 1, "{:?}", store.counts());
}

/// A file that was at the target before stays; one that an interrupted copy left is replaced.
#[test]
fn a_file_of_the_source_replaces_no_other() {
    let store = filled(&KEYS);
    store
        .set("to/ro-crate-metadata.json", "another")
        .expect("a key");
    let error =
        copy((&store, "from"), (&store, "to"), &CopyOptions::new()).expect_err("it is another");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    assert!(
        error.to_string().contains("ro-crate-metadata.json"),
        "{error}"
    );
    assert_eq!(
        store.get("to/ro-crate-metadata.json").expect("it stays"),
        "another"
    );
    assert!(Group::open((&store, "to")).is_err(), "it is not whole");
    store
        .set("to/ro-crate-metadata.json", "half")
        .expect("a key");
    copy(
        (&store, "from"),
        (&store, "to"),
        &CopyOptions::new().resume(),
    )
    .expect("it goes on");
    assert_eq!(
        store
            .get("to/ro-crate-metadata.json")
            .expect("it was copied"),
        "{}"
    );
    let again = CopyOptions::new().existing(Existing::Replace);
    let error = copy((&store, "from"), (&store, "to"), &again).expect_err("files of others");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
}

/// Files go through bounded memory.
#[test]
fn a_large_file_is_copied_in_pieces() {
    let mut large = vec![7; 30 << 20];
    large[20 << 20] = 1;
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(&KEYS);
    store.set("from/large.bin", large.clone()).expect("a key");
    let storage = Storage::folder(folder.path());
    let options = CopyOptions::new().memory(1 << 20);
    copy((&store, "from"), (&storage, "to"), &options).expect("a copy");
    assert!(fs::read(folder.path().join("to/large.bin")).expect("a file") == large);
    let bucket = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
    let error = copy((&store, "from"), (&bucket, "to"), &options).expect_err("it is too large");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    copy((&store, "from"), (&bucket, "then"), &options.more_memory()).expect("a copy");
}

pub(crate) fn group(format: u8) -> (&'static str, String, &'static str, String) {
    match format {
        2 => (
            ".zgroup",
            r#"{"zarr_format": 2}"#.to_owned(),
            ".zarray",
            ARRAY.to_owned(),
        ),
        _ => {
            let array = json!({
                "zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "uint8", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
                "codecs": [{"name": "bytes"}], "attributes": {},
            });
            let group = r#"{"zarr_format": 3, "node_type": "group"}"#.to_owned();
            ("zarr.json", group, "zarr.json", array.to_string())
        }
    }
}

/// Arrays that cannot be decoded here: of pickles, and of a codec that is unknown.
const OPAQUE: [(&str, &str); 7] = [
    (".zgroup", r#"{"zarr_format": 2}"#),
    ("a/.zarray", ARRAY),
    ("a/0", "\u{1}\u{2}"),
    (
        "pickles/.zarray",
        r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "compressor": null, "order": "C",
            "filters": [{"id": "pickle", "protocol": 5}], "fill_value": 0}"#,
    ),
    ("pickles/0", "opaque"),
    (
        "wavpack/.zarray",
        r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "filters": null, "order": "C",
            "compressor": {"id": "wavpack", "level": 1}, "fill_value": 0}"#,
    ),
    ("wavpack/0", "opaque"),
];

#[test]
fn arrays_that_cannot_be_decoded_are_copied_as_they_are_or_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for (storage, _) in stores(&OPAQUE, folder.path()) {
        // Where nothing has to be decoded, they are copied byte for byte; what an option says of
        // the others says nothing of them.
        for options in [
            CopyOptions::new(),
            CopyOptions::new().codecs([codec::zstd(1)]),
        ] {
            let options = options
                .existing(Existing::Replace)
                .run(RunOptions::default().force());
            copies(&storage, &options, |report, to| {
                assert!(report.is_complete());
                let as_files: Vec<(&str, u64)> = (report.nodes.iter())
                    .filter(|node| node.as_files.is_some())
                    .map(|node| (&node.source[..], node.n_chunks))
                    .collect();
                assert_eq!(as_files, [("from/pickles", 1), ("from/wavpack", 1)]);
                let [from, target] = ["from/", to].map(|prefix| values(&storage, prefix));
                for (key, _) in OPAQUE
                    .iter()
                    .filter(|(key, _)| key.starts_with("pickles/") || key.starts_with("wavpack/"))
                {
                    assert_eq!(target.get(*key), from.get(*key), "{key}");
                }
                let a = Array::<u8>::open((&storage, &format!("{to}a")[..])).expect("an array");
                assert_eq!(a.read(..).expect("elements").sum(), 3);
            });
        }
        let options = CopyOptions::new()
            .format(Format::Zarr3)
            .existing(Existing::Replace);
        copies(
            &storage,
            &options.run(RunOptions::default().force()),
            |report, to| {
                let not_copied: Vec<&str> = report
                    .not_copied
                    .iter()
                    .map(|node| &node.source[..])
                    .collect();
                assert_eq!(not_copied, ["from/pickles", "from/wavpack"]);
                assert!(report.not_copied[1].why.contains("wavpack"), "{report:?}");
                assert!(!report.is_complete());
                let left_out = left_out(report, LeftOutReason::NotCopied);
                assert_eq!(
                    left_out,
                    [
                        "pickles/.zarray",
                        "pickles/0",
                        "wavpack/.zarray",
                        "wavpack/0"
                    ]
                );
                let to = Group::open((&storage, to.trim_end_matches('/'))).expect("a group");
                assert_eq!(to.walk().expect("a list").len(), 1);
            },
        );
    }
    // A copy of only such an array is an error.
    let store = filled(&OPAQUE);
    let error = copy(
        (&store, "from/pickles"),
        (&store, "to"),
        &CopyOptions::new(),
    )
    .expect_err("it is unknown");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}
