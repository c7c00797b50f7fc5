//! The records of an archive: signatures, lengths, and the bytes of new ones.

use ndzarr_store::Key;

pub(crate) const LOCAL: &[u8] = b"PK\x03\x04";
pub(crate) const CENTRAL: &[u8] = b"PK\x01\x02";
pub(crate) const SIGNATURE: &[u8] = b"PK\x05\x05";
pub(crate) const END: &[u8] = b"PK\x05\x06";
pub(crate) const END64: &[u8] = b"PK\x06\x06";
pub(crate) const END64_LOCATOR: &[u8] = b"PK\x06\x07";

/// Lengths without names, extra fields and comments, in bytes.
pub(crate) const LOCAL_LEN: usize = 30;
pub(crate) const CENTRAL_LEN: usize = 46;
pub(crate) const END_LEN: usize = 22;
pub(crate) const END64_LEN: usize = 56;
pub(crate) const END64_LOCATOR_LEN: usize = 20;

/// The extra field of sizes and offsets that do not fit into 32 bits.
pub(crate) const ZIP64_ID: u16 = 1;

/// Where the CRC-32 is in a local header.
pub(crate) const LOCAL_CRC_AT: u64 = 14;

/// The format with zip64, made on Unix.
const MADE_BY: u16 = 3 << 8 | 45;
/// Names are UTF-8.
const FLAGS: u16 = 0x800;
/// The first day of the format, so that archives of equal values are equal.
const DATE: u16 = 0x21;
/// A file that its owner may write and everyone may read, as Unix has it.
const ATTRIBUTES: u32 = 0o100_644 << 16;

/// A stored value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// Where its local header begins, in bytes of the archive.
    pub(crate) header: u64,
    pub(crate) size: u64,
    pub(crate) crc: u32,
}

impl Stored {
    /// The length of its local header, in bytes.
    pub(crate) fn header_len(&self, key: &Key) -> u64 {
        let zip64 = if self.is_long() { 20 } else { 0 };
        LOCAL_LEN as u64 + key.as_str().len() as u64 + zip64
    }

    fn is_long(&self) -> bool {
        self.size >= u64::from(u32::MAX)
    }

    fn version(&self) -> u16 {
        if self.is_long() || self.header >= u64::from(u32::MAX) {
            45
        } else {
            20
        }
    }

    pub(crate) fn local_header(&self, key: &Key) -> Vec<u8> {
        let mut out = LOCAL.to_vec();
        put_u16s(&mut out, &[self.version_of_size(), FLAGS, 0, 0, DATE]);
        put_u32s(
            &mut out,
            &[self.crc, u32_or_max(self.size), u32_or_max(self.size)],
        );
        put_u16s(
            &mut out,
            &[name_len(key), if self.is_long() { 20 } else { 0 }],
        );
        out.extend_from_slice(key.as_str().as_bytes());
        if self.is_long() {
            put_u16s(&mut out, &[ZIP64_ID, 16]);
            put_u64s(&mut out, &[self.size, self.size]);
        }
        out
    }

    /// The version for a local header, which does not say where it is.
    fn version_of_size(&self) -> u16 {
        Self { header: 0, ..*self }.version()
    }

    /// Appends its entry of the directory to `out`.
    pub(crate) fn add_central(&self, key: &Key, out: &mut Vec<u8>) {
        let mut zip64 = Vec::new();
        if self.is_long() {
            zip64.extend([self.size, self.size]);
        }
        if self.header >= u64::from(u32::MAX) {
            zip64.push(self.header);
        }
        let zip64_len = 8 * zip64.len() as u16;
        let extra_len = if zip64.is_empty() { 0 } else { 4 + zip64_len };
        out.extend_from_slice(CENTRAL);
        put_u16s(out, &[MADE_BY, self.version(), FLAGS, 0, 0, DATE]);
        put_u32s(
            out,
            &[self.crc, u32_or_max(self.size), u32_or_max(self.size)],
        );
        put_u16s(out, &[name_len(key), extra_len, 0, 0, 0]);
        put_u32s(out, &[ATTRIBUTES, u32_or_max(self.header)]);
        out.extend_from_slice(key.as_str().as_bytes());
        if !zip64.is_empty() {
            put_u16s(out, &[ZIP64_ID, zip64_len]);
            put_u64s(out, &zip64);
        }
    }
}

/// The records after a directory of this many entries, length and start, with zip64 where needed.
pub(crate) fn end(n_entries: u64, len: u64, start: u64, comment: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let n = u16::try_from(n_entries).unwrap_or(u16::MAX);
    if n == u16::MAX
        || [len, start]
            .iter()
            .any(|&value| value >= u64::from(u32::MAX))
    {
        out.extend_from_slice(END64);
        put_u64s(&mut out, &[END64_LEN as u64 - 12]);
        put_u16s(&mut out, &[MADE_BY, 45]);
        put_u32s(&mut out, &[0, 0]);
        put_u64s(&mut out, &[n_entries, n_entries, len, start]);
        out.extend_from_slice(END64_LOCATOR);
        put_u32s(&mut out, &[0]);
        put_u64s(&mut out, &[start + len]);
        put_u32s(&mut out, &[1]);
    }
    out.extend_from_slice(END);
    put_u16s(&mut out, &[0, 0, n, n]);
    put_u32s(&mut out, &[u32_or_max(len), u32_or_max(start)]);
    put_u16s(
        &mut out,
        &[u16::try_from(comment.len()).unwrap_or(u16::MAX)],
    );
    out.extend_from_slice(comment);
    out
}

/// Keys that are too long for this were refused before.
fn name_len(key: &Key) -> u16 {
    u16::try_from(key.as_str().len()).unwrap_or(u16::MAX)
}

/// The value, or the maximum, which refers to the zip64 field.
fn u32_or_max(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn put_u16s(out: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_u32s(out: &mut Vec<u8>, values: &[u32]) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_u64s(out: &mut Vec<u8>, values: &[u64]) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}
