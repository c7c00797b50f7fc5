//! Archives made byte by byte from the format's description (APPNOTE.TXT), to be read here.

use std::error::Error as _;
use std::io::Write;

use bytes::Bytes;
use flate2::Crc;
use flate2::write::DeflateEncoder;
use ndzarr_store::{Fetch, Fetched, Key, MemoryStore, Of, Store, StoreError, Want};
use ndzarr_store_zip::ZipStore;

/// An entry, with everything that can be wrong about it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) size: u32,
    pub(crate) stored: Vec<u8>,
    pub(crate) stored_len: u32,
    pub(crate) local_extra: Vec<u8>,
    pub(crate) central_extra: Vec<u8>,
    pub(crate) has_descriptor: bool,
}

impl Entry {
    pub(crate) fn stored(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        let name = name.as_ref().to_vec();
        let value = value.as_ref();
        Self {
            local_name: name.clone(),
            name,
            flags: 0,
            method: 0,
            crc: crc(value),
            size: value.len() as u32,
            stored: value.to_vec(),
            stored_len: value.len() as u32,
            local_extra: Vec::new(),
            central_extra: Vec::new(),
            has_descriptor: false,
        }
    }

    pub(crate) fn deflated(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder
            .write_all(value.as_ref())
            .expect("it writes to memory");
        let stored = encoder.finish().expect("it writes to memory");
        Self {
            method: 8,
            stored_len: stored.len() as u32,
            stored,
            ..Self::stored(name, value)
        }
    }

    /// As a writer has it that cannot go back: the local header knows no sizes.
    pub(crate) fn streamed(self) -> Self {
        Self {
            flags: 8,
            has_descriptor: true,
            ..self
        }
    }
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// An archive whose parts can be changed before they are put together.
#[derive(Clone, Default)]
pub(crate) struct Archive {
    /// Counted in no offset.
    pub(crate) junk: Vec<u8>,
    pub(crate) values: Vec<u8>,
    pub(crate) directory: Vec<u8>,
    pub(crate) n: u64,
    pub(crate) comment: Vec<u8>,
}

impl Archive {
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut archive = Self::default();
        for entry in entries {
            archive.add(entry);
        }
        archive
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        let at = self.values.len() as u32;
        let (crc, stored_len, size) = if entry.has_descriptor {
            (0, 0, 0)
        } else {
            (entry.crc, entry.stored_len, entry.size)
        };
        let out = &mut self.values;
        out.extend(b"PK\x03\x04");
        shorts(out, &[20, entry.flags, entry.method, 0, 0x21]);
        longs(out, &[crc, stored_len, size]);
        shorts(
            out,
            &[
                entry.local_name.len() as u16,
                entry.local_extra.len() as u16,
            ],
        );
        out.extend([&entry.local_name[..], &entry.local_extra, &entry.stored].concat());
        if entry.has_descriptor {
            out.extend(b"PK\x07\x08");
            longs(out, &[entry.crc, entry.stored_len, entry.size]);
        }
        self.list(entry, at);
    }

    /// Adds an entry only to the directory, with its local header at this place.
    pub(crate) fn list(&mut self, entry: &Entry, at: u32) {
        let out = &mut self.directory;
        out.extend(b"PK\x01\x02");
        shorts(out, &[20, 20, entry.flags, entry.method, 0, 0x21]);
        longs(out, &[entry.crc, entry.stored_len, entry.size]);
        shorts(
            out,
            &[
                entry.name.len() as u16,
                entry.central_extra.len() as u16,
                0,
                0,
                0,
            ],
        );
        longs(out, &[0, at]);
        out.extend([&entry.name[..], &entry.central_extra].concat());
        self.n += 1;
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = [&self.junk[..], &self.values, &self.directory].concat();
        out.extend(b"PK\x05\x06");
        shorts(&mut out, &[0, 0, self.n as u16, self.n as u16]);
        longs(
            &mut out,
            &[self.directory.len() as u32, self.values.len() as u32],
        );
        shorts(&mut out, &[self.comment.len() as u16]);
        [out, self.comment.clone()].concat()
    }

    /// With the records of zip64, and an end that leaves everything to them.
    pub(crate) fn zip64_bytes(&self) -> Vec<u8> {
        let mut out = [&self.junk[..], &self.values, &self.directory].concat();
        let start = self.values.len() as u64;
        let len = self.directory.len() as u64;
        out.extend(b"PK\x06\x06");
        longest(&mut out, &[44]);
        shorts(&mut out, &[45, 45]);
        longs(&mut out, &[0, 0]);
        longest(&mut out, &[self.n, self.n, len, start]);
        out.extend(b"PK\x06\x07");
        longs(&mut out, &[0]);
        longest(&mut out, &[start + len]);
        longs(&mut out, &[1]);
        out.extend(b"PK\x05\x06");
        shorts(&mut out, &[0, 0, u16::MAX, u16::MAX]);
        longs(&mut out, &[u32::MAX, u32::MAX]);
        shorts(&mut out, &[self.comment.len() as u16]);
        [out, self.comment.clone()].concat()
    }
}

pub(crate) fn shorts(out: &mut Vec<u8>, values: &[u16]) {
    values
        .iter()
        .for_each(|value| out.extend(value.to_le_bytes()));
}

pub(crate) fn longs(out: &mut Vec<u8>, values: &[u32]) {
    values
        .iter()
        .for_each(|value| out.extend(value.to_le_bytes()));
}

pub(crate) fn longest(out: &mut Vec<u8>, values: &[u64]) {
    values
        .iter()
        .for_each(|value| out.extend(value.to_le_bytes()));
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(name).expect("a key")
}

pub(crate) fn memory(archive: impl Into<Bytes>) -> MemoryStore {
    let memory = MemoryStore::new();
    memory.set("a.zip", archive).expect("a key");
    memory
}

pub(crate) fn open(archive: impl Into<Bytes>) -> Result<ZipStore<MemoryStore>, StoreError> {
    ZipStore::open(memory(archive), key("a.zip"))
}

pub(crate) fn fetch(
    store: &impl Store,
    name: &str,
    want: Want,
) -> Result<Option<Vec<Bytes>>, StoreError> {
    Ok(
        match store.fetch(&Fetch {
            key: key(name),
            of: Of::Any,
            want,
        })? {
            Fetched::Parts { parts, .. } => Some(parts),
            Fetched::Missing => None,
            Fetched::Changed => panic!("no pin was asked for"),
        },
    )
}

pub(crate) fn get(store: &impl Store, name: &str) -> Result<Option<Bytes>, StoreError> {
    let parts = fetch(store, name, Want::Whole { limit: 1 << 20 })?;
    Ok(parts.map(|parts| parts.concat().into()))
}

#[track_caller]
pub(crate) fn assert_value(store: &impl Store, name: &str, expected: impl AsRef<[u8]>) {
    let value = get(store, name)
        .expect("it can be read")
        .expect("it exists");
    assert!(value[..] == *expected.as_ref(), "{name}: {value:?}");
}

/// Asserts that it failed in these words.
#[track_caller]
pub(crate) fn assert_fails<T>(outcome: Result<T, StoreError>, words: &str) {
    match outcome {
        Ok(_) => panic!("it must fail: {words}"),
        Err(error) => {
            let source = error.source().map(ToString::to_string).unwrap_or_default();
            let text = format!("{error}: {source}");
            assert!(text.contains(words), "{text}");
        }
    }
}
