//! `NewShard`: builds the bytes of a shard, in memory or under the lock of its key.

use std::ops::Range;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;
use ndzarr_codec::{CodecChain, CodecError, ShardBuilder, Sharding};
use ndzarr_store::{Fetched, Of, Pin, Want};

use crate::error::bad_answer;
use crate::threads::scratch::with_workspace;
use crate::threads::turn::Turn;
use crate::writing::key_change::KeyChange;
use crate::{EngineCause, FillChunks};

/// Parts of fewer bytes are combined.
const SMALL: usize = 64 << 10;

/// Combined parts have about this many bytes.
const COMBINED: usize = 1 << 20;

/// A shard under construction.
pub(crate) struct NewShard<'l> {
    sharding: Arc<Sharding>,
    builder: ShardBuilder,
    out: Out<'l>,
    old: OldShard,
    /// The range of the old shard to be copied next, and its destination.
    run: Range<u64>,
    run_at: u64,
    /// How many bytes of the old shard may still be copied: index entries may repeat the same
    /// bytes, and together exceed the size of a shard.
    may_keep: u64,
}

/// The destination of its bytes.
pub(crate) enum Out<'l> {
    /// Parts; the last ones are small and still being combined.
    Memory { parts: Vec<Bytes>, small: Vec<u8> },
    /// The value that the lock publishes. At most this many old bytes are copied at once.
    Locked {
        turn: &'l mut Turn,
        copied_at_once: u64,
    },
}

/// The stored shard.
pub(crate) enum OldShard {
    None,
    InMemory(Bytes),
    /// Read under the lock, as needed.
    Pinned(Pin),
    /// Only the inner chunks that stay, in their order.
    Kept(vec::IntoIter<Bytes>),
}

impl<'l> NewShard<'l> {
    /// A shard of this shape, along the axes of the array.
    pub(crate) fn new(
        chain: &CodecChain,
        sharding: &Arc<Sharding>,
        shape: &[u64],
        out: Out<'l>,
        old: OldShard,
    ) -> Result<Self, EngineCause> {
        let builder = ShardBuilder::new(sharding.layout(&chain.stored(shape)))?;
        let may_keep = chain.encoded_limit(shape);
        Ok(Self {
            sharding: Arc::clone(sharding),
            builder,
            out,
            old,
            run: 0..0,
            run_at: 0,
            may_keep,
        })
    }

    /// The next inner chunk is not stored.
    pub(crate) fn skip(&mut self) {
        self.builder.skip();
    }

    /// Adds the next inner chunk, encoded.
    pub(crate) fn add(&mut self, encoded: Vec<u8>) -> Result<(), EngineCause> {
        if self.out.takes(encoded.len()) {
            return self.add_part(encoded.into());
        }
        let at = self.place(encoded.len())?;
        self.out.write(at, &encoded)?;
        with_workspace(|workspace| workspace.give_bytes(encoded));
        Ok(())
    }

    /// Adds the next inner chunk, encoded, as bytes that others may share.
    pub(crate) fn add_part(&mut self, encoded: Bytes) -> Result<(), EngineCause> {
        let at = self.place(encoded.len())?;
        self.out.write_part(at, encoded)
    }

    fn place(&mut self, len: usize) -> Result<u64, EngineCause> {
        self.flush()?;
        Ok(self.builder.add(len as u64)?)
    }

    /// The next inner chunk stays as stored, at this range of the old shard.
    pub(crate) fn keep(&mut self, range: Range<u64>) -> Result<(), EngineCause> {
        let len = range.end - range.start;
        self.may_keep = self.may_keep.checked_sub(len).ok_or_else(|| {
            let what = "the inner chunks together are too large for the shape of the shard";
            CodecError::corrupt("sharding_indexed", what)
        })?;
        if let OldShard::Kept(parts) = &mut self.old {
            let part = parts
                .next()
                .filter(|part| part.len() as u64 == len)
                .ok_or_else(bad_answer)?;
            return self.add_part(part);
        }
        if self.run.is_empty() || self.run.end != range.start {
            self.flush()?;
            self.run = range.start..range.start;
        }
        let at = self.builder.add(len)?;
        if self.run.is_empty() {
            self.run_at = at;
        }
        self.run.end = range.end;
        Ok(())
    }

    /// Copies the pending range of the old shard.
    fn flush(&mut self) -> Result<(), EngineCause> {
        let mut run = std::mem::replace(&mut self.run, 0..0);
        if let (Out::Locked { turn, .. }, OldShard::Pinned(pin)) = (&mut self.out, &self.old)
            && !run.is_empty()
            && turn.copy_at(self.run_at, pin, run.clone())?
        {
            return Ok(());
        }
        let at_once = match &self.out {
            Out::Memory { .. } => u64::MAX,
            Out::Locked { copied_at_once, .. } => *copied_at_once,
        };
        while !run.is_empty() {
            let end = run.end.min(run.start.saturating_add(at_once));
            let part = self.old(run.start..end)?;
            self.out.write_part(self.run_at, part)?;
            self.run_at += end - run.start;
            run.start = end;
        }
        Ok(())
    }

    /// Bytes of the old shard to which its index belongs.
    pub(crate) fn old(&mut self, range: Range<u64>) -> Result<Bytes, EngineCause> {
        let len = range.end - range.start;
        match (&self.old, &mut self.out) {
            (OldShard::InMemory(value), _) => {
                Ok(value.slice(range.start as usize..range.end as usize))
            }
            (OldShard::Pinned(pin), Out::Locked { turn, .. }) => {
                match turn.fetch(Of::Snapshot(pin.clone()), Want::Ranges(vec![range]))? {
                    Fetched::Parts { parts, .. } => parts
                        .into_iter()
                        .next()
                        .filter(|part| part.len() as u64 == len)
                        .ok_or_else(bad_answer),
                    // The lock is held, so a writer without one must have changed it, in a store
                    // that keeps no old values.
                    Fetched::Missing | Fetched::Changed => Err(EngineCause::KeepsChanging),
                }
            }
            (OldShard::None | OldShard::Kept(_) | OldShard::Pinned(_), _) => Err(bad_answer()),
        }
    }

    /// Returns what to do with the key, once all inner chunks have been added.
    pub(crate) fn end(mut self, fill_chunks: FillChunks) -> Result<KeyChange, EngineCause> {
        self.flush()?;
        if fill_chunks == FillChunks::Erase && self.builder.is_empty() {
            return Ok(KeyChange::Erase);
        }
        let (at, index) = with_workspace(|workspace| self.sharding.end(self.builder, workspace))?;
        match &mut self.out {
            Out::Locked { turn, .. } => {
                turn.write_at(at, &index)?;
                Ok(KeyChange::Publish(Vec::new()))
            }
            Out::Memory { .. } => {
                self.out.end_small();
                let Out::Memory { mut parts, .. } = self.out else {
                    return Err(bad_answer());
                };
                parts.insert(if at == 0 { 0 } else { parts.len() }, index.into());
                Ok(KeyChange::Publish(parts))
            }
        }
    }
}

impl Out<'_> {
    pub(crate) fn memory() -> Self {
        Self::Memory {
            parts: Vec::new(),
            small: Vec::new(),
        }
    }

    /// True if it keeps a part of this length without copying.
    fn takes(&self, len: usize) -> bool {
        matches!(self, Self::Memory { .. }) && len >= SMALL
    }

    fn write_part(&mut self, at: u64, part: Bytes) -> Result<(), EngineCause> {
        if !self.takes(part.len()) {
            return self.write(at, &part);
        }
        self.end_small();
        if let Self::Memory { parts, .. } = self {
            parts.push(part);
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), EngineCause> {
        match self {
            Self::Locked { turn, .. } => return turn.write_at(at, bytes),
            Self::Memory { small, .. } => small.extend_from_slice(bytes),
        }
        if matches!(self, Self::Memory { small, .. } if small.len() >= COMBINED) {
            self.end_small();
        }
        Ok(())
    }

    fn end_small(&mut self) {
        if let Self::Memory { parts, small } = self
            && !small.is_empty()
        {
            let mut small = std::mem::take(small);
            small.shrink_to_fit();
            parts.push(small.into());
        }
    }
}
