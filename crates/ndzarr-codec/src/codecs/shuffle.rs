//! shuffle: the first bytes of all elements, then the second ones …

use crate::memory::sink;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "shuffle";

#[derive(Debug)]
pub(crate) struct Shuffle {
    /// Size of an element in bytes, at least 1.
    pub(crate) elementsize: usize,
}

impl Shuffle {
    fn check(
        &self,
        len: usize,
        error: fn(&'static str, String) -> CodecError,
    ) -> Result<(), CodecError> {
        if len.is_multiple_of(self.elementsize) {
            return Ok(());
        }
        Err(error(
            NAME,
            format!(
                "{len} bytes are not whole elements of {} bytes",
                self.elementsize
            ),
        ))
    }
}

impl BytesToBytes for Shuffle {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        self.check(src.len(), CodecError::corrupt)?;
        let out = sink::whole_output(NAME, &mut dst, src.len())?;
        transpose(src, out, self.elementsize, src.len() / self.elementsize);
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        self.check(src.len(), CodecError::encode)?;
        dst.clear();
        sink::reserve(dst, src.len())?;
        dst.resize(src.len(), 0);
        transpose(src, dst, src.len() / self.elementsize, self.elementsize);
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        Ok(Some(src.len() as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }
}

/// Transposes a matrix of `rows` rows of `columns` bytes.
fn transpose(src: &[u8], out: &mut [u8], rows: usize, columns: usize) {
    /// The length of the part of the long side that is in the cache at a time.
    const BLOCK: usize = 4096;
    if rows == 0 || columns == 0 {
        return;
    }
    if rows <= columns {
        for start in (0..columns).step_by(BLOCK) {
            for (row, src) in src.chunks_exact(columns).enumerate() {
                let end = columns.min(start + BLOCK);
                let out = out[start * rows..end * rows].chunks_exact_mut(rows);
                src[start..end]
                    .iter()
                    .zip(out)
                    .for_each(|(&byte, out)| out[row] = byte);
            }
        }
    } else {
        for start in (0..rows).step_by(BLOCK) {
            let end = rows.min(start + BLOCK);
            for (column, out) in out.chunks_exact_mut(rows).enumerate() {
                let src = src[start * columns..end * columns].chunks_exact(columns);
                out[start..end]
                    .iter_mut()
                    .zip(src)
                    .for_each(|(out, src)| *out = src[column]);
            }
        }
    }
}
