//! Copies of groups with consolidated metadata, and of arrays below folders without a document.

use ndzarr::{Array, CopyOptions, Existing, Format, Group, RunOptions, codec};
use serde_json::Value;

use crate::copy_accounts::{copies, group, names, stores, values};

/// As tensorstore and zarr-python 3.0.2 make them: an array two levels below its group, and no
/// document between.
#[test]
fn arrays_below_folders_without_a_document_are_listed_and_copied() {
    for format in [2, 3] {
        let (of_group, group, of_array, array) = group(format);
        let raw = format!("raw/channel/{of_array}");
        let keys = [
            (of_group, &group[..]),
            (&raw, &array),
            ("raw/channel/0", "\u{1}\u{2}"),
            ("notes/a.txt", "-"),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        for (storage, _) in stores(&keys, folder.path()) {
            let from = Group::open((&storage, "from")).expect("a group");
            let paths = |group: &Group| -> Vec<String> {
                group
                    .walk()
                    .expect("a list")
                    .iter()
                    .map(|child| child.path())
                    .collect()
            };
            assert_eq!(paths(&from), ["raw", "raw/channel"]);
            for to in [Format::Zarr2, Format::Zarr3] {
                let options = CopyOptions::new().format(to).existing(Existing::Replace);
                let options = options.run(RunOptions::default().force());
                copies(&storage, &options, |report, to| {
                    assert_eq!(report.nodes.len(), 3, "{report:?}");
                    let account = report.account.as_ref().expect("an account");
                    assert_eq!(
                        (account.n_keys(), names(&account.files)),
                        (4, vec!["notes/a.txt"])
                    );
                    let to = Group::open((&storage, to.trim_end_matches('/'))).expect("a group");
                    let channel = to.array::<u8>("raw/channel").expect("an array");
                    assert_eq!(
                        channel
                            .read(..)
                            .expect("elements")
                            .into_raw_vec_and_offset()
                            .0,
                        [1, 2, 0]
                    );
                    // Others find it, since the group between has a document now.
                    assert!(
                        to.children()
                            .expect("children")
                            .iter()
                            .any(|child| child.name() == "raw")
                    );
                });
            }
        }
    }
}

/// zarr-python 3 opens no group whose consolidated metadata name a node and not the group that it
/// is in.
#[test]
fn consolidated_metadata_have_the_groups_above_such_arrays() {
    for format in [2, 3] {
        let (of_group, group, of_array, array) = group(format);
        let raw = format!("raw/channel/{of_array}");
        let keys = [
            (of_group, &group[..]),
            (&raw, &array),
            ("raw/channel/0", "\u{1}\u{2}"),
            ("notes/a.txt", "-"),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        for (storage, _) in stores(&keys, folder.path()) {
            Group::open((&storage, "from"))
                .expect("a group")
                .consolidate()
                .expect("it is consolidated");
            let read = |key: &str| -> Value {
                let text = storage
                    .read_key(key, 1 << 20)
                    .expect("a read")
                    .expect("a document");
                serde_json::from_slice(&text).expect("JSON")
            };
            let (metadata, expected) = match format {
                2 => (
                    read("from/.zmetadata")["metadata"].clone(),
                    [".zgroup", "raw/.zgroup", "raw/channel/.zarray"],
                ),
                _ => (
                    read("from/zarr.json")["consolidated_metadata"]["metadata"].clone(),
                    ["raw", "raw/channel", ""],
                ),
            };
            let names: Vec<&String> = metadata.as_object().expect("a map").keys().collect();
            assert_eq!(
                names,
                expected
                    .iter()
                    .filter(|name| !name.is_empty())
                    .collect::<Vec<_>>()
            );
            let group = Group::open((&storage, "from")).expect("a group");
            assert_eq!(
                group.array::<u8>("raw/channel").expect("an array").shape(),
                [3]
            );
            assert_eq!(group.walk().expect("nodes").len(), 2);
        }
    }
}

/// Consolidated metadata that are older than the hierarchy: "new" is missing, "old" was removed.
#[test]
fn a_copy_follows_documents_and_not_stale_consolidated_metadata() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let folder = tempfile::tempdir().expect("a folder");
        for (storage, set) in stores(&[], folder.path()) {
            let mut from = Group::create((&storage, "from"), format).expect("a group");
            let array = || Array::<u8>::builder([3]).chunks([2]);
            from.create_array("old", array()).expect("an array");
            from.consolidate().expect("it is consolidated");
            let key = if format == Format::Zarr2 {
                "from/.zmetadata"
            } else {
                "from/zarr.json"
            };
            let stale = storage
                .read_key(key, 1 << 20)
                .expect("a read")
                .expect("a document");
            from.erase("old").expect("it is removed");
            from.create_array("new", array())
                .expect("an array")
                .fill(.., 8)
                .expect("elements");
            set(key, &stale);
            copies(&storage, &CopyOptions::new(), |report, to| {
                let paths: Vec<&str> = report.nodes.iter().map(|node| &node.source[..]).collect();
                assert_eq!(paths, ["from", "from/new"]);
                let notes = report.nodes[0].notes.join("; ");
                assert!(
                    notes.contains("\"old\"") && notes.contains("\"new\""),
                    "{notes}"
                );
                // Those of the copy are right.
                let to = Group::open((&storage, to.trim_end_matches('/'))).expect("a group");
                let children = to.children().expect("children");
                assert_eq!(
                    children
                        .iter()
                        .map(|child| child.name())
                        .collect::<Vec<_>>(),
                    ["new"]
                );
                assert_eq!(
                    to.array::<u8>("new")
                        .expect("an array")
                        .read(..)
                        .expect("elements")
                        .sum(),
                    24
                );
            });
        }
    }
}

#[test]
fn the_copy_of_a_consolidated_group_is_consolidated() {
    for (format, to) in [
        (Format::Zarr2, Format::Zarr2),
        (Format::Zarr3, Format::Zarr3),
        (Format::Zarr2, Format::Zarr3),
        (Format::Zarr3, Format::Zarr2),
        (Format::Zarr3, Format::N5),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        for (storage, _) in stores(&[], folder.path()) {
            let mut from = Group::create((&storage, "from"), format).expect("a group");
            from.create_group("g").expect("a group");
            from.create_array(
                "g/a",
                Array::<u8>::builder([3])
                    .chunks([2])
                    .codecs([codec::zstd(1)]),
            )
            .expect("an array")
            .fill(.., 8)
            .expect("elements");
            from.consolidate().expect("it is consolidated");
            copies(
                &storage,
                &CopyOptions::new().format(to).resume(),
                |report, place| {
                    let notes = report.nodes[0].notes.join("; ");
                    assert_eq!(notes.contains("consolidated"), to == Format::N5, "{notes}");
                    let own = match to {
                        Format::Zarr2 => format!("{place}.zmetadata"),
                        Format::Zarr3 => format!("{place}zarr.json"),
                        _ => return,
                    };
                    let own = storage
                        .read_key(&own, 1 << 20)
                        .expect("a read")
                        .expect("a document");
                    let own: Value = serde_json::from_slice(&own).expect("JSON");
                    let (metadata, names) = match to {
                        Format::Zarr2 => (
                            &own["metadata"],
                            vec![".zgroup", "g/.zgroup", "g/a/.zarray"],
                        ),
                        _ => (&own["consolidated_metadata"]["metadata"], vec!["g", "g/a"]),
                    };
                    let found: Vec<&String> = metadata.as_object().expect("a map").keys().collect();
                    assert_eq!(found, names);
                    // Each copy says what the document says.
                    let target = values(&storage, place);
                    if let Some(document) = target.get("g/a/.zarray") {
                        let document: Value = serde_json::from_slice(document).expect("JSON");
                        assert_eq!(metadata["g/a/.zarray"], document);
                    }
                },
            );
        }
    }
}
