//! Shards whose writer or array is gone before they are published.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{ArrayD, IxDyn};
use ndzarr::store::{Fetch, Fetched, Of, StoreError};
use ndzarr::{
    Array, Error, ErrorKind, Format, Group, MemoryStore, ShardWriter, Storage, Store, asynchronous,
};
use ndzarr_testkit::{block_on, forward};

use crate::shard_writer::{storages, temporaries};

type End = fn(ShardWriter<u8>) -> Result<(), Error>;

/// The ways to end a writer.
const ENDS: [End; 2] = [
    |writer| writer.finish(),
    |writer| block_on(asynchronous::ShardWriter::from(writer).finish()),
];

fn line(format: Format, storage: &Storage) -> Array<u8> {
    let builder = Array::<u8>::builder([64])
        .chunks([4])
        .shards([16])
        .format(format)
        .overwrite();
    builder.create((storage, "a")).expect("a new array")
}

#[test]
fn a_shard_that_was_cut_off_is_not_stored() {
    for format in [Format::Zarr3, Format::DraftB] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, storage) in storages(folder.path()) {
            for finish in ENDS {
                // The whole shard is cut off, a part of it, or nothing.
                for (len, shard, fits) in [
                    (8, 3, false),
                    (56, 3, false),
                    (20, 1, false),
                    (20, 0, true),
                    (64, 3, true),
                ] {
                    let mut a = line(format, &storage);
                    let stale = a.clone();
                    a.fill(.., 1).expect("a write");
                    let early = a.shard_writer(&[shard]).expect("a writer");
                    a.resize([len]).expect("a resize");
                    let late = stale.shard_writer(&[shard]).expect("a writer");
                    for writer in [early, late] {
                        for inner in writer.chunks() {
                            let data = ArrayD::from_elem(IxDyn(&[4]), 9);
                            writer
                                .write_chunk(&inner.index, &data)
                                .expect("an inner chunk");
                        }
                        match finish(writer) {
                            Ok(()) => {
                                assert!(fits, "{name} {format}: [{shard}] of {len} is stored")
                            }
                            Err(error) => {
                                assert!(!fits, "{name} {format}: [{shard}] of {len}: {error}");
                                assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
                                let message = error.to_string();
                                assert!(
                                    message.contains(&format!("resized to [{len}]")),
                                    "{message}"
                                );
                            }
                        }
                    }
                    assert_eq!(temporaries(folder.path()), 0, "{name}");
                    a.resize([64]).expect("a resize");
                    for (i, &value) in a.read([0..64]).expect("elements").iter().enumerate() {
                        let is_given = fits && (i as u64) / 16 == shard;
                        let expected = if is_given {
                            9
                        } else {
                            u8::from((i as u64) < len)
                        };
                        assert_eq!(value, expected, "{name} {format}: element {i} after {len}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_shard_of_a_removed_array_is_not_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, storage) in storages(folder.path()) {
        let root = Group::create(&storage, Format::Zarr3).expect("a new group");
        for finish in ENDS {
            let a = line(Format::Zarr3, &storage);
            let early = a.shard_writer(&[0]).expect("a writer");
            root.erase("a").expect("it exists");
            let late = a.shard_writer(&[0]).expect("a writer");
            for writer in [early, late] {
                // The temporary of the first may be gone.
                let _ = writer.write_chunk(&[0], &ArrayD::from_elem(IxDyn(&[4]), 9));
                assert_eq!(
                    finish(writer).map_err(|error| error.kind()),
                    Err(ErrorKind::NotFound),
                    "{name}"
                );
            }
            assert!(root.walk().expect("a listing").is_empty(), "{name}");
            let a = line(Format::Zarr3, &storage);
            assert_eq!(
                a.read([0..64]).expect("elements").iter().max(),
                Some(&0),
                "{name}"
            );
            root.erase("a").expect("it exists");
        }
    }
}

/// A store in which a shard has been replaced whenever more of it is read.
#[derive(Debug)]
struct Restless {
    inner: MemoryStore,
    n_reads: AtomicUsize,
}

impl Store for Restless {
    forward!(inner: name, put, erase, list_dir);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        if !fetch.key.as_str().starts_with("a/c/") || !matches!(fetch.of, Of::Snapshot(_)) {
            return self.inner.fetch(fetch);
        }
        let n_reads = self.n_reads.fetch_add(1, Ordering::Relaxed);
        assert!(n_reads < 1000, "it never gives up");
        Ok(Fetched::Changed)
    }
}

#[test]
fn a_shard_that_keeps_changing_is_given_up() {
    for finish in ENDS {
        let storage = Storage::blocking(Restless {
            inner: MemoryStore::new(),
            n_reads: AtomicUsize::new(0),
        });
        let a = line(Format::Zarr3, &storage);
        a.fill(.., 1).expect("a write");
        let writer = a.shard_writer(&[0]).expect("a writer");
        writer
            .write_chunk(&[0], &ArrayD::from_elem(IxDyn(&[4]), 9))
            .expect("an inner chunk");
        let error = finish(writer).expect_err("three inner chunks are to be kept");
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
    }
}
