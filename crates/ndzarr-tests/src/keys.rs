//! Names: keys, prefixes, node paths, chunk keys, N5 attribute paths. The first byte chooses the
//! use of the name.

use std::path::{Component, Path};

use ndzarr::store::{Key, Prefix};
use ndzarr::{Array, AttributeChange, Format, Group, MemoryStore};
use ndzarr_metadata::NodePath;
use ndzarr_model::{ChunkKeys, KeyEncoding};
use serde_json::json;

/// Memory limit for an input: an attribute path may fill lists with up to 2^16 items, at the
/// caller's request.
pub const MAX_BYTES: usize = 64 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&place, name)) = data.split_first() else {
        return;
    };
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    match place % 5 {
        0 => names(name),
        1 => create(Format::Zarr3, name),
        2 => create(
            if place & 0x80 == 0 {
                Format::Zarr2
            } else {
                Format::N5
            },
            name,
        ),
        3 => create(
            if place & 0x80 == 0 {
                Format::DraftA
            } else {
                Format::DraftB
            },
            name,
        ),
        _ => attribute_path(name),
    }
}

fn names(name: &str) {
    if let Ok(key) = Key::new(name) {
        inside(key.as_str());
        assert_eq!(Key::new(key.as_str()).ok(), Some(key));
    }
    if let Ok(prefix) = Prefix::new(name)
        && let Some(folder) = prefix.as_str().strip_suffix('/')
    {
        inside(folder);
    }
    let Ok(path) = NodePath::new(name) else {
        return;
    };
    assert_eq!(NodePath::new(path.as_str()).ok().as_ref(), Some(&path));
    if path.is_root() {
        return;
    }
    inside(path.as_str());
    for encoding in [
        KeyEncoding::Default { separator: '/' },
        KeyEncoding::V2 { separator: '.' },
        KeyEncoding::Draft {
            separator: '/',
            scalar_index: false,
        },
        KeyEncoding::N5 { reversed: true },
    ] {
        let keys = ChunkKeys {
            prefix: path.prefix(),
            encoding,
        };
        let index: Vec<u64> = name
            .bytes()
            .map(|byte| u64::MAX >> (byte % 64))
            .take(8)
            .collect();
        let key = keys.key(&index);
        inside(&key);
        Key::new(&key).expect("a chunk has a key");
    }
}

/// Checks that a file of this name lies below the root, wherever that is.
fn inside(name: &str) {
    let path = Path::new("/root").join(name);
    assert!(path.starts_with("/root"), "{name:?}");
    assert!(
        path.components()
            .skip(1)
            .all(|part| matches!(part, Component::Normal(_))),
        "{name:?}"
    );
    assert!(!name.contains(['\\', '\0']), "{name:?}");
}

/// Everything created can be found again, only by its name.
fn create(format: Format, name: &str) {
    let store = MemoryStore::new();
    if Group::create(&store, format).is_err() {
        return;
    }
    let created = Array::<u8>::builder([3])
        .chunks([2])
        .format(format)
        .create((&store, name));
    for key in store.keys() {
        inside(&key);
    }
    let Ok(created) = created else { return };
    created.fill(.., 7).expect("an array can be filled");
    for key in store.keys() {
        inside(&key);
    }
    let opened =
        Array::<u8>::open((&store, name)).unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
    assert_eq!(opened.path(), created.path());
    let root = Group::open(&store).expect("the root exists");
    let found = root.walk().expect("the store lists");
    if !opened.path().is_empty() {
        assert!(
            found.iter().any(|child| child.path() == opened.path()),
            "{name:?} is not among {found:?}"
        );
    }
}

fn attribute_path(path: &str) {
    let store = MemoryStore::new();
    let mut group = Group::create(&store, Format::N5).expect("an empty store takes a group");
    let set = AttributeChange::SetN5Path {
        path: path.to_owned(),
        value: json!([1]),
    };
    if group.change_attributes(&set).is_ok() {
        let _ = group.change_attributes(&AttributeChange::RemoveN5Path(path.to_owned()));
    }
    Group::open(&store).expect("it is a group still");
}
