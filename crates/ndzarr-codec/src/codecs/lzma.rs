//! lzma: the formats of liblzma.

use ndzarr_model::{LzmaConfig, LzmaFormat};
use xz2::stream::{
    Action, CONCATENATED, Check, Error, LzmaOptions, Status, Stream, TELL_UNSUPPORTED_CHECK,
};

use super::lzma_filters::{self, NAME};
use crate::memory::sink::{self, Sink};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

/// The bytes that a decoder may allocate even for a small chunk: more than every preset needs.
const MEMORY_LIMIT: u64 = 160 << 20;
const PRESET_DEFAULT: u32 = 6;

#[derive(Debug)]
pub(crate) struct Lzma {
    config: LzmaConfig,
}

impl Lzma {
    pub(crate) fn new(config: &LzmaConfig) -> Result<Self, CodecError> {
        if config.format == LzmaFormat::Raw {
            // Decoding needs the filters too, so errors in them are reported at once.
            lzma_filters::filters(config.filters.as_deref().unwrap_or_default(), None)?;
        }
        Ok(Self {
            config: config.clone(),
        })
    }

    fn decoder(&self, limit: usize) -> Result<Stream, CodecError> {
        let memory = MEMORY_LIMIT.max((limit as u64).saturating_mul(2).saturating_add(32 << 20));
        let flags = CONCATENATED | TELL_UNSUPPORTED_CHECK;
        match self.config.format {
            LzmaFormat::Auto => Stream::new_auto_decoder(memory, flags),
            LzmaFormat::Xz => Stream::new_stream_decoder(memory, flags),
            LzmaFormat::Alone => Stream::new_lzma_decoder(memory),
            LzmaFormat::Raw => {
                let filters = self.config.filters.as_deref().unwrap_or_default();
                Stream::new_raw_decoder(&lzma_filters::filters(filters, Some(limit))?)
            }
        }
        .map_err(corrupt)
    }

    fn encoder(&self) -> Result<Stream, CodecError> {
        let LzmaConfig {
            format,
            check,
            preset,
            filters,
        } = &self.config;
        let preset = preset.unwrap_or(PRESET_DEFAULT);
        let check = match check {
            _ if !matches!(format, LzmaFormat::Xz) && *check > 0 => {
                return Err(encode("a check, which only .xz has"));
            }
            0 => Check::None,
            1 => Check::Crc32,
            -1 | 4 => Check::Crc64,
            10 => Check::Sha256,
            other => return Err(encode(&format!("unknown check {other}"))),
        };
        if preset & 0x7fff_ffff > 9 {
            return Err(encode(&format!("unknown preset {preset:#x}")));
        }
        let filters = match filters {
            Some(list) => Some(
                lzma_filters::filters(list, None).map_err(|error| encode(&error.to_string()))?,
            ),
            None => None,
        };
        let stream = match (format, filters) {
            (LzmaFormat::Auto, _) => return Err(encode("format 0 (auto), which is for decoding")),
            (LzmaFormat::Xz, None) => Stream::new_easy_encoder(preset, check),
            (LzmaFormat::Xz, Some(filters)) => Stream::new_stream_encoder(&filters, check),
            (LzmaFormat::Alone, None) => LzmaOptions::new_preset(preset)
                .and_then(|options| Stream::new_lzma_encoder(&options)),
            (LzmaFormat::Alone, Some(_)) => {
                let list = self.config.filters.as_deref().unwrap_or_default();
                let options = lzma_filters::single_lzma1(list)?;
                Stream::new_lzma_encoder(&options)
            }
            (LzmaFormat::Raw, None) => return Err(encode("format 3 (raw) without filters")),
            (LzmaFormat::Raw, Some(filters)) => Stream::new_raw_encoder(&filters),
        };
        stream.map_err(|error| encode(&error.to_string()))
    }
}

impl BytesToBytes for Lzma {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let limit = match &dst {
            Dst::Exact(out) => out.len(),
            Dst::Grow { max, .. } => *max,
        };
        let mut stream = self.decoder(limit)?;
        let mut sink = Sink::new(NAME, dst);
        loop {
            let total_in = stream.total_in();
            let total_out = stream.total_out();
            let rest = &src[total_in as usize..];
            let status = stream
                .process(rest, sink.free_space()?, Action::Finish)
                .map_err(corrupt)?;
            sink.advance((stream.total_out() - total_out) as usize)?;
            if status == Status::StreamEnd {
                break;
            }
            if stream.total_in() == total_in && stream.total_out() == total_out {
                return Err(sink::truncated(NAME));
            }
        }
        let excess = src.len() as u64 - stream.total_in();
        if excess > 0 {
            return Err(CodecError::corrupt(
                NAME,
                format!("{excess} bytes after the stream"),
            ));
        }
        sink.finish()
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        let mut stream = self.encoder()?;
        dst.clear();
        sink::reserve(dst, src.len() / 4 + 1024)?;
        loop {
            let rest = &src[stream.total_in() as usize..];
            let status = stream
                .process_vec(rest, dst, Action::Finish)
                .map_err(|error| encode(&error.to_string()))?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            if dst.capacity() == dst.len() {
                sink::reserve(dst, (dst.len() / 2).max(4096))?;
            }
        }
    }
}

fn encode(what: &str) -> CodecError {
    CodecError::encode(NAME, what)
}

fn corrupt(error: Error) -> CodecError {
    let what = match error {
        Error::Data => "is corrupt".to_owned(),
        Error::Format => "has another format than the configuration states".to_owned(),
        Error::MemLimit => "needs a dictionary far larger than the chunk".to_owned(),
        // How much is not known; it may have been as much as it may take.
        Error::Mem => {
            return CodecError::OutOfMemory {
                byte_len: MEMORY_LIMIT as usize,
            };
        }
        Error::UnsupportedCheck => "has an unknown integrity check".to_owned(),
        other => format!("cannot be decoded: {other}"),
    };
    CodecError::corrupt(NAME, what)
}
