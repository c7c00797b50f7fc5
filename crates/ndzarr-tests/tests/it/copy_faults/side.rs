//! The store of a side of a copy, of any kind, which fails on demand.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr::store::bytes::Bytes;
use ndzarr::store::{
    Fetch, Fetched, Key, ObjectStore, Of, Precondition, Prefix, RemoteOptions, StoreError, Want,
    ZipWriter,
};
use ndzarr::{FsStore, MemoryStore, Storage, Store};
use ndzarr_store_zip::ZipStore;
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency};
use tempfile::TempDir;

pub(super) type Keys = BTreeMap<String, Bytes>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Blocking,
    Asynchronous,
    /// To read from.
    Archive,
    Bucket,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fails {
    One,
    /// One, which has been carried out: the answer is lost.
    OneAnswer,
    /// As if the process were killed.
    AllFromIt,
}

impl Kind {
    pub(super) fn faults(self) -> &'static [Fails] {
        match self {
            Self::Bucket => &[Fails::OneAnswer, Fails::AllFromIt],
            Self::Blocking | Self::Asynchronous | Self::Archive => &[Fails::One, Fails::AllFromIt],
        }
    }
}

/// Where the values are.
enum Values {
    Memory(MemoryStore, FaultStore<MemoryStore>),
    Asynchronous(MemoryStore, FaultStore<AsyncMemoryStore>),
    Bucket(ObjectServer),
    /// With an archive.
    Folder(TempDir, FaultStore<FsStore>),
}

pub(super) struct Side {
    values: Values,
    pub(super) storage: Storage,
}

/// The key of an archive.
fn archive() -> Key {
    Key::new("a.zip").expect("a key")
}

fn fault() -> StoreError {
    StoreError::io("reach", "the store", std::io::Error::other("as asked"))
}

fn keys_of(memory: &MemoryStore) -> Keys {
    let value = |key: &str| memory.get(key).expect("a value");
    memory
        .keys()
        .into_iter()
        .map(|key| (key.clone(), value(&key)))
        .collect()
}

fn all_of(store: &impl Store) -> Keys {
    let value = |key: &Key| {
        let whole = Want::Whole { limit: 1 << 20 };
        match store.fetch(&Fetch {
            key: key.clone(),
            of: Of::Any,
            want: whole,
        }) {
            Ok(Fetched::Parts { mut parts, .. }) => parts.remove(0),
            other => panic!("{key}: {other:?}"),
        }
    };
    let names = store.list_prefix(&Prefix::root()).expect("a list");
    names
        .iter()
        .map(|key| (key.to_string(), value(key)))
        .collect()
}

impl Side {
    pub(super) fn empty(kind: Kind) -> Self {
        Self::new(kind, &MemoryStore::new())
    }

    /// An empty folder, for an archive.
    pub(super) fn folder() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FaultStore::new(FsStore::new(folder.path()));
        let storage = Storage::blocking(store.clone());
        Self {
            values: Values::Folder(folder, store),
            storage,
        }
    }

    fn folder_store(&self) -> &FaultStore<FsStore> {
        let Values::Folder(_, store) = &self.values else {
            unreachable!("archives are in folders")
        };
        store
    }

    /// A store with these values.
    pub(super) fn new(kind: Kind, memory: &MemoryStore) -> Self {
        match kind {
            Kind::Blocking => {
                let store = FaultStore::new(memory.clone());
                let storage = Storage::blocking(store.clone());
                Self {
                    values: Values::Memory(memory.clone(), store),
                    storage,
                }
            }
            Kind::Asynchronous => {
                let store =
                    FaultStore::new(AsyncMemoryStore::over(memory.clone(), Latency::default()));
                let storage = Storage::asynchronous(store.clone());
                Self {
                    values: Values::Asynchronous(memory.clone(), store),
                    storage,
                }
            }
            Kind::Archive => {
                let side = Self::folder();
                let new = side.new_archive().expect("a new archive");
                for (key, value) in keys_of(memory) {
                    let key = Key::new(key).expect("a key");
                    new.put(&key, &[value], Precondition::None)
                        .expect("a value");
                }
                new.finish().expect("an archive");
                let opened =
                    ZipStore::open(side.folder_store().clone(), archive()).expect("an archive");
                Self {
                    storage: Storage::blocking(opened),
                    ..side
                }
            }
            Kind::Bucket => {
                let server = ObjectServer::start(Dialect::S3);
                for (key, value) in keys_of(memory) {
                    server.objects().put(&key, value);
                }
                let options = RemoteOptions::new().endpoint(server.url()).attempts(1);
                let store = ObjectStore::s3(BUCKET, "", &options).expect("a bucket");
                Self {
                    values: Values::Bucket(server),
                    storage: Storage::from(&store),
                }
            }
        }
    }

    pub(super) fn fail(&self, fails: Fails, n: u64) {
        match (&self.values, fails) {
            (Values::Memory(_, store), Fails::One) => store.fail_nth(Call::Any, n, fault()),
            (Values::Memory(_, store), Fails::AllFromIt) => store.fail_from(Call::Any, n, fault()),
            (Values::Asynchronous(_, store), Fails::One) => store.fail_nth(Call::Any, n, fault()),
            (Values::Asynchronous(_, store), Fails::AllFromIt) => {
                store.fail_from(Call::Any, n, fault())
            }
            (Values::Folder(_, store), Fails::One) => store.fail_nth(Call::Any, n, fault()),
            (Values::Folder(_, store), Fails::AllFromIt) => store.fail_from(Call::Any, n, fault()),
            (Values::Bucket(server), _) => {
                let is_one = fails != Fails::AllFromIt;
                let fault = if fails == Fails::OneAnswer {
                    Fault::Lost
                } else {
                    Fault::Status(400)
                };
                let count = AtomicU64::new(0);
                let is_due = move |_: &_| {
                    let nth = count.fetch_add(1, Ordering::Relaxed);
                    nth == n || nth > n && !is_one
                };
                server.faults([FaultRule::always(fault).only_if(is_due)]);
            }
            (_, Fails::OneAnswer) => unreachable!("a store of the process has no answers to lose"),
        }
    }

    pub(super) fn heal(&self) {
        match &self.values {
            Values::Memory(_, store) => store.heal(),
            Values::Asynchronous(_, store) => store.heal(),
            Values::Bucket(server) => server.heal(),
            Values::Folder(_, store) => store.heal(),
        }
    }

    pub(super) fn keys(&self) -> Keys {
        match &self.values {
            Values::Memory(memory, _) | Values::Asynchronous(memory, _) => keys_of(memory),
            Values::Bucket(server) => {
                assert_eq!(
                    server.objects().n_uploads(),
                    0,
                    "no upload is left unfinished"
                );
                let objects = server.objects();
                let value = |key: &str| objects.get(key).expect("a value");
                // It stays if it cannot be erased, as the guide says.
                let is_trial = |key: &String| key.starts_with(".ndzarr-trial-");
                let keys = objects.keys().into_iter().filter(|key| !is_trial(key));
                keys.map(|key| (key.clone(), value(&key))).collect()
            }
            Values::Folder(_, store) => all_of(store.inner()),
        }
    }

    /// The files of the folder, also those that the store does not show.
    pub(super) fn files(&self) -> usize {
        let Values::Folder(folder, _) = &self.values else {
            unreachable!("it is not in a folder")
        };
        std::fs::read_dir(folder).expect("a folder").count()
    }

    /// Begins an archive, whose requests fail like others.
    pub(super) fn new_archive(&self) -> Result<ZipWriter, ndzarr::Error> {
        ZipWriter::create(self.folder_store().clone(), archive()).map_err(ndzarr::Error::from)
    }

    pub(super) fn keys_of_archive(&self) -> Keys {
        let opened = ZipStore::open(self.folder_store().clone(), archive()).expect("an archive");
        all_of(&opened)
    }
}
