//! `diff`: what it finds different.

use ndzarr::{AnyArray, Array, DataType, Format, Group, codec};
use serde_json::json;

use crate::Folder;

#[test]
fn equal_arrays_of_other_chunks_and_formats_are_equal() {
    let folder = Folder::new();
    let of = |index: &[usize]| (index[0] * 1000 + index[1]) as i32;
    folder.array(
        "a.zarr",
        Array::<i32>::builder([50, 70])
            .chunks([50, 3])
            .codecs([codec::gzip(1)]),
        of,
    );
    folder.array(
        "b.n5",
        Array::<i32>::builder([50, 70])
            .chunks([4, 70])
            .format(Format::N5),
        of,
    );
    assert_eq!(folder.good(&["diff", "a.zarr", "b.n5"]), "");
    assert_eq!(folder.json(&["diff", "a.zarr", "b.n5"]).len(), 0);
}

/// Another program adds an array, and changes one, without the copies of their documents.
#[test]
fn stale_consolidated_metadata_hide_nothing() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let folder = Folder::new();
        let ones = |name: &str| {
            folder.array(name, Array::<u8>::builder([4]).format(format), |_| 1);
        };
        for name in ["a.zarr", "b.zarr"] {
            let mut root = Group::create(folder.path(name), format).expect("it is new");
            ones(&format!("{name}/x"));
            root.consolidate().expect("it can list");
        }
        folder.good(&["diff", "a.zarr", "b.zarr"]);
        ones("new");
        std::fs::rename(folder.path("new"), folder.path("a.zarr/y")).expect("it is there");
        let ran = folder.run(&["diff", "a.zarr", "b.zarr"]);
        assert_eq!(
            (ran.status, &ran.out[..]),
            (1, "y: only in the first\n"),
            "{format}"
        );
    }
}

#[test]
fn differences_are_counted_and_the_first_shown() {
    let folder = Folder::new();
    let of = |index: &[usize]| (index[0] * 1000 + index[1]) as i32;
    folder.array(
        "a.zarr",
        Array::<i32>::builder([50, 70]).chunks([50, 3]),
        of,
    );
    let b = folder.array(
        "b.zarr",
        Array::<i32>::builder([50, 70]).chunks([4, 70]),
        of,
    );
    b.fill([30..32, 5..12], -1).expect("it is written");
    let ran = folder.run(&["diff", "a.zarr", "b.zarr", "--show", "2"]);
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.out,
        "[30, 5]: 30005 and -1\n[30, 6]: 30006 and -1\n14 elements differ\n"
    );
    let lines = folder.json(&["diff", "a.zarr", "b.zarr", "--show", "1"]);
    let first = json!([{"index": [30, 5], "values": [30005, -1]}]);
    assert_eq!(
        lines,
        [json!({"path": "", "differs": "elements", "count": 14, "first": first})]
    );
    let ran = folder.run(&["diff", "a.zarr", "b.zarr", "--show", "0"]);
    assert_eq!(ran.out, "14 elements differ\n");
}

#[test]
fn cli_13_nan_zero_and_large_integers() {
    let folder = Folder::new();
    let floats = |name: &str, values: [f64; 3]| {
        folder.array(name, Array::<f64>::builder([3]), |index| values[index[0]]);
    };
    floats("a", [f64::NAN, 0.0, 1.0]);
    floats("b", [f64::NAN, -0.0, 1.0 + 1e-9]);
    let ran = folder.run(&["diff", "a", "b"]);
    assert_eq!(ran.out, "[2]: 1.0 and 1.000000001\n1 element differs\n");
    assert_eq!(folder.good(&["diff", "a", "b", "--tolerance", "1e-6"]), "");
    assert_eq!(
        folder
            .run(&["diff", "a", "b", "--bits"])
            .out
            .lines()
            .count(),
        3
    );
    for (name, value) in [("c", 1_u64 << 63), ("d", (1 << 63) + 1)] {
        folder.array(name, Array::<u64>::builder([1]), |_| value);
    }
    let ran = folder.run(&["diff", "c", "d"]);
    assert_eq!(
        ran.out,
        "[0]: 9223372036854775808 and 9223372036854775809\n1 element differs\n"
    );
    let lines = folder.run(&["diff", "c", "d", "--json"]).out;
    assert!(
        lines.contains("[9223372036854775808,9223372036854775809]"),
        "{lines}"
    );
}

#[test]
fn groups_are_compared_node_by_node() {
    let folder = Folder::new();
    for name in ["g", "h"] {
        let root = Group::create(folder.path(name), Format::Zarr3).expect("it is new");
        root.create_array("same", Array::<u8>::builder([4]))
            .expect("it is new");
        let shape = if name == "g" { [4] } else { [5] };
        root.create_array("shape", Array::<u8>::builder(shape))
            .expect("it is new");
        root.create_array(&format!("only_{name}"), Array::<u8>::builder([4]))
            .expect("it is new");
        let attributes = json!({"n": name});
        root.create_array(
            "attributes",
            Array::<u8>::builder([4]).attributes(attributes),
        )
        .expect("it is new");
        let array = AnyArray::builder([4]).data_type(match name {
            "g" => DataType::Int { bits: 16 },
            _ => DataType::UInt { bits: 16 },
        });
        root.create_array("type", array).expect("it is new");
    }
    let ran = folder.run(&["diff", "g", "h"]);
    assert_eq!(
        (ran.status, &ran.out[..]),
        (
            1,
            "only_g: only in the first\nshape: shapes differ: 4 and 5\ntype: data types differ: int16 and uint16\nonly_h: only in the second\n"
        )
    );
    let ran = folder.run(&["diff", "g", "h", "--attributes"]);
    assert!(
        ran.out
            .starts_with("attributes: attribute n: \"g\" and \"h\"\n"),
        "{}",
        ran.out
    );
    let ran = folder.run(&["diff", "g", "h/same"]);
    assert_eq!(
        (ran.status, &ran.out[..]),
        (1, "the first is a group, the second an array\n")
    );
}

#[test]
fn text_and_other_types_are_compared() {
    let folder = Folder::new();
    for (name, last) in [("a", "three"), ("b", "drei")] {
        let array = Array::<String>::builder([3]).chunks([2]);
        folder.array(name, array, |index| {
            ["one", "two", last][index[0]].to_owned()
        });
    }
    assert_eq!(
        folder.run(&["diff", "a", "b"]).out,
        "[2]: three and drei\n1 element differs\n"
    );
    for (name, value) in [("c", true), ("d", false)] {
        folder.array(name, Array::<bool>::builder([2]), |index| {
            index[0] == 0 || value
        });
    }
    assert_eq!(
        folder.run(&["diff", "c", "d"]).out,
        "[1]: true and false\n1 element differs\n"
    );
    // Damage is not a difference: it could not be compared.
    std::fs::write(folder.path("a/c/0"), "odd").expect("it is there");
    assert!(folder.bad(3, &["diff", "a", "b"]).contains("c/0"));
}

#[test]
fn what_is_stored_in_neither_array_is_compared_once() {
    let folder = Folder::new();
    let n = 1_u64 << 44;
    let sparse = |name: &str, fill: u16, chunk: u64| {
        let array = Array::<u16>::builder([1 << 22, 1 << 22])
            .chunks([chunk, 256])
            .fill_value(fill);
        array.create(folder.path(name)).expect("it is new")
    };
    let (a, b) = (sparse("a", 7, 256), sparse("b", 7, 128));
    a.fill([1000..1001, 5..8], 1).expect("it is written");
    b.fill([1000..1001, 6..8], 1).expect("it is written");
    let last = (1_u64 << 22) - 1;
    b.fill([last..last + 1, last..last + 1], 2)
        .expect("it is written");
    let ran = folder.run(&["diff", "a", "b"]);
    assert_eq!(
        ran.out,
        format!("[1000, 5]: 1 and 7\n[{last}, {last}]: 7 and 2\n2 elements differ\n")
    );
    let c = sparse("c", 8, 256);
    c.fill([0..1, 0..2], 7).expect("it is written");
    let ran = folder.run(&["diff", "a", "c", "--show", "2"]);
    assert_eq!(
        ran.out,
        format!(
            "[0, 2]: 7 and 8\n[0, 3]: 7 and 8\n{} elements differ\n",
            n - 2
        )
    );
    assert_eq!(folder.good(&["diff", "a", "c", "--tolerance", "7"]), "");
    let text = Array::<String>::builder([1 << 30])
        .chunks([1 << 10])
        .create(folder.path("t"));
    let other = Array::<String>::builder([1 << 30])
        .chunks([1 << 11])
        .create(folder.path("u"));
    text.expect("it is new")
        .fill([5..6], "a".to_owned())
        .expect("it is written");
    drop(other.expect("it is new"));
    assert_eq!(
        folder.run(&["diff", "t", "u"]).out,
        "[5]: a and \n1 element differs\n"
    );
}
