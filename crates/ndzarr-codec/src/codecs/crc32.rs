//! crc32: the payload and its CRC-32, little endian.

use super::checksum::Checksum;
use crate::CodecError;

#[derive(Debug)]
pub(crate) struct Crc32;

impl Checksum for Crc32 {
    const NAME: &'static str = "crc32";

    fn of(&self, payload: &[u8]) -> Result<u32, CodecError> {
        let mut crc = u32::MAX;
        let (words, rest) = payload.as_chunks::<8>();
        for word in words {
            let low = crc ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            crc = byte(7, low) ^ byte(6, low >> 8) ^ byte(5, low >> 16) ^ byte(4, low >> 24);
            crc ^= TABLES[3][usize::from(word[4])] ^ TABLES[2][usize::from(word[5])];
            crc ^= TABLES[1][usize::from(word[6])] ^ TABLES[0][usize::from(word[7])];
        }
        for &next in rest {
            crc = byte(0, crc ^ u32::from(next)) ^ (crc >> 8);
        }
        Ok(!crc)
    }
}

fn byte(table: usize, crc: u32) -> u32 {
    TABLES[table][(crc & 0xff) as usize]
}

/// The effect of a byte on the checksum if `n` more bytes follow it: 8 bytes are processed at once.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut value = 0;
    while value < 256 {
        let mut crc = value as u32;
        let mut bit = 0;
        while bit < 8 {
            // The polynomial of IEEE 802.3 with its bits reversed.
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][value] = crc;
        value += 1;
    }
    let mut n = 1;
    while n < 8 {
        let mut value = 0;
        while value < 256 {
            let crc: u32 = tables[n - 1][value];
            tables[n][value] = (crc >> 8) ^ tables[0][(crc & 0xff) as usize];
            value += 1;
        }
        n += 1;
    }
    tables
}
