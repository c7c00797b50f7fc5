//! The framing of a zstd stream (RFC 8878), walked over without decoding it.

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Checks that a stream is one frame of the standard format and nothing else.
pub(crate) fn validate(stream: &[u8]) -> Result<(), String> {
    match walk(stream) {
        Some(0) => Ok(()),
        Some(n) => Err(format!("{n} bytes behind the zstd frame")),
        None => Err("is no whole zstd frame".to_owned()),
    }
}

/// How many bytes are behind the first frame; `None` if there is no whole one.
fn walk(stream: &[u8]) -> Option<usize> {
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
    loop {
        let (&[a, b, c], tail) = rest.split_first_chunk::<3>()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let block_len = match (header >> 1) & 3 {
            1 => 1,
            3 => return None,
            _ => (header >> 3) as usize,
        };
        rest = tail.get(block_len..)?;
        if header & 1 != 0 {
            break;
        }
    }
    let checksum_len = if descriptor & 4 != 0 { 4 } else { 0 };
    rest.get(checksum_len..).map(<[u8]>::len)
}
