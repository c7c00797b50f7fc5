//! numcodecs' MsgPack: the same lists as json2, but in MessagePack. Elements are returned as JSON
//! text; a byte string, which JSON does not have, as `{"$bytes": [1, 2, 3]}`.

use std::fmt::Display;

use ndzarr_json::JsonText;

use super::nested::{Step, walk};
use super::text::Text;
use crate::{CodecError, VlenSlot};

const NAME: &str = "msgpack2";

/// The only member of the object that stands for a byte string.
const BYTES: &str = "$bytes";

/// A limit for the texts of the type and of a length of the shape, in bytes.
const TAIL_LIMIT: usize = 64;

pub(super) fn decode(
    payload: &[u8],
    shape: &[u64],
    slots: &mut Vec<VlenSlot>,
    out: &mut Text,
) -> Result<(), CodecError> {
    let mut reader = Reader { rest: payload };
    let expect_list = |reader: &mut Reader<'_>, n: u64| match reader.list()? {
        Some(len) if len == n => Ok(()),
        _ => Err(corrupt(format!(
            "a list of {n} was expected, as the shape {shape:?} has it"
        ))),
    };
    expect_list(
        &mut reader,
        shape.first().copied().unwrap_or(1).saturating_add(2),
    )?;
    walk(NAME, shape, &mut |step| {
        match step {
            Step::Open(n) => expect_list(&mut reader, n)?,
            Step::Element => {
                let start = out.len();
                reader.value(out, JsonText::MAX_DEPTH)?;
                slots.push(VlenSlot {
                    start,
                    len: out.len() - start,
                });
            }
            Step::Close => {}
        }
        Ok::<_, CodecError>(())
    })?;
    let mut tail = Text::new(NAME, TAIL_LIMIT);
    reader.value(&mut tail, 1)?;
    if tail.bytes() != b"\"|O\"" {
        return Err(corrupt(format!(
            "elements of type {}",
            String::from_utf8_lossy(tail.bytes())
        )));
    }
    expect_list(&mut reader, shape.len() as u64)?;
    for n in shape {
        tail.clear();
        reader.value(&mut tail, 1)?;
        if tail.bytes() != n.to_string().as_bytes() {
            return Err(corrupt(format!("a shape other than {shape:?}")));
        }
    }
    if reader.rest.is_empty() {
        Ok(())
    } else {
        Err(corrupt("goes on after the shape"))
    }
}

fn corrupt(what: impl ToString) -> CodecError {
    CodecError::corrupt(NAME, what)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: u64) -> Result<&'a [u8], CodecError> {
        let n = usize::try_from(n).ok().filter(|&n| n <= self.rest.len());
        let (head, tail) = self.rest.split_at(n.ok_or_else(|| corrupt("ends early"))?);
        self.rest = tail;
        Ok(head)
    }

    /// A big-endian number of `n` bytes.
    fn number(&mut self, n: u64) -> Result<u64, CodecError> {
        Ok(self
            .take(n)?
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The length of a list, if one is next.
    fn list(&mut self) -> Result<Option<u64>, CodecError> {
        let tag = *self.rest.first().ok_or_else(|| corrupt("ends early"))?;
        let width = match tag {
            0x90..=0x9f => 0,
            0xdc => 2,
            0xdd => 4,
            _ => return Ok(None),
        };
        self.take(1)?;
        Ok(Some(if width == 0 {
            u64::from(tag & 0xf)
        } else {
            self.number(width)?
        }))
    }

    /// Appends one value as JSON text.
    fn value(&mut self, out: &mut Text, depth_left: usize) -> Result<(), CodecError> {
        if let Some(n) = self.list()? {
            let depth_left = deeper(depth_left)?;
            out.push(b"[")?;
            for i in 0..n {
                if i > 0 {
                    out.push(b",")?;
                }
                self.value(out, depth_left)?;
            }
            return out.push(b"]");
        }
        let tag = self.number(1)?;
        match tag {
            0x00..=0x7f => out.put(tag),
            0x80..=0x8f => self.map(out, tag & 0xf, depth_left),
            0xa0..=0xbf => self.text(out, tag & 0x1f),
            0xc0 => out.push(b"null"),
            0xc2 => out.push(b"false"),
            0xc3 => out.push(b"true"),
            0xc4..=0xc6 => {
                let n = self.number(1 << (tag - 0xc4))?;
                out.put(format_args!("{{\"{BYTES}\":["))?;
                for (i, byte) in self.take(n)?.iter().enumerate() {
                    if i > 0 {
                        out.push(b",")?;
                    }
                    out.put(byte)?;
                }
                out.push(b"]}")
            }
            #[allow(clippy::cast_possible_truncation)]
            0xca => put_float(out, f64::from(f32::from_bits(self.number(4)? as u32))),
            0xcb => put_float(out, f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => {
                let number = self.number(1 << (tag - 0xcc))?;
                out.put(number)
            }
            0xd0..=0xd3 => {
                let width = 1 << (tag - 0xd0);
                let unused = 64 - 8 * u32::try_from(width).unwrap_or(8);
                let number = self.number(width)?;
                out.put((number << unused).cast_signed() >> unused)
            }
            0xd9..=0xdb => {
                let n = self.number(1 << (tag - 0xd9))?;
                self.text(out, n)
            }
            0xde | 0xdf => {
                let n = self.number(if tag == 0xde { 2 } else { 4 })?;
                self.map(out, n, depth_left)
            }
            0xe0..=0xff => out.put(i64::try_from(tag).unwrap_or(0) - 0x100),
            _ => Err(corrupt(format!(
                "a value of type {tag:#x}, which JSON cannot hold"
            ))),
        }
    }

    fn text(&mut self, out: &mut Text, n: u64) -> Result<(), CodecError> {
        let text =
            std::str::from_utf8(self.take(n)?).map_err(|_| corrupt("text that is not UTF-8"))?;
        out.put_string(text)
    }

    fn map(&mut self, out: &mut Text, n: u64, depth_left: usize) -> Result<(), CodecError> {
        let depth_left = deeper(depth_left)?;
        out.push(b"{")?;
        for i in 0..n {
            if i > 0 {
                out.push(b",")?;
            }
            let start = out.len();
            self.value(out, 0)?;
            if out.bytes()[start] != b'"' {
                return Err(corrupt(
                    "a map with a key that is not a string, which JSON cannot hold",
                ));
            }
            out.push(b":")?;
            self.value(out, depth_left)?;
        }
        out.push(b"}")
    }
}

fn deeper(depth_left: usize) -> Result<usize, CodecError> {
    depth_left
        .checked_sub(1)
        .ok_or_else(|| corrupt("nested too deep"))
}

fn put_float(out: &mut Text, float: f64) -> Result<(), CodecError> {
    if float.is_nan() {
        out.put("NaN")
    } else if float.is_infinite() {
        out.put(if float > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        out.put(format_args!("{float:?}"))
    }
}

pub(super) fn encode(
    slots: &[VlenSlot],
    bytes: &[u8],
    shape: &[u64],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let mut elements = slots.iter();
    let mut text = Vec::new();
    put_list(out, shape.first().copied().unwrap_or(1).saturating_add(2))?;
    walk(NAME, shape, &mut |step| {
        match step {
            Step::Open(n) => put_list(out, n)?,
            Step::Close => {}
            Step::Element => {
                text.clear();
                let element = elements.next().map_or(&b"null"[..], |slot| slot.of(bytes));
                JsonText::canonical(element, &mut text)
                    .map_err(|error| CodecError::encode(NAME, error))?;
                Json { rest: &text }.value(out)?;
            }
        }
        Ok::<_, CodecError>(())
    })?;
    put_text(out, "|O")?;
    put_list(out, shape.len() as u64)?;
    shape
        .iter()
        .try_for_each(|&n| put_integer(out, i128::from(n)))
}

/// Reads canonical JSON text, which is known to be valid.
struct Json<'a> {
    rest: &'a [u8],
}

impl<'a> Json<'a> {
    fn eat(&mut self, token: &[u8]) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        if self.eat(b"[") {
            let (n, items) = self.items(b"]", false)?;
            put_list(out, n)?;
            out.extend_from_slice(&items);
        } else if self.eat(b"{") {
            let start = self.rest;
            let (n, items) = self.items(b"}", true)?;
            if let Some(bytes) = byte_string(&start[..start.len() - self.rest.len() - 1]) {
                put_sized(out, bytes.len() as u64, [0xc4, 0xc5, 0xc6])?;
                out.extend_from_slice(&bytes);
                return Ok(());
            }
            match u8::try_from(n) {
                Ok(n) if n < 16 => out.push(0x80 | n),
                _ => put_sized(out, n, [0, 0xde, 0xdf])?,
            }
            out.extend_from_slice(&items);
        } else if self.rest.starts_with(b"\"") {
            put_text(out, &self.string()?)?;
        } else {
            self.scalar(out)?;
        }
        Ok(())
    }

    fn items(&mut self, close: &[u8], named: bool) -> Result<(u64, Vec<u8>), CodecError> {
        let mut n = 0;
        let mut items = Vec::new();
        while !self.eat(close) {
            self.eat(b",");
            if named {
                put_text(&mut items, &self.string()?)?;
                self.eat(b":");
            }
            self.value(&mut items)?;
            n += 1;
        }
        Ok((n, items))
    }

    fn string(&mut self) -> Result<String, CodecError> {
        let mut end = 1;
        while end < self.rest.len() && self.rest[end] != b'"' {
            end += if self.rest[end] == b'\\' { 2 } else { 1 };
        }
        let (token, rest) = self.rest.split_at((end + 1).min(self.rest.len()));
        self.rest = rest;
        serde_json::from_slice(token).map_err(|error| CodecError::encode(NAME, error))
    }

    fn scalar(&mut self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let len = self
            .rest
            .iter()
            .position(|b| matches!(b, b',' | b']' | b'}'))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(len);
        self.rest = rest;
        let token = String::from_utf8_lossy(token);
        let constants = [("null", 0xc0), ("false", 0xc2), ("true", 0xc3)];
        if let Some((_, tag)) = constants.iter().find(|(text, _)| *text == token) {
            out.push(*tag);
            return Ok(());
        }
        let float = match &*token {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            token if token.contains(['.', 'e', 'E']) => parse_float(token)?,
            integer => {
                let parsed = integer.parse().map_err(|_| beyond_64_bits(integer))?;
                return put_integer(out, parsed);
            }
        };
        out.push(0xcb);
        out.extend_from_slice(&float.to_bits().to_be_bytes());
        Ok(())
    }
}

fn parse_float(token: &str) -> Result<f64, CodecError> {
    let float: f64 = token
        .parse()
        .map_err(|error| CodecError::encode(NAME, error))?;
    if float.is_finite() {
        return Ok(float);
    }
    let what = format!("the number {token} is too large for a float of 64 bits");
    Err(CodecError::encode(NAME, what))
}

/// The byte string represented by the members of an object.
fn byte_string(members: &[u8]) -> Option<Vec<u8>> {
    let list = members.strip_prefix(b"\"$bytes\":")?;
    serde_json::from_slice(list).ok()
}

fn put_list(out: &mut Vec<u8>, n: u64) -> Result<(), CodecError> {
    match u8::try_from(n) {
        Ok(n) if n < 16 => {
            out.push(0x90 | n);
            Ok(())
        }
        _ => put_sized(out, n, [0, 0xdc, 0xdd]),
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<(), CodecError> {
    match u8::try_from(text.len()) {
        Ok(n) if n < 32 => out.push(0xa0 | n),
        _ => put_sized(out, text.len() as u64, [0xd9, 0xda, 0xdb])?,
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A size after the tag for its width of 1, 2 or 4 bytes; 0 means that there is no such tag.
fn put_sized(out: &mut Vec<u8>, n: u64, tags: [u8; 3]) -> Result<(), CodecError> {
    let n = u32::try_from(n)
        .map_err(|_| CodecError::encode(NAME, format!("{n} are more than a u32 can count")))?;
    let bytes = n.to_be_bytes();
    let width = match n {
        0..=0xff if tags[0] != 0 => 0,
        0..=0xffff => 1,
        _ => 2,
    };
    out.push(tags[width]);
    out.extend_from_slice(&bytes[4 - (1 << width)..]);
    Ok(())
}

/// An integer in the fewest bytes possible.
fn put_integer(out: &mut Vec<u8>, integer: i128) -> Result<(), CodecError> {
    let width = |fits: &dyn Fn(u32) -> bool| (0..3).find(|&width| fits(8 << width)).unwrap_or(3);
    if let Ok(n) = u64::try_from(integer) {
        if n < 0x80 {
            out.extend_from_slice(&n.to_be_bytes()[7..]);
            return Ok(());
        }
        let width = width(&|bits| n >> bits == 0);
        out.push(0xcc + width);
        out.extend_from_slice(&n.to_be_bytes()[8 - (1 << width)..]);
        return Ok(());
    }
    let n = i64::try_from(integer).map_err(|_| beyond_64_bits(integer))?;
    if n >= -32 {
        out.extend_from_slice(&n.to_be_bytes()[7..]);
        return Ok(());
    }
    let width = width(&|bits| n >= -(1i64 << (bits - 1)));
    out.push(0xd0 + width);
    out.extend_from_slice(&n.to_be_bytes()[8 - (1 << width)..]);
    Ok(())
}

fn beyond_64_bits(integer: impl Display) -> CodecError {
    CodecError::encode(NAME, format!("the integer {integer} has more than 64 bits"))
}
