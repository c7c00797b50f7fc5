//! Changes through handles of nodes that were removed since: they say so, and leave nothing behind.

use ndarray::arr1;
use ndzarr::{Array, ErrorKind, Format, FsStore, Group, MemoryStore, Storage};
use serde_json::json;

const FORMATS: [Format; 5] = [Format::Zarr2, Format::Zarr3, Format::N5, Format::DraftA, Format::DraftB];

fn in_every_format(test: impl Fn(Format, &Storage)) {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        test(format, &Storage::from(FsStore::new(folder.path())));
        test(format, &Storage::from(MemoryStore::new()));
    }
}

#[test]
fn an_array_that_is_gone_stays_so() {
    in_every_format(|format, storage| {
        let root = Group::create(storage, "", format).expect("a new group");
        let mut a = root.create_array("a", Array::<u8>::builder([4])).expect("a new array");
        root.erase("a").expect("it is there");
        let errors = [
            a.merge_attributes(json!({"x": 1})).expect_err("it is gone"),
            a.resize([2]).expect_err("it is gone"),
            a.append(0, &arr1(&[1])).expect_err("it is gone"),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{format}: {error:?}");
        }
        assert_eq!(root.members().expect("a listing"), [], "{format}");
        root.create_group("a").expect("there is room for another node");
    });
}

#[test]
fn a_group_that_is_gone_stays_so() {
    in_every_format(|format, storage| {
        let root = Group::create(storage, "", format).expect("a new group");
        let mut g = root.create_group("g").expect("a new group");
        root.erase("g").expect("it is there");
        let error = g.merge_attributes(json!({"x": 1})).expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{format}: {error:?}");
        assert_eq!(root.members().expect("a listing"), [], "{format}");
    });
}
