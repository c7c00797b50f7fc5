//! `End`: finds the directory of an archive from its last bytes.

use std::ops::Range;

use crate::field::{Broken, u16_at, u32_at, u64_at};
use crate::records::{END, END_LEN, END64, END64_LEN, END64_LOCATOR, END64_LOCATOR_LEN};

/// What the end of an archive says about its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Where the directory is, in bytes of the file.
    pub(crate) directory: Range<u64>,
    pub(crate) n_entries: u64,
    /// Only the lower 16 bits of the number of entries are known, as in archives without zip64.
    pub(crate) n_is_short: bool,
    /// The number of bytes in front of the archive, which its offsets do not count.
    pub(crate) junk: u64,
}

/// The result of a search for the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndSearch {
    Found(End),
    /// The zip64 record is in this range, which was not among the bytes searched.
    NeedsRecord(Range<u64>),
}

/// Bytes of a file, and where they begin.
#[derive(Clone, Copy)]
pub(crate) struct FilePart<'b> {
    pub(crate) at: u64,
    pub(crate) bytes: &'b [u8],
}

impl FilePart<'_> {
    /// The bytes from this position of the file on.
    fn from(&self, at: u64) -> Option<&[u8]> {
        self.bytes
            .get(usize::try_from(at.checked_sub(self.at)?).ok()?..)
    }
}

/// The length of every record after the directory, with the longest comment.
pub(crate) const LONGEST_END: u64 = (END_LEN + 0xffff + END64_LOCATOR_LEN + END64_LEN) as u64;

/// Finds the end in the last bytes of a file. `record` are the bytes that an earlier search needed.
pub(crate) fn find_end(
    tail: FilePart<'_>,
    record: Option<FilePart<'_>>,
) -> Result<EndSearch, Broken> {
    let bytes = tail.bytes;
    // The comment ends where the file does. The last record for which this holds counts, even if it
    // is inside the comment of another one, as in other readers.
    let is_end = |&at: &usize| {
        bytes[at..].starts_with(END)
            && u16_at(bytes, at + 20)
                .is_some_and(|comment| at + END_LEN + usize::from(comment) == bytes.len())
    };
    let last = bytes.len().checked_sub(END_LEN).ok_or(NO_END)?;
    let at = (0..=last).rev().take(0x1_0000).find(is_end).ok_or(NO_END)?;
    let u16_field = |i| u16_at(bytes, at + i).ok_or(NO_END);
    let u32_field = |i| u32_at(bytes, at + i).ok_or(NO_END);
    let disk = u16_field(4)?;
    let first_disk = u16_field(6)?;
    let n_on_disk = u16_field(8)?;
    let n = u16_field(10)?;
    let len = u32_field(12)?;
    let offset = u32_field(16)?;
    let end_at = tail.at + at as u64;
    let locator = at.checked_sub(END64_LOCATOR_LEN).map(|at| &bytes[at..]);
    if let Some(locator) = locator.filter(|locator| locator.starts_with(END64_LOCATOR)) {
        return find_zip64(tail, record, end_at, locator);
    }
    if disk != 0 || first_disk != 0 || n_on_disk != n {
        return Err(DISKS);
    }
    end(
        end_at,
        u64::from(n),
        true,
        u64::from(len),
        u64::from(offset),
    )
    .map(EndSearch::Found)
}

fn find_zip64(
    tail: FilePart<'_>,
    record: Option<FilePart<'_>>,
    end_at: u64,
    locator: &[u8],
) -> Result<EndSearch, Broken> {
    let (Some(stated), Some(n_disks)) = (u64_at(locator, 8), u32_at(locator, 16)) else {
        return Err(NO_END);
    };
    if n_disks > 1 {
        return Err(DISKS);
    }
    let last = end_at - END64_LOCATOR_LEN as u64;
    // With other bytes in front of the archive the record is not at the stated place, but still
    // before its locator.
    let places = [stated, last.saturating_sub(END64_LEN as u64)];
    let found = places.into_iter().find_map(|place| {
        let from_record = record.as_ref().and_then(|record| record.from(place));
        let bytes = tail.from(place).or(from_record)?;
        (bytes.starts_with(END64) && bytes.len() >= END64_LEN).then_some((place, bytes))
    });
    let Some((place, bytes)) = found else {
        return match record {
            None if stated < tail.at => Ok(EndSearch::NeedsRecord(
                stated..(stated + END64_LEN as u64).min(last),
            )),
            _ => Err("its zip64 record is not where it is said to be"),
        };
    };
    let u32_field = |i| u32_at(bytes, i).ok_or(NO_END);
    let u64_field = |i| u64_at(bytes, i).ok_or(NO_END);
    if u32_field(16)? != 0 || u32_field(20)? != 0 || u64_field(24)? != u64_field(32)? {
        return Err(DISKS);
    }
    end(place, u64_field(32)?, false, u64_field(40)?, u64_field(48)?).map(EndSearch::Found)
}

/// The directory ends at `end_at`: every writer writes it directly before the records of the end.
fn end(
    end_at: u64,
    n_entries: u64,
    n_is_short: bool,
    len: u64,
    offset: u64,
) -> Result<End, Broken> {
    let start = end_at
        .checked_sub(len)
        .ok_or("its directory is larger than the file")?;
    let junk = start
        .checked_sub(offset)
        .ok_or("its directory is not where it is said to be")?;
    Ok(End {
        directory: start..end_at,
        n_entries,
        n_is_short,
        junk,
    })
}

const NO_END: Broken = "it does not end as a zip archive does";
const DISKS: Broken = "it has parts on other disks";
