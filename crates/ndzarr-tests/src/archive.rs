//! ZIP archives: what is read is the same however it is asked for, and everything else is an error.

use bytes::Bytes;
use ndzarr::store::{Fetch, Fetched, Key, Of, Prefix, StoreError, Want};
use ndzarr::{MemoryStore, Store};
use ndzarr_store_zip::ZipStore;

/// Memory limit for an input: a few values of up to `LARGEST`, and decoders.
pub const MAX_BYTES: usize = 32 << 20;

/// The most that is read of a value, in bytes.
const LARGEST: u64 = 1 << 20;

/// Runs an input, which is an archive.
pub fn check(data: &[u8]) {
    let open = || {
        let memory = MemoryStore::new();
        memory
            .set("a.zip", Bytes::copy_from_slice(data))
            .expect("the name is a valid key");
        ZipStore::open(memory, Key::new("a.zip").expect("the name is a valid key"))
    };
    let (Ok(store), Ok(fresh)) = (open(), open()) else {
        return;
    };
    let keys = store
        .list_prefix(&Prefix::root())
        .expect("an archive lists");
    assert_eq!(keys.len(), store.n_values());
    listed(&store, &Prefix::root(), &keys);
    for key in keys {
        assert!(store.has(&key).expect("the directory says so"));
        let Ok((size, whole)) = read(&store, &key, Want::Whole { limit: LARGEST }) else {
            continue;
        };
        assert_eq!((whole.len(), whole[0].len() as u64), (1, size));
        let whole = &whole[0];
        let middle = size / 3;
        // `fresh` has not read where values begin, `store` has.
        for store in [&fresh, &store] {
            let ranges = vec![middle..size, 0..middle, size..size];
            let (_, parts) = read(store, &key, Want::Ranges(ranges)).expect("it was read before");
            let at = middle as usize;
            assert_eq!(parts, [&whole[at..], &whole[..at], b""]);
            let (_, tail) = read(store, &key, Want::Tail(middle)).expect("it was read before");
            assert_eq!(tail, [&whole[whole.len() - at..]]);
        }
    }
}

fn read(store: &impl Store, key: &Key, want: Want) -> Result<(u64, Vec<Bytes>), StoreError> {
    match store.fetch(&Fetch {
        key: key.clone(),
        of: Of::Any,
        want,
    })? {
        Fetched::Parts { size, parts, .. } => Ok((size, parts)),
        other => panic!("it is listed: {other:?}"),
    }
}

/// Folder by folder there are the same keys.
fn listed(store: &impl Store, prefix: &Prefix, keys: &[Key]) {
    let listing = store.list_dir(prefix).expect("an archive lists");
    for name in &listing.keys {
        let key = prefix.key(name).expect("it is listed");
        assert!(keys.binary_search(&key).is_ok(), "{key}");
    }
    let mut n = listing.keys.len();
    // A path of an input may have many segments: few of them are followed.
    for name in listing.prefixes.iter().take(8) {
        let below = Prefix::new(format!("{prefix}{name}/")).expect("it is listed");
        let keys = store.list_prefix(&below).expect("an archive lists");
        assert!(!keys.is_empty());
        n += keys.len();
        if prefix.as_str().len() < 64 {
            listed(store, &below, &keys);
        }
    }
    assert!(n <= keys.len());
}
