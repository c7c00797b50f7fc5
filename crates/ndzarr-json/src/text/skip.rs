//! Skips text without taking its values.

use std::ops::Range;

use super::stops::{BRACKETS, VALUE_STOPS};
use super::{JsonError, JsonText};

impl JsonText<'_> {
    /// True if brackets outside of strings are nested deeper than this many levels. The text need
    /// not be JSON.
    #[must_use]
    pub fn is_deeper(bytes: &[u8], levels: usize) -> bool {
        let mut text = JsonText::of_bytes(bytes);
        let mut depth = 0usize;
        while let Ok(opens) = text.next_bracket() {
            depth = if opens {
                depth + 1
            } else {
                depth.saturating_sub(1)
            };
            if depth > levels {
                return true;
            }
        }
        false
    }

    /// Skips a value; returns its range in bytes. Checks only that its strings and brackets close.
    ///
    /// # Errors
    /// No value follows, or it ends early.
    pub fn skip(&mut self) -> Result<Range<usize>, JsonError> {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.skip_string()?,
            Some(b'{' | b'[') => {
                let mut depth = 0usize;
                loop {
                    depth = if self.next_bracket()? {
                        depth + 1
                    } else {
                        depth - 1
                    };
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => self.skip_to(&VALUE_STOPS),
        }
        if self.at > start {
            Ok(start..self.at)
        } else {
            Err(self.error("a value was expected"))
        }
    }

    /// Skips a string, whatever its content.
    pub(super) fn skip_string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            match rest.iter().position(|&byte| byte == b'"' || byte == b'\\') {
                None => return Err(self.error("a string ends early")),
                Some(n) if rest[n] == b'"' => {
                    self.at += n + 1;
                    return Ok(());
                }
                Some(n) => self.at += n + 2,
            }
        }
    }

    /// Skips everything up to and including the next bracket. Returns true if that opens.
    fn next_bracket(&mut self) -> Result<bool, JsonError> {
        loop {
            self.skip_to(&BRACKETS);
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(bracket) => {
                    self.at += 1;
                    return Ok(matches!(bracket, b'{' | b'['));
                }
                None => return Err(self.error("a value ends early")),
            }
        }
    }

    /// Skips everything up to the first of these bytes.
    pub(super) fn skip_to(&mut self, stops: &[bool; 256]) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest
            .iter()
            .position(|&byte| stops[usize::from(byte)])
            .unwrap_or(rest.len());
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            ("{\"[[\\\"[[\":[1]}", 2),
            ("[[1],[2],[[3]]]", 3),
            ("\"\\\\\"[[", 2),
        ] {
            assert!(!JsonText::is_deeper(text.as_bytes(), depth), "{text}");
            assert!(
                depth == 0 || JsonText::is_deeper(text.as_bytes(), depth - 1),
                "{text}"
            );
        }
    }
}
