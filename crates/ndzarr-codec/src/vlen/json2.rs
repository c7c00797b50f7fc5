//! numcodecs' JSON: a list of the elements, row by row, the type and the shape.

use std::io::Write as _;

use ndzarr_json::{JsonError, JsonText};

use super::nested::{Step, walk};
use super::text::Text;
use crate::{CodecError, VlenSlot};

const NAME: &str = "json2";

pub(super) fn decode(
    payload: &[u8],
    shape: &[u64],
    slots: &mut Vec<VlenSlot>,
    out: &mut Text,
) -> Result<(), CodecError> {
    let corrupt = |error: JsonError| CodecError::corrupt(NAME, error);
    let text = std::str::from_utf8(payload).map_err(|_| CodecError::corrupt(NAME, "not UTF-8"))?;
    let mut text = JsonText::new(text);
    text.require(b'[', "a list was expected").map_err(corrupt)?;
    // For every open list: true if it has an item already, so that a comma comes before the next.
    let mut has_items = vec![false];
    walk(NAME, shape, &mut |step| {
        if !matches!(step, Step::Close)
            && let Some(has_items) = has_items.last_mut()
            && std::mem::replace(has_items, true)
        {
            text.require(b',', "a list of the chunk's shape was expected")
                .map_err(corrupt)?;
        }
        match step {
            Step::Open(_) => {
                text.require(b'[', "a list of the chunk's shape was expected")
                    .map_err(corrupt)?;
                has_items.push(false);
            }
            Step::Element => {
                let start = out.len();
                out.append(|bytes| text.value(bytes).map_err(corrupt))?;
                slots.push(VlenSlot {
                    start,
                    len: out.len() - start,
                });
            }
            Step::Close => {
                text.require(b']', "a list is longer than the chunk")
                    .map_err(corrupt)?;
                has_items.pop();
            }
        }
        Ok::<_, CodecError>(())
    })?;
    let mut end = Vec::new();
    for what in ["the type is missing", "the shape is missing"] {
        if has_items.last() == Some(&true) {
            text.require(b',', what).map_err(corrupt)?;
            end.push(b',');
        }
        has_items = vec![true];
        text.value(&mut end).map_err(corrupt)?;
    }
    text.require(b']', "the outer list is longer than its shape")
        .map_err(corrupt)?;
    text.end().map_err(corrupt)?;
    let expected = tail(shape);
    if end.trim_ascii_start().strip_prefix(b",").unwrap_or(&end) != expected.as_bytes() {
        let what = format!(
            "ends with {:?} where {expected:?} was expected",
            String::from_utf8_lossy(&end)
        );
        return Err(CodecError::corrupt(NAME, what));
    }
    Ok(())
}

pub(super) fn encode(
    slots: &[VlenSlot],
    bytes: &[u8],
    shape: &[u64],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let mut elements = slots.iter();
    out.push(b'[');
    walk(NAME, shape, &mut |step| {
        if !matches!(step, Step::Close) && !out.ends_with(b"[") {
            out.push(b',');
        }
        match step {
            Step::Open(_) => out.push(b'['),
            Step::Close => out.push(b']'),
            Step::Element => {
                let element = elements.next().map_or(&b"null"[..], |slot| slot.of(bytes));
                JsonText::canonical(element, out)
                    .map_err(|error| CodecError::encode(NAME, error))?;
            }
        }
        Ok::<_, CodecError>(())
    })?;
    if !out.ends_with(b"[") {
        out.push(b',');
    }
    write!(out, "{}]", tail(shape)).map_err(|error| CodecError::encode(NAME, error))
}

/// The type and the shape, which follow the elements.
fn tail(shape: &[u64]) -> String {
    let lens: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("\"|O\",[{}]", lens.join(","))
}
