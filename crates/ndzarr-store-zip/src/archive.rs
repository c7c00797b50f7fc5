//! `Archive`: an archive that is a value of a store, read over `Io`.

use std::io as std_io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use flate2::Crc;
use ndzarr_store::{Fetch, Fetched, Key, Of, PerProcess, Pin, StoreError, Want};

use crate::directory::{Directory, Entry};
use crate::end::{EndSearch, FilePart, LONGEST_END, find_end};
use crate::field::Broken;
use crate::inflate::{Inflate, WRONG_CRC};
use crate::io::Io;
use crate::wanted;

/// How much the first request asks for: the directories of most archives are smaller.
const FIRST_BYTES: u64 = 1 << 20;

/// The largest directory that is read, in bytes: about ten million entries.
const MAX_DIRECTORY_BYTES: u64 = 1 << 30;

/// The largest size of a file, in bytes. A store that states more is wrong.
const MAX_BYTES: u64 = i64::MAX as u64;

/// Compressed entries are read in pieces of this many bytes.
const PIECE_BYTES: u64 = 16 << 20;

/// The extra fields of a local header may be this many bytes longer than those in the directory
/// before another request is needed.
const SLACK: u64 = 64;

/// One state of an archive, as its directory describes it.
#[derive(Debug)]
pub(crate) struct Archive {
    key: Key,
    /// The last pin that was seen of this state; `None` in a forked child that has none yet.
    pin: PerProcess<Mutex<Option<Pin>>>,
    /// In bytes.
    size: u64,
    pub(crate) directory: Directory,
    /// Checksum of the directory and everything after it.
    end_crc: u32,
    id: Arc<Id>,
}

/// Identifies an archive in the pins of its values. Not zero-sized, so that no two have one
/// address.
#[derive(Debug)]
struct Id(#[expect(dead_code, reason = "it only takes up space")] u8);

/// The pin of a value: the archive that it is in.
struct ValuePin(Arc<Id>);

impl Archive {
    pub(crate) async fn open(io: &impl Io, key: Key) -> Result<Self, StoreError> {
        let broken = |what: Broken| failed("open the archive", &key, what);
        let fetch = Fetch {
            key: key.clone(),
            of: Of::Any,
            want: Want::Tail(FIRST_BYTES),
        };
        const {
            assert!(
                FIRST_BYTES >= LONGEST_END,
                "the first request contains the whole end"
            )
        };
        let Fetched::Parts { pin, size, parts } = io.fetch(&fetch).await? else {
            return Err(failed("open the archive", &key, "there is no such archive"));
        };
        let bytes = parts.into_iter().next().unwrap_or_default();
        let at = size
            .checked_sub(bytes.len() as u64)
            .filter(|_| size <= MAX_BYTES);
        let at = at.ok_or_else(|| broken(BAD_ANSWER))?;
        let tail = FilePart { at, bytes: &bytes };
        let end = match find_end(tail, None).map_err(broken)? {
            EndSearch::Found(end) => end,
            EndSearch::NeedsRecord(range) => {
                let record =
                    ranges(io, &key, Of::Snapshot(pin.clone()), vec![range.clone()]).await?;
                let record = record.ok_or_else(|| broken(CHANGED))?;
                let record = FilePart {
                    at: range.start,
                    bytes: &record[0],
                };
                match find_end(tail, Some(record)).map_err(broken)? {
                    EndSearch::Found(end) => end,
                    EndSearch::NeedsRecord(_) => return Err(broken("its zip64 record is cut off")),
                }
            }
        };
        let Range { start, end: stop } = end.directory;
        if size - start > MAX_DIRECTORY_BYTES {
            return Err(broken("its directory is larger than 1 GiB"));
        }
        let bytes = if start >= at {
            bytes.slice((start - at) as usize..)
        } else {
            let rest = ranges(io, &key, Of::Snapshot(pin.clone()), vec![start..at]).await?;
            let rest = rest.ok_or_else(|| broken(CHANGED))?;
            [&rest[0][..], &bytes].concat().into()
        };
        let directory = Directory::read(&bytes[..(stop - start) as usize], &end);
        let directory = directory.map_err(|what| failed("open the archive", &key, what))?;
        let pin = PerProcess::with_value(Mutex::new(Some(pin)));
        let end_crc = crc_of(&bytes);
        Ok(Self {
            key,
            pin,
            size,
            directory,
            end_crc,
            id: Arc::new(Id(0)),
        })
    }

    pub(crate) async fn fetch(&self, io: &impl Io, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let key = &fetch.key;
        let is_own = |pin: &Pin| {
            pin.get::<ValuePin>()
                .is_some_and(|value| Arc::ptr_eq(&value.0, &self.id))
        };
        let entry = self.directory.get(key);
        let entry = match (&fetch.of, entry) {
            (Of::Any, None) => return Ok(Fetched::Missing),
            (Of::Any, Some(entry)) => entry,
            (Of::Snapshot(pin) | Of::IfCurrent(pin), Some(entry)) if is_own(pin) => entry,
            _ => return Ok(Fetched::Changed),
        };
        if entry.is_encrypted {
            return Err(failed("read", key, "it is encrypted"));
        }
        let wanted = wanted::ranges(&fetch.want, key, entry.size)?;
        let parts = match entry.method {
            0 if entry.stored_len != entry.size => {
                return Err(failed("read", key, "the archive states two sizes of it"));
            }
            0 => self.stored(io, key, entry, &wanted).await?,
            _ if wanted.iter().all(Range::is_empty) => vec![Bytes::new(); wanted.len()],
            _ => self.inflated(io, key, entry, &wanted).await?,
        };
        Ok(Fetched::Parts {
            pin: Pin::new(ValuePin(Arc::clone(&self.id))),
            size: entry.size,
            parts,
        })
    }

    async fn stored(
        &self,
        io: &impl Io,
        key: &Key,
        entry: &Entry,
        wanted: &[Range<u64>],
    ) -> Result<Vec<Bytes>, StoreError> {
        let parts = self.raw(io, key, entry, wanted).await?;
        if let ([range], [part]) = (wanted, &parts[..])
            && *range == (0..entry.size)
            && crc_of(part) != entry.crc
        {
            return Err(broken(key, WRONG_CRC));
        }
        Ok(parts)
    }

    async fn inflated(
        &self,
        io: &impl Io,
        key: &Key,
        entry: &Entry,
        wanted: &[Range<u64>],
    ) -> Result<Vec<Bytes>, StoreError> {
        let inflate = Inflate::new(entry.method, entry.size, wanted);
        let mut inflate = inflate.map_err(|what| failed("read", key, what))?;
        let mut at = 0;
        while at < entry.stored_len {
            let end = entry.stored_len.min(at + PIECE_BYTES);
            for piece in self.raw(io, key, entry, &[at..end]).await? {
                inflate.feed(&piece).map_err(|what| broken(key, what))?;
            }
            at = end;
        }
        inflate.finish(entry.crc).map_err(|what| broken(key, what))
    }

    /// Ranges of the stored bytes of an entry, whose start only its local header tells. The first
    /// request reads that header, along with all bytes that the ranges may turn out to be at.
    async fn raw(
        &self,
        io: &impl Io,
        key: &Key,
        entry: &Entry,
        wanted: &[Range<u64>],
    ) -> Result<Vec<Bytes>, StoreError> {
        if wanted.iter().all(Range::is_empty) {
            return Ok(vec![Bytes::new(); wanted.len()]);
        }
        let exact = |start: u64| {
            wanted
                .iter()
                .map(|range| start + range.start..start + range.end)
                .collect()
        };
        if let Some(start) = entry.start() {
            return self.ranges(io, exact(start)).await;
        }
        let limit = self.directory.start();
        let min_start = entry.min_start();
        let max_start = min_start + entry.extra_len() + SLACK;
        let mut requested: Vec<Range<u64>> = wanted
            .iter()
            .map(|range| min_start + range.start..(max_start + range.end).min(limit))
            .collect();
        let header = entry.header..max_start.min(limit);
        // A single range is read together with the header if the store would rather read the bytes
        // between them too.
        let is_joined =
            matches!(&requested[..], [only] if only.start <= header.end.saturating_add(io.gap()));
        let mut header_len = 0;
        if is_joined {
            header_len = requested[0].start - header.start;
            requested[0].start = header.start;
        } else {
            requested.insert(0, header);
        }
        let mut parts = self.ranges(io, requested).await?;
        let start = entry
            .learn_start(&parts[0], &self.directory)
            .map_err(|what| failed("read", key, what))?;
        if start > max_start {
            return self.ranges(io, exact(start)).await;
        }
        if !is_joined {
            parts.remove(0);
        }
        // Each part begins as many bytes before its range as the local header has extra fields.
        let skip = (header_len + start - min_start) as usize;
        let cut = |(part, range): (&Bytes, &Range<u64>)| {
            part.slice(skip..skip + (range.end - range.start) as usize)
        };
        Ok(parts.iter().zip(wanted).map(cut).collect())
    }

    /// Ranges of the archive in the state that it was opened in.
    async fn ranges(
        &self,
        io: &impl Io,
        wanted: Vec<Range<u64>>,
    ) -> Result<Vec<Bytes>, StoreError> {
        // If there is none yet, a pin that no value has.
        let pin = self
            .pin
            .lock_inherited()
            .clone()
            .unwrap_or_else(|| Pin::new(()));
        // Not `Snapshot`: an open file would be read even after another program has overwritten it.
        if let Some(parts) = ranges(io, &self.key, Of::IfCurrent(pin), wanted.clone()).await? {
            return Ok(parts);
        }
        // Perhaps only its times have changed, or the store cannot tell.
        let changed = || failed("read the archive", &self.key, CHANGED);
        let pin = self.pin_if_unchanged(io).await?.ok_or_else(changed)?;
        ranges(io, &self.key, Of::Snapshot(pin), wanted)
            .await?
            .ok_or_else(changed)
    }

    /// A new pin, if the directory and everything after it are unchanged. The directory contains
    /// the checksums of all values, so the archive is then the same.
    async fn pin_if_unchanged(&self, io: &impl Io) -> Result<Option<Pin>, StoreError> {
        let want = Want::Ranges(vec![self.directory.start()..self.size]);
        let fetched = match io
            .fetch(&Fetch {
                key: self.key.clone(),
                of: Of::Any,
                want,
            })
            .await
        {
            Err(StoreError::OutOfRange { .. }) => return Ok(None),
            fetched => fetched?,
        };
        let Fetched::Parts { pin, size, parts } = fetched else {
            return Ok(None);
        };
        if size != self.size || parts.iter().any(|part| crc_of(part) != self.end_crc) {
            return Ok(None);
        }
        *self.pin.lock_inherited() = Some(pin.clone());
        Ok(Some(pin))
    }
}

/// Ranges of a state of an archive, checked to be of the right number and lengths; `None` if it has
/// changed.
async fn ranges(
    io: &impl Io,
    key: &Key,
    of: Of,
    wanted: Vec<Range<u64>>,
) -> Result<Option<Vec<Bytes>>, StoreError> {
    let lens: Vec<u64> = wanted.iter().map(|range| range.end - range.start).collect();
    let fetch = Fetch {
        key: key.clone(),
        of,
        want: Want::Ranges(wanted),
    };
    match io.fetch(&fetch).await? {
        Fetched::Parts { parts, .. } if parts.iter().map(|part| part.len() as u64).eq(lens) => {
            Ok(Some(parts))
        }
        Fetched::Parts { .. } => Err(failed("read the archive", key, BAD_ANSWER)),
        Fetched::Missing | Fetched::Changed => Ok(None),
    }
}

fn crc_of(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

const CHANGED: Broken = "it was changed since it was opened; open it again";
const BAD_ANSWER: Broken = "the store returned other bytes than it was asked for";

/// The error for a value whose bytes are not those that were packed.
fn broken(key: &Key, what: impl Into<String>) -> StoreError {
    StoreError::io(
        "read",
        key,
        std_io::Error::new(std_io::ErrorKind::InvalidData, what.into()),
    )
}

fn failed(action: &'static str, key: &Key, what: impl Into<String>) -> StoreError {
    StoreError::Other {
        action,
        key: key.to_string(),
        what: what.into(),
    }
}
