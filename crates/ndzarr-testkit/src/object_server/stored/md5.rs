//! MD5 (RFC 1321): the ETags of S3.

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// The digest of these bytes.
pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    // T[i] of the RFC: the integer part of 2^32 * |sin(i + 1)|.
    let table: [u32; 64] =
        std::array::from_fn(|i| ((i as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32);
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        add(&mut state, block, &table);
    }
    let mut last = rest.to_vec();
    last.push(0x80);
    last.resize(if last.len() > 56 { 120 } else { 56 }, 0);
    last.extend_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in last.as_chunks::<64>().0 {
        add(&mut state, block, &table);
    }
    let mut digest = [0; 16];
    for (four, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *four = word.to_le_bytes();
    }
    digest
}

fn add(state: &mut [u32; 4], block: &[u8; 64], table: &[u32; 64]) {
    let word = |i: usize| u32::from_le_bytes(block.as_chunks::<4>().0[i]);
    let [mut a, mut b, mut c, mut d] = *state;
    for i in 0..64 {
        let (mixed, at) = match i / 16 {
            0 => ((b & c) | (!b & d), i),
            1 => ((d & b) | (!d & c), 5 * i + 1),
            2 => (b ^ c ^ d, 3 * i + 5),
            _ => (c ^ (b | !d), 7 * i),
        };
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(table[i])
            .wrapping_add(word(at % 16));
        (a, d, c, b) = (
            d,
            c,
            b,
            b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4])),
        );
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(add);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Base64 with padding (RFC 4648), for `Content-MD5`.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte))
            << (8 * (3 - three.len()));
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= three.len() { letter.into() } else { '=' });
        }
    }
    text
}
