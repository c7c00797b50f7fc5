//! Checks the framing of a zstd stream (RFC 8878) without decoding it.

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest decoded block, in bytes.
const BLOCK_LEN: usize = 128 << 10;

/// Checks that a stream is exactly one frame of the standard format; returns the most bytes that
/// its blocks decode to.
pub(crate) fn validate(stream: &[u8]) -> Result<usize, String> {
    match walk(stream) {
        Some((0, most)) => Ok(most),
        Some((n, _)) => Err(format!("{n} bytes after the zstd frame")),
        None => Err("not a whole zstd frame".to_owned()),
    }
}

/// The number of bytes after the first frame, and the most that its blocks decode to; `None` if
/// there is no complete frame.
fn walk(stream: &[u8]) -> Option<(usize, usize)> {
    let rest = stream.strip_prefix(&MAGIC)?;
    let (&descriptor, rest) = rest.split_first()?;
    let single_segment = descriptor & 0x20 != 0;
    let window_len = usize::from(!single_segment);
    let dictionary_len = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_len = match descriptor >> 6 {
        0 => usize::from(single_segment),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let mut rest = rest.get(window_len + dictionary_len + content_len..)?;
    let mut most = 0usize;
    loop {
        let (&[a, b, c], tail) = rest.split_first_chunk::<3>()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let len = (header >> 3) as usize;
        let (block_len, content_len) = match (header >> 1) & 3 {
            0 => (len, len),
            1 => (1, len),
            2 => (len, BLOCK_LEN),
            _ => return None,
        };
        rest = tail.get(block_len..)?;
        most = most.saturating_add(content_len);
        if header & 1 != 0 {
            break;
        }
    }
    let checksum_len = if descriptor & 4 != 0 { 4 } else { 0 };
    Some((rest.get(checksum_len..)?.len(), most))
}
