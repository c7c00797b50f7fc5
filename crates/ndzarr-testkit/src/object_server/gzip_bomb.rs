//! Few bytes that inflate to many.

/// The beginning of a gzip stream (RFC 1952) of about this length, in bytes, that inflates to 158 times
/// as many zeros and has no end.
pub(super) fn gzip_bomb(byte_len: usize) -> Vec<u8> {
    // Deflate with fixed codes (RFC 1951, section 3.2.6): the head of the block, a zero, then "repeat
    // the last byte 258 times" in 13 bits.
    let head = [false, true, false].into_iter().chain(bits(0b0011_0000, 8));
    let repeat = || bits(0b1100_0101, 8).chain(bits(0, 5));
    let stream: Vec<bool> = head.chain((0..16).flat_map(|_| repeat())).collect();
    let (eights, _) = stream.as_chunks::<8>();
    let byte = |bits: &[bool; 8]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
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
