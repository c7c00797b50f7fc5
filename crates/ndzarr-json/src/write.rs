//! Writes JSON values, compact or indented.

use std::fmt::{self, Write};

use crate::{Json, JsonString};

/// The compact JSON text.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self, None)
    }
}

impl Json<'_> {
    /// The JSON text with a line for each item and member, indented by two spaces per level.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write(&mut text, self, Some(0));
        text
    }
}

/// `level` is the level of the value if lines are indented.
fn write(out: &mut impl Write, value: &Json<'_>, level: Option<usize>) -> fmt::Result {
    let inner = level.map(|level| level + 1);
    match value {
        Json::Null => out.write_str("null"),
        Json::Bool(value) => write!(out, "{value}"),
        Json::Number(text) => out.write_str(text),
        Json::String(text) => string(out, text),
        Json::Array(items) if items.is_empty() => out.write_str("[]"),
        Json::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                out.write_char(if i == 0 { '[' } else { ',' })?;
                line(out, inner)?;
                write(out, item, inner)?;
            }
            line(out, level)?;
            out.write_char(']')
        }
        Json::Object(members) if members.is_empty() => out.write_str("{}"),
        Json::Object(members) => {
            for (i, (name, item)) in members.texts().enumerate() {
                out.write_char(if i == 0 { '{' } else { ',' })?;
                line(out, inner)?;
                string(out, name)?;
                out.write_str(if inner.is_some() { ": " } else { ":" })?;
                write(out, item, inner)?;
            }
            line(out, level)?;
            out.write_char('}')
        }
    }
}

fn line(out: &mut impl Write, level: Option<usize>) -> fmt::Result {
    match level {
        Some(level) => write!(out, "\n{:1$}", "", 2 * level),
        None => Ok(()),
    }
}

fn string(out: &mut impl Write, text: &JsonString<'_>) -> fmt::Result {
    if let Some(token) = text.unpaired() {
        return out.write_str(token);
    }
    let is_plain = text
        .bytes()
        .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if is_plain {
        return write!(out, "\"{}\"", &**text);
    }
    // serde_json escapes the text.
    out.write_str(&serde_json::to_string(&**text).map_err(|_| fmt::Error)?)
}
