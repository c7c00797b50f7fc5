//! Chunks under another separator than the one that the metadata state.

use std::sync::Arc;

use ndzarr::store::{
    Can, DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, StoreError, bytes::Bytes,
};
use ndzarr::{
    Array, CopyOptions, Error, ErrorKind, Format, Group, MemoryStore, OpenOptions, Storage, Store,
    asynchronous, copy, s,
};
use ndzarr_store::block_on;
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};

/// 4 x 4 bytes in chunks of 2 x 2; `members` are those about the separator.
fn document(members: &str) -> String {
    format!(
        r#"{{"zarr_format":2,"shape":[4,4],"chunks":[2,2],"dtype":"|u1","compressor":null,"fill_value":0,
            "order":"C","filters":null{members}}}"#
    )
}

/// The array, whose chunks all hold 1 2 3 4 under the other separator.
fn mistaken(members: &str, separator: char) -> MemoryStore {
    let store = MemoryStore::new();
    store
        .set("a/.zarray", document(members))
        .expect("a document");
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        store
            .set(&format!("a/{i}{separator}{j}"), vec![1, 2, 3, 4])
            .expect("a chunk");
    }
    store
}

/// No, a misspelt, and a wrong separator; and the reverse.
const CASES: [(&str, char, char); 4] = [
    ("", '/', '.'),
    (r#","dimension_seperator":"/""#, '/', '.'),
    (r#","dimension_separator":".""#, '/', '.'),
    (r#","dimension_separator":"/""#, '.', '/'),
];

fn check(error: &Error, separator: char) {
    assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error}");
    assert_eq!(error.key(), Some("a/.zarray"));
    let message = error.to_string();
    let advice = format!("open the array with the separator {separator:?}");
    assert!(message.contains(&advice), "{message}");
}

#[test]
fn chunks_that_the_metadata_do_not_name_are_an_error_and_an_option_reads_them() {
    for (members, separator, _) in CASES {
        let store = mistaken(members, separator);
        let open = || Array::<u8>::open((&store, "a")).expect("the array");
        check(
            &open().read(..).expect_err("the separator is mistaken"),
            separator,
        );
        let one = open();
        for _ in 0..5 {
            check(
                &one.read((3, 3)).expect_err("the separator is mistaken"),
                separator,
            );
        }
        check(
            &open()
                .read_many([s![0..1, 0..1]])
                .expect_err("the separator is mistaken"),
            separator,
        );
        let units = open().units();
        check(
            &units.stored().expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &units
                .encoded(&[0, 0])
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &units
                .is_stored(&[0, 0])
                .expect_err("the separator is mistaken"),
            separator,
        );

        let options = OpenOptions::new().separator(separator);
        let mut a = options.open_array::<u8>((&store, "a")).expect("the array");
        assert_eq!(a.read((3, ..)).expect("a read").to_vec(), [3, 4, 3, 4]);
        a.refresh().expect("the array");
        a.resize([4, 6]).expect("it grows");
        a.fill((0, 5), 9).expect("a write");
        assert!(
            store.get(&format!("a/0{separator}2")).is_some(),
            "it is written as it is read"
        );
        let group = OpenOptions::new()
            .separator(separator)
            .format(Format::Zarr2);
        store
            .set(".zgroup", r#"{"zarr_format":2}"#)
            .expect("a document");
        let a = group
            .open_group(&store)
            .expect("the group")
            .array::<u8>("a")
            .expect("the array");
        assert_eq!(
            a.read((0, ..)).expect("a read").to_vec(),
            [1, 2, 1, 2, 0, 9]
        );
    }
}

#[test]
fn a_write_does_not_begin_a_second_set_of_chunks() {
    for (members, separator, stated) in CASES {
        let store = mistaken(members, separator);
        let open = || Array::<u8>::open((&store, "a")).expect("the array");
        check(
            &open().fill(.., 9).expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open()
                .fill((0, 0), 9)
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open()
                .units()
                .write_encoded(&[0, 0], vec![0; 4])
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open()
                .units()
                .erase(&[0, 0])
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open()
                .resize([2, 2])
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open()
                .append(0, &ndzarr::ndarray::Array2::<u8>::ones([2, 4]))
                .expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &open().appender(0).expect_err("the separator is mistaken"),
            separator,
        );
        assert_eq!(store.get(&format!("a/0{stated}0")), None);
        assert_eq!(store.get("a/.zarray"), Some(document(members).into()));
        assert!(store.get(&format!("a/1{separator}1")).is_some());
    }
}

/// Zarr v3 has the keys of v2 as an encoding, with shards under them.
#[test]
fn a_shard_writer_does_not_begin_a_second_set_of_shards() -> Result<(), Error> {
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([4, 4])
        .chunks([1, 2])
        .shards([2, 2])
        .create((&store, "a"))?;
    a.fill(.., 7)?;
    let shard = store.get("a/c/0/0").expect("a shard");
    let document = store.get("a/zarr.json").expect("a document");
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let mut stated = document.clone();
    stated["chunk_key_encoding"] =
        serde_json::json!({"name": "v2", "configuration": {"separator": "."}});

    let store = MemoryStore::new();
    store
        .set("a/zarr.json", stated.to_string())
        .expect("a document");
    store
        .set("a/1/1", shard)
        .expect("a shard under the other separator");
    let write = |separator: Option<char>| {
        let a = OpenOptions::new()
            .separator(separator)
            .open_array::<u8>((&store, "a"))?;
        let writer = a.shard_writer(&[0, 0])?;
        writer.write_chunk(&[0, 0], &ndzarr::ndarray::Array2::<u8>::ones([1, 2]))?;
        writer.finish()
    };
    let error = write(None).expect_err("the separator is mistaken");
    assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error}");
    assert_eq!(store.get("a/0.0"), None);
    write(Some('/'))?;
    assert!(store.get("a/0/0").is_some());
    Ok(())
}

#[test]
fn a_copy_does_not_copy_emptiness() {
    for (members, separator, _) in CASES {
        let store = mistaken(members, separator);
        for options in [CopyOptions::new(), CopyOptions::new().chunks([4, 4])] {
            check(
                &copy((&store, "a"), (MemoryStore::new(), "b"), &options)
                    .expect_err("the separator is mistaken"),
                separator,
            );
        }
        let target = MemoryStore::new();
        let options = CopyOptions::new().open(OpenOptions::new().separator(separator));
        copy((&store, "a"), (&target, "b"), &options).expect("a copy");
        let copied = Array::<u8>::open((&target, "b")).expect("the copy");
        assert_eq!(copied.read((3, ..)).expect("a read").to_vec(), [3, 4, 3, 4]);
    }
}

#[test]
fn asynchronous_calls_notice_a_mistaken_separator_too() {
    for (members, separator, _) in CASES {
        let store = AsyncMemoryStore::over(mistaken(members, separator), Latency::default());
        let storage = Storage::asynchronous(store);
        block_on(async {
            let open = || asynchronous::Array::<u8>::open((&storage, "a"));
            check(
                &open()
                    .await
                    .expect("the array")
                    .read(..)
                    .await
                    .expect_err("the separator is mistaken"),
                separator,
            );
            check(
                &open()
                    .await
                    .expect("the array")
                    .fill(.., 1)
                    .await
                    .expect_err("the separator is mistaken"),
                separator,
            );
            check(
                &open()
                    .await
                    .expect("the array")
                    .units()
                    .stored()
                    .await
                    .expect_err("the separator is mistaken"),
                separator,
            );
        });
    }
}

#[test]
fn other_formats_have_separators_too() {
    for format in [Format::Zarr3, Format::DraftA, Format::DraftB] {
        for (stated, other) in [('/', '.'), ('.', '/')] {
            let [right, store] = [stated, other].map(|separator| {
                let store = MemoryStore::new();
                let a = Array::<u8>::builder([4, 4])
                    .chunks([2, 2])
                    .format(format)
                    .separator(separator);
                a.create((&store, "a"))
                    .expect("a new array")
                    .fill(.., 7)
                    .expect("a write");
                store
            });
            let is_chunk = |key: &&String| !key.ends_with(".json");
            for key in keys(&right).iter().filter(|key| !is_chunk(key)) {
                store
                    .set(key, right.get(key).expect("a document"))
                    .expect("a document");
            }
            let a = Array::<u8>::open((&store, "a")).expect("the array");
            assert_eq!(
                a.read(..).expect_err("the separator is mistaken").kind(),
                ErrorKind::InvalidMetadata,
                "{format} {stated}"
            );
            let a = OpenOptions::new()
                .separator(other)
                .open_array::<u8>((&store, "a"))
                .expect("the array");
            assert_eq!(a.read((3, 3)).expect("a read")[[]], 7);
        }
    }
    // N5 has one separator.
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([4, 4])
        .format(Format::N5)
        .create((&store, "a"))
        .expect("a new array");
    assert_eq!(a.read((0, 0)).expect("a read")[[]], 0);
    assert!(
        OpenOptions::new()
            .separator('/')
            .open_array::<u8>((&store, "a"))
            .is_ok()
    );
    for separator in ['.', '-'] {
        let error = OpenOptions::new()
            .separator(separator)
            .open_array::<u8>((&store, "a"))
            .expect_err("the separator is mistaken");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

fn keys(store: &MemoryStore) -> Vec<String> {
    let keys = store.list_prefix(&Prefix::root()).expect("a list");
    keys.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_not_a_chunk_of_the_array_is_not_taken_for_one() {
    let store = MemoryStore::new();
    store.set("a/.zarray", document("")).expect("a document");
    // Outside the grid, an array inside it, and other names.
    store.set("a/2/0", "1234").expect("a value");
    store.set("a/0/.zarray", document("")).expect("a value");
    store.set("a/0/0", "1234").expect("a value");
    store.set("a/1/00", "1234").expect("a value");
    store.set("a/1/0/0", "1234").expect("a value");
    let a = Array::<u8>::open((&store, "a")).expect("the array");
    assert_eq!(a.read((0, 0)).expect("a read")[[]], 0);
}

#[test]
fn sparse_arrays_are_listed_a_few_times_and_found_chunks_end_it() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let builder = || {
        Array::<u8>::builder([40, 40])
            .chunks([2, 2])
            .format(Format::Zarr2)
    };
    let made = builder().create((&storage, "a")).expect("a new array");
    store.reset();
    made.read(..).expect("a read");
    made.fill((0, 0), 0).expect("a write");
    assert_eq!(
        store.counts().lists,
        0,
        "what is created has no chunks elsewhere"
    );

    let a = Array::<u8>::open((&storage, "a")).expect("the array");
    store.reset();
    for i in 0..20 {
        assert_eq!(a.clone().read((2 * i, ..)).expect("a read").sum(), 0);
    }
    assert_eq!(store.counts().lists, 5, "after 1, 2, 4, 8 and 16 reads");

    made.fill((39, 39), 1).expect("a write");
    let a = Array::<u8>::open((&storage, "a")).expect("the array");
    store.reset();
    for i in 0..20 {
        a.read((2 * i, ..)).expect("a read");
    }
    assert_eq!(store.counts().lists, 1, "a chunk was seen");

    let mut a = Array::<u8>::open((&storage, "a")).expect("the array");
    store.reset();
    for i in 0..20 {
        a.fill((i, 0), 1).expect("a write");
        a.append(0, &ndzarr::ndarray::Array2::<u8>::ones([2, 40]))
            .expect("an append");
    }
    assert_eq!(store.counts().lists, 1, "before the first write");
}

/// A store that cannot list, such as a web server.
#[derive(Debug)]
struct Unlisted(MemoryStore);

impl Store for Unlisted {
    fn name(&self) -> String {
        self.0.name()
    }
    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch)
    }
    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.0.put(key, parts, only_if)
    }
    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.0.erase(key, only_if)
    }
    fn list_dir(&self, _: &Prefix) -> Result<DirListing, StoreError> {
        Err(StoreError::Unsupported("list"))
    }
    fn can(&self) -> Can {
        Can {
            list: false,
            ..self.0.can()
        }
    }
}

#[test]
fn a_store_that_cannot_list_is_asked_for_the_same_chunks() {
    for (members, separator, _) in CASES {
        let storage = Storage::blocking(Unlisted(mistaken(members, separator)));
        let a = ndzarr::AnyArray::open((&storage, "a")).expect("the array");
        check(
            &a.read((3, 3)).expect_err("the separator is mistaken"),
            separator,
        );
        check(
            &a.units()
                .encoded(&[0, 0])
                .expect_err("the separator is mistaken"),
            separator,
        );
        let target = (MemoryStore::new(), "b");
        check(
            &copy((&storage, "a"), target, &CopyOptions::new())
                .expect_err("the separator is mistaken"),
            separator,
        );
    }
    let storage = Storage::blocking(Unlisted(MemoryStore::new()));
    Group::create(&storage, Format::Zarr2).expect("a new group");
    Array::<u8>::builder([4, 4])
        .format(Format::Zarr2)
        .create((&storage, "a"))
        .expect("a new array");
    let a = Array::<u8>::open((&storage, "a")).expect("the array");
    assert_eq!(a.read(..).expect("a read").sum(), 0);
    a.fill(.., 1).expect("a write");
    assert_eq!(a.read(..).expect("a read").sum(), 16);
}
