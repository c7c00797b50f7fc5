//! Reads values and parts of them from files.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use ndzarr_store::{DirListing, Fetched, FetchedPieces, Key, Of, Prefix, StoreError, Want};

use crate::pins::Value;
use crate::system::file_system::FileSystem;
use crate::system::identity::{Identity, Pinned};
use crate::system::os_error::{blame_leases, is_absent, is_gone};
use crate::system::stat::Stat;
use crate::system::syscalls::{again, once_free};
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
        if let (Of::IfCurrent(pin), Want::Size) = (of, want)
            && let Some(Pinned {
                file: None,
                identity,
                ..
            }) = pin.get::<Pinned>()
        {
            return Ok(match self.path_to_read(key)? {
                Some(path) if self.is_current(key, &path, pin)? => Fetched::Parts {
                    pin: pin.clone(),
                    size: identity.size(),
                    parts: Vec::new(),
                },
                _ => Fetched::Changed,
            });
        }
        let (pin, value) = match of {
            Of::Any => match self.open(key)? {
                Some(value) => (value.pin(), value),
                None => return Ok(Fetched::Missing),
            },
            Of::Snapshot(pin) | Of::IfCurrent(pin) => match self.pinned(key, pin, of)? {
                Some(value) if pin.is_light() => (value.pin(), value),
                Some(value) => (pin.clone(), value),
                None => return Ok(Fetched::Changed),
            },
        };
        let size = value.size();
        let parts = self.parts(key, &value.file, size, want)?;
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
        if piece.is_empty() {
            return Ok(FetchedPieces::Unsupported);
        }
        let failed = |e| StoreError::io("read", key, e);
        let Some(value) = self.open(key)? else {
            return Ok(FetchedPieces::Missing);
        };
        let size = value.size();
        if size != byte_len {
            return Ok(FetchedPieces::OtherSize(size));
        }
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                let len = usize::try_from(range.end - at)
                    .map_or(piece.len(), |rest| rest.min(piece.len()));
                let mut done = 0;
                while done < len {
                    let rest = &mut piece[done..len];
                    match again(|| self.sys.read_into(&value.file, at + done as u64, rest))
                        .map_err(failed)?
                    {
                        0 => {
                            return Err(failed(io::Error::new(
                                ErrorKind::UnexpectedEof,
                                SHORTENED,
                            )));
                        }
                        n => done += n,
                    }
                }
                take(&piece[..len]);
                at += len as u64;
            }
        }
        Ok(FetchedPieces::All)
    }

    pub(crate) fn open(&self, key: &Key) -> Result<Option<Value>, StoreError> {
        let Some(path) = self.path_to_read(key)? else {
            return Ok(None);
        };
        let failed = |e| StoreError::io("open", key, blame_leases(e));
        let file = match once_free(&*self.sys, || self.sys.open(&path)) {
            Ok(file) => file,
            Err(e) if is_absent(&e) => return self.absent(key, &path),
            Err(e) => return Err(failed(e)),
        };
        let (stat, file_system) = self.fresh_stat(&file).map_err(failed)?;
        if stat.is_dir() {
            return self.check_folder(key).map(|()| None);
        }
        if !stat.is_file() {
            return Err(failed(not_a_file()));
        }
        if !self.is_spelled(&file, key.as_str())? {
            return Ok(None);
        }
        Ok(Some(Value::new(Arc::new(file), &stat, &file_system)))
    }

    fn fresh_stat(&self, file: &File) -> io::Result<(Stat, FileSystem)> {
        let stat = again(|| self.sys.file_stat(file))?;
        let file_system = self.devices.of(&*self.sys, stat.device(), file)?;
        if file_system.locking() == Locking::Local {
            return Ok((stat, file_system));
        }
        again(|| self.sys.refresh(file))?;
        Ok((again(|| self.sys.file_stat(file))?, file_system))
    }

    /// The file that the key currently leads to, if it is a value.
    pub(crate) fn current(&self, key: &Key, path: &Path) -> Result<Option<Stat>, StoreError> {
        match once_free(&*self.sys, || self.sys.stat(path)) {
            Ok(stat) if stat.is_dir() => self.check_folder(key).map(|()| None),
            Ok(stat) => Ok(Some(stat)),
            Err(e) if is_absent(&e) => self.absent(key, path),
            Err(e) => Err(StoreError::io("look up", key, e)),
        }
    }

    /// Checks that the folder that a key leads to is not empty: then it is the folder of other
    /// keys, as a bucket may have them, and this key is absent. An empty folder belongs to no key,
    /// and in the place of a value it is an error, because its cause is unknown.
    fn check_folder(&self, key: &Key) -> Result<(), StoreError> {
        let failed = |e| StoreError::io("open", key, e);
        let prefix = Prefix::new(format!("{key}/"))?;
        if self.list(&prefix)? == DirListing::default() {
            return Err(failed(io::Error::new(
                ErrorKind::IsADirectory,
                "an empty folder is in its place",
            )));
        }
        Ok(())
    }

    /// Nothing. An error if a symbolic link on the path is dangling, or the drive is gone: then the
    /// value may not be absent.
    pub(crate) fn absent<T>(
        &self,
        key: impl ToString,
        path: &Path,
    ) -> Result<Option<T>, StoreError> {
        for link in path
            .ancestors()
            .take_while(|above| above.starts_with(self.root()))
        {
            match again(|| self.sys.link_stat(link)) {
                Ok(entry) if entry.is_symlink() => {}
                // It was created in the meantime, or is a folder without the file.
                Ok(_) => return Ok(None),
                Err(e) if is_absent(&e) => continue,
                Err(e) => return Err(StoreError::io("look up", key, e)),
            }
            match again(|| self.sys.stat(link)) {
                Err(e) if is_absent(&e) => {}
                _ => return Ok(None),
            }
            let target = again(|| self.sys.read_link(link)).unwrap_or_default();
            let why = Dangling {
                link: link.to_owned(),
                target,
            };
            return Err(StoreError::io(
                "follow the link of",
                key,
                io::Error::new(ErrorKind::NotFound, why),
            ));
        }
        self.check_drive(key).map(|()| None)
    }

    /// The time to give to the value that replaces the one at a path. Readers who may not keep the
    /// old one open tell the new one by it, if the clock of the file system is too coarse.
    pub(crate) fn time_of_next(&self, path: &Path) -> Option<SystemTime> {
        let old = self
            .devices
            .any_keeps_open_files()
            .then(|| again(|| self.sys.stat(path)).ok())
            .flatten()?;
        Identity::of(&old).next_time()
    }

    /// An error if the root is absent with its whole drive: Windows reports "path not found" for
    /// both.
    pub(crate) fn check_drive(&self, key: impl ToString) -> Result<(), StoreError> {
        let exists = |path: &Path| match again(|| self.sys.stat(path)) {
            Err(e) => e.kind() != ErrorKind::NotFound,
            Ok(_) => true,
        };
        match self.root().ancestors().last() {
            Some(drive) if !exists(self.root()) && !exists(drive) => {
                let why = format!("{} is not there", drive.display());
                Err(StoreError::io(
                    "look up",
                    key,
                    io::Error::new(ErrorKind::NotConnected, why),
                ))
            }
            _ => Ok(()),
        }
    }

    fn parts(
        &self,
        key: &Key,
        file: &File,
        size: u64,
        want: &Want,
    ) -> Result<Vec<Bytes>, StoreError> {
        let read = |range| {
            self.range(file, range)
                .map_err(|e| StoreError::io("read", key, e))
        };
        match want {
            Want::Whole { limit } if size > *limit => Err(StoreError::TooLarge {
                key: key.clone(),
                size,
                limit: *limit,
            }),
            Want::Whole { .. } => Ok(vec![read(0..size)?]),
            Want::Tail(n) => Ok(vec![read(size.saturating_sub(*n)..size)?]),
            Want::Ranges(ranges) => {
                // All of them first: a refused request should cost nothing.
                for &Range { start, end } in ranges {
                    if start > end || end > size {
                        return Err(StoreError::OutOfRange {
                            key: key.clone(),
                            start,
                            end,
                            size,
                        });
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

/// A dangling symbolic link.
#[derive(Debug)]
struct Dangling {
    link: PathBuf,
    target: PathBuf,
}

impl fmt::Display for Dangling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, target } = self;
        write!(
            f,
            "the symbolic link {} leads to {}, which is not there",
            link.display(),
            target.display()
        )
    }
}

impl Error for Dangling {}

fn is_dangling(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|inner| inner.is::<Dangling>())
}

fn not_a_file() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "neither a file nor a folder")
}
