//! The little of gzip that tests need, without a library: streams of stored blocks, and a few bytes
//! that inflate to many.

/// A gzip stream (RFC 1952) of this text in one stored block (RFC 1951, section 3.2.4). `None` if
/// it is too long for one.
pub(crate) fn deflated(text: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(text.len()).ok()?;
    let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    stream.extend([len, !len].iter().flat_map(|n| n.to_le_bytes()));
    stream.extend_from_slice(text);
    stream.extend(crc32(text).to_le_bytes());
    stream.extend(u32::from(len).to_le_bytes());
    Some(stream)
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| bit(crc))
    })
}

/// The reverse of [`deflated`]; `None` for any other stream.
pub(crate) fn inflated(stream: &[u8]) -> Option<Vec<u8>> {
    let text = stream.get(15..stream.len().checked_sub(8)?)?;
    (deflated(text)? == stream).then(|| text.to_vec())
}

/// The beginning of a gzip stream (RFC 1952) of about this length, in bytes, that inflates to 158
/// times as many zeros and has no end.
pub(crate) fn gzip_bomb(byte_len: usize) -> Vec<u8> {
    // Deflate with fixed codes (RFC 1951, section 3.2.6): the head of the block, a zero, then
    // "repeat the last byte 258 times" in 13 bits.
    let head = [false, true, false].into_iter().chain(bits(0b0011_0000, 8));
    let repeat = || bits(0b1100_0101, 8).chain(bits(0, 5));
    let stream: Vec<bool> = head.chain((0..16).flat_map(|_| repeat())).collect();
    let (eights, _) = stream.as_chunks::<8>();
    let byte = |bits: &[bool; 8]| {
        bits.iter()
            .rev()
            .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
    };
    let bytes: Vec<u8> = eights.iter().map(byte).collect();
    let mut bomb = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, bytes[0], bytes[1]];
    // Eight repetitions are 13 bytes.
    while bomb.len() < byte_len {
        bomb.extend_from_slice(&bytes[2..15]);
    }
    bomb
}

/// A Huffman code, which goes into the stream from its highest bit.
fn bits(code: u32, n: u32) -> impl Iterator<Item = bool> {
    (0..n).rev().map(move |i| code >> i & 1 == 1)
}
