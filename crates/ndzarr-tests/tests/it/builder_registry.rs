//! A builder's own settings take precedence over those of its group.

use ndarray::Array1;
use ndzarr::{Array, CodecRegistry, ErrorKind, Format, Group, MemoryStore, codec};

/// A limit alone makes a registry, without any custom codec.
#[test]
fn a_limit_of_the_builder_holds() {
    let store = MemoryStore::new();
    let group = Group::create(&store, Format::Zarr3).expect("a new group");
    let limited = CodecRegistry::new().with_vlen_limit(100);
    let names = Array::<String>::builder([1]).codecs([codec::gzip(5)]).registry(limited);
    let names = group.create_array("names", names).expect("a new array");
    let all = group.array::<String>("names").expect("an array");
    all.write([0..1], &Array1::from_elem(1, "a".repeat(1000))).expect("a write");
    assert_eq!(all.read([0..1]).expect("a read")[0].len(), 1000);
    assert_eq!(names.read([0..1]).expect_err("more than its limit").kind(), ErrorKind::Corrupt);
}
