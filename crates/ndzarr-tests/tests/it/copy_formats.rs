//! Conversions: every array of `testdata/`, from each format to every other, compared with its
//! original elements.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr::{
    Any, AnyArray, Array, Cancel, CopyLevel, CopyOptions, DataType, Error, ErrorKind, Format,
    Group, MemberKind, MemoryStore, Progress, RunOptions, codec, copy,
};
use ndzarr_tests::{Case, Kind, cases};
use serde_json::json;

fn whole(array: &AnyArray) -> Vec<Range<u64>> {
    array.shape().iter().map(|&n| 0..n).collect()
}

/// All elements; those of variable size with their lengths.
pub(crate) fn elements(array: &AnyArray) -> Result<Vec<u8>, Error> {
    if array.data_type().elem_size().is_some() {
        return array.read_bytes(whole(array));
    }
    let elements = array.read_vlen(whole(array))?;
    let with_length =
        |element: Vec<u8>| [&(element.len() as u64).to_le_bytes()[..], &element].concat();
    Ok(elements.into_iter().flat_map(with_length).collect())
}

/// Paths of the arrays of a case.
fn arrays(case: &Case, store: &MemoryStore) -> Vec<String> {
    match case.kind {
        Kind::Array => vec![case.node.clone()],
        _ => match Group::open((store, &case.node)).and_then(|group| group.walk()) {
            Ok(below) => {
                let arrays = below
                    .iter()
                    .filter(|child| child.kind() == Some(MemberKind::Array));
                let prefix = if case.node.is_empty() {
                    String::new()
                } else {
                    format!("{}/", case.node)
                };
                arrays
                    .map(|child| format!("{prefix}{}", child.path()))
                    .collect()
            }
            Err(_) => Vec::new(),
        },
    }
}

#[derive(Debug, Default)]
struct Count {
    metadata: u64,
    rekeyed: u64,
    reencoded: u64,
    /// Those with elements of variable size.
    vlen: u64,
    refused: u64,
}

/// The number of arrays of each format by target format and level.
fn all(from: &str, to: Format, in_place: bool) -> Count {
    let mut count = Count::default();
    for case in cases().expect("the cases") {
        if case.path().starts_with(from) {
            let store = case.memory().expect("the stored files");
            for node in arrays(&case, &store) {
                one(&case, &node, to, in_place, &mut count);
            }
        }
    }
    count
}

fn one(case: &Case, node: &str, to: Format, in_place: bool, count: &mut Count) {
    let name = format!("{}:{node} to {to}", case.path());
    let source = case.memory().expect("the stored files");
    let Ok(array) = AnyArray::open((&source, node)) else {
        return;
    };
    let expected = match elements(&array) {
        Ok(expected) => expected,
        // Objects of N5 are read by block; the fixtures cover missing and disabled features.
        Err(error) => {
            let known =
                *array.data_type() == DataType::Object || error.kind() == ErrorKind::Unsupported;
            assert!(known || case.kind != Kind::Array, "{name}: {error:?}");
            return;
        }
    };
    let target = if in_place {
        source.clone()
    } else {
        MemoryStore::new()
    };
    let options = CopyOptions::new().format(to).record_losses();
    let report = match copy((&source, node), (&target, node), &options) {
        Ok(report) => report,
        Err(error) => {
            let kinds = [
                ErrorKind::InvalidArgument,
                ErrorKind::AlreadyExists,
                ErrorKind::Unsupported,
            ];
            assert!(kinds.contains(&error.kind()), "{name}: {error:?}");
            // The message ends with the reason.
            let message = error.to_string();
            let reason = message
                .split_once("cannot be")
                .map(|(_, why)| why.len() > 20);
            assert!(reason.unwrap_or(message.len() > 20), "{name}: {message}");
            count.refused += 1;
            return;
        }
    };
    let open = ndzarr::OpenOptions::new().format(to);
    let made = open.open_array::<Any>((&target, node));
    let made = made.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    assert_eq!(
        (made.shape(), made.data_type()),
        (array.shape(), array.data_type()),
        "{name}"
    );
    let read = elements(&made).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    assert!(read == expected, "{name} has other elements: {report:?}");
    match report.nodes[0].level {
        CopyLevel::Metadata => count.metadata += 1,
        CopyLevel::Rekeyed => count.rekeyed += 1,
        CopyLevel::Reencoded => count.reencoded += 1,
        level => panic!("{level:?} is new"),
    }
    count.vlen += u64::from(array.data_type().elem_size().is_none());
}

#[test]
fn v2_162_arrays_of_v2_become_v3_in_place() {
    let count = all("zarr2/", Format::Zarr3, true);
    // One has no document of its own, to which the new one could be added.
    assert!(
        count.metadata > 100 && count.rekeyed + count.reencoded <= 1,
        "{count:?}"
    );
    assert!(count.vlen > 3, "{count:?}");
}

#[test]
fn arrays_of_n5_become_v3_in_place() {
    let count = all("n5/", Format::Zarr3, true);
    assert!(
        count.metadata > 40 && count.rekeyed + count.reencoded == 0,
        "{count:?}"
    );
}

#[test]
fn arrays_become_zarr_v3_and_n5_elsewhere() {
    become_elsewhere(&[Format::Zarr3, Format::N5]);
}

#[test]
#[ignore = "long; `.ci/run all` runs it"]
fn long_arrays_become_others_elsewhere() {
    become_elsewhere(&[Format::Zarr2, Format::DraftA, Format::DraftB]);
}

fn become_elsewhere(formats: &[Format]) {
    for from in ["zarr2/", "zarr3/", "draft/", "n5/"] {
        for &to in formats {
            let count = all(from, to, false);
            assert!(
                count.metadata == 0 && count.rekeyed + count.reencoded > 5,
                "{from} to {to}: {count:?}"
            );
            let is_n5 = [from == "n5/", to == Format::N5];
            // N5 blocks in Zarr are read by few, and are made only on request.
            let copies = is_n5[0] == is_n5[1];
            assert_eq!(count.rekeyed > 0, copies, "{from} to {to}: {count:?}");
            // Draft A has no strings.
            assert!(
                count.vlen > 0 || from == "n5/" || to == Format::DraftA,
                "{from} to {to}: {count:?}"
            );
        }
    }
}

#[test]
fn no_time_stays_no_time() {
    let store = MemoryStore::new();
    let document = json!({"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<M8[s]", "compressor": null,
        "filters": null, "fill_value": null, "order": "C"});
    store
        .set(".zarray", document.to_string().into_bytes())
        .expect("the document");
    store
        .set("0", 5i64.to_le_bytes().to_vec())
        .expect("a chunk");
    for place in [MemoryStore::new(), store.clone()] {
        let report =
            copy(&store, &place, &CopyOptions::new().format(Format::Zarr3)).expect("it can be");
        assert_eq!(report.nodes[0].notes.len(), 1, "{report:?}");
        let open = ndzarr::OpenOptions::new().format(Format::Zarr3);
        let made = open.open_array::<Any>(&place).expect("v3");
        let expected = [5i64.to_ne_bytes(), i64::MIN.to_ne_bytes()].concat();
        assert_eq!(elements(&made).expect("elements"), expected);
    }
}

#[test]
fn texts_of_any_length_are_converted() {
    let texts = ndarray::array!["", "a", "\u{fc}ber", "\u{1f600}", "e"]
        .mapv(str::to_owned)
        .into_dyn();
    let store = MemoryStore::new();
    let builder = Array::<String>::builder([5])
        .chunks([2])
        .format(Format::Zarr2);
    let a = builder
        .codecs([codec::gzip(1)])
        .create((&store, "a"))
        .expect("a new array");
    a.write(.., &texts).expect("elements");
    for to in [Format::Zarr2, Format::Zarr3, Format::DraftB, Format::N5] {
        let other = MemoryStore::new();
        copy((&store, "a"), (&other, "a"), &CopyOptions::new().format(to)).expect("it can be");
        let made = Array::<String>::open((&other, "a")).expect("the array");
        assert_eq!(
            (made.format(), made.read(..).expect("texts")),
            (to, texts.clone())
        );
        let back = MemoryStore::new();
        copy(
            (&other, "a"),
            (&back, "a"),
            &CopyOptions::new().format(Format::Zarr2),
        )
        .expect("and back");
        let made = Array::<String>::open((&back, "a")).expect("the array");
        assert_eq!(made.read(..).expect("texts"), texts);
    }
    let error = copy(
        (&store, "a"),
        (MemoryStore::new(), "a"),
        &CopyOptions::new().format(Format::DraftA),
    );
    assert!(
        error
            .expect_err("draft A has no texts")
            .to_string()
            .contains("no data type string")
    );
}

#[test]
fn hierarchies_keep_attributes_and_names() {
    let store = MemoryStore::new();
    let mut root = Group::create(&store, Format::Zarr2).expect("a new group");
    root.merge_attributes(json!({"title": "t"}))
        .expect("an attribute");
    let builder = Array::<i32>::builder([6])
        .chunks([4])
        .dimension_names(["x"])
        .attributes(json!({"unit": "m"}));
    root.create_array("g/a", builder)
        .expect("a new array")
        .fill([0..6], 5)
        .expect("elements");
    for to in [Format::Zarr3, Format::N5, Format::DraftB] {
        let other = MemoryStore::new();
        let options = CopyOptions::new().format(to).record_losses();
        let report = copy(&store, &other, &options).expect("it can be");
        assert_eq!(report.nodes.len(), 3);
        let made = Group::open(&other).expect("the group");
        assert_eq!(
            (made.format(), &made.attributes()["title"]),
            (to, &json!("t"))
        );
        let a = made.array::<i32>("g/a").expect("the array");
        assert_eq!(
            (a.read(..).expect("elements").sum(), &a.attributes()["unit"]),
            (30, &json!("m"))
        );
        if to != Format::DraftB {
            assert_eq!(a.dimension_names(), Some(&[Some("x".to_owned())][..]));
        }
    }
}

#[test]
fn what_would_be_lost_is_refused_or_recorded() {
    let store = MemoryStore::new();
    let a = Array::<f32>::builder([4])
        .chunks([2])
        .fill_value(1.5)
        .create((&store, "a"))
        .expect("a new array");
    a.fill([0..1], 2.0).expect("elements");
    let other = MemoryStore::new();
    let options = CopyOptions::new().format(Format::N5);
    let error = copy((&store, "a"), (&other, "a"), &options).expect_err("N5 has no fill value");
    assert!(
        error.to_string().contains("fill value") && other.keys().is_empty(),
        "{error}"
    );
    let options = options.record_losses();
    let report = copy((&store, "a"), (&other, "a"), &options).expect("recorded");
    assert!(
        report.nodes[0].losses[0].contains("fill value"),
        "{report:?}"
    );
    let made = Array::<f32>::open((&other, "a")).expect("the array");
    assert_eq!(
        made.read(..).expect("elements"),
        a.read(..).expect("elements")
    );

    let cheap = options.clone().at_most(CopyLevel::Rekeyed);
    assert!(copy((&store, "a"), (MemoryStore::new(), "a"), &cheap).is_err());
    let odd = Array::<bool>::builder([4])
        .create((&store, "b"))
        .expect("a new array");
    assert!(
        copy((&store, odd.path()), (MemoryStore::new(), "b"), &options).is_err(),
        "N5 has no bool"
    );
}

#[test]
fn a_conversion_reports_progress_and_can_be_cancelled() {
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([8])
        .chunks([1])
        .create((&store, "a"))
        .expect("a new array");
    a.fill([0..8], 1).expect("elements");
    let n_reports = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&n_reports);
    let progress = move |progress: Progress| {
        assert_eq!(progress.total, 8);
        count.fetch_add(1, Ordering::Relaxed);
    };
    let run = RunOptions::default().progress(progress);
    let options = CopyOptions::new().format(Format::Zarr2).run(run.clone());
    copy((&store, "a"), (MemoryStore::new(), "a"), &options).expect("it can be");
    assert_eq!(n_reports.load(Ordering::Relaxed), 8);
    let cancel = Cancel::new();
    cancel.cancel();
    let options = options.run(run.cancel(cancel));
    let target = MemoryStore::new();
    let error = copy((&store, "a"), (&target, "a"), &options).expect_err("cancelled");
    assert!(error.kind() == ErrorKind::Cancelled && target.keys().is_empty());
}

/// Chunks that are copied encoded are not decoded, but one that is too short is noticed where all
/// have one length.
#[test]
fn a_chunk_that_was_cut_is_not_copied_as_it_is() -> Result<(), Error> {
    for (codecs, expected) in [(vec![], 8), (vec![codec::crc32c()], 12)] {
        let store = MemoryStore::new();
        let a = Array::<u16>::builder([8])
            .chunks([4])
            .codecs(codecs)
            .create((&store, "a"))?;
        a.fill(.., 1)?;
        let chunk = store.get("a/c/1").expect("a chunk");
        assert_eq!(chunk.len(), expected);
        store.set("a/c/1", chunk.slice(..5)).expect("a key");
        let error = copy(
            (&store, "a"),
            (MemoryStore::new(), "b"),
            &CopyOptions::new(),
        )
        .expect_err("it is cut");
        assert_eq!(
            (error.kind(), error.chunk()),
            (ErrorKind::Corrupt, Some(&[1][..])),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("5 bytes are stored, of {expected}")),
            "{error}"
        );
    }
    Ok(())
}
