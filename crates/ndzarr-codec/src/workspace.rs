//! Scratch memory and codec contexts that one thread reuses from chunk to chunk.

use std::any::{Any, TypeId};
use std::collections::HashMap;

/// Scratch memory and codec contexts of one thread, kept from chunk to chunk.
#[derive(Default)]
pub struct Workspace {
    buffers: Vec<Buffer>,
    /// Growing memory for values between two codecs.
    bytes: Vec<Vec<u8>>,
    contexts: HashMap<TypeId, Box<dyn Any + Send>>,
}

/// A block of scratch memory that is aligned for every element type.
#[derive(Debug, Default)]
pub struct Buffer {
    words: Vec<u128>,
    byte_len: usize,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Workspace({} buffers, {} contexts)",
            self.buffers.len(),
            self.contexts.len()
        )
    }
}

/// Scratch memory beyond this many bytes is returned to the allocator.
const KEPT_BYTES: usize = 64 << 20;

impl Workspace {
    /// An empty workspace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory of `byte_len` bytes with unspecified content.
    ///
    /// # Errors
    /// The allocator does not have this much; the error has the size.
    pub fn take(&mut self, byte_len: usize) -> Result<Buffer, OutOfMemory> {
        let words = byte_len.div_ceil(16);
        // The smallest buffer that is large enough, or else the largest, which is then replaced.
        let len = |buffer: &Buffer| buffer.words.len();
        let fitting = (0..self.buffers.len()).filter(|&i| len(&self.buffers[i]) >= words);
        let best = fitting.min_by_key(|&i| len(&self.buffers[i]));
        let best = best.or_else(|| (0..self.buffers.len()).max_by_key(|&i| len(&self.buffers[i])));
        let mut buffer = best
            .map(|i| self.buffers.swap_remove(i))
            .unwrap_or_default();
        if words > buffer.words.len() {
            // The allocator zeroes lazily: memory that is never written to costs nothing.
            buffer.words = Vec::new();
            buffer.words = bytemuck::allocation::try_zeroed_vec(words)
                .map_err(|()| OutOfMemory { byte_len })?;
        }
        buffer.byte_len = byte_len;
        Ok(buffer)
    }

    /// Takes memory back for reuse.
    pub fn give(&mut self, buffer: Buffer) {
        if self.buffers.len() < 8 && buffer.words.capacity() * 16 <= KEPT_BYTES {
            self.buffers.push(buffer);
        }
    }

    /// An empty vector, with the capacity from its earlier use.
    #[must_use]
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let mut bytes = self.bytes.pop().unwrap_or_default();
        bytes.clear();
        bytes
    }

    /// A vector of `byte_len` bytes with unspecified content.
    ///
    /// # Errors
    /// The allocator does not have this much; the error has the size.
    pub fn take_filled(&mut self, byte_len: usize) -> Result<Vec<u8>, OutOfMemory> {
        let mut bytes = self.bytes.pop().unwrap_or_default();
        if byte_len > bytes.capacity() {
            bytes = bytemuck::allocation::try_zeroed_vec(byte_len)
                .map_err(|()| OutOfMemory { byte_len })?;
        }
        bytes.resize(byte_len, 0);
        Ok(bytes)
    }

    /// Takes a vector back for reuse.
    pub fn give_bytes(&mut self, bytes: Vec<u8>) {
        let kept: usize = self.bytes.iter().map(Vec::capacity).sum();
        if self.bytes.len() < 8 && kept + bytes.capacity() <= KEPT_BYTES {
            self.bytes.push(bytes);
        }
    }

    /// This thread's context of type `C`, made at the first use.
    pub fn context<C: Any + Send>(&mut self, make: impl FnOnce() -> C) -> &mut C {
        let context = self
            .contexts
            .entry(TypeId::of::<C>())
            .or_insert_with(|| Box::new(make()));
        context
            .downcast_mut()
            .expect("the entry of a type's id holds that type")
    }
}

impl Buffer {
    /// Fresh memory, which the allocator zeroes lazily.
    pub(crate) fn new(byte_len: usize) -> Result<Self, OutOfMemory> {
        let words = bytemuck::allocation::try_zeroed_vec(byte_len.div_ceil(16))
            .map_err(|()| OutOfMemory { byte_len })?;
        Ok(Self { words, byte_len })
    }

    /// The memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.byte_len]
    }

    /// The memory.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.byte_len]
    }
}

/// The allocator has no memory for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Size of the buffer in bytes.
    pub byte_len: usize,
}
