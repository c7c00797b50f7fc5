//! Checks the stream format of blosclz without decoding it.

/// From this distance on, 16 more bits follow.
const MAX_DISTANCE: usize = 8191;

/// Checks that a stream decodes to exactly `len` bytes, and refers to nothing before them.
pub(crate) fn validate(stream: &[u8], len: usize) -> Result<(), String> {
    let byte = |at: usize| stream.get(at).map(|&byte| usize::from(byte)).ok_or("ends within a token");
    let mut done = 0usize;
    // The first token is literals: its upper bits have another meaning.
    let mut token = byte(0)? & 31;
    let mut at = 1;
    loop {
        if token < 32 {
            at += token + 1;
            done += token + 1;
            if at > stream.len() {
                return Err("ends within literals".to_owned());
            }
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
                return Err(format!("a reference {} back from byte {done}", distance + 1));
            }
            done += n;
        }
        if done > len {
            return Err(format!("decodes to more than {len} bytes"));
        }
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
