//! Reads values and parts of them from files.

use std::error::Error;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_store::{Fetched, FetchedPieces, Key, Of, Pin, StoreError, Want};

use crate::file_lock::is_gone;
use crate::identity::{Identity, Pinned, device_of};
use crate::syscalls::again;
use crate::{FsStore, Locking};

/// How often to retry on a value that is replaced again and again.
const ATTEMPTS: usize = 10;

const SHORTENED: &str = "the file became shorter while it was read";

impl FsStore {
    pub(crate) fn read(&self, key: &Key, of: &Of, want: &Want) -> Result<Fetched, StoreError> {
        for _ in 1..ATTEMPTS {
            match self.read_once(key, of, want) {
                // Another host removed the file, or put another one in its place, and the file
                // system does not keep it for processes that have it open.
                Err(StoreError::Io { source, .. }) if is_gone(&source) && !is_dangling(&source) => {
                    if matches!(of, Of::Snapshot(_)) {
                        return Ok(Fetched::Changed);
                    }
                }
                Err(StoreError::Io { source, .. })
                    if source.kind() == ErrorKind::UnexpectedEof && matches!(of, Of::Any) => {}
                other => return other,
            }
        }
        self.read_once(key, of, want)
    }

    fn read_once(&self, key: &Key, of: &Of, want: &Want) -> Result<Fetched, StoreError> {
        let pin = match of {
            Of::Any => match self.open(key)? {
                Some(pinned) => Pin::new(pinned),
                None => return Ok(Fetched::Missing),
            },
            Of::Snapshot(pin) => pin.clone(),
            Of::IfCurrent(pin) => {
                let path = self.path_to_read(key)?;
                match path {
                    Some(path) if self.is_current(key, &path, pin)? => pin.clone(),
                    _ => return Ok(Fetched::Changed),
                }
            }
        };
        // A pin of another store is unknown here.
        let Some(pinned) = pin.get::<Pinned>() else { return Ok(Fetched::Changed) };
        let size = pinned.identity.size();
        let parts = self.parts(key, &pinned.file, size, want)?;
        Ok(Fetched::Parts { pin, size, parts })
    }

    pub(crate) fn read_pieces(
        &self,
        key: &Key,
        byte_len: u64,
        ranges: &[Range<u64>],
        piece: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<FetchedPieces, StoreError> {
        if !cfg!(unix) || piece.is_empty() {
            return Ok(FetchedPieces::Unsupported);
        }
        let failed = |e| StoreError::io("read", key, e);
        let Some(pinned) = self.open(key)? else { return Ok(FetchedPieces::Missing) };
        let size = pinned.identity.size();
        if size != byte_len {
            return Ok(FetchedPieces::OtherSize(size));
        }
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                let len = usize::try_from(range.end - at).map_or(piece.len(), |rest| rest.min(piece.len()));
                let mut done = 0;
                while done < len {
                    let rest = &mut piece[done..len];
                    match again(|| self.sys.read_into(&pinned.file, at + done as u64, rest))
                        .map_err(failed)?
                    {
                        0 => return Err(failed(io::Error::new(ErrorKind::UnexpectedEof, SHORTENED))),
                        n => done += n,
                    }
                }
                take(&piece[..len]);
                at += len as u64;
            }
        }
        Ok(FetchedPieces::All)
    }

    pub(crate) fn open(&self, key: &Key) -> Result<Option<Pinned>, StoreError> {
        let Some(path) = self.path_to_read(key)? else { return Ok(None) };
        let file = match again(|| self.sys.open(&path)) {
            Ok(file) => file,
            Err(e) if is_absent(&e) => return self.absent(key, &path),
            // Where folders cannot be opened as files, they still are not values.
            Err(_) if !cfg!(unix) && path.is_dir() => return Ok(None),
            Err(e) => return Err(StoreError::io("open", key, e)),
        };
        let stat = self.fresh_stat(&file).map_err(|e| StoreError::io("open", key, e))?;
        if stat.is_dir() {
            return Ok(None);
        }
        if !stat.is_file() {
            return Err(StoreError::io("open", key, not_a_file()));
        }
        Ok(Some(Pinned { file: Arc::new(file), identity: Identity::of(&stat) }))
    }

    fn fresh_stat(&self, file: &File) -> io::Result<Metadata> {
        let stat = again(|| self.sys.file_stat(file))?;
        if self.locking_on(device_of(&stat), file)? == Locking::Local {
            return Ok(stat);
        }
        again(|| self.sys.refresh(file))?;
        again(|| self.sys.file_stat(file))
    }

    /// The file that the key currently leads to, if it is a value.
    pub(crate) fn current(&self, key: &Key, path: &Path) -> Result<Option<Metadata>, StoreError> {
        match again(|| self.sys.stat(path)) {
            Ok(stat) if stat.is_dir() => Ok(None),
            Ok(stat) => Ok(Some(stat)),
            Err(e) if is_absent(&e) => self.absent(key, path),
            Err(e) => Err(StoreError::io("look up", key, e)),
        }
    }

    /// Whether the key still has the pinned value. The pin keeps the file open, so its number is
    /// not another's by now.
    pub(crate) fn is_current(&self, key: &Key, path: &Path, pin: &Pin) -> Result<bool, StoreError> {
        let Some(pinned) = pin.get::<Pinned>() else { return Ok(false) };
        if self.is_portable(&pinned.identity) {
            // Metadata of a file that is not open may be outdated there.
            let is_it = |now: Pinned| now.identity == pinned.identity;
            return Ok(pinned.identity.is_precise() && self.open(key)?.is_some_and(is_it));
        }
        Ok(self.current(key, path)?.is_some_and(|stat| Identity::of(&stat) == pinned.identity))
    }

    fn is_portable(&self, identity: &Identity) -> bool {
        match self.locking {
            Locking::Auto => self.devices.is_portable(identity.device()),
            forced => forced == Locking::Portable,
        }
    }

    /// Nothing, unless a symbolic link on the way is dangling: then the value is not known to be
    /// absent.
    pub(crate) fn absent<T>(&self, key: impl ToString, path: &Path) -> Result<Option<T>, StoreError> {
        for link in path.ancestors().take_while(|above| above.starts_with(self.root())) {
            match again(|| self.sys.link_stat(link)) {
                Ok(entry) if entry.is_symlink() => {}
                // It was created in the meantime, or is a folder without the file.
                Ok(_) => break,
                Err(e) if is_absent(&e) => continue,
                Err(e) => return Err(StoreError::io("look up", key, e)),
            }
            match again(|| self.sys.stat(link)) {
                Err(e) if is_absent(&e) => {}
                _ => break,
            }
            let target = again(|| self.sys.read_link(link)).unwrap_or_default();
            let why = Dangling { link: link.to_owned(), target };
            return Err(StoreError::io("follow the link of", key, io::Error::new(ErrorKind::NotFound, why)));
        }
        Ok(None)
    }

    fn parts(&self, key: &Key, file: &File, size: u64, want: &Want) -> Result<Vec<Bytes>, StoreError> {
        let read = |range| self.range(file, range).map_err(|e| StoreError::io("read", key, e));
        match want {
            Want::Whole { limit } if size > *limit => {
                Err(StoreError::TooLarge { key: key.clone(), size, limit: *limit })
            }
            Want::Whole { .. } => Ok(vec![read(0..size)?]),
            Want::Tail(n) => Ok(vec![read(size.saturating_sub(*n)..size)?]),
            Want::Ranges(ranges) => {
                // All of them first: a refused request should cost nothing.
                for &Range { start, end } in ranges {
                    if start > end || end > size {
                        return Err(StoreError::OutOfRange { key: key.clone(), start, end, size });
                    }
                }
                ranges.iter().cloned().map(read).collect()
            }
            Want::Size => Ok(Vec::new()),
        }
    }

    pub(crate) fn range(&self, file: &File, range: Range<u64>) -> io::Result<Bytes> {
        let len = usize::try_from(range.end - range.start).map_err(|_| ErrorKind::OutOfMemory)?;
        let mut bytes = self.buffers.take(len)?;
        while bytes.len() < len {
            let at = range.start + bytes.len() as u64;
            if again(|| self.sys.read_at(file, at, len - bytes.len(), &mut bytes))? == 0 {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, SHORTENED));
            }
        }
        Ok(self.buffers.lend(bytes))
    }
}

/// Whether this error means that there is definitely no such file: nothing of this name, or a file
/// where a folder should be.
pub(crate) fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A dangling symbolic link.
#[derive(Debug)]
struct Dangling {
    link: PathBuf,
    target: PathBuf,
}

impl fmt::Display for Dangling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, target } = self;
        write!(f, "the symbolic link {} leads to {}, which is not there", link.display(), target.display())
    }
}

impl Error for Dangling {}

fn is_dangling(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|inner| inner.is::<Dangling>())
}

fn not_a_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "neither a file nor a folder")
}
