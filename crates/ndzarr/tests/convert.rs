//! Conversions: every array of `testdata/`, from each format to each other, with the elements that its writer gave it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr::{
    AnyArray, Array, Cancel, ConvertLevel, ConvertOptions, Error, ErrorKind, Format, Group, Loss,
    MemoryStore, OnProgress, codec, convert,
};
use ndzarr_testkit::{Kind, cases};
use serde_json::json;

fn whole(array: &AnyArray) -> Vec<Range<u64>> {
    array.shape().iter().map(|&n| 0..n).collect()
}

fn elements(array: &AnyArray) -> Result<Vec<u8>, Error> {
    array.read_bytes(&whole(array))
}

/// How many arrays of each format became which, at which level.
fn all(from: &str, to: Format, in_place: bool) -> (u64, u64, u64) {
    let mut levels = (0, 0, 0);
    for case in cases().expect("the cases") {
        if case.kind != Kind::Array || !case.path().starts_with(from) {
            continue;
        }
        let source = case.memory().expect("the stored files");
        let Ok(array) = AnyArray::open_in(&source, &case.node) else { continue };
        let Ok(expected) = elements(&array) else { continue };
        let target = if in_place { source.clone() } else { MemoryStore::new() };
        let options = ConvertOptions { loss: Loss::Record, ..ConvertOptions::new(to) };
        let report = match convert(&source, &case.node, &target, &case.node, &options) {
            Ok(report) => report,
            Err(error) => {
                let kinds = [ErrorKind::InvalidArgument, ErrorKind::AlreadyExists, ErrorKind::Unsupported];
                assert!(kinds.contains(&error.kind()), "{}: {error:?}", case.path());
                continue;
            }
        };
        let open = ndzarr::OpenOptions { format: Some(to), ..ndzarr::OpenOptions::default() };
        let made = AnyArray::open_with(&target, &case.node, &open, &ndzarr::CodecRegistry::new());
        let made = made.unwrap_or_else(|error| panic!("{} to {to}: {error:?}", case.path()));
        assert_eq!((made.shape(), made.data_type()), (array.shape(), array.data_type()), "{}", case.path());
        let read = elements(&made).unwrap_or_else(|error| panic!("{} to {to}: {error:?}", case.path()));
        assert!(read == expected, "{} to {to} has other elements: {report:?}", case.path());
        match report.nodes[0].level {
            ConvertLevel::Metadata => levels.0 += 1,
            ConvertLevel::Rekeyed => levels.1 += 1,
            ConvertLevel::Reencoded => levels.2 += 1,
        }
    }
    levels
}

#[test]
fn v2_162_arrays_of_v2_become_v3_in_place() {
    let (metadata, others, _) = all("zarr2/", Format::Zarr3, true);
    // One has no document of its own to stand beside.
    assert!(metadata > 100 && others <= 1, "{metadata} {others}");
}

#[test]
fn arrays_of_n5_become_v3_in_place() {
    let (metadata, others, _) = all("n5/", Format::Zarr3, true);
    assert!(metadata > 40 && others == 0, "{metadata} {others}");
}

#[test]
fn arrays_become_others_elsewhere() {
    for from in ["zarr2/", "zarr3/", "draft/", "n5/"] {
        for to in [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB, Format::N5] {
            let (metadata, rekeyed, reencoded) = all(from, to, false);
            assert!(metadata == 0 && rekeyed + reencoded > 5, "{from} to {to}");
            let is_n5 = [from == "n5/", to == Format::N5];
            let copies = is_n5 == [false, false] || is_n5 == [true, true] || to == Format::Zarr3;
            assert!(rekeyed > 0 || !copies, "{from} to {to}");
        }
    }
}

#[test]
fn chunks_stay_where_they_are() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([5, 4])
        .format(Format::N5)
        .chunks([2, 3])
        .codecs([codec::gzip(1)])
        .create(&store, "a")
        .expect("a new array");
    a.fill([0..5, 0..4], 3).expect("elements");
    let before = store.keys();
    let report = convert(&store, "a", &store, "a", &ConvertOptions::new(Format::Zarr3)).expect("it can be");
    assert_eq!((report.nodes[0].level, report.nodes[0].n_chunks), (ConvertLevel::Metadata, 0));
    let new: Vec<String> = store.keys().into_iter().filter(|key| !before.contains(key)).collect();
    assert_eq!(new, ["a/zarr.json"]);
    // As the README of the codec has it.
    let document: serde_json::Value =
        serde_json::from_slice(&store.get("a/zarr.json").expect("it was made")).expect("JSON");
    assert_eq!(
        document["codecs"],
        json!([{"name": "n5_default", "configuration": {"codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "gzip", "configuration": {"level": 1}}]}}])
    );
    assert_eq!(document["chunk_key_encoding"], json!({"name": "v2", "configuration": {"separator": "/"}}));
    let again = convert(&store, "a", &store, "a", &ConvertOptions::new(Format::Zarr3));
    assert!(again.is_err());
}

#[test]
fn hierarchies_keep_attributes_and_names() {
    let store = MemoryStore::new();
    let mut root = Group::create(&store, "", Format::Zarr2).expect("a new group");
    root.merge_attributes(json!({"title": "t"})).expect("an attribute");
    let builder =
        Array::<i32>::builder([6]).chunks([4]).dimension_names(["x"]).attributes(json!({"unit": "m"}));
    root.create_array("g/a", builder).expect("a new array").fill([0..6], 5).expect("elements");
    for to in [Format::Zarr3, Format::N5, Format::DraftB] {
        let other = MemoryStore::new();
        let options = ConvertOptions { loss: Loss::Record, ..ConvertOptions::new(to) };
        let report = convert(&store, "", &other, "", &options).expect("it can be");
        assert_eq!(report.nodes.len(), 3);
        let made = Group::open_in(&other, "").expect("the group");
        assert_eq!((made.format(), &made.attributes()["title"]), (to, &json!("t")));
        let a = made.array::<i32>("g/a").expect("the array");
        assert_eq!((a.read(..).expect("elements").sum(), &a.attributes()["unit"]), (30, &json!("m")));
        if to != Format::DraftB {
            assert_eq!(a.dimension_names(), Some(&[Some("x".to_owned())][..]));
        }
    }
}

#[test]
fn what_would_be_lost_is_refused_or_recorded() {
    let store = MemoryStore::new();
    let a = Array::<f32>::builder([4]).chunks([2]).fill_value(1.5).create(&store, "a").expect("a new array");
    a.fill([0..1], 2.0).expect("elements");
    let other = MemoryStore::new();
    let mut options = ConvertOptions::new(Format::N5);
    let error = convert(&store, "a", &other, "a", &options).expect_err("N5 has no fill value");
    assert!(error.to_string().contains("fill value") && other.keys().is_empty(), "{error}");
    options.loss = Loss::Record;
    let report = convert(&store, "a", &other, "a", &options).expect("recorded");
    assert!(report.nodes[0].losses[0].contains("fill value"), "{report:?}");
    let made = Array::<f32>::open_in(&other, "a").expect("the array");
    assert_eq!(made.read(..).expect("elements"), a.read(..).expect("elements"));

    let cheap = ConvertOptions { at_most: ConvertLevel::Rekeyed, ..options.clone() };
    assert!(convert(&store, "a", MemoryStore::new(), "a", &cheap).is_err());
    let odd = Array::<bool>::builder([4]).create(&store, "b").expect("a new array");
    assert!(convert(&store, odd.path(), MemoryStore::new(), "b", &options).is_err(), "N5 has no bool");
}

#[test]
fn progress_and_cancelling() {
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([8]).chunks([1]).create(&store, "a").expect("a new array");
    a.fill([0..8], 1).expect("elements");
    let heard = Arc::new(AtomicU64::new(0));
    let mut options = ConvertOptions::new(Format::Zarr2);
    let count = Arc::clone(&heard);
    options.run.progress = Some(OnProgress::new(move |progress| {
        assert_eq!(progress.total, 8);
        count.fetch_add(1, Ordering::Relaxed);
    }));
    convert(&store, "a", MemoryStore::new(), "a", &options).expect("it can be");
    assert_eq!(heard.load(Ordering::Relaxed), 8);
    let cancel = Cancel::new();
    cancel.cancel();
    options.run.cancel = Some(cancel);
    let target = MemoryStore::new();
    let error = convert(&store, "a", &target, "a", &options).expect_err("cancelled");
    assert!(error.kind() == ErrorKind::Cancelled && target.keys().is_empty());
}
