//! `Inflate`: decodes a compressed entry step by step, and keeps only the wanted ranges.

use std::ops::Range;

use bytes::Bytes;
use flate2::{Crc, Decompress, FlushDecompress, Status};

/// The most that is decoded at once, in bytes.
const STEP_BYTES: usize = 64 << 10;

/// The most memory that is allocated for a range before any of it is seen, in bytes.
const TRUSTED_BYTES: u64 = 1 << 20;

/// An entry that is being decoded.
pub(crate) struct Inflate {
    decoder: Decoder,
    size: u64,
    crc: Crc,
    n_decoded: u64,
    buffer: Vec<u8>,
    ranges: Vec<Range<u64>>,
    /// A part for each range.
    parts: Vec<Vec<u8>>,
    /// Indices of the ranges that are not complete, by where they begin, last first.
    incomplete: Vec<usize>,
}

enum Decoder {
    Deflate(Decompress),
    #[cfg(feature = "zstd")]
    Zstd(zstd::stream::raw::Decoder<'static>),
}

impl Inflate {
    /// Starts on an entry of this method and decoded size, of which these ranges are wanted.
    ///
    /// # Errors
    /// If the method is unknown, or needs a feature.
    pub(crate) fn new(method: u16, size: u64, ranges: &[Range<u64>]) -> Result<Self, String> {
        let decoder = match method {
            8 => Decoder::Deflate(Decompress::new(false)),
            #[cfg(feature = "zstd")]
            93 => {
                Decoder::Zstd(zstd::stream::raw::Decoder::new().map_err(|error| error.to_string())?)
            }
            #[cfg(not(feature = "zstd"))]
            93 => return Err("it is compressed by zstd: enable the feature `zstd`".to_owned()),
            _ => {
                return Err(format!(
                    "it is compressed by method {method}, which is not supported"
                ));
            }
        };
        let part = |range: &Range<u64>| {
            Vec::with_capacity((range.end - range.start).min(TRUSTED_BYTES) as usize)
        };
        let mut incomplete: Vec<usize> = (0..ranges.len())
            .filter(|&i| !ranges[i].is_empty())
            .collect();
        incomplete.sort_by_key(|&i| std::cmp::Reverse(ranges[i].start));
        Ok(Self {
            decoder,
            size,
            crc: Crc::new(),
            n_decoded: 0,
            buffer: vec![0; STEP_BYTES],
            ranges: ranges.to_vec(),
            parts: ranges.iter().map(part).collect(),
            incomplete,
        })
    }

    /// Decodes the next encoded bytes.
    ///
    /// # Errors
    /// If they are corrupt, or decode to more than the size.
    pub(crate) fn feed(&mut self, mut encoded: &[u8]) -> Result<(), String> {
        loop {
            let (n_in, n_out) = self.decoder.step(encoded, &mut self.buffer)?;
            encoded = &encoded[n_in..];
            self.take_decoded(n_out)?;
            // A step that filled the buffer may have left something in the decoder.
            if n_out < STEP_BYTES && (encoded.is_empty() || n_in == 0) {
                return Ok(());
            }
        }
    }

    /// Copies what is wanted of the first bytes of the buffer.
    fn take_decoded(&mut self, n: usize) -> Result<(), String> {
        let decoded = &self.buffer[..n];
        let start = self.n_decoded;
        let end = start + n as u64;
        if end > self.size {
            return Err(format!(
                "it decodes to more than the {} bytes that the archive states",
                self.size
            ));
        }
        self.crc.update(decoded);
        let ranges = &self.ranges;
        // The ranges that begin after these bytes come first, and stay as they are.
        let n_later = self.incomplete.partition_point(|&i| ranges[i].start >= end);
        for &i in &self.incomplete[n_later..] {
            let from = ranges[i].start.max(start) - start;
            let to = ranges[i].end.min(end) - start;
            self.parts[i].extend_from_slice(&decoded[from as usize..to as usize]);
        }
        let mut n_seen = 0;
        self.incomplete.retain(|&i| {
            n_seen += 1;
            n_seen <= n_later || ranges[i].end > end
        });
        self.n_decoded = end;
        Ok(())
    }

    /// The wanted ranges.
    ///
    /// # Errors
    /// If fewer bytes than the size were decoded, or they have another CRC-32.
    pub(crate) fn finish(self, crc: u32) -> Result<Vec<Bytes>, String> {
        if self.n_decoded != self.size {
            return Err(format!(
                "it decodes to {} bytes; the archive states {}",
                self.n_decoded, self.size
            ));
        }
        if self.crc.sum() != crc {
            return Err(WRONG_CRC.to_owned());
        }
        Ok(self.parts.into_iter().map(Bytes::from).collect())
    }
}

pub(crate) const WRONG_CRC: &str = "its CRC-32 is not the one that the archive states";

impl Decoder {
    /// Returns how many bytes were read and written; none are read after the end.
    fn step(&mut self, encoded: &[u8], out: &mut [u8]) -> Result<(usize, usize), String> {
        match self {
            Self::Deflate(state) => {
                let in_before = state.total_in();
                let out_before = state.total_out();
                let status = state
                    .decompress(encoded, out, FlushDecompress::None)
                    .map_err(|error| format!("deflate: {error}"))?;
                let n_in = (state.total_in() - in_before) as usize;
                let n_out = (state.total_out() - out_before) as usize;
                match status {
                    // Bytes after the stream do not belong to it.
                    Status::StreamEnd => Ok((encoded.len(), n_out)),
                    Status::Ok | Status::BufError => Ok((n_in, n_out)),
                }
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(state) => {
                use zstd::stream::raw::Operation;
                let status = state
                    .run_on_buffers(encoded, out)
                    .map_err(|error| format!("zstd: {error}"))?;
                Ok((status.bytes_read, status.bytes_written))
            }
        }
    }
}
