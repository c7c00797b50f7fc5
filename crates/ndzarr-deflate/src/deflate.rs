//! Encoding: by libdeflate, with our own encoder at level 1; by flate2 in builds without
//! libdeflate.

use std::fmt;

#[cfg(any(test, not(feature = "libdeflate")))]
use flate2::{Compress, Compression, FlushCompress, Status};
#[cfg(feature = "libdeflate")]
use libdeflater::{CompressionLvl, Compressor};

use crate::Container;
use crate::error::{DeflateError, reserve};
#[cfg(feature = "libdeflate")]
use crate::quick_deflate::{self, QuickDeflate};

/// Encodes streams. Its allocations are reused from one to the next.
#[derive(Default)]
pub struct Deflater {
    #[cfg(feature = "libdeflate")]
    one_pass: Option<(i32, Compressor)>,
    #[cfg(feature = "libdeflate")]
    quick: Option<QuickDeflate>,
    #[cfg(any(test, not(feature = "libdeflate")))]
    steps: Option<(i32, Container, Compress)>,
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deflater")
    }
}

impl Deflater {
    /// A new encoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes `src` as one stream and appends it to `dst`. The output depends only on the
    /// arguments. After an error `dst` may contain part of a stream.
    ///
    /// # Errors
    /// The level does not exist, or there is too little memory.
    pub fn append(
        &mut self,
        src: &[u8],
        level: i32,
        container: Container,
        dst: &mut Vec<u8>,
    ) -> Result<(), DeflateError> {
        #[cfg(feature = "libdeflate")]
        return self.append_by_libdeflate(src, level, container, dst);
        #[cfg(not(feature = "libdeflate"))]
        self.append_in_steps(src, level, container, dst)
    }
}

#[cfg(feature = "libdeflate")]
impl Deflater {
    fn append_by_libdeflate(
        &mut self,
        src: &[u8],
        level: i32,
        container: Container,
        dst: &mut Vec<u8>,
    ) -> Result<(), DeflateError> {
        if level != 1 || src.len() < quick_deflate::MIN_LEN {
            return self.one_pass(src, level, container, dst);
        }
        let start = dst.len();
        if container == Container::Zlib {
            dst.extend_from_slice(&ZLIB_LEVEL_1);
        }
        let n = self
            .quick
            .get_or_insert_with(QuickDeflate::new)
            .encode(src, dst)?;
        if n == 0 {
            dst.truncate(start);
            return self.one_pass(src, level, container, dst);
        }
        if n < src.len() {
            self.one_pass(&src[n..], level, Container::Raw, dst)?;
        }
        if container == Container::Zlib {
            dst.extend_from_slice(&libdeflater::adler32(src).to_be_bytes());
        }
        Ok(())
    }

    fn one_pass(
        &mut self,
        src: &[u8],
        level: i32,
        container: Container,
        dst: &mut Vec<u8>,
    ) -> Result<(), DeflateError> {
        // libdeflate has levels up to 12; zlib has none from 10 on.
        let number = if level == -1 { 6 } else { level };
        if !(0..=9).contains(&number) {
            return Err(DeflateError::Level(level));
        }
        let compression = CompressionLvl::new(number).map_err(|_| DeflateError::Level(level))?;
        let (_, state) = match &mut self.one_pass {
            Some(reused) if reused.0 == number => reused,
            other => other.insert((number, Compressor::new(compression))),
        };
        let bound = match container {
            Container::Raw => state.deflate_compress_bound(src.len()),
            Container::Zlib => state.zlib_compress_bound(src.len()),
        };
        let start = dst.len();
        reserve(dst, bound)?;
        dst.resize(start + bound, 0);
        let encoded = match container {
            Container::Raw => state.deflate_compress(src, &mut dst[start..]),
            Container::Zlib => state.zlib_compress(src, &mut dst[start..]),
        };
        let n = encoded.map_err(|_| {
            DeflateError::Encoder("the compressor did not find enough room".to_owned())
        })?;
        dst.truncate(start + n);
        Ok(())
    }
}

/// The header of RFC 1950: deflate with a window of 32 KiB, by the fastest algorithm.
#[cfg(feature = "libdeflate")]
const ZLIB_LEVEL_1: [u8; 2] = [0x78, 0x01];

/// The most input to pass to flate2 at once, in bytes: it counts in 32 bits. Small in tests, so
/// that they cover it.
#[cfg(any(test, not(feature = "libdeflate")))]
const STEP: usize = if cfg!(test) { 50_000 } else { 1 << 30 };

#[cfg(any(test, not(feature = "libdeflate")))]
impl Deflater {
    pub(crate) fn append_in_steps(
        &mut self,
        src: &[u8],
        level: i32,
        container: Container,
        dst: &mut Vec<u8>,
    ) -> Result<(), DeflateError> {
        let compression = match level {
            -1 => Compression::default(),
            0..=9 => Compression::new(level as u32),
            _ => return Err(DeflateError::Level(level)),
        };
        let (.., state) = match &mut self.steps {
            Some(reused) if (reused.0, reused.1) == (level, container) => reused,
            other => other.insert((
                level,
                container,
                Compress::new(compression, container == Container::Zlib),
            )),
        };
        state.reset();
        reserve(dst, src.len() / 2 + 256)?;
        loop {
            let total_in = state.total_in();
            let total_out = state.total_out();
            let rest = &src[total_in as usize..];
            let (step, flush) = match rest.get(..STEP) {
                Some(step) if step.len() < rest.len() => (step, FlushCompress::None),
                _ => (rest, FlushCompress::Finish),
            };
            let status = state
                .compress_vec(step, dst, flush)
                .map_err(|error| DeflateError::Encoder(error.to_string()))?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            let is_stuck = state.total_in() == total_in && state.total_out() == total_out;
            if is_stuck && dst.capacity() > dst.len() {
                return Err(DeflateError::Encoder(
                    "the compressor makes no progress".to_owned(),
                ));
            }
            if dst.capacity() == dst.len() {
                reserve(dst, (dst.len() / 2).max(4096))?;
            }
        }
    }
}
