//! The output of decoders: memory that grows with the content, up to the limit.

use crate::{CodecError, Dst};

/// The output of a streaming decoder. It provides memory until the limit is reached; at the limit
/// it has one spare byte, so that a decoder can reach its end, and the first extra byte is an
/// error.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    codec: &'static str,
    dst: Dst<'a>,
    /// Number of bytes written.
    len: usize,
    spare: [u8; 1],
}

/// The initial size of a growing output, in bytes.
const INITIAL_LEN: usize = 16 << 10;

impl<'a> Sink<'a> {
    pub(crate) fn new(codec: &'static str, mut dst: Dst<'a>) -> Self {
        if let Dst::Grow { buf, .. } = &mut dst {
            buf.clear();
        }
        Self {
            codec,
            dst,
            len: 0,
            spare: [0],
        }
    }

    /// The name for errors.
    pub(crate) fn codec(&self) -> &'static str {
        self.codec
    }

    fn limit(&self) -> usize {
        match &self.dst {
            Dst::Exact(out) => out.len(),
            Dst::Grow { max, .. } => *max,
        }
    }

    /// Memory for at least one more byte; [`Self::advance`] counts the bytes written to it.
    pub(crate) fn free_space(&mut self) -> Result<&mut [u8], CodecError> {
        let len = self.len;
        match &mut self.dst {
            Dst::Exact(out) if len < out.len() => Ok(&mut out[len..]),
            Dst::Grow { buf, max } if len < *max => {
                if len == buf.len() {
                    let wanted = (len.saturating_mul(2)).max(INITIAL_LEN).min(*max);
                    lengthen(buf, wanted)?;
                }
                Ok(&mut buf[len..])
            }
            _ => Ok(&mut self.spare),
        }
    }

    /// Memory for exactly `n` more bytes.
    pub(crate) fn space_for(&mut self, n: usize) -> Result<&mut [u8], CodecError> {
        let len = self.len;
        if n > self.limit() - len {
            return Err(self.too_long());
        }
        match &mut self.dst {
            Dst::Exact(out) => Ok(&mut out[len..len + n]),
            Dst::Grow { buf, max } => {
                if len + n > buf.len() {
                    let wanted = (len.saturating_mul(2)).min(*max).max(len + n);
                    lengthen(buf, wanted)?;
                }
                Ok(&mut buf[len..len + n])
            }
        }
    }

    /// Counts `n` more bytes as written.
    pub(crate) fn advance(&mut self, n: usize) -> Result<(), CodecError> {
        if n > self.limit() - self.len {
            return Err(self.too_long());
        }
        self.len += n;
        Ok(())
    }

    fn too_long(&self) -> CodecError {
        too_long(self.codec, self.limit())
    }

    /// The number of bytes that may still be written.
    pub(crate) fn remaining(&self) -> usize {
        self.limit() - self.len
    }

    /// The number of bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes written so far.
    pub(crate) fn written(&self) -> &[u8] {
        match &self.dst {
            Dst::Exact(out) => &out[..self.len],
            Dst::Grow { buf, .. } => &buf[..self.len],
        }
    }

    /// Ends the output: checks an expected length, truncates a growing buffer to the bytes written.
    pub(crate) fn finish(self) -> Result<usize, CodecError> {
        match self.dst {
            Dst::Exact(out) if self.len < out.len() => {
                Err(too_short(self.codec, self.len, out.len()))
            }
            Dst::Exact(_) => Ok(self.len),
            Dst::Grow { buf, .. } => {
                buf.truncate(self.len);
                Ok(self.len)
            }
        }
    }
}

/// The whole output at once, for a decoder that knows its length. The caller must have checked that
/// the encoded bytes can decode to that length; stating it is not enough.
pub(crate) fn whole_output<'d>(
    codec: &'static str,
    dst: &'d mut Dst<'_>,
    len: usize,
) -> Result<&'d mut [u8], CodecError> {
    match dst {
        Dst::Exact(out) if len > out.len() => Err(too_long(codec, out.len())),
        Dst::Exact(out) if len < out.len() => Err(too_short(codec, len, out.len())),
        Dst::Exact(out) => Ok(out),
        Dst::Grow { max, .. } if len > *max => Err(too_long(codec, *max)),
        Dst::Grow { buf, .. } => {
            if len <= buf.capacity() {
                buf.resize(len, 0);
            } else {
                **buf = bytemuck::allocation::try_zeroed_vec(len)
                    .map_err(|()| CodecError::OutOfMemory { byte_len: len })?;
            }
            Ok(buf)
        }
    }
}

/// Copies decoded bytes to their destination.
pub(crate) fn store(
    codec: &'static str,
    bytes: &[u8],
    mut dst: Dst<'_>,
) -> Result<usize, CodecError> {
    whole_output(codec, &mut dst, bytes.len())?.copy_from_slice(bytes);
    Ok(bytes.len())
}

/// Reserves memory for `n` more bytes.
pub(crate) fn reserve(dst: &mut Vec<u8>, n: usize) -> Result<(), CodecError> {
    dst.try_reserve(n)
        .map_err(|_| CodecError::OutOfMemory { byte_len: n })
}

/// Reserves memory for `n` more items.
pub(crate) fn reserve_items<T>(items: &mut Vec<T>, n: usize) -> Result<(), CodecError> {
    let byte_len = n.saturating_mul(size_of::<T>());
    items
        .try_reserve_exact(n)
        .map_err(|_| CodecError::OutOfMemory { byte_len })
}

fn lengthen(buf: &mut Vec<u8>, len: usize) -> Result<(), CodecError> {
    buf.try_reserve_exact(len - buf.len())
        .map_err(|_| CodecError::OutOfMemory { byte_len: len })?;
    buf.resize(len, 0);
    Ok(())
}

pub(crate) fn too_long(codec: &'static str, limit: usize) -> CodecError {
    CodecError::corrupt(
        codec,
        format!("decodes to more than the limit of {limit} bytes"),
    )
}

pub(crate) fn too_short(codec: &'static str, found: usize, expected: usize) -> CodecError {
    CodecError::corrupt(
        codec,
        format!("decodes to {found} bytes, but {expected} are expected"),
    )
}

pub(crate) fn truncated(codec: &'static str) -> CodecError {
    CodecError::corrupt(codec, "ends in the middle of a stream")
}
