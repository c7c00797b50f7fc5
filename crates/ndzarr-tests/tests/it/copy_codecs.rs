//! Filters and codecs of one format that become codecs of another.

use ndzarr::{AnyArray, Array, CopyLevel, CopyOptions, Format, MemoryStore, codec, copy};
use ndzarr_tests::cases;
use serde_json::json;

use crate::copy_formats::elements;

/// Neither zarr-python nor tensorstore reads N5 blocks in an array of Zarr v3.
#[test]
fn arrays_of_n5_become_what_others_read() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([5, 4])
        .format(Format::N5)
        .chunks([2, 3])
        .codecs([codec::gzip(1)]);
    a.create((&store, "a"))
        .expect("a new array")
        .fill([0..5, 0..4], 3)
        .expect("elements");
    let codecs = |path: &str| {
        let document = store
            .get(&format!("{path}/zarr.json"))
            .expect("it was made");
        let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
        document["codecs"].clone()
    };
    let plain = json!([
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "gzip", "configuration": {"level": 1}}]);
    let to_v3 = CopyOptions::new().format(Format::Zarr3);
    for (path, options) in [("b", to_v3.clone()), ("c", to_v3.clone().chunks([5, 2]))] {
        let report = copy((&store, "a"), (&store, path), &options).expect("a copy");
        assert_eq!(
            (report.nodes[0].level, &codecs(path)),
            (CopyLevel::Reencoded, &plain)
        );
    }
    let sharded = to_v3.clone().chunks([2, 2]).shards([4, 4]);
    copy((&store, "a"), (&store, "d"), &sharded).expect("a copy");
    assert_eq!(codecs("d")[0]["configuration"]["codecs"], plain);
    // Chunks are copied as they are only on request, and a note names them.
    let kept = to_v3.at_most(CopyLevel::Rekeyed);
    let report = copy((&store, "a"), (&store, "e"), &kept).expect("a copy");
    assert_eq!(
        (report.nodes[0].level, &codecs("e")[0]["name"]),
        (CopyLevel::Rekeyed, &json!("n5_default"))
    );
    assert!(
        report.nodes[0]
            .notes
            .iter()
            .any(|note| note.contains("N5 blocks")),
        "{report:?}"
    );
    for path in ["b", "c", "d", "e"] {
        let made = Array::<u16>::open((&store, path)).expect("the copy");
        assert!(
            made.read(..).expect("elements").iter().all(|&n| n == 3),
            "{path}"
        );
    }
}

#[test]
fn chunks_stay_where_they_are() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([5, 4])
        .format(Format::N5)
        .chunks([2, 3])
        .codecs([codec::gzip(1)])
        .create((&store, "a"))
        .expect("a new array");
    a.fill([0..5, 0..4], 3).expect("elements");
    let before = store.keys();
    let report = copy(
        (&store, "a"),
        (&store, "a"),
        &CopyOptions::new().format(Format::Zarr3),
    )
    .expect("it can be");
    assert_eq!(
        (report.nodes[0].level, report.nodes[0].n_chunks),
        (CopyLevel::Metadata, 0)
    );
    let new: Vec<String> = store
        .keys()
        .into_iter()
        .filter(|key| !before.contains(key))
        .collect();
    assert_eq!(new, ["a/zarr.json"]);
    // As in the README of the codec.
    let document: serde_json::Value =
        serde_json::from_slice(&store.get("a/zarr.json").expect("it was made")).expect("JSON");
    assert_eq!(
        document["codecs"],
        json!([{"name": "n5_default", "configuration": {"codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "gzip", "configuration": {"level": 1}}]}}])
    );
    assert_eq!(
        document["chunk_key_encoding"],
        json!({"name": "v2", "configuration": {"separator": "/"}})
    );
    let again = copy(
        (&store, "a"),
        (&store, "a"),
        &CopyOptions::new().format(Format::Zarr3),
    );
    assert!(again.is_err());
}

/// Copies a case of v2 to v3 in place. Returns the level and the names of the codecs, or the reason
/// why that is refused.
fn to_v3_in_place(name: &str) -> Result<(CopyLevel, serde_json::Value), String> {
    let case = cases()
        .expect("the cases")
        .into_iter()
        .find(|case| case.path() == name)
        .expect("the case");
    let store = case.memory().expect("the stored files");
    let to_v3 = CopyOptions::new().format(Format::Zarr3);
    let report = copy((&store, &case.node), (&store, &case.node), &to_v3)
        .map_err(|error| error.to_string())?;
    let document = store.get("zarr.json").expect("it was made");
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let names = document["codecs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|codec| codec["name"].clone());
    Ok((report.nodes[0].level, names.collect()))
}

#[test]
fn v2_166_filters_become_codecs_of_v3() {
    for (case, codecs) in [
        (
            "zarr2/zp2-filter-delta-c",
            json!(["numcodecs.delta", "bytes"]),
        ),
        (
            "zarr2/zp2-filters-delta-be-u4-f",
            json!(["transpose", "numcodecs.delta", "bytes"]),
        ),
        (
            "zarr2/zp2-filter-shuffle-4",
            json!(["bytes", "numcodecs.shuffle"]),
        ),
        (
            "zarr2/zp2-filter-crc32-start",
            json!(["bytes", "numcodecs.crc32"]),
        ),
        ("zarr2/zp2-object-vlen-utf8-raw", json!(["vlen-utf8"])),
        ("zarr2/zp2-object-vlen-bytes", json!(["vlen-bytes"])),
    ] {
        let (level, names) = to_v3_in_place(case).unwrap_or_else(|error| panic!("{case}: {error}"));
        let names: Vec<_> = names.as_array().expect("a list").iter().collect();
        let expected: Vec<_> = codecs.as_array().expect("a list").iter().collect();
        // Compressors follow.
        assert_eq!(
            (level, &names[..expected.len().min(names.len())]),
            (CopyLevel::Metadata, &expected[..])
        );
    }
    for case in [
        "zarr2/zp2-filter-base64",
        "zarr2/zp2-object-json2",
        "zarr2/zp2-object-vlen-array",
    ] {
        let error = to_v3_in_place(case).expect_err(case);
        assert!(error.contains("encoded again"), "{case}: {error}");
    }
}

#[test]
fn v2_166_a_filter_after_a_codec_of_bytes_is_encoded_again() {
    let store = MemoryStore::new();
    let filters = json!({"compressor": null, "filters": [
        {"id": "zlib", "level": 1}, {"id": "delta", "dtype": "|u1"}]});
    let builder = Array::<u8>::builder([6])
        .chunks([4])
        .format(Format::Zarr2)
        .codecs_json(filters);
    builder
        .create((&store, "a"))
        .expect("a new array")
        .fill([0..6], 7)
        .expect("elements");
    let to_v3 = CopyOptions::new().format(Format::Zarr3);
    copy((&store, "a"), (&store, "a"), &to_v3).expect_err("v3 has no such chain");
    let other = MemoryStore::new();
    let report = copy((&store, "a"), (&other, "a"), &to_v3).expect("elements are encoded again");
    assert_eq!(report.nodes[0].level, CopyLevel::Reencoded);
    let made = AnyArray::open((&other, "a")).expect("the array");
    assert_eq!(elements(&made).expect("elements"), [7; 6]);
}

/// V3 has no name for codes of strings, and its own strings.
#[test]
fn v2_119_texts_as_codes_become_texts() {
    let case = cases()
        .expect("the cases")
        .into_iter()
        .find(|case| case.path() == "zarr2/zp2-object-categorize");
    let store = case.expect("the case").memory().expect("the stored files");
    let to_v3 = CopyOptions::new().format(Format::Zarr3);
    copy(&store, &store, &to_v3).expect_err("the chunks cannot stay");
    let other = MemoryStore::new();
    let report = copy(&store, &other, &to_v3).expect("elements are encoded again");
    assert_eq!(report.nodes[0].level, CopyLevel::Reencoded);
    let made = Array::<String>::open(&other).expect("the array");
    assert_eq!(
        made.read(..).expect("elements").into_raw_vec_and_offset().0,
        ["bb", "a", "bb", ""]
    );
    let document: serde_json::Value =
        serde_json::from_slice(&other.get("zarr.json").expect("it was made")).expect("JSON");
    assert_eq!(
        (&document["data_type"], &document["codecs"][0]["name"]),
        (&json!("string"), &json!("vlen-utf8"))
    );
}
