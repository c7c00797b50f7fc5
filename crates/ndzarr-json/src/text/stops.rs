//! Sets of bytes that end what is skipped or taken.

/// The bytes that end a value, outside of strings and brackets.
pub(super) const VALUE_STOPS: [bool; 256] = table(b"\"{}[], \t\n\r");

/// The bytes that matter within brackets: brackets, and the start of a string.
pub(super) const BRACKETS: [bool; 256] = table(b"\"{}[]");

/// The bytes that end a string, begin an escape, or may not be in a string.
pub(super) const STRING_STOPS: [bool; 256] = {
    let mut stops = table(b"\"\\");
    let mut byte = 0;
    while byte < b' ' as usize {
        stops[byte] = true;
        byte += 1;
    }
    stops
};

/// The bytes that cannot be in a number.
pub(super) const NUMBER_STOPS: [bool; 256] = {
    let mut stops = table(b"0123456789+-.eE");
    let mut byte = 0;
    while byte < 256 {
        stops[byte] = !stops[byte];
        byte += 1;
    }
    stops
};

/// True for each of these bytes.
const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
}
