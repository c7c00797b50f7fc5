//! ZIP archives through arrays, groups and conversions.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayD};
use ndzarr::store::ZipWriter;
use ndzarr::{
    AnyArray, Array, CopyOptions, ErrorKind, Existing, Format, Group, MemoryStore, Storage,
    asynchronous, codec, copy, s,
};
use ndzarr_store::{AsyncStore, Key, Precondition, Store};
use ndzarr_store_zip::ZipStore;
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, in_own_process};
use serde_json::json;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("the system has a folder for temporaries")
}

fn data() -> ArrayD<u16> {
    Array2::from_shape_fn((40, 50), |(i, j)| (i * 50 + j) as u16).into_dyn()
}

/// An archive of a group with a plain and a sharded array, written in several ways.
fn written(path: &Path, format: Format) {
    let before = fs::read(path).ok();
    let new = ZipWriter::create_file(path).expect("a new archive");
    let mut root = Group::builder()
        .format(format)
        .attributes(json!({"is": "root"}))
        .create(&new)
        .expect("a group");
    let builder = Array::<u16>::builder([40, 50])
        .format(format)
        .chunks([4, 10])
        .codecs([codec::gzip(1)]);
    let mut plain = builder.create((&new, "plain")).expect("an array");
    plain.fill(s![.., ..], 1).expect("it fills");
    plain.write(.., &data()).expect("it writes");
    plain
        .write(s![3..5, 7..9], &data().slice(s![3..5, 7..9]))
        .expect("it updates");
    plain.resize([40, 60]).expect("it grows");
    plain.fill(s![.., 50..], 7).expect("it fills");
    plain.resize([40, 50]).expect("it shrinks");
    plain
        .merge_attributes(json!({"unit": "K"}))
        .expect("it merges");
    if format == Format::Zarr3 {
        let builder = Array::<u16>::builder([40, 50])
            .chunks([4, 10])
            .shards([20, 50]);
        let shards = builder.create((&new, "below/shards")).expect("an array");
        let writer = shards.shard_writer(&[0, 0]).expect("a writer");
        for i in 0..5_usize {
            for j in 0..5_usize {
                let part = data()
                    .slice(s![4 * i..4 * i + 4, 10 * j..10 * j + 10])
                    .to_owned()
                    .into_dyn();
                writer
                    .write_chunk(&[i as u64, j as u64], &part)
                    .expect("it takes an inner chunk");
            }
        }
        writer.finish().expect("it finishes");
        shards
            .write(s![20..40, ..], &data().slice(s![20..40, ..]))
            .expect("it writes");
        shards
            .write(s![1..2, 1..2], &data().slice(s![1..2, 1..2]))
            .expect("it updates");
        root.consolidate().expect("it consolidates");
    }
    assert_eq!(
        Array::<u16>::open((&new, "plain"))
            .expect("it opens")
            .read(..)
            .expect("it reads"),
        data()
    );
    assert!(fs::read(path).ok() == before, "it is not visible yet");
    new.finish().expect("it finishes");
    // Handles go on reading.
    assert_eq!(plain.read(..).expect("it reads"), data());
    let error = plain.fill(s![.., ..], 1).expect_err("it is finished");
    assert!(error.to_string().contains("finished"), "{error}");
}

fn place(archive: &Path, inside: &str) -> String {
    format!("{}|zip:{inside}", archive.display())
}

#[test]
fn arrays_of_each_format_are_written_into_archives_and_read() {
    let folder = folder();
    for format in [Format::Zarr3, Format::Zarr2, Format::N5] {
        let path = folder.path().join("a.zip");
        written(&path, format);
        let group = Group::open(&path).expect("it opens");
        assert_eq!(
            (group.format(), group.attributes()["is"].as_str()),
            (format, Some("root"))
        );
        let plain = group.array::<u16>("plain").expect("it opens");
        assert_eq!(plain.read(..).expect("it reads"), data());
        assert_eq!(plain.attributes()["unit"], "K");
        let part = plain.read(s![3..5, 8..30;4]).expect("it reads");
        assert_eq!(part, data().slice(s![3..5, 8..30;4]));
        if format == Format::Zarr3 {
            let shards = group.array::<u16>("below/shards").expect("it opens");
            assert_eq!(shards.read(..).expect("it reads"), data());
        }
        let error = plain
            .fill(s![.., ..], 1)
            .expect_err("archives are read only");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let names: Vec<PathBuf> = fs::read_dir(folder.path())
            .expect("it lists")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert_eq!(names, [path]);
    }
}

#[test]
fn places_in_archives_are_opened_or_refused() {
    let folder = folder();
    let path = folder.path().join("a b.ozx");
    written(&path, Format::Zarr3);
    let slashed = path.display().to_string().replace('\\', "/");
    let url = format!(
        "file:///{}",
        slashed.trim_start_matches('/').replace(' ', "%20")
    );
    for root in [
        path.display().to_string(),
        url.clone(),
        place(&path, ""),
        format!("{url}|zip:"),
    ] {
        assert_eq!(
            Group::open(&root).expect("it opens").attributes()["is"],
            "root",
            "{root}"
        );
        let opened = block_on(asynchronous::Group::open(&root)).expect("it opens");
        assert_eq!(opened.attributes()["is"], "root", "{root}");
    }
    for array in [
        place(&path, "below/shards"),
        place(&path, "below/shards/"),
        format!("{url}|zip:b%65low/shards"),
    ] {
        assert_eq!(
            Array::<u16>::open(&array)
                .expect("it opens")
                .read(..)
                .expect("it reads"),
            data()
        );
        let array = block_on(asynchronous::Array::<u16>::open(&array)).expect("it opens");
        assert_eq!(block_on(array.read(..)).expect("it reads"), data());
    }
    let kind = |place: String| AnyArray::open(place).expect_err("it is refused").kind();
    assert_eq!(kind(place(&path, "other")), ErrorKind::NotFound);
    assert_eq!(
        kind(place(&folder.path().join("b.zip"), "plain")),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(folder.path().join("b.zip").display().to_string()),
        ErrorKind::NotFound
    );
    let of_v3 = AnyArray::open(place(&path, "plain|zarr3:")).expect("it is of Zarr v3");
    assert_eq!(of_v3.shape(), [40, 50]);
    // Only documents of that format are looked for; N5 has groups without one.
    assert_eq!(kind(place(&path, "plain|zarr2:")), ErrorKind::NotFound);
    assert_eq!(kind(place(&path, "plain|n5:")), ErrorKind::WrongNodeKind);
    assert_eq!(
        kind(place(&path, "plain|parquet:")),
        ErrorKind::InvalidArgument
    );
    assert_eq!(kind(format!("{url}|zip:%zz")), ErrorKind::InvalidArgument);
    // A folder may have such a name, too.
    let store = folder.path().join("folder.zip");
    fs::create_dir(&store).expect("a folder");
    Array::<u8>::builder([3]).create(&store).expect("an array");
    assert_eq!(Array::<u8>::open(&store).expect("it opens").shape(), [3]);
    fs::write(folder.path().join("c.zip"), "not an archive").expect("it writes");
    let error = AnyArray::open(folder.path().join("c.zip")).expect_err("it is refused");
    assert!(
        error.to_string().contains("c.zip") && error.to_string().contains("zip archive"),
        "{error}"
    );
}

#[test]
fn rs_47_an_archive_of_a_folder_says_what_to_open() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let new = ZipWriter::create_file(&path).expect("a new archive");
    Array::<u16>::builder([40, 50])
        .create((&new, "a.zarr/x"))
        .expect("an array");
    // As `zip -r a.zip a.zarr` makes it.
    new.erase(&Key::new("zarr.json").expect("a key"), Precondition::None)
        .expect("it erases");
    new.finish().expect("it finishes");
    let error = Group::open(&path).expect_err("the root has no document");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let hint = place(&path, "a.zarr");
    // Windows has two separators.
    assert!(
        error
            .to_string()
            .replace('\\', "/")
            .contains(&hint.replace('\\', "/")),
        "{error}"
    );
    assert_eq!(
        Group::open(&hint).expect("it opens").format(),
        Format::Zarr3
    );
}

#[test]
fn conversions_from_and_into_archives() {
    let folder = folder();
    let [first, second] = ["a.zip", "b.zip"].map(|name| folder.path().join(name));
    written(&first, Format::Zarr2);
    let options = CopyOptions::new().format(Format::Zarr3);
    // Archive to archive, to memory, and back into an archive.
    let new = ZipWriter::create_file(&second).expect("a new archive");
    let report = copy(&first, &new, &options).expect("it converts");
    assert_eq!(report.nodes.len(), 2);
    new.finish().expect("it finishes");
    let memory = MemoryStore::new();
    copy(&second, &memory, &CopyOptions::new().format(Format::N5)).expect("it converts");
    let new = ZipWriter::create_file(&first).expect("a new archive");
    let report = block_on(asynchronous::copy(&memory, (&new, "in/here"), &options));
    assert_eq!(report.expect("it converts").nodes.len(), 2);
    new.finish().expect("it finishes");
    for place in [place(&second, "plain"), place(&first, "in/here/plain")] {
        let array = Array::<u16>::open(&place).expect("it opens");
        assert_eq!(
            (array.format(), array.read(..).expect("it reads")),
            (Format::Zarr3, data()),
            "{place}"
        );
        assert_eq!(array.attributes()["unit"], "K");
    }
    // Not onto itself: an archive is not changed.
    let replace = CopyOptions::new()
        .format(Format::N5)
        .existing(Existing::Replace);
    assert!(copy(&second, &second, &replace).is_err());
    assert_eq!(
        Array::<u16>::open(place(&second, "plain"))
            .expect("it opens")
            .read(..)
            .expect("it reads"),
        data()
    );
}

#[test]
fn an_archive_in_an_asynchronous_store() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    written(&path, Format::Zarr3);
    let memory = MemoryStore::new();
    memory
        .set("in/a.zip", fs::read(&path).expect("it reads"))
        .expect("a key");
    let slow = AsyncMemoryStore::over(memory, Latency::default()).with_polls(3);
    let base: std::sync::Arc<dyn AsyncStore> = std::sync::Arc::new(slow.clone());
    let archive = block_on(ZipStore::open_async(
        base,
        Key::new("in/a.zip").expect("a key"),
    ))
    .expect("it opens");
    let storage = Storage::asynchronous(archive);
    assert_eq!(storage.name(), "slow memory/in/a.zip|zip:");
    // Blocking and asynchronous calls alike.
    let array = Array::<u16>::open((&storage, "below/shards")).expect("it opens");
    assert_eq!(array.read(..).expect("it reads"), data());
    let array = block_on(asynchronous::Array::<u16>::open((&storage, "plain"))).expect("it opens");
    slow.reset();
    assert_eq!(
        block_on(array.read(s![0..4, 0..10])).expect("it reads"),
        data().slice(s![0..4, 0..10])
    );
    assert_eq!(slow.counts().fetches, 1, "a chunk takes one request");
}

/// Everything may be dropped in any order, also with writes that were not awaited.
#[test]
fn a_dropped_write_leaves_an_archive_that_can_be_finished() {
    in_own_process!();
    let folder = folder();
    let path = folder.path().join("a.zip");
    let new = ZipWriter::create_file(&path).expect("a new archive");
    let array = block_on(async {
        let builder = asynchronous::Array::<u16>::builder([400, 50]).chunks([1, 50]);
        builder.create((&new, "a")).await.expect("an array")
    });
    let ones = Array2::<u16>::ones((400, 50)).into_dyn();
    for polls in 0..20 {
        let mut write = std::pin::pin!(array.write(.., &ones));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..polls {
            let _ = std::future::Future::poll(write.as_mut(), &mut context);
        }
    }
    block_on(array.write(.., &ones)).expect("it writes");
    new.finish().expect("it finishes");
    assert_eq!(
        Array::<u16>::open(place(&path, "a"))
            .expect("it opens")
            .read(..)
            .expect("it reads"),
        ones
    );
}

/// A target that is named like an archive is one, and no folder of this name.
#[test]
fn a_copy_to_the_name_of_an_archive_makes_one() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let group = Group::create(folder.path().join("g"), Format::Zarr3)?;
    group
        .create_array("a", Array::<u8>::builder([4]).chunks([2]))?
        .fill(.., 7)?;
    std::fs::write(folder.path().join("g/notes.txt"), "-")?;
    for (name, is_future) in [("b.zip", false), ("b.ozx", false), ("c.ZIP", true)] {
        let target = folder.path().join(name);
        let copied = |options: &CopyOptions| {
            let source = folder.path().join("g");
            if is_future {
                block_on(asynchronous::copy(source, &target, options))
            } else {
                copy(source, &target, options)
            }
        };
        copied(&CopyOptions::new().dry_run())?;
        assert!(!target.exists(), "nothing is written");
        copied(&CopyOptions::new())?;
        assert!(target.is_file(), "{name}");
        let copy = Group::open(&target)?;
        assert_eq!(copy.array::<u8>("a")?.read(..)?.sum(), 28);
        assert_eq!(
            copy.storage().read_key("notes.txt", 9)?.as_deref(),
            Some(&b"-"[..])
        );
        let error = copied(&CopyOptions::new()).expect_err("the target exists");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        copied(&CopyOptions::new().existing(Existing::Replace))?;
        let onto = ndzarr::copy(
            &target,
            &target,
            &CopyOptions::new().existing(Existing::Replace),
        );
        assert_eq!(
            onto.expect_err("it is the source").kind(),
            ErrorKind::InvalidArgument
        );
        assert_eq!(Group::open(&target)?.array::<u8>("a")?.read(..)?.sum(), 28);
    }
    // One that fails leaves nothing.
    let target = folder.path().join("d.zip");
    let float = CopyOptions::new().chunks([3]).memory(1);
    ndzarr::copy(folder.path().join("g/a"), &target, &float).expect_err("it is too little");
    assert!(!target.exists());
    // Other calls would have to know when it is finished.
    let name = folder.path().join("new.zip");
    let error = Array::<u8>::builder([4])
        .create(&name)
        .expect_err("it is the name of an archive");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(Group::create(&name, Format::Zarr3).is_err());
    assert!(!name.exists());
    // A folder may have any name.
    std::fs::create_dir(&name)?;
    Group::create(&name, Format::Zarr3)?;
    copy(
        folder.path().join("g"),
        folder.path().join("new.zip/below"),
        &CopyOptions::new(),
    )?;
    Ok(())
}
