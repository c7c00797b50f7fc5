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
    /// Whether the number of entries is known to 16 bits only. Archives without zip64 state the
    /// rest of a larger number.
    pub(crate) n_is_short: bool,
    /// The bytes in front of the archive, which its offsets do not count.
    pub(crate) junk: u64,
}

/// What the last bytes show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    End(End),
    /// The zip64 record is in this range, of which nothing was shown.
    Zip64At(Range<u64>),
}

/// Bytes of a file, and where they begin.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'b> {
    pub(crate) at: u64,
    pub(crate) bytes: &'b [u8],
}

impl Shown<'_> {
    fn from(&self, at: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(at.checked_sub(self.at)?).ok()?..)
    }
}

/// The longest comment, and every record behind the directory.
pub(crate) const LONGEST_END: u64 = (END_LEN + 0xffff + END64_LOCATOR_LEN + END64_LEN) as u64;

/// Finds the end in the last bytes of a file. `record` are the bytes that were asked for before.
pub(crate) fn find(tail: Shown<'_>, record: Option<Shown<'_>>) -> Result<Look, Broken> {
    let bytes = tail.bytes;
    // The comment ends where the file does. The last record for which this holds counts, also
    // inside the comment of another one, as in other readers.
    let is_end = |&at: &usize| {
        bytes[at..].starts_with(END)
            && u16_at(bytes, at + 20)
                .is_some_and(|comment| at + END_LEN + usize::from(comment) == bytes.len())
    };
    let last = bytes.len().checked_sub(END_LEN).ok_or(NO_END)?;
    let at = (0..=last).rev().take(0x1_0000).find(is_end).ok_or(NO_END)?;
    let short = |i| u16_at(bytes, at + i).ok_or(NO_END);
    let long = |i| u32_at(bytes, at + i).ok_or(NO_END);
    let (disk, first_disk, n_here, n) = (short(4)?, short(6)?, short(8)?, short(10)?);
    let (len, offset) = (long(12)?, long(16)?);
    let end_at = tail.at + at as u64;
    let locator = at.checked_sub(END64_LOCATOR_LEN).map(|at| &bytes[at..]);
    if let Some(locator) = locator.filter(|locator| locator.starts_with(END64_LOCATOR)) {
        return find_zip64(tail, record, end_at, locator);
    }
    if disk != 0 || first_disk != 0 || n_here != n {
        return Err(DISKS);
    }
    end(end_at, u64::from(n), true, u64::from(len), u64::from(offset)).map(Look::End)
}

fn find_zip64(
    tail: Shown<'_>,
    record: Option<Shown<'_>>,
    end_at: u64,
    locator: &[u8],
) -> Result<Look, Broken> {
    let (Some(stated), Some(n_disks)) = (u64_at(locator, 8), u32_at(locator, 16)) else { return Err(NO_END) };
    if n_disks > 1 {
        return Err(DISKS);
    }
    let last = end_at - END64_LOCATOR_LEN as u64;
    // With other bytes in front it is not where it is said to be, but still before its locator.
    let places = [stated, last.saturating_sub(END64_LEN as u64)];
    let found = places.into_iter().find_map(|place| {
        let from_record = record.as_ref().and_then(|record| record.from(place));
        let bytes = tail.from(place).or(from_record)?;
        (bytes.starts_with(END64) && bytes.len() >= END64_LEN).then_some((place, bytes))
    });
    let Some((place, bytes)) = found else {
        return match record {
            None if stated < tail.at => Ok(Look::Zip64At(stated..(stated + END64_LEN as u64).min(last))),
            _ => Err("its zip64 record is not where it is said to be"),
        };
    };
    let int = |i| u32_at(bytes, i).ok_or(NO_END);
    let long = |i| u64_at(bytes, i).ok_or(NO_END);
    if int(16)? != 0 || int(20)? != 0 || long(24)? != long(32)? {
        return Err(DISKS);
    }
    end(place, long(32)?, false, long(40)?, long(48)?).map(Look::End)
}

/// The directory ends at `end_at`, or so every writer has it.
fn end(end_at: u64, n_entries: u64, n_is_short: bool, len: u64, offset: u64) -> Result<End, Broken> {
    let start = end_at.checked_sub(len).ok_or("its directory is larger than the file")?;
    let junk = start.checked_sub(offset).ok_or("its directory is not where it is said to be")?;
    Ok(End { directory: start..end_at, n_entries, n_is_short, junk })
}

const NO_END: Broken = "it does not end as a zip archive does";
const DISKS: Broken = "it has parts on other disks";
