//! The children of a group, opened from what was read to list them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use ndzarr::{
    Any, AnyNode, Array, Child, Format, Group, MemberKind, MemoryStore, RunOptions, Storage,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

const ARRAYS: u64 = 20;

/// Twenty arrays and two groups in a group, all with attributes.
pub(crate) fn fill(storage: &Storage, format: Format) {
    let group = Group::create((storage, "g"), format).expect("a new group");
    for i in 0..ARRAYS {
        let array = Array::<u16>::builder([i + 1, 3]);
        let mut array = group
            .create_array(&format!("a{i:02}"), array)
            .expect("a new array");
        array
            .merge_attributes(json!({"number": i}))
            .expect("a new attribute");
    }
    for name in ["b", "c"] {
        let mut inside = group.create_group(name).expect("a new group");
        inside
            .merge_attributes(json!({"name": name}))
            .expect("a new attribute");
    }
}

fn describe(node: &AnyNode) -> String {
    match node {
        AnyNode::Array(array) => format!(
            "{} {:?} {:?}",
            array.path(),
            array.shape(),
            array.attributes()
        ),
        AnyNode::Group(group) => format!("{} {:?}", group.path(), group.attributes()),
    }
}

/// A node opened only by its path.
fn by_path(group: &Group, child: &Child) -> AnyNode {
    match child.kind() {
        Some(MemberKind::Array) => {
            AnyNode::Array(group.array::<Any>(&child.path()).expect("an array"))
        }
        Some(MemberKind::Group) => AnyNode::Group(group.group(&child.path()).expect("a group")),
        None => panic!("{} cannot be read", child.path()),
    }
}

/// Each child, opened by its path.
fn one_by_one(group: &Group) -> Vec<String> {
    group
        .children()
        .expect("a listing")
        .iter()
        .map(|child| describe(&by_path(group, child)))
        .collect()
}

pub(crate) fn all(children: Vec<Child>) -> Vec<String> {
    children
        .into_iter()
        .map(|child| describe(&child.open().expect("a node")))
        .collect()
}

pub(crate) const FORMATS: [Format; 5] = [
    Format::Zarr3,
    Format::Zarr2,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

#[test]
fn children_are_what_members_and_opening_give() {
    for format in FORMATS {
        for threads in [1, 2, 5] {
            let storage = Storage::from(MemoryStore::new());
            fill(&storage, format);
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            let group = Group::open((&storage, "g"))
                .expect("the group")
                .with_options(options);
            let children = group.children().expect("a listing");
            let names: Vec<&str> = children.iter().map(Child::name).collect();
            assert_eq!(
                (names.len(), names[0], names[21]),
                (22, "a00", "c"),
                "{format}"
            );
            assert_eq!(
                (children[3].path(), children[3].kind()),
                ("a03".to_owned(), Some(MemberKind::Array))
            );
            assert_eq!(all(children), one_by_one(&group), "{format} {threads}");
            assert_eq!(
                Group::open(&storage)
                    .expect("the root")
                    .children()
                    .expect("a listing")
                    .len(),
                1,
                "{format}"
            );
        }
    }
}

#[test]
fn children_of_an_asynchronous_store_are_the_same() {
    for format in FORMATS {
        let storage = Storage::asynchronous(Arc::new(AsyncMemoryStore::new(Latency::default())));
        fill(&storage, format);
        let group = Group::open((&storage, "g")).expect("the group");
        assert_eq!(
            all(group.children().expect("a listing")),
            one_by_one(&group),
            "{format}"
        );
    }
}

/// A hierarchy three levels deep: some groups of a level have many children, some none.
pub(crate) fn fill_deep(storage: &Storage, format: Format) {
    fill(storage, format);
    let g = Group::open((storage, "g")).expect("the group");
    for i in 0..9 {
        g.create_group(&format!("c/n{i}")).expect("a new group");
        let inside = g.group(&format!("c/n{i}")).expect("the group");
        for j in 0..i {
            inside
                .create_array(&format!("x{j}"), Array::<u8>::builder([i + 1, j + 1]))
                .expect("a new array");
        }
    }
}

fn walked(group: &Group) -> Vec<String> {
    group
        .walk()
        .expect("a listing")
        .iter()
        .map(|child| describe(&by_path(group, child)))
        .collect()
}

#[test]
fn descendants_are_what_a_walk_and_opening_give() {
    for format in FORMATS {
        for threads in [1, 2, 5] {
            let storage = Storage::from(MemoryStore::new());
            fill_deep(&storage, format);
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            for path in ["", "g", "g/c", "g/c/n0"] {
                let group = Group::open((&storage, path))
                    .expect("the group")
                    .with_options(options.clone());
                let found = group.walk().expect("a listing");
                assert!(path != "g/c" || found.len() == 9 + 36, "{format}");
                assert_eq!(all(found), walked(&group), "{format} {threads} {path:?}");
            }
        }
        let storage = Storage::asynchronous(Arc::new(AsyncMemoryStore::new(Latency::default())));
        fill_deep(&storage, format);
        let group = Group::open((&storage, "g")).expect("the group");
        assert_eq!(
            all(group.walk().expect("a listing")),
            walked(&group),
            "{format}"
        );
    }
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        fill_deep(&storage, format);
        Group::open((&storage, "g"))
            .expect("the group")
            .consolidate()
            .expect("a group that can");
        let group = Group::open((&storage, "g")).expect("the group");
        group.children().expect("a listing");
        store.reset();
        let found = group.walk().expect("a listing");
        assert_eq!(
            store.counts().fetches + store.counts().lists,
            0,
            "{format}: {:?}",
            store.counts()
        );
        assert_eq!(all(found), walked(&group), "{format}");
    }
}

#[test]
fn every_document_is_read_once() {
    // Documents of a child: v2 adds its attributes, and the look for an array in place of a group.
    for (format, array, group, above) in [
        (Format::Zarr3, 1, 1, 0),
        (Format::Zarr2, 2, 3, 0),
        (Format::N5, 1, 1, 2),
    ] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        fill(&storage, format);
        let g = Group::open((&storage, "g")).expect("the group");
        // The absence of consolidated metadata is determined only once.
        g.children().expect("a listing");
        store.reset();
        let children = g.children().expect("a listing");
        let arrays = children
            .into_iter()
            .filter(|child| child.kind() == Some(MemberKind::Array));
        let rows: u64 = arrays
            .map(|child| child.array::<u16>().expect("an array").shape()[0])
            .sum();
        assert_eq!(rows, ARRAYS * (ARRAYS + 1) / 2);
        let counts = store.counts();
        let documents = ARRAYS * array + 2 * group;
        assert!(
            (documents..=documents + above).contains(&counts.fetches),
            "{format}: {counts:?}"
        );
        assert_eq!((counts.lists, counts.locks), (1, 0), "{format}: {counts:?}");
    }
}

/// The first name in a listing need not be a child, and children of one kind may come late.
#[test]
fn children_are_found_among_other_folders() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        let storage = Storage::from(&memory);
        fill(&storage, format);
        for name in ["0", "1", "a03x", "z"] {
            memory
                .set(&format!("g/{name}/readme/text"), "no node")
                .expect("a write");
        }
        for threads in [1, 3] {
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            let group = Group::open((&storage, "g"))
                .expect("the group")
                .with_options(options);
            assert_eq!(
                all(group.children().expect("a listing")),
                one_by_one(&group),
                "{format}"
            );
        }
    }
    let empty = Group::create(MemoryStore::new(), Format::Zarr3).expect("a new group");
    assert!(empty.children().expect("a listing").is_empty());
}

#[test]
fn consolidated_children_cost_nothing() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        fill(&storage, format);
        Group::open((&storage, "g"))
            .expect("the group")
            .consolidate()
            .expect("a group that can");
        let g = Group::open((&storage, "g")).expect("the group");
        g.children().expect("a listing");
        store.reset();
        let children = g.children().expect("a listing");
        assert_eq!(
            store.counts().fetches + store.counts().lists,
            0,
            "{format}: {:?}",
            store.counts()
        );
        assert_eq!(all(children), one_by_one(&g), "{format}");
        // A child reports changes like one opened by its name.
        for child in g.children().expect("a listing").into_iter().take(1) {
            let mut array = child.array::<Any>().expect("an array");
            array
                .merge_attributes(json!({"number": 99}))
                .expect("a new attribute");
        }
        let first = g
            .children()
            .expect("a listing")
            .swap_remove(0)
            .array::<Any>()
            .expect("an array");
        assert_eq!(first.attributes()["number"], 99, "{format}");
    }
}
