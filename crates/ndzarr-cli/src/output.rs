//! Prints lines of text without control characters, or JSON.

pub(crate) mod copies;
pub(crate) mod describe;
pub(crate) mod image;
pub(crate) mod picture;
pub(crate) mod progress;

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use serde_json::Value;

use crate::arguments::{ColorWhen, Global};
use crate::failure::Failure;

/// Standard output, in the form that the global arguments ask for.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    color: bool,
}

/// The colour of a part of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Bad,
    Group,
    Label,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let out = io::stdout().lock();
        let color = wants_color(global.color, out.is_terminal());
        Self {
            out: BufWriter::new(out),
            json: global.json,
            color,
        }
    }

    /// True if JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// True if colours are wanted.
    pub(crate) fn color(&self) -> bool {
        self.color
    }

    /// Prints a line of text.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{}", harmless(text.as_ref()))?)
    }

    /// Prints a part of a line, in a colour.
    pub(crate) fn painted(&mut self, paint: Paint, text: &str) -> Result<(), Failure> {
        let text = harmless(text);
        if !self.color {
            return Ok(write!(self.out, "{text}")?);
        }
        let code = match paint {
            Paint::Bad => 31,
            Paint::Group => 34,
            Paint::Label => 2,
        };
        Ok(write!(self.out, "\x1b[{code}m{text}\x1b[0m")?)
    }

    /// Prints a line of JSON.
    pub(crate) fn value(&mut self, value: &Value) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{value}")?)
    }

    /// The stream itself, for the bytes of elements and pictures.
    pub(crate) fn raw(&mut self) -> &mut impl Write {
        &mut self.out
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// True if text is coloured. `NO_COLOR` counts if it is not empty, as <https://no-color.org> says.
pub(crate) fn wants_color(when: ColorWhen, is_terminal: bool) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

/// The text with escaped control characters, which a terminal would obey, and escaped characters
/// that reverse the direction of text: attributes and names may come from strangers.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        (c.is_control() && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_harmful(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_17_control_characters_are_escaped() {
        assert_eq!(harmless("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(harmless("a\u{9b}2J\n\r"), "a\\u{9b}2J\\n\\r");
        assert_eq!(harmless("\u{202e}gnp"), "\\u{202e}gnp");
        assert_eq!(harmless("µm\tä 🦀"), "µm\tä 🦀");
    }

    #[test]
    fn cli_02_colours_are_for_terminals() {
        assert!(!wants_color(ColorWhen::Auto, false));
        assert!(wants_color(ColorWhen::Always, false));
        assert!(!wants_color(ColorWhen::Never, true));
    }
}
