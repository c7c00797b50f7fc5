//! JSON text whose length is limited.

use std::fmt::Display;
use std::io::{self, Write};

use crate::CodecError;
use crate::memory::sink;

/// JSON text of at most `limit` bytes.
pub(super) struct Text {
    /// The name for errors.
    codec: &'static str,
    bytes: Vec<u8>,
    limit: usize,
}

impl Text {
    pub(super) fn new(codec: &'static str, limit: usize) -> Self {
        Self {
            codec,
            bytes: Vec::new(),
            limit,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn push(&mut self, part: &[u8]) -> Result<(), CodecError> {
        if part.len() > self.limit - self.bytes.len() {
            return Err(sink::too_long(self.codec, self.limit));
        }
        sink::reserve(&mut self.bytes, part.len())?;
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    pub(super) fn put(&mut self, value: impl Display) -> Result<(), CodecError> {
        let result = write!(self, "{value}");
        result.map_err(|error| self.error(error))
    }

    /// Appends a string, in quotes.
    pub(super) fn put_string(&mut self, text: &str) -> Result<(), CodecError> {
        let result = serde_json::to_writer(&mut *self, text);
        result.map_err(|error| self.error(error.into()))
    }

    /// Lets `write` append text. The limit is checked afterwards, so `write` must not append much
    /// more than it reads.
    pub(super) fn append(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        write(&mut self.bytes)?;
        if self.bytes.len() > self.limit {
            return Err(sink::too_long(self.codec, self.limit));
        }
        Ok(())
    }

    /// The error of [`push`](Self::push) inside an error of writing.
    fn error(&self, error: io::Error) -> CodecError {
        error
            .downcast()
            .unwrap_or_else(|error| CodecError::corrupt(self.codec, error))
    }
}

impl Write for Text {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.push(part).map_err(io::Error::other)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
