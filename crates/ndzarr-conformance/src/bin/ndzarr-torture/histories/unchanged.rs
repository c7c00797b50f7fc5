//! Steps that must leave the array as it is, or that wait for another writer.

use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use ndzarr::Store;
use ndzarr::ndarray::ArrayD;
use ndzarr::store::{Fetch, Fetched, Key, Locked, Pin, Precondition, Put, StoreError, Wait};
use ndzarr::{
    Array, Cancel, CopyOptions, Existing, Format, FsStore, Group, MemoryStore, Storage,
    asynchronous, copy,
};
use ndzarr_testkit::block_on;

use super::Checked;
use super::machine::{LogLine, Machine, failed};
use super::model::Region;
use super::whole_array::{chunk_files, files};
use crate::common::drive::Drive;

/// A store whose chunks are read from another array, by a call that blocks or by a future.
#[derive(Debug)]
struct Virtual {
    documents: MemoryStore,
    below: Array<u32>,
    chunk: Vec<u64>,
    waits_for_a_future: bool,
}

impl Virtual {
    /// The elements of a chunk; the fill value where it extends past the array.
    fn chunk(&self, index: &str) -> Result<Bytes, String> {
        let index: Vec<u64> = index
            .split('/')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| index.to_owned())?;
        let whole = index
            .iter()
            .zip(&self.chunk)
            .map(|(i, n)| i * n..(i + 1) * n);
        let region: Vec<Range<u64>> = whole
            .zip(self.below.shape())
            .map(|(range, &n)| range.start..range.end.min(n))
            .collect();
        let found = if self.waits_for_a_future {
            block_on(asynchronous::Array::from(self.below.clone()).read(&region))
        } else {
            self.below.read(&region)
        };
        let found: ArrayD<u32> = found.map_err(|error| error.to_string())?;
        let mut chunk = ArrayD::zeros(self.chunk.iter().map(|&n| n as usize).collect::<Vec<_>>());
        for (at, &element) in found.indexed_iter() {
            chunk[at] = element;
        }
        Ok(chunk
            .iter()
            .flat_map(|element| element.to_le_bytes())
            .collect::<Vec<u8>>()
            .into())
    }
}

impl Store for Virtual {
    fn name(&self) -> String {
        "virtual".to_owned()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let Some(index) = fetch.key.as_str().strip_prefix("v/c/") else {
            return self.documents.fetch(fetch);
        };
        let broken = |what| StoreError::Other {
            action: "read",
            key: fetch.key.to_string(),
            what,
        };
        let bytes = self.chunk(index).map_err(broken)?;
        let (size, parts) = fetch.want.cut(&fetch.key, &bytes)?;
        Ok(Fetched::Parts {
            pin: Pin::new(()),
            size,
            parts,
        })
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("write"))
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("erase"))
    }
}

impl Machine {
    /// The array through a store that reads it on the threads of the pool.
    pub(super) fn read_virtual(&mut self, log: LogLine<'_>) -> Checked {
        let below = self.fresh()?;
        let shape = self.model.shape();
        let chunk = self.spec.unit.clone();
        let waits_for_a_future = self.random.below(2) == 0;
        let drive = Drive::any(&mut self.random);
        log(format!(
            "read through a store of its own, futures: {waits_for_a_future}, {drive:?}"
        ));
        let documents = MemoryStore::new();
        let builder = Array::<u32>::builder(&shape).chunks(&chunk).codecs([]);
        builder.create((&documents, "v")).map_err(failed)?;
        let storage = Storage::blocking(Virtual {
            documents,
            below,
            chunk,
            waits_for_a_future,
        });
        let array = Array::<u32>::open((&storage, "v"))
            .map_err(failed)?
            .with_options(self.options());
        self.tally.calls += 2;
        self.model.check(&self.found(&array)?)?;
        match drive.run(asynchronous::Array::from(array.clone()).read(..)) {
            Some(found) => self.model.check(&found.map_err(failed)?),
            None => {
                self.tally.dropped += 1;
                Ok(())
            }
        }
    }

    /// Another process holds the lock of a file and does not release it: a call ends by its
    /// `Cancel`, by the limit, or when it is dropped.
    pub(super) fn wait_for_lock(&mut self, log: LogLine<'_>) -> Checked {
        let Some(root) = self.place.root.clone() else {
            return Ok(());
        };
        let of_document = self.random.below(2) == 0;
        let found = if of_document {
            files(&root)
        } else {
            chunk_files(&root)
        };
        let mut found = found.map_err(|error| error.to_string())?;
        let name_of = |path: &Path| {
            path.strip_prefix(&root)
                .unwrap_or(path)
                .to_string_lossy()
                .replace('\\', "/")
        };
        if of_document {
            let is_of_array = |path: &Path| {
                let path = name_of(path);
                ["a/zarr.json", "a/.zarray", "a/attributes.json"].contains(&path.as_str())
                    || path.starts_with("meta/root/a.")
            };
            found.retain(|path| is_of_array(path));
        }
        if found.is_empty() {
            return Ok(());
        }
        let file = &found[self.random.below(found.len() as u64) as usize];
        let key = Key::new(name_of(file)).map_err(|error| error.to_string())?;
        let held = FsStore::new(&root)
            .lock(&key, Wait::Block)
            .map_err(|error| error.to_string())?;
        let Locked::Held(held) = held else {
            return Err(format!("{key} cannot be locked"));
        };
        let how = self.random.below(3);
        let after = Duration::from_micros(self.random.below(3000));
        log(format!(
            "while {key} is locked: {} after {after:?}",
            ["a time limit", "cancel", "drop"][how as usize]
        ));
        let region: Region = self.model.shape().iter().map(|&n| 0..n).collect();
        let elements = self.elements_of(&region);
        let cancel = Cancel::new();
        let options = self.options().cancel((how == 1).then(|| cancel.clone()));
        let store = FsStore::builder(&root)
            .lock_timeout((how == 0).then_some(after))
            .build();
        let array = Array::<u32>::open((Storage::blocking(store), "a")).map_err(failed)?;
        let mut array = array.with_options(options);
        self.tally.calls += 1;
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(after);
                cancel.cancel();
            });
            if of_document {
                // The same shape: only the wait differs.
                let shape = self.model.shape();
                if how == 2 {
                    timed(
                        after,
                        asynchronous::Array::from(array.clone()).resize(&shape),
                    )
                } else {
                    Some(array.resize(&shape))
                }
            } else if how == 2 {
                timed(
                    after,
                    asynchronous::Array::from(array.clone()).write(&region, &elements),
                )
            } else {
                Some(array.write(&region, &elements))
            }
        });
        drop(held);
        match result {
            Some(Ok(())) if of_document => Ok(()),
            // The lock of a chunk outside, or one that the call did not need.
            Some(Ok(())) => {
                self.model.set(&region, &elements);
                Ok(())
            }
            result => {
                if result.is_none() {
                    self.tally.dropped += 1;
                } else {
                    self.tally.refused += 1;
                }
                if of_document {
                    Ok(())
                } else {
                    self.adopt(&region, &elements, log)
                }
            }
        }
    }

    /// Folders with two links each to the next have exponentially many paths.
    #[cfg(unix)]
    pub(super) fn linked_folders(&mut self, log: LogLine<'_>) -> Checked {
        const DEPTH: usize = 24;
        // Nodes of the draft do not have their own folders.
        let is_draft = matches!(self.spec.format, Format::DraftA | Format::DraftB);
        let Some(root) = self.place.root.clone().filter(|_| !is_draft) else {
            return Ok(());
        };
        log(format!(
            "walk through {DEPTH} folders with two links each to the next"
        ));
        let group = Group::open(&self.place.storage).map_err(failed)?;
        let made = (0..DEPTH).try_for_each(|i| {
            let to = |error: std::io::Error| error.to_string();
            group.create_group(&format!("d{i}")).map_err(failed)?;
            let folder = root.join(format!("d{i}"));
            std::fs::create_dir_all(&folder).map_err(to)?;
            for name in ["x", "y"].iter().filter(|_| i + 1 < DEPTH) {
                std::os::unix::fs::symlink(format!("../d{}", i + 1), folder.join(name))
                    .map_err(to)?;
            }
            Ok::<_, String>(())
        });
        made?;
        self.tally.calls += 1;
        let walked = Group::open(FsStore::new(&root))
            .and_then(|group| group.walk())
            .map_err(failed)?;
        let found = walked.iter().filter(|child| child.path() == "a").count();
        for i in 0..DEPTH {
            group.erase(&format!("d{i}")).map_err(failed)?;
        }
        if found == 1 {
            Ok(())
        } else {
            Err(format!("a walk finds the array {found} times"))
        }
    }

    #[cfg(not(unix))]
    pub(super) fn linked_folders(&mut self, _: LogLine<'_>) -> Checked {
        Ok(())
    }

    /// Conversions that would remove their own source are refused.
    pub(super) fn convert_onto_itself(&mut self, log: LogLine<'_>) -> Checked {
        let format = self.spec.format;
        let options = CopyOptions::new()
            .format(format)
            .existing(Existing::Replace)
            .run(self.options());
        let is_draft = matches!(format, Format::DraftA | Format::DraftB);
        let storage = self.place.storage.clone();
        // The same array by another root, where nodes are known by their folders.
        let below = self.place.root.clone().filter(|_| !is_draft);
        let (to, path) = match (self.random.below(3), below) {
            (0, Some(root)) => (Storage::folder(root.join("a")), ""),
            (1, Some(root)) => (Storage::folder(&root), "a"),
            _ => (storage.clone(), ""),
        };
        log(format!("convert it onto {path:?} of {}", to.name()));
        self.tally.calls += 1;
        match copy((&storage, "a"), (&to, path), &options) {
            Ok(_) => Err("an array was converted over itself or its group".to_owned()),
            Err(_) => {
                self.tally.refused += 1;
                Ok(())
            }
        }
    }

    /// An empty name, or an array in place of the group, would remove everything.
    pub(super) fn erase_by_mistake(&mut self, log: LogLine<'_>) -> Checked {
        let root = Group::open(&self.place.storage)
            .map_err(failed)?
            .with_options(self.options());
        let array = || Array::<u32>::builder([4]).format(self.spec.format);
        let (what, result) = match self.random.below(4) {
            0 => ("erase the group by an empty name", root.erase("")),
            1 => (
                "create over the group",
                array().create(&self.place.storage).map(drop),
            ),
            2 => (
                "overwrite the group",
                array().overwrite().create(&self.place.storage).map(drop),
            ),
            _ => (
                "overwrite by an empty name",
                root.create_array("", array().overwrite()).map(drop),
            ),
        };
        log(what.to_owned());
        self.tally.calls += 1;
        match result {
            Ok(()) => Err("it is done".to_owned()),
            Err(_) => {
                self.tally.refused += 1;
                Ok(())
            }
        }
    }

    /// Makes a group next to the array, which is removed with its content and nothing else.
    pub(super) fn erase_a_group(&mut self, log: LogLine<'_>) -> Checked {
        log("make a group with an array, and erase the group".to_owned());
        let root = Group::open(&self.place.storage)
            .map_err(failed)?
            .with_options(self.options());
        let group = root.create_group("g").map_err(failed)?;
        group
            .create_array("b", Array::<u32>::builder([4]))
            .map_err(failed)?
            .fill(.., 7)
            .map_err(failed)?;
        self.tally.calls += 1;
        group.erase_self().map_err(failed)?;
        match Array::<u32>::open((&self.place.storage, "g/b")) {
            Ok(_) => Err("an array of an erased group exists".to_owned()),
            Err(_) => Ok(()),
        }
    }
}

/// The future's value, unless it takes longer.
fn timed<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    Drive::Smol(limit.as_micros() as u64).run(future)
}
