//! Compresses elements into a zfp stream.

use crate::decompress::{words_of, zeroed};
use crate::stream::Stream;
use crate::{Error, Mode, Scalar, Shape};

/// The framing of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With a header, as `zfpy` writes it.
    Header,
    /// Only blocks.
    None,
}

/// Space for the longest header, in bytes.
const HEADER_BYTES: usize = 32;

/// Encodes the elements of an array, which are in C order and native byte order, and replaces the
/// content of `out`.
///
/// # Errors
/// The number of bytes does not match the shape; zfp does not accept the parameters.
pub fn compress(
    elements: &[u8],
    scalar: Scalar,
    shape: Shape,
    mode: Mode,
    framing: Framing,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let expected = shape
        .n_elements()
        .and_then(|n| n.checked_mul(scalar.size()))
        .unwrap_or(usize::MAX);
    if elements.len() != expected {
        return Err(Error::Length {
            found: elements.len(),
            expected,
        });
    }
    let words = words_of(elements)?;
    let size = {
        let mut nothing = [0; 4];
        let mut stream = Stream::open(&mut nothing)?;
        stream.set_mode(mode, scalar, shape)?;
        stream.maximum_size(scalar, shape)?
    };
    let mut memory = zeroed(size.saturating_add(HEADER_BYTES))?;
    let written = {
        let mut stream = Stream::open(&mut memory)?;
        stream.set_mode(mode, scalar, shape)?;
        if framing == Framing::Header {
            stream.write_header(scalar, shape)?;
        }
        stream.compress(scalar, shape, &words)?
    };
    out.clear();
    out.try_reserve(written)
        .map_err(|_| Error::OutOfMemory { byte_len: written })?;
    out.extend(
        memory
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .take(written),
    );
    Ok(())
}
