//! gzip: members of RFC 1952.

use ndzarr_deflate::{Container, Inflater, crc32};

use super::deflate;
use crate::memory::sink::{self, Sink};
use crate::traits::link::{Capable, DecodeTwo};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "gzip";

/// Flags of a member's header.
const HAS_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

#[derive(Debug)]
pub(crate) struct Gzip {
    pub(crate) level: i32,
}

impl BytesToBytes for Gzip {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(
        &self,
        src: &[u8],
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        decode(NAME, src, dst, workspace)
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        encode(NAME, src, self.level, dst, workspace)
    }
}

impl Capable for Gzip {
    fn pair_decoder(&self) -> Option<&dyn DecodeTwo> {
        Inflater::FILLS_TWO.then_some(self)
    }
}

impl DecodeTwo for Gzip {
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        two_members(NAME, src, dst, workspace)
    }
}

/// Decodes one member after the other. Zero bytes after the last are padding, which gzip itself
/// accepts.
pub(crate) fn decode(
    codec: &'static str,
    src: &[u8],
    mut dst: Dst<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    if let Dst::Exact(out) = &mut dst
        && one_member(codec, src, out, workspace)
    {
        return Ok(out.len());
    }
    let mut sink = Sink::new(codec, dst);
    let mut rest = src;
    loop {
        rest = &rest[header_len(codec, rest)?..];
        let start = sink.len();
        let n = deflate::stream(rest, Container::Raw, &mut sink, workspace)?;
        let Some((trailer, next)) = rest[n..].split_first_chunk::<8>() else {
            return Err(sink::truncated(codec));
        };
        let member = &sink.written()[start..];
        let (crc, len) = trailer.split_at(4);
        if len != (member.len() as u32).to_le_bytes() {
            return Err(CodecError::corrupt(
                codec,
                "the length at the end of the member does not match the content",
            ));
        }
        if crc != crc32(member).to_le_bytes() {
            return Err(CodecError::corrupt(
                codec,
                "the CRC-32 does not match the content",
            ));
        }
        if next.iter().all(|&byte| byte == 0) {
            return sink.finish();
        }
        rest = next;
    }
}

/// Decodes a value that is one member, with its trailer at the very end, and fills `out`; returns
/// true if it did.
fn one_member(codec: &'static str, src: &[u8], out: &mut [u8], workspace: &mut Workspace) -> bool {
    let Some((stream, trailer)) = split_member(codec, src) else {
        return false;
    };
    len_matches(trailer, out)
        && deflate::inflater(workspace).fill(stream, Container::Raw, out)
        && crc_matches(trailer, out)
}

/// Decodes two values at once as [`one_member`] does; returns true if it did, which is only where
/// that is faster.
pub(crate) fn two_members(
    codec: &'static str,
    src: [&[u8]; 2],
    mut out: [&mut [u8]; 2],
    workspace: &mut Workspace,
) -> bool {
    let [Some((stream_a, trailer_a)), Some((stream_b, trailer_b))] =
        src.map(|src| split_member(codec, src))
    else {
        return false;
    };
    len_matches(trailer_a, out[0])
        && len_matches(trailer_b, out[1])
        && deflate::inflater(workspace).fill_two(
            [stream_a, stream_b],
            Container::Raw,
            out.each_mut().map(|out| &mut **out),
        )
        && crc_matches(trailer_a, out[0])
        && crc_matches(trailer_b, out[1])
}

/// Splits a value that is one member, after its header, into the stream and the trailer.
fn split_member<'s>(codec: &'static str, src: &'s [u8]) -> Option<(&'s [u8], &'s [u8; 8])> {
    src[header_len(codec, src).ok()?..].split_last_chunk()
}

fn len_matches(trailer: &[u8; 8], out: &[u8]) -> bool {
    trailer[4..] == (out.len() as u32).to_le_bytes()
}

fn crc_matches(trailer: &[u8; 8], out: &[u8]) -> bool {
    trailer[..4] == crc32(out).to_le_bytes()
}

/// Encodes one member, without a time.
pub(crate) fn encode(
    codec: &'static str,
    src: &[u8],
    level: i32,
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), CodecError> {
    dst.clear();
    dst.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
    deflate::append(codec, src, level, Container::Raw, dst, workspace)?;
    dst.extend_from_slice(&crc32(src).to_le_bytes());
    dst.extend_from_slice(&(src.len() as u32).to_le_bytes());
    Ok(())
}

/// Checks the header at the start of `src`; returns its length.
fn header_len(codec: &'static str, src: &[u8]) -> Result<usize, CodecError> {
    let truncated = || sink::truncated(codec);
    let fixed = src.first_chunk::<10>().ok_or_else(truncated)?;
    if fixed[..2] != [0x1f, 0x8b] {
        return Err(CodecError::corrupt(
            codec,
            "not a gzip member (it does not begin with 1f 8b)",
        ));
    }
    if fixed[2] != 8 {
        return Err(CodecError::corrupt(
            codec,
            format!("unknown compression method {}", fixed[2]),
        ));
    }
    let flags = fixed[3];
    if flags & RESERVED != 0 {
        return Err(CodecError::corrupt(
            codec,
            format!("unknown flags {flags:#04x}"),
        ));
    }
    let mut position = fixed.len();
    if flags & HAS_EXTRA != 0 {
        let len = src
            .get(position..)
            .and_then(<[u8]>::first_chunk)
            .ok_or_else(truncated)?;
        position += 2 + usize::from(u16::from_le_bytes(*len));
    }
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let text = src.get(position..).ok_or_else(truncated)?;
            position += text
                .iter()
                .position(|&byte| byte == 0)
                .ok_or_else(truncated)?
                + 1;
        }
    }
    if flags & HAS_CRC != 0 {
        let header = src.get(..position).ok_or_else(truncated)?;
        let crc: &[u8; 2] = src[position..].first_chunk().ok_or_else(truncated)?;
        if *crc != (crc32(header) as u16).to_le_bytes() {
            return Err(CodecError::corrupt(
                codec,
                "the CRC-16 does not match the header",
            ));
        }
        position += 2;
    }
    if position > src.len() {
        return Err(truncated());
    }
    Ok(position)
}
