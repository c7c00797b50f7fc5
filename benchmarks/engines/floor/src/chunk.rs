//! Chunk layouts of the definitions.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Box3;
use crate::copy;
use crate::output::Shared;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Codec {
    Raw,
    Zstd,
    Blosc,
    Zlib,
    Gzip,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Layout {
    /// Side of a chunk (of a shard) in elements.
    pub(crate) chunk: usize,
    /// Side of an inner chunk.
    pub(crate) inner: Option<usize>,
    pub(crate) codec: Codec,
    /// The part of a key before the indices.
    prefix: String,
    /// The separator of the indices.
    separator: String,
    /// Bytes before the payload.
    #[serde(default)]
    header: usize,
    #[serde(default)]
    pub(crate) big_endian: bool,
    /// True if the axes are stored in reverse order.
    #[serde(default)]
    reversed: bool,
    #[serde(default)]
    level: i32,
    /// True if the indices of a key are in reverse order.
    #[serde(default)]
    reversed_keys: bool,
}

#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) file: Vec<u8>,
    pub(crate) decoded: Vec<u16>,
    pub(crate) zstd: Option<zstd::zstd_safe::DCtx<'static>>,
    encoder: Option<zstd::zstd_safe::CCtx<'static>>,
}

impl Layout {
    pub(crate) fn path(&self, array: &Path, at: [usize; 3]) -> PathBuf {
        let mut indices: Vec<String> = at.iter().map(usize::to_string).collect();
        if self.reversed_keys {
            indices.reverse();
        }
        array.join(format!("{}{}", self.prefix, indices.join(&self.separator)))
    }

    pub(crate) fn read_chunk(
        &self,
        file: &File,
        scratch: &mut Scratch,
        inside: &Box3,
        out: Shared,
        start: [usize; 3],
    ) {
        let side = self.chunk;
        if self.codec == Codec::Raw && !self.reversed {
            // Plane by plane: bytes that were just read are still in the cache when they are
            // copied.
            let y0 = inside[1][0];
            let y1 = inside[1][1];
            let planes = (256 * 1024 / (side * side * 2)).clamp(1, side);
            scratch
                .decoded
                .resize(scratch.decoded.len().max(planes * side * side), 0);
            let whole_planes = y0 == 0 && y1 == side;
            let step = if whole_planes { planes } else { 1 };
            for z in (inside[0][0]..inside[0][1]).step_by(step) {
                let n = step.min(inside[0][1] - z);
                let from = (z * side + y0) * side * 2;
                let len = if n == 1 {
                    (y1 - y0) * side
                } else {
                    n * side * side
                };
                let buffer = &mut scratch.decoded[y0 * side..][..len];
                file.read_exact_at(copy::bytes_mut(buffer), from as u64)
                    .expect("a raw chunk");
                let part = [[0, n], inside[1], inside[2]];
                let at = [start[0] + z - inside[0][0], start[1], start[2]];
                copy::scatter(&scratch.decoded, side, &part, out, at, self.big_endian);
            }
            return;
        }
        let bound = side * side * side * 2 + (64 << 10);
        scratch.file.resize(scratch.file.len().max(bound), 0);
        let mut len = 0;
        loop {
            match file
                .read_at(&mut scratch.file[len..], len as u64)
                .expect("a chunk")
            {
                0 => break,
                n => len += n,
            }
        }
        let Scratch {
            file,
            decoded,
            zstd,
            ..
        } = scratch;
        self.put(
            &file[self.header..len],
            side,
            decoded,
            zstd,
            inside,
            out,
            start,
        );
    }

    pub(crate) fn put(
        &self,
        encoded: &[u8],
        side: usize,
        decoded: &mut Vec<u16>,
        zstd: &mut Option<zstd::zstd_safe::DCtx<'static>>,
        inside: &Box3,
        out: Shared,
        start: [usize; 3],
    ) {
        decoded.resize(side * side * side, 0);
        self.decode(encoded, copy::bytes_mut(decoded), zstd);
        if self.reversed {
            copy::scatter_reversed(decoded, side, inside, out, start);
        } else {
            copy::scatter(decoded, side, inside, out, start, self.big_endian);
        }
    }

    pub(crate) fn decode(
        &self,
        encoded: &[u8],
        out: &mut [u8],
        zstd: &mut Option<zstd::zstd_safe::DCtx<'static>>,
    ) {
        match self.codec {
            Codec::Raw => out.copy_from_slice(encoded),
            Codec::Zstd => {
                let context = zstd.get_or_insert_with(zstd::zstd_safe::DCtx::create);
                context.decompress(out, encoded).expect("zstd");
            }
            Codec::Blosc => {
                // SAFETY: both slices have the stated length, or the header's; the data are our
                // own.
                let n = unsafe {
                    blosc_src::blosc_decompress_ctx(
                        encoded.as_ptr().cast(),
                        out.as_mut_ptr().cast(),
                        out.len(),
                        1,
                    )
                };
                assert_eq!(n as usize, out.len());
            }
            Codec::Zlib => {
                libdeflater::Decompressor::new()
                    .zlib_decompress(encoded, out)
                    .expect("zlib");
            }
            Codec::Gzip => {
                libdeflater::Decompressor::new()
                    .gzip_decompress(encoded, out)
                    .expect("gzip");
            }
        }
    }

    /// Encodes to the start of `out`. Returns the length.
    pub(crate) fn encode(&self, chunk: &[u16], out: &mut Vec<u8>, scratch: &mut Scratch) -> usize {
        let src = copy::bytes(chunk);
        out.resize(out.len().max(src.len() + src.len() / 8 + (64 << 10)), 0);
        let body = self.header;
        let n = match self.codec {
            Codec::Raw => {
                out[..src.len()].copy_from_slice(src);
                src.len()
            }
            Codec::Zstd => {
                let context = scratch
                    .encoder
                    .get_or_insert_with(zstd::zstd_safe::CCtx::create);
                context
                    .compress(&mut out[..], src, self.level)
                    .expect("zstd")
            }
            // SAFETY: both slices have the stated length.
            Codec::Blosc => unsafe {
                blosc_src::blosc_compress_ctx(
                    self.level,
                    1,
                    2,
                    src.len(),
                    src.as_ptr().cast(),
                    out.as_mut_ptr().cast(),
                    out.len(),
                    c"lz4".as_ptr(),
                    0,
                    1,
                ) as usize
            },
            Codec::Zlib | Codec::Gzip => {
                let level = libdeflater::CompressionLvl::new(self.level).expect("a level");
                let mut compressor = libdeflater::Compressor::new(level);
                if self.codec == Codec::Zlib {
                    compressor
                        .zlib_compress(src, &mut out[body..])
                        .expect("zlib")
                } else {
                    compressor
                        .gzip_compress(src, &mut out[body..])
                        .expect("gzip")
                }
            }
        };
        if body == 16 {
            out[..4].copy_from_slice(&[0, 0, 0, 3]);
            for axis in 0..3 {
                out[4 + axis * 4..8 + axis * 4].copy_from_slice(&(self.chunk as u32).to_be_bytes());
            }
        }
        body + n
    }
}
