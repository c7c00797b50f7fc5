//! The stream format of blosclz: checks it without decoding it, and decodes it in builds without C.

use std::ops::Range;

/// From this distance on, 16 more bits follow.
const MAX_DISTANCE: usize = 8191;

/// Checks that a stream decodes to exactly `len` bytes, and refers to nothing before them.
pub(crate) fn validate(stream: &[u8], len: usize) -> Result<(), String> {
    walk(stream, len, |_, _, _| {})
}

/// Decodes a stream that fills `out`.
#[cfg(any(test, target_family = "wasm"))]
pub(crate) fn decompress(stream: &[u8], out: &mut [u8]) -> Result<(), String> {
    let mut done = 0;
    walk(stream, out.len(), |literals, distance, n| {
        out[done..done + literals.len()].copy_from_slice(&stream[literals.clone()]);
        done += literals.len();
        for to in done..done + n {
            out[to] = out[to - distance];
        }
        done += n;
    })
}

/// Walks through a stream that decodes to `len` bytes. For each valid step, `visit` gets the range
/// of literals in the stream, a distance back from the end of what is decoded, and the number of
/// bytes to copy from that position. Either the literals are empty or that number is 0.
fn walk(
    stream: &[u8],
    len: usize,
    mut visit: impl FnMut(Range<usize>, usize, usize),
) -> Result<(), String> {
    let byte = |at: usize| {
        stream
            .get(at)
            .map(|&byte| usize::from(byte))
            .ok_or("ends within a token")
    };
    let mut done = 0usize;
    // The first token is always for literals; its upper bits have another meaning.
    let mut token = byte(0)? & 31;
    let mut at = 1;
    loop {
        let (literals, distance, n) = if token < 32 {
            let literals = at..at + token + 1;
            at = literals.end;
            done += literals.len();
            if at > stream.len() {
                return Err("ends within literals".to_owned());
            }
            (literals, 0, 0)
        } else {
            let mut n = (token >> 5) + 2;
            if token >> 5 == 7 {
                loop {
                    let more = byte(at)?;
                    at += 1;
                    n += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut distance = ((token & 31) << 8) + byte(at)?;
            at += 1;
            if distance == MAX_DISTANCE {
                distance += (byte(at)? << 8) + byte(at + 1)?;
                at += 2;
            }
            // The nearest byte is at distance 0.
            if distance >= done {
                return Err(format!(
                    "a reference {} back from byte {done}",
                    distance + 1
                ));
            }
            done += n;
            (at..at, distance + 1, n)
        };
        if done > len {
            return Err(format!("decodes to more than {len} bytes"));
        }
        visit(literals, distance, n);
        if at == stream.len() {
            break;
        }
        token = byte(at)?;
        at += 1;
    }
    if done != len {
        return Err(format!("decodes to {done} bytes, but {len} are expected"));
    }
    Ok(())
}
