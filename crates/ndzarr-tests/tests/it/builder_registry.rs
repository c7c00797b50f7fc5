//! A builder's own settings take precedence over those of its group.

use ndzarr::codec::{self, CodecError};
use ndzarr::{Array, CodecRegistry, ErrorKind, Group, MemoryStore};
use serde_json::json;

/// Even a registry without custom codecs.
#[test]
fn the_registry_of_the_builder_replaces_that_of_the_group() {
    let of_group =
        CodecRegistry::new().with("own", |_| Err(CodecError::config("own", "is the group's")));
    let group = Group::builder()
        .codecs(of_group)
        .create(MemoryStore::new())
        .expect("a new group");
    let builder = || Array::<u8>::builder([1]).codecs([codec::named("own", json!({}))]);
    let error = group
        .create_array("a", builder())
        .expect_err("the group's codec refuses");
    assert!(error.to_string().contains("is the group's"), "{error}");
    let error = group
        .create_array("a", builder().registry(CodecRegistry::new()))
        .expect_err("no such codec");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(!error.to_string().contains("is the group's"), "{error}");
}
