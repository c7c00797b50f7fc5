//! Small things of every day: read-only handles, nodes that are created or opened, shared limits.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use ndarray::array;
use ndzarr::store::block_on;
use ndzarr::{
    AnyNode, Array, Cache, ErrorKind, Format, Group, MemoryStore, OpenOptions, RunOptions, Storage,
    asynchronous, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::json;

pub(crate) type Tested = Result<(), Box<dyn std::error::Error>>;

const FORMATS: [Format; 5] = [
    Format::Zarr3,
    Format::Zarr2,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

/// Every kind of change through a handle, each of which has to be refused.
fn changes(array: &mut Array<u16>, group: &mut Group) -> Vec<(&'static str, ndzarr::Result<()>)> {
    let data = array![[1, 2], [3, 4]];
    vec![
        ("write", array.write((0..2, 0..2), &data)),
        ("part of a chunk", array.write((0, 0), &ndarray::arr0(7))),
        ("fill", array.fill(.., 9)),
        ("erase by filling", array.fill(.., 0)),
        ("write_chunk", array.write_chunk(&[0, 0], &data)),
        ("resize", array.resize([8, 8])),
        ("shrink", array.resize([1, 1])),
        ("append", array.append(0, &ndarray::Array2::zeros((1, 4)))),
        (
            "appender",
            array.appender(0).and_then(|mut appender| {
                appender.push(&ndarray::Array2::zeros((1, 4)))?;
                appender.finish()
            }),
        ),
        ("attributes", array.merge_attributes(json!({"a": 1}))),
        ("set_attribute", group.set_attribute("a", &1)),
        (
            "create_array",
            group
                .create_array("new", Array::<u8>::builder([1]))
                .map(drop),
        ),
        ("create_group", group.create_group("new").map(drop)),
        (
            "or_open",
            group
                .create_array("new", Array::<u8>::builder([1]).or_open())
                .map(drop),
        ),
        ("erase", group.erase("a")),
        ("erase_self", group.clone().erase_self()),
    ]
}

#[test]
fn nothing_changes_through_a_handle_that_is_read_only() -> Tested {
    for format in FORMATS {
        let folder = tempfile::tempdir()?;
        let memory = MemoryStore::new();
        let served = AsyncMemoryStore::over(MemoryStore::new(), Latency::default());
        let storages = [
            Storage::folder(folder.path()),
            Storage::from(&memory),
            Storage::asynchronous(served.clone()),
        ];
        for storage in &storages {
            let group = Group::create((storage, "g"), format)?;
            let a = group.create_array("a", Array::<u16>::builder([4, 4]).chunks([2, 2]))?;
            a.fill((0..2, ..), 5)?;
            let before = AnyNode::open((storage, "g"))?;
            let contents = || -> Vec<(String, Vec<u8>)> {
                let mut keys = everything(folder.path(), &memory, &served);
                keys.sort();
                keys
            };
            let before_changes = contents();
            let options = OpenOptions::new().read_only();
            assert!(!before_changes.is_empty());
            let mut group = options.open_group((storage, "g"))?;
            for mut a in [
                options.open_array::<u16>((storage, "g/a"))?,
                group.array("a")?,
            ] {
                for (what, change) in changes(&mut a, &mut group) {
                    let error = change.expect_err(what);
                    assert_eq!(
                        error.kind(),
                        ErrorKind::Unsupported,
                        "{format} {what}: {error}"
                    );
                    assert_eq!(
                        contents(),
                        before_changes,
                        "{format} {what} in {}",
                        storage.name()
                    );
                }
                assert_eq!(a.read(..)?.sum(), 40);
                assert_eq!(a.shape(), [4, 4]);
            }
            assert_eq!(group.children()?.len(), 1);
            assert!(matches!(
                options.open_node((storage, "g/a"))?,
                AnyNode::Array(_)
            ));
            assert_eq!(before.path(), "g");
        }
    }
    Ok(())
}

/// All values of the store that was filled last.
fn everything(
    folder: &Path,
    memory: &MemoryStore,
    served: &AsyncMemoryStore,
) -> Vec<(String, Vec<u8>)> {
    let later = [served.memory(), memory]
        .into_iter()
        .find(|memory| !memory.keys().is_empty());
    if let Some(memory) = later {
        let value = |key: String| (key.clone(), memory.get(&key).expect("it exists").to_vec());
        return memory.keys().into_iter().map(value).collect();
    }
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((
                    path.display().to_string(),
                    std::fs::read(&path).expect("a file"),
                ));
            }
        }
    }
    found
}

/// A folder inside a hierarchy: what is above it is not changed either, and a cache is shared with
/// handles that may write.
#[test]
fn a_read_only_handle_shares_a_cache_and_changes_nothing_above_it() -> Tested {
    let folder = tempfile::tempdir()?;
    let root = Group::create((folder.path(), ""), Format::N5)?;
    root.create_group("g")?
        .create_array(
            "a",
            Array::<u8>::builder([512])
                .chunks([128])
                .codecs([codec::gzip(1)]),
        )?
        .fill(.., 3)?;
    // A cache keeps values of files only once they are old enough.
    let cache = Cache::new(1 << 20);
    let storage = Storage::from(MemoryStore::new());
    let a = Array::<u16>::builder([512])
        .chunks([128])
        .codecs([codec::gzip(1)]);
    a.create((&storage, "a"))?.fill(.., 3)?;
    let writer = OpenOptions::new()
        .cache(&cache)
        .open_array::<u16>((&storage, "a"))?;
    assert_eq!(writer.read(..)?.sum(), 3 * 512);
    let kept = cache.byte_len();
    assert!(kept > 0);
    let reader = OpenOptions::new()
        .cache(&cache)
        .read_only()
        .open_array::<u16>((&storage, "a"))?;
    assert_eq!(reader.read(..)?.sum(), 3 * 512);
    assert_eq!(cache.byte_len(), kept, "the same chunks, once");
    writer.fill((0,), 4)?;
    assert_eq!(reader.read(..)?[[0]], 4);
    let group = OpenOptions::new()
        .read_only()
        .open_group(folder.path().join("g"))?;
    assert!(group.create_array("b", Array::<u8>::builder([4])).is_err());
    assert!(!folder.path().join("g").join("b").exists());
    Ok(())
}

#[test]
fn nodes_are_created_or_opened() -> Tested {
    for format in FORMATS {
        let memory = MemoryStore::new();
        let root = Group::create((&memory, ""), format)?;
        assert!(!root.contains("g")? && !root.contains("g/a")?);
        let builder = || Array::<u16>::builder([4, 4]).chunks([2, 2]);
        let made = root.create_array("g/a", builder().or_open())?;
        made.fill(.., 7)?;
        assert!(
            root.contains("g")? && root.contains("g/a")? && !root.contains("a")?,
            "{format}"
        );
        // An existing array stays, with its own chunks.
        let found = root.create_array("g/a", builder().chunks([1, 4]).fill_value(1).or_open())?;
        assert_eq!(
            (found.read((3, 3))?[[]], found.chunk_shape()),
            (7, vec![2, 2])
        );
        assert_eq!(root.group("g")?.children()?.len(), 1);
        let by_place = builder().or_open().create((&memory, "g/a"))?;
        assert_eq!(by_place.read((0, 3))?[[]], 7);

        // One that has grown is the same.
        let log = || Array::<u16>::builder([0, 4]).chunks([2, 4]).or_open();
        root.create_array("g/log", log())?
            .append(0, &ndarray::Array2::from_elem((3, 4), 8))?;
        let mut again = root.create_array("g/log", log())?;
        again.append(0, &ndarray::Array2::from_elem((1, 4), 9))?;
        assert_eq!(again.read(s![2.., 0])?.to_vec(), [8, 9], "{format}");
        root.erase("g/log")?;

        for (other, kind) in [
            (
                Array::<u16>::builder([4, 5])
                    .or_open()
                    .create((&memory, "g/a"))
                    .map(drop),
                ErrorKind::AlreadyExists,
            ),
            (
                Array::<u16>::builder([4])
                    .or_open()
                    .create((&memory, "g/a"))
                    .map(drop),
                ErrorKind::AlreadyExists,
            ),
            (
                Array::<u8>::builder([4, 4])
                    .or_open()
                    .create((&memory, "g/a"))
                    .map(drop),
                ErrorKind::WrongType,
            ),
            (
                root.create_array("g", builder().or_open()).map(drop),
                ErrorKind::WrongNodeKind,
            ),
            (
                root.create_array("g/a", builder()).map(drop),
                ErrorKind::AlreadyExists,
            ),
        ] {
            let error = other.expect_err("something else exists");
            assert_eq!(error.kind(), kind, "{format}: {error}");
        }
        block_on(async {
            let root = asynchronous::Group::open((&memory, "")).await?;
            assert!(root.contains("g/a").await? && !root.contains("h").await?);
            let builder = asynchronous::Array::<u16>::builder([4, 4]).or_open();
            assert_eq!(
                root.create_array("g/a", builder.clone())
                    .await?
                    .read((0, 0))
                    .await?[[]],
                7
            );
            root.create_array("h/b", builder).await?;
            assert!(root.contains("h/b").await?);
            Ok::<_, ndzarr::Error>(())
        })?;
    }
    // Damaged metadata is not "nothing".
    let memory = MemoryStore::new();
    let root = Group::create((&memory, ""), Format::Zarr3)?;
    memory.set("a/zarr.json", "{")?;
    assert_eq!(
        root.contains("a").expect_err("it is damaged").kind(),
        ErrorKind::InvalidMetadata
    );
    assert!(
        root.create_array("a", Array::<u8>::builder([1]).or_open())
            .is_err()
    );
    assert_eq!(memory.get("a/zarr.json").as_deref(), Some(&b"{"[..]));
    Ok(())
}

#[test]
fn of_threads_that_create_or_open_one_array_each_gets_it() -> Tested {
    for format in FORMATS {
        let folder = tempfile::tempdir()?;
        let root = Group::create((folder.path(), ""), format)?;
        let start = Barrier::new(8);
        thread::scope(|scope| {
            let one = |n: u64| {
                start.wait();
                let a =
                    root.create_array("g/a", Array::<u64>::builder([8]).chunks([8]).or_open())?;
                a.fill((n,), n + 1)
            };
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || one(n))).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!(
            root.array::<u64>("g/a")?.read(..)?.iter().sum::<u64>(),
            36,
            "{format}"
        );
    }
    Ok(())
}

/// In N5 a folder is a group. It may be that of an array which another thread is about to create.
#[test]
fn or_open_creates_in_an_empty_folder() -> Tested {
    let folder = tempfile::tempdir()?;
    let root = Group::create((folder.path(), ""), Format::N5)?;
    std::fs::create_dir(folder.path().join("a"))?;
    let a = root.create_array("a", Array::<u64>::builder([8]).or_open())?;
    a.fill(.., 1)?;
    root.create_group("g")?;
    root.create_array("g/a", Array::<u64>::builder([8]))?;
    let refused = root.create_array("g", Array::<u64>::builder([8]).or_open());
    assert_eq!(
        refused.err().map(|error| error.kind()),
        Some(ErrorKind::WrongNodeKind)
    );
    Ok(())
}

/// 4 calls on each of 3 arrays want 16 chunks each at once.
#[test]
fn calls_that_share_limits_keep_them_together() -> Tested {
    let served = AsyncMemoryStore::over(
        MemoryStore::new(),
        Latency::per_request(Duration::from_millis(2)),
    );
    let storage = Storage::asynchronous(served.clone());
    let limit = NonZeroUsize::new(5).expect("not zero");
    let run = |options: RunOptions| -> ndzarr::Result<u64> {
        let mut arrays = Vec::new();
        for name in ["a", "b", "c"] {
            let a = Array::<u16>::builder([64, 64]).chunks([16, 16]).overwrite();
            let a = a.create((Storage::from(served.memory()), name))?;
            a.fill(.., 1)?;
            arrays.push(Array::<u16>::open((&storage, name))?.with_options(options.clone()));
        }
        let arrays: Vec<_> = arrays.into_iter().map(asynchronous::Array::from).collect();
        served.reset();
        let reads = arrays.iter().flat_map(|a| (0..4).map(move |_| a.read(..)));
        for read in block_on(join_all(reads)) {
            assert_eq!(read?.sum(), 64 * 64);
        }
        let writes = arrays.iter().map(|a| a.fill(.., 2));
        block_on(join_all(writes))
            .into_iter()
            .collect::<ndzarr::Result<()>>()?;
        Ok(served.counts().max_in_flight)
    };
    assert!(
        run(RunOptions::default().requests_in_flight(limit))? > 5,
        "each call has its own limit"
    );
    assert_eq!(
        run(RunOptions::default().requests_in_flight(limit).shared())?,
        5
    );
    // Two chunks of 512 bytes, encoded and decoded alike.
    assert!(run(RunOptions::default().bytes_in_flight(1024))? > 2);
    assert!(run(RunOptions::default().bytes_in_flight(1024).shared())? <= 2);
    // From threads as well, and a dropped call gives back what it had.
    let options = RunOptions::default()
        .requests_in_flight(NonZeroUsize::MIN)
        .shared();
    let a = Array::<u16>::open((&storage, "a"))?.with_options(options);
    let pending = asynchronous::Array::from(a.clone());
    {
        let mut read = Box::pin(pending.read(..));
        let polled = futures_util::FutureExt::now_or_never(&mut read);
        assert!(polled.is_none(), "it waits for an answer");
    }
    served.reset();
    thread::scope(|scope| {
        let reads: Vec<_> = (0..4).map(|_| scope.spawn(|| a.read(..))).collect();
        for read in reads {
            assert_eq!(read.join().expect("no panic")?.sum(), 2 * 64 * 64);
        }
        Ok::<_, ndzarr::Error>(())
    })?;
    assert_eq!(served.counts().max_in_flight, 1);
    Ok(())
}
