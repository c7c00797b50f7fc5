//! `Directory`: the entries of an archive, and where they are.

use std::sync::atomic::{AtomicU32, Ordering};

use ndzarr_store::{DirListing, Key, Prefix, StoreError};

use crate::end::End;
use crate::field::{Broken, u16_at, u32_at, u64_at};
use crate::records::{CENTRAL, CENTRAL_LEN, LOCAL, LOCAL_LEN, SIGNATURE, ZIP64_ID};
use crate::spelling::Meaning;

/// The entries of an archive whose names are keys, each once, in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// All names in one string: a string for each would take more memory than the entries.
    names: String,
    entries: Vec<Entry>,
    /// Entries whose names are not keys.
    pub(crate) n_skipped: u64,
    /// The names of the first of these entries.
    pub(crate) skipped: Vec<String>,
    /// Where the directory begins, in bytes of the file. Every entry ends before it.
    start: u64,
}

/// How a value is stored.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where its local header begins, in bytes of the file.
    pub(crate) header: u64,
    /// Its size as stored, in bytes.
    pub(crate) stored_len: u64,
    /// Its size when decoded, in bytes.
    pub(crate) size: u64,
    pub(crate) crc: u32,
    /// Where the key is among the names.
    name_at: u32,
    name_len: u16,
    /// Length of the name as the archive spells it. If this is not the key, it follows the key
    /// among the names.
    spelled_len: u16,
    is_respelled: bool,
    /// Length of the extra fields in the directory; those of the local header are often as long.
    extra_len: u16,
    pub(crate) method: u16,
    pub(crate) is_encrypted: bool,
    /// Length of the extra fields in the local header, once that has been read.
    local_extra_len: AtomicU32,
}

const UNKNOWN: u32 = u32::MAX;

/// The most names of skipped entries that are remembered.
const MAX_SKIPPED_NAMES: usize = 100;

/// Any of these flags marks an encrypted entry.
const ENCRYPTED: u16 = 0x2041;

impl Directory {
    /// Reads the bytes of a directory.
    pub(crate) fn read(bytes: &[u8], end: &End) -> Result<Self, String> {
        let n_possible = bytes.len() / CENTRAL_LEN;
        let n_stated = usize::try_from(end.n_entries).unwrap_or(usize::MAX);
        let mut directory = Self {
            start: end.directory.start,
            ..Self::default()
        };
        directory.entries.reserve(n_stated.min(n_possible));
        let mut rest = bytes;
        let mut n = 0_u64;
        while !rest.is_empty() && !rest.starts_with(SIGNATURE) {
            rest = directory.add(rest, end)?;
            n += 1;
        }
        let n_known = if end.n_is_short { n % 0x1_0000 } else { n };
        if n_known != end.n_entries {
            return Err("its directory has another number of entries than its end states".into());
        }
        directory.sort()?;
        directory.check_overlaps()?;
        directory.entries.shrink_to_fit();
        directory.names.shrink_to_fit();
        Ok(directory)
    }

    /// Adds the first entry of these bytes, and returns the bytes after it.
    fn add<'b>(&mut self, bytes: &'b [u8], end: &End) -> Result<&'b [u8], Broken> {
        const CUT: Broken = "its directory is cut off";
        if !bytes.starts_with(CENTRAL) {
            return Err("there is no entry where its directory should have one");
        }
        let u16_field = |i| u16_at(bytes, i).ok_or(CUT);
        let u32_field = |i| u32_at(bytes, i).map(u64::from).ok_or(CUT);
        let name_len = u16_field(28)?;
        let extra_len = u16_field(30)?;
        let comment_len = u16_field(32)?;
        let name_end = CENTRAL_LEN + usize::from(name_len);
        let extra_end = name_end + usize::from(extra_len);
        let name = bytes.get(CENTRAL_LEN..name_end).ok_or(CUT)?;
        let extra = bytes.get(name_end..extra_end).ok_or(CUT)?;
        let rest = bytes
            .get(extra_end + usize::from(comment_len)..)
            .ok_or(CUT)?;
        let mut stored_len = u32_field(20)?;
        let mut size = u32_field(24)?;
        let mut header = u32_field(42)?;
        read_zip64(extra, [&mut size, &mut stored_len, &mut header])?;
        let disk = u16_field(34)?;
        if disk != 0 && disk != u16::MAX {
            return Err("it has parts on other disks");
        }
        let key = match Meaning::of(name) {
            Meaning::Key(key) => key,
            Meaning::Folder => return Ok(rest),
            Meaning::Other => {
                self.n_skipped += 1;
                if self.skipped.len() < MAX_SKIPPED_NAMES {
                    self.skipped
                        .push(String::from_utf8_lossy(name).into_owned());
                }
                return Ok(rest);
            }
        };
        let header = header.checked_add(end.junk);
        let min_end = header
            .and_then(|header| header.checked_add((LOCAL_LEN + usize::from(name_len)) as u64))
            .and_then(|at| at.checked_add(stored_len));
        let Some(header) = header.filter(|_| min_end.is_some_and(|at| at <= self.start)) else {
            return Err("an entry lies outside of it");
        };
        let name_at = self.add_name(&key)?;
        let is_respelled = key.as_bytes() != name;
        if is_respelled {
            self.add_name(&String::from_utf8_lossy(name))?;
        }
        self.entries.push(Entry {
            header,
            stored_len,
            size,
            crc: u32_at(bytes, 16).ok_or(CUT)?,
            name_at,
            // The key is no longer than the name in the archive.
            name_len: key.len() as u16,
            spelled_len: name_len,
            is_respelled,
            extra_len,
            method: u16_field(10)?,
            is_encrypted: u16_field(8)? & ENCRYPTED != 0,
            local_extra_len: AtomicU32::new(UNKNOWN),
        });
        Ok(rest)
    }

    /// Appends a name to the names. Returns where it begins.
    fn add_name(&mut self, name: &str) -> Result<u32, Broken> {
        let at = u32::try_from(self.names.len()).map_err(|_| "its names are too long together")?;
        self.names.push_str(name);
        Ok(at)
    }

    /// Sorts the entries by name. Of equal names the last one stays. An error if two names are
    /// spelled differently and mean the same key.
    fn sort(&mut self) -> Result<(), String> {
        let names = &self.names;
        // Stable: equal names stay in their order.
        self.entries
            .sort_by(|a, b| a.name(names).cmp(b.name(names)));
        let mut conflict = None;
        self.entries.dedup_by(|later, earlier| {
            let is_same = later.name(names) == earlier.name(names);
            if is_same {
                let first = earlier.spelled(names);
                let second = later.spelled(names);
                if first != second {
                    conflict = Some(format!(
                        "its entries {first:?} and {second:?} are of one key"
                    ));
                }
                // The second argument is the one that stays.
                std::mem::swap(later, earlier);
            }
            is_same
        });
        conflict.map_or(Ok(()), Err)
    }

    /// Checks that no two values share bytes. Otherwise few bytes could decompress to many values.
    fn check_overlaps(&self) -> Result<(), Broken> {
        let mut places: Vec<(u64, u64)> = self
            .entries
            .iter()
            .map(|entry| (entry.header, entry.min_start() + entry.stored_len))
            .collect();
        places.sort_unstable();
        if places.windows(2).any(|two| two[0].1 > two[1].0) {
            return Err("its entries overlap");
        }
        Ok(())
    }

    /// Where the directory begins, in bytes of the file.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.name(&self.names).cmp(key.as_str()))
            .ok()?;
        Some(&self.entries[at])
    }

    /// The index of the first entry whose name is not less than this one.
    fn lower_bound(&self, name: &str) -> usize {
        self.entries
            .partition_point(|entry| entry.name(&self.names) < name)
    }

    fn names_from(&self, at: usize) -> impl Iterator<Item = &str> {
        self.entries[at..]
            .iter()
            .map(|entry| entry.name(&self.names))
    }

    pub(crate) fn list_dir(&self, prefix: &Prefix) -> DirListing {
        let mut listing = DirListing::default();
        let mut at = self.lower_bound(prefix.as_str());
        while let Some(rest) = self
            .names_from(at)
            .next()
            .and_then(|name| name.strip_prefix(prefix.as_str()))
        {
            match rest.split_once('/') {
                None => {
                    listing.keys.push(rest.to_owned());
                    at += 1;
                }
                Some((name, _)) => {
                    listing.prefixes.push(name.to_owned());
                    // Past everything below that prefix: "0" follows "/".
                    at = self.lower_bound(&format!("{prefix}{name}0"));
                }
            }
        }
        listing
    }

    pub(crate) fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let names = self.names_from(self.lower_bound(prefix.as_str()));
        names
            .take_while(|name| name.starts_with(prefix.as_str()))
            .map(Key::new)
            .collect()
    }
}

impl Entry {
    fn name<'n>(&self, names: &'n str) -> &'n str {
        &names[self.name_at as usize..][..usize::from(self.name_len)]
    }

    fn spelled<'n>(&self, names: &'n str) -> &'n str {
        let name_len = if self.is_respelled {
            usize::from(self.name_len)
        } else {
            0
        };
        &names[self.name_at as usize + name_len..][..usize::from(self.spelled_len)]
    }

    /// Where the value begins if its local header has no extra fields, in bytes of the file.
    pub(crate) fn min_start(&self) -> u64 {
        self.header + (LOCAL_LEN + usize::from(self.spelled_len)) as u64
    }

    pub(crate) fn extra_len(&self) -> u64 {
        self.extra_len.into()
    }

    /// Where the value begins, if that is known, in bytes of the file.
    pub(crate) fn start(&self) -> Option<u64> {
        match self.local_extra_len.load(Ordering::Relaxed) {
            UNKNOWN => None,
            len => Some(self.min_start() + u64::from(len)),
        }
    }

    /// Learns where the value begins from its local header, with which `bytes` begin.
    pub(crate) fn learn_start(&self, bytes: &[u8], directory: &Directory) -> Result<u64, Broken> {
        if !bytes.starts_with(LOCAL) {
            return Err("there is no local header where the directory says");
        }
        let (Some(name_len), Some(extra_len)) = (u16_at(bytes, 26), u16_at(bytes, 28)) else {
            return Err("its local header is cut off");
        };
        let name = self.spelled(&directory.names).as_bytes();
        if bytes.get(LOCAL_LEN..LOCAL_LEN + usize::from(name_len)) != Some(name) {
            return Err("its local header has another name");
        }
        let start = self.min_start() + u64::from(extra_len);
        if start + self.stored_len > directory.start {
            return Err("it reaches into the directory");
        }
        self.local_extra_len
            .store(extra_len.into(), Ordering::Relaxed);
        Ok(start)
    }
}

/// Replaces those of the sizes and the offset that do not fit into 32 bits by the values of the
/// zip64 field.
fn read_zip64(mut extra: &[u8], values: [&mut u64; 3]) -> Result<(), Broken> {
    let mut wanted = values
        .into_iter()
        .filter(|value| **value == u64::from(u32::MAX))
        .peekable();
    while let (Some(_), Some(id), Some(len)) = (wanted.peek(), u16_at(extra, 0), u16_at(extra, 2)) {
        let field = extra
            .get(4..4 + usize::from(len))
            .ok_or("the extra fields of an entry are cut off")?;
        if id == ZIP64_ID {
            for (at, value) in wanted.enumerate() {
                *value = u64_at(field, 8 * at).ok_or("the zip64 field of an entry is too short")?;
            }
            return Ok(());
        }
        extra = &extra[4 + usize::from(len)..];
    }
    Ok(())
}
