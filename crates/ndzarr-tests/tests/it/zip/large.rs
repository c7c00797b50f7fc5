//! Values and archives that need zip64.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ndzarr_store::{
    Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, Store, StoreError, Temporary,
    Wait, Want,
};
use ndzarr_store_zip::{ZipStore, ZipWriter};

use crate::zip::by_hand::{assert_value, fetch, key};

/// Bytes of which only those that are not zero are kept, as in a sparse file.
#[derive(Clone, Debug, Default)]
struct Sparse {
    len: u64,
    pieces: BTreeMap<u64, Bytes>,
}

impl Sparse {
    fn read(&self, range: Range<u64>) -> Bytes {
        let mut out = vec![0; (range.end - range.start) as usize];
        for (&at, piece) in self.pieces.range(..range.end) {
            let from = at.max(range.start);
            let to = (at + piece.len() as u64).min(range.end);
            if from < to {
                out[(from - range.start) as usize..(to - range.start) as usize]
                    .copy_from_slice(&piece[(from - at) as usize..(to - at) as usize]);
            }
        }
        out.into()
    }
}

/// A store of one sparse value.
#[derive(Clone, Debug, Default)]
struct SparseStore(Arc<Mutex<Sparse>>);

#[derive(Debug)]
struct SparseTemporary {
    store: SparseStore,
    sparse: Mutex<Sparse>,
}

struct NoLock;

static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

impl Store for SparseStore {
    fn name(&self) -> String {
        "sparse".to_owned()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let value = self.0.lock().expect("no test panics with it");
        let parts = match &fetch.want {
            Want::Tail(n) => vec![value.read(value.len.saturating_sub(*n)..value.len)],
            Want::Ranges(ranges) => ranges
                .iter()
                .cloned()
                .map(|range| value.read(range))
                .collect(),
            other => panic!("an archive is not read by {other:?}"),
        };
        Ok(Fetched::Parts {
            pin: Pin::new(()),
            size: value.len,
            parts,
        })
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("put"))
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("erase"))
    }

    fn lock(&self, _: &Key, _: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(Locked::Held(Box::new(NoLock)))
    }

    fn temporary(&self, _: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        Ok(Some(Box::new(SparseTemporary {
            store: self.clone(),
            sparse: Mutex::default(),
        })))
    }
}

impl Temporary for SparseTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        let mut value = self.sparse.lock().expect("no test panics with it");
        let at = value.len;
        value.len += part.len() as u64;
        // Compared by the system: a loop is slow without optimisation.
        if part
            .chunks(ZEROS.len())
            .any(|piece| *piece != ZEROS[..piece.len()])
        {
            value.pieces.insert(at, Bytes::copy_from_slice(part));
        }
        Ok(at)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let mut value = self.sparse.lock().expect("no test panics with it");
        let (&start, piece) = value
            .pieces
            .range_mut(..=at)
            .next_back()
            .expect("it was appended");
        let mut bytes = piece.to_vec();
        bytes[(at - start) as usize..][..part.len()].copy_from_slice(part);
        *piece = bytes.into();
        Ok(())
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        Ok(self
            .sparse
            .lock()
            .expect("no test panics with it")
            .read(range))
    }

    fn publish(self: Box<Self>, _: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        let Self {
            store,
            sparse: value,
        } = *self;
        *store.0.lock().expect("no test panics with it") =
            value.into_inner().expect("no test panics with it");
        Ok(Pin::new(()))
    }
}

impl KeyLock for NoLock {
    fn fetch(&mut self, _: Of, _: Want) -> Result<Fetched, StoreError> {
        Err(StoreError::Unsupported("fetch"))
    }
    fn append(&mut self, _: &[u8]) -> Result<u64, StoreError> {
        Err(StoreError::Unsupported("append"))
    }
    fn write_at(&mut self, _: u64, _: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::Unsupported("write"))
    }
    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        Err(StoreError::Unsupported("publish"))
    }
    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        Err(StoreError::Unsupported("erase"))
    }
}

#[test]
fn rs_44_a_value_of_5_gib_has_zip64() {
    let base = SparseStore::default();
    let zeros = Bytes::from(vec![0; 64 << 20]);
    let new = ZipWriter::create(base.clone(), key("a.zip")).expect("it begins");
    let mut parts = vec![zeros; 80];
    parts.push("end".into());
    let put = |name: &str, parts: &[Bytes]| {
        new.put(&key(name), parts, Precondition::None)
            .expect("it stores")
    };
    put("small", &["value".into()]);
    put("large", &parts);
    put("behind", &["value".into()]);
    new.finish().expect("it finishes");
    let size = (5 << 30) + 3;
    let store = ZipStore::open(base.clone(), key("a.zip")).expect("it opens");
    assert_value(&store, "small", "value");
    assert_value(&store, "behind", "value");
    let want = Want::Ranges(vec![size - 5..size, 0..2, (4 << 30) - 1..(4 << 30) + 1]);
    let parts = fetch(&store, "large", want)
        .expect("it reads")
        .expect("it exists");
    assert_eq!(parts, [&b"\0\0end"[..], b"\0\0", b"\0\0"]);

    // By the format's description: the local header of `large` is after that of `small`, with
    // both sizes in its extra field; no other entry has one but `behind` in the directory.
    let value = base.0.lock().expect("no test panics with it").clone();
    let at = 30 + 5 + 5;
    let header = value.read(at..at + 30 + 5 + 20);
    assert_eq!(
        (&header[..4], &header[18..30]),
        (
            &b"PK\x03\x04"[..],
            &b"\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\x14\0"[..]
        )
    );
    assert_eq!(
        header[30..],
        [
            &b"large\x01\0\x10\0"[..],
            &size.to_le_bytes(),
            &size.to_le_bytes()
        ]
        .concat()
    );
    let behind = at + 30 + 5 + 20 + size;
    assert_eq!(value.read(behind..behind + 4), "PK\x03\x04");
    assert_eq!(value.read(behind + 28..behind + 36), "\0\0behind");
    // In the order of their keys.
    let directory = behind + 30 + 6 + 5;
    let lens = [46 + 6 + 4 + 8, 46 + 5 + 4 + 16, 46 + 5];
    let mut at = directory;
    for (name, len) in ["behind", "large", "small"].into_iter().zip(lens) {
        let entry = value.read(at..at + len);
        assert!(
            entry.starts_with(b"PK\x01\x02") && entry[46..].starts_with(name.as_bytes()),
            "{name}"
        );
        if name == "behind" {
            assert_eq!(entry[42..46], [0xff; 4]);
            assert_eq!(
                entry[52..],
                [&b"\x01\0\x08\0"[..], &behind.to_le_bytes()].concat()
            );
        }
        at += len;
    }
    let end = value.read(at..value.len);
    assert_eq!(end.len(), 56 + 20 + 22);
    assert_eq!(
        end[..16],
        [&b"PK\x06\x06"[..], &44_u64.to_le_bytes(), &[45, 3, 45, 0]].concat()
    );
    let counts = [3, 3, at - directory, directory]
        .map(u64::to_le_bytes)
        .concat();
    assert_eq!(end[24..56], counts);
    assert_eq!(
        end[56..76],
        [
            &b"PK\x06\x07\0\0\0\0"[..],
            &at.to_le_bytes(),
            &1_u32.to_le_bytes()
        ]
        .concat()
    );
    assert_eq!(
        &end[76..],
        b"PK\x05\x06\0\0\0\0\x03\0\x03\0\xba\0\0\0\xff\xff\xff\xff\0\0"
    );
}

#[test]
fn rs_44_more_than_65534_values_have_zip64() {
    for n in [65_534_u64, 65_535, 70_000] {
        let base = SparseStore::default();
        let new = ZipWriter::create(base.clone(), key("a.zip")).expect("it begins");
        for i in 0..n {
            new.put(&key(&i.to_string()), &["v".into()], Precondition::None)
                .expect("it stores");
        }
        new.finish().expect("it finishes");
        let store = ZipStore::open(base.clone(), key("a.zip")).expect("it opens");
        assert_eq!(store.n_values() as u64, n);
        assert_value(&store, &(n - 1).to_string(), "v");
        let value = base.0.lock().expect("no test panics with it").clone();
        let end = value.read(value.len - 22..value.len);
        let stated = u64::from(u16::from_le_bytes([end[10], end[11]]));
        assert_eq!(stated, n.min(65_535));
        let locator = value.read(value.len - 42..value.len - 38);
        assert_eq!(locator == "PK\x06\x07", n > 65_534);
        if n > 65_534 {
            let record = value.read(value.len - 98..value.len - 42);
            assert_eq!(record[32..40], n.to_le_bytes());
        }
    }
}
