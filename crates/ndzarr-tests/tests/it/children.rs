//! The children of a group, opened from what was read to list them.

use std::future::ready;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use ndzarr::store::{DirListing, Key, Precondition, Prefix, StoreError};
use ndzarr::{
    Any, AnyNode, Array, AsyncStore, Child, CopyOptions, ErrorKind, Format, Group, MemberKind, MemoryStore,
    RunOptions, Storage, Store, copy,
};
use ndzarr_store::block_on;
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

const ARRAYS: u64 = 20;

/// Twenty arrays and two groups in a group, all with attributes.
fn fill(storage: &Storage, format: Format) {
    let group = Group::create((storage, "g"), format).expect("a new group");
    for i in 0..ARRAYS {
        let array = Array::<u16>::builder([i + 1, 3]);
        let mut array = group.create_array(&format!("a{i:02}"), array).expect("a new array");
        array.merge_attributes(json!({"number": i})).expect("a new attribute");
    }
    for name in ["b", "c"] {
        let mut inside = group.create_group(name).expect("a new group");
        inside.merge_attributes(json!({"name": name})).expect("a new attribute");
    }
}

fn describe(node: &AnyNode) -> String {
    match node {
        AnyNode::Array(array) => format!("{} {:?} {:?}", array.path(), array.shape(), array.attributes()),
        AnyNode::Group(group) => format!("{} {:?}", group.path(), group.attributes()),
    }
}

/// A node opened only by its path.
fn by_path(group: &Group, child: &Child) -> AnyNode {
    match child.kind() {
        Some(MemberKind::Array) => AnyNode::Array(group.array::<Any>(&child.path()).expect("an array")),
        Some(MemberKind::Group) => AnyNode::Group(group.group(&child.path()).expect("a group")),
        None => panic!("{} cannot be read", child.path()),
    }
}

/// Each child alone.
fn one_by_one(group: &Group) -> Vec<String> {
    group.children().expect("a listing").iter().map(|child| describe(&by_path(group, child))).collect()
}

fn all(children: Vec<Child>) -> Vec<String> {
    children.into_iter().map(|child| describe(&child.open().expect("a node"))).collect()
}

const FORMATS: [Format; 5] = [Format::Zarr3, Format::Zarr2, Format::N5, Format::DraftA, Format::DraftB];

#[test]
fn children_are_what_members_and_opening_give() {
    for format in FORMATS {
        for threads in [1, 2, 5] {
            let storage = Storage::from(MemoryStore::new());
            fill(&storage, format);
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            let group = Group::open((&storage, "g")).expect("the group").with_options(options);
            let children = group.children().expect("a listing");
            let names: Vec<&str> = children.iter().map(Child::name).collect();
            assert_eq!((names.len(), names[0], names[21]), (22, "a00", "c"), "{format}");
            assert_eq!((children[3].path(), children[3].kind()), ("a03".to_owned(), Some(MemberKind::Array)));
            assert_eq!(all(children), one_by_one(&group), "{format} {threads}");
            assert_eq!(
                Group::open(&storage).expect("the root").children().expect("a listing").len(),
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
        assert_eq!(all(group.children().expect("a listing")), one_by_one(&group), "{format}");
    }
}

/// A hierarchy three levels deep: some groups of a level have many children, some none.
fn fill_deep(storage: &Storage, format: Format) {
    fill(storage, format);
    let g = Group::open((storage, "g")).expect("the group");
    for i in 0..9 {
        g.create_group(&format!("c/n{i}")).expect("a new group");
        let inside = g.group(&format!("c/n{i}")).expect("the group");
        for j in 0..i {
            inside.create_array(&format!("x{j}"), Array::<u8>::builder([i + 1, j + 1])).expect("a new array");
        }
    }
}

fn walked(group: &Group) -> Vec<String> {
    group.walk().expect("a listing").iter().map(|child| describe(&by_path(group, child))).collect()
}

#[test]
fn descendants_are_what_a_walk_and_opening_give() {
    for format in FORMATS {
        for threads in [1, 2, 5] {
            let storage = Storage::from(MemoryStore::new());
            fill_deep(&storage, format);
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            for path in ["", "g", "g/c", "g/c/n0"] {
                let group = Group::open((&storage, path)).expect("the group").with_options(options.clone());
                let found = group.walk().expect("a listing");
                assert!(path != "g/c" || found.len() == 9 + 36, "{format}");
                assert_eq!(all(found), walked(&group), "{format} {threads} {path:?}");
            }
        }
        let storage = Storage::asynchronous(Arc::new(AsyncMemoryStore::new(Latency::default())));
        fill_deep(&storage, format);
        let group = Group::open((&storage, "g")).expect("the group");
        assert_eq!(all(group.walk().expect("a listing")), walked(&group), "{format}");
    }
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        fill_deep(&storage, format);
        Group::open((&storage, "g")).expect("the group").consolidate().expect("a group that can");
        let group = Group::open((&storage, "g")).expect("the group");
        group.children().expect("a listing");
        store.reset();
        let found = group.walk().expect("a listing");
        assert_eq!(store.counts().fetches + store.counts().lists, 0, "{format}: {:?}", store.counts());
        assert_eq!(all(found), walked(&group), "{format}");
    }
}

#[test]
fn a_broken_descendant_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill_deep(&storage, Format::Zarr3);
    let array = r#"{"zarr_format": 3, "node_type": "array"}"#;
    let group = r#"{"zarr_format": 3, "node_type": "group", "of": "tomorrow"}"#;
    memory.set("g/c/n8/x3/zarr.json", array).expect("a write");
    memory.set("g/c/n5/zarr.json", group).expect("a write");
    let found = Group::open(&storage).expect("the root").walk().expect("a listing");
    let broken: Vec<String> = (found.into_iter())
        .map(|child| (child.path(), child.open()))
        .filter_map(|(path, opened)| opened.is_err().then_some(path))
        .collect();
    assert_eq!(broken, ["g/c/n5", "g/c/n8/x3"]);
}

/// As a writer that was killed, or a full disk, leaves them.
#[test]
fn a_document_that_was_cut_off_hides_no_other_node() {
    for (format, document) in [(Format::Zarr3, "zarr.json"), (Format::N5, "attributes.json")] {
        for is_blocking in [true, false] {
            let served = AsyncMemoryStore::new(Latency::default());
            let memory = served.memory().clone();
            let storage =
                if is_blocking { Storage::from(&memory) } else { Storage::asynchronous(served.clone()) };
            fill_deep(&storage, format);
            let n_nodes = Group::open(&storage).expect("the root").walk().expect("a listing").len();
            for cut in ["{", "{\"dimensions\": [1"] {
                let path = "g/c/n8/x3";
                memory.set(&format!("{path}/{document}"), cut).expect("a write");
                let root = Group::open(&storage).expect("the root");
                let mut found = root.walk().expect("a listing");
                assert_eq!(found.len(), n_nodes, "{format}");
                found.retain(|child| child.kind().is_none());
                assert_eq!(found.iter().map(Child::path).collect::<Vec<_>>(), [path], "{format}");
                let error = found.pop().and_then(|child| child.open().err()).expect("it cannot be read");
                assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
                assert!(error.to_string().contains(&format!("{path}/{document}")), "{error}");
                let copied = copy(&storage, MemoryStore::new(), &CopyOptions::new());
                let copied = copied.expect_err("one cannot be copied").to_string();
                assert!(copied.contains(path), "{copied}");
                assert!(root.clone().consolidate().is_err(), "not all can be consolidated");
            }
        }
    }
}

#[test]
fn every_document_is_read_once() {
    // Documents of a child: v2 adds its attributes, and the look for an array in place of a group.
    for (format, array, group, above) in
        [(Format::Zarr3, 1, 1, 0), (Format::Zarr2, 2, 3, 0), (Format::N5, 1, 1, 2)]
    {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        fill(&storage, format);
        let g = Group::open((&storage, "g")).expect("the group");
        // The absence of consolidated metadata is determined only once.
        g.children().expect("a listing");
        store.reset();
        let children = g.children().expect("a listing");
        let arrays = children.into_iter().filter(|child| child.kind() == Some(MemberKind::Array));
        let rows: u64 = arrays.map(|child| child.array::<u16>().expect("an array").shape()[0]).sum();
        assert_eq!(rows, ARRAYS * (ARRAYS + 1) / 2);
        let counts = store.counts();
        let documents = ARRAYS * array + 2 * group;
        assert!((documents..=documents + above).contains(&counts.fetches), "{format}: {counts:?}");
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
            memory.set(&format!("g/{name}/readme/text"), "no node").expect("a write");
        }
        for threads in [1, 3] {
            let options = RunOptions::default().threads(NonZeroUsize::new(threads));
            let group = Group::open((&storage, "g")).expect("the group").with_options(options);
            assert_eq!(all(group.children().expect("a listing")), one_by_one(&group), "{format}");
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
        Group::open((&storage, "g")).expect("the group").consolidate().expect("a group that can");
        let g = Group::open((&storage, "g")).expect("the group");
        g.children().expect("a listing");
        store.reset();
        let children = g.children().expect("a listing");
        assert_eq!(store.counts().fetches + store.counts().lists, 0, "{format}: {:?}", store.counts());
        assert_eq!(all(children), one_by_one(&g), "{format}");
        // A child reports changes like one opened by its name.
        for child in g.children().expect("a listing").into_iter().take(1) {
            let mut array = child.array::<Any>().expect("an array");
            array.merge_attributes(json!({"number": 99})).expect("a new attribute");
        }
        let first = g.children().expect("a listing").swap_remove(0).array::<Any>().expect("an array");
        assert_eq!(first.attributes()["number"], 99, "{format}");
    }
}

#[test]
fn what_is_wrong_with_a_consolidated_child_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill(&storage, Format::Zarr3);
    Group::open((&storage, "g")).expect("the group").consolidate().expect("a group that can");
    let whole = String::from_utf8(memory.get("g/zarr.json").expect("a document").to_vec()).expect("text");
    let document: serde_json::Value = serde_json::from_str(&whole).expect("standard JSON");
    let with = |name: &str, child: serde_json::Value| {
        let mut document = document.clone();
        document["consolidated_metadata"]["metadata"][name] = child;
        memory.set("g/zarr.json", document.to_string()).expect("a write");
        Group::open((&storage, "g")).expect("the group")
    };
    let array = json!({"zarr_format": 3, "node_type": "array"});
    for name in ["a00", "a07", "b"] {
        let children = with(name, array.clone()).children().expect("a listing");
        assert_eq!(children.len(), 22);
        for child in children {
            let (is_it, kind) = (child.name() == name, child.kind());
            assert!(!is_it || kind == Some(MemberKind::Array));
            let opened = child.open();
            assert_eq!(opened.is_err(), is_it, "{name}");
            let error = opened.err().map(|error| (error.kind(), error.to_string().contains(name)));
            assert!(error.is_none_or(|error| error == (ErrorKind::InvalidMetadata, true)), "{error:?}");
        }
    }
    // Neither array nor group.
    let mut children = with("a07", json!({"zarr_format": 3})).children().expect("a listing");
    children.retain(|child| child.kind().is_none());
    let error = children.pop().and_then(|child| child.open().err()).expect("a07 alone");
    assert!(children.is_empty() && error.to_string().contains("a07"), "{error}");
}

#[test]
fn what_is_wrong_with_a_child_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill(&storage, Format::Zarr3);
    let put = |key: &str, text: &str| {
        let value = Bytes::copy_from_slice(text.as_bytes());
        memory.put(&Key::new(key).expect("a key"), &[value], Precondition::None).expect("a write");
    };
    let document = memory.get("g/a05/zarr.json").expect("a document");
    let document = String::from_utf8(document.to_vec()).expect("text");
    put("g/a05/zarr.json", &document.replace("\"uint16\"", "\"of tomorrow\""));
    put("g/a06/zarr.json", r#"{"zarr_format": 3, "node_type": "array", "shape": [1"#);
    put("g/a07/zarr.json", r#"{"zarr_format": 3, "node_type": "array"}"#);
    let group = Group::open((&storage, "g")).expect("the group");
    // A document that cannot be split into members has no kind.
    let kinds = group.children().expect("a listing").into_iter().filter(|child| child.kind().is_none());
    assert_eq!(kinds.map(|child| child.path()).collect::<Vec<_>>(), ["a06"]);
    put("g/a06/zarr.json", r#"{"zarr_format": 3, "node_type": "array", "shape": [1, ]}"#);
    for child in group.children().expect("a listing") {
        let expected = match child.name() {
            "a05" => Some(ErrorKind::Unsupported),
            "a06" | "a07" => Some(ErrorKind::InvalidMetadata),
            _ => None,
        };
        let (name, kind) = (child.path(), child.kind());
        let opened = child.open();
        let error = opened.as_ref().err();
        assert_eq!(error.map(ndzarr::Error::kind), expected, "{name}");
        assert!(error.is_none_or(|error| error.to_string().contains(&name)), "{error:?}");
        assert_eq!(kind == Some(MemberKind::Array), name.contains('a'), "{name}");
    }
    let mut children = group.children().expect("a listing");
    assert!(children.swap_remove(0).group().expect_err("an array").to_string().contains("g/a00"));
    let last = children.pop().expect("some").kind();
    assert_eq!(last, Some(MemberKind::Group));
    let group = children.into_iter().find(|child| child.kind() == Some(MemberKind::Group)).expect("a group");
    assert!(group.array::<Any>().expect_err("a group").to_string().contains("not an array"));
}

/// An asynchronous store that lists `page` names at once; the last one of a page is on the next one, too.
#[derive(Debug)]
struct Paged {
    memory: CountingStore<MemoryStore>,
    page: usize,
    /// Whether a page had to come before anything was fetched that the one before it named.
    waited: AtomicBool,
}

impl AsyncStore for Paged {
    fn name(&self) -> String {
        "pages".to_owned()
    }

    ready!(memory);

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(ready(self.memory.list_dir(prefix)))
    }

    fn list_dir_pages<'a>(&'a self, prefix: &Prefix) -> BoxStream<'a, Result<DirListing, StoreError>> {
        let DirListing { keys, prefixes } = self.memory.list_dir(prefix).expect("memory lists");
        let mut names: Vec<(String, bool)> = keys.into_iter().map(|name| (name, true)).collect();
        names.extend(prefixes.into_iter().map(|name| (name, false)));
        // As a bucket has them: a prefix ends in a slash.
        names.sort_by_key(|(name, is_key)| if *is_key { name.clone() } else { format!("{name}/") });
        let page = move |begin: usize| {
            let end = names.len().min(begin + self.page + 1);
            let part = |keys: bool| {
                let named = names[begin..end].iter().filter(|(_, is_key)| *is_key == keys);
                named.map(|(name, _)| name.clone()).collect()
            };
            let listing = DirListing { keys: part(true), prefixes: part(false) };
            (listing, (end < names.len()).then_some(begin + self.page))
        };
        Box::pin(stream::unfold(Some(0), move |begin| {
            let answer = begin.map(&page);
            async move {
                let (listing, next) = answer?;
                let before = self.memory.counts().fetches;
                let mut turns = 0;
                while begin > Some(0) && self.memory.counts().fetches == before {
                    turns += 1;
                    if turns > 100 {
                        self.waited.store(true, Ordering::Relaxed);
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                Some((Ok(listing), next))
            }
        }))
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}

#[test]
fn children_on_several_pages_of_a_list_are_opened_while_it_goes_on() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        fill(&Storage::from(memory.clone()), format);
        let group = Group::open((memory.clone(), "g")).expect("the group");
        let expected = (all(group.children().expect("a listing")), all(group.walk().expect("a listing")));
        for page in [1, 2, 3, 11, 100] {
            let counting = CountingStore::new(memory.clone());
            let store = Arc::new(Paged { memory: counting, page, waited: AtomicBool::new(false) });
            let storage = Storage::asynchronous(Arc::clone(&store));
            let group = Group::open((storage, "g")).expect("the group");
            let found = group.children().expect("a listing");
            let is_draft = matches!(format, Format::DraftA | Format::DraftB);
            // A page of one name may hold none of a child.
            if page > 1 && !is_draft {
                assert!(!store.waited.load(Ordering::Relaxed), "{format}, pages of {page}");
            }
            assert_eq!((all(found), all(group.walk().expect("a listing"))), expected, "{format} {page}");
        }
    }
}
