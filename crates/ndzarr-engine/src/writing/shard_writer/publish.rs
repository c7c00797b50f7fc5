//! Puts the inner chunks of a `ShardWriter` together and publishes the shard.

use std::ops::Range;

use ndzarr_codec::ShardBuilder;
use ndzarr_store::{
    Fetch, Fetched, Of, Pin, Precondition, Put, Store, StoreError, Temporary, Want,
};

use super::{InnerState, ShardWriter};
use crate::chunked::Outside;
use crate::error::no_part;
use crate::reading::chunk_read::MAX_ATTEMPTS;
use crate::reading::wanted::index_want;
use crate::threads::cancel::{Publishing, Under, check_cancel};
use crate::threads::io::{AsyncIo, BlockingIo, Io};
use crate::threads::scratch::with_workspace;
use crate::threads::turn::{Patience, Taken, Turn};
use crate::writing::key_change::KeyChange;
use crate::writing::new_shard::{NewShard, OldShard, Out};
use crate::{AnyStore, ConcurrentUpdate, EngineCause, EngineError, FillChunks};

/// About how many bytes of inner chunks that stay are copied at once.
const COPIED_AT_ONCE: u64 = 4 << 20;

impl ShardWriter {
    /// Publishes the shard. Inner chunks that were not given stay as they are at this moment: every
    /// other writer of the shard comes either before or after. A shard with nothing left is
    /// removed. Over a blocking store the future blocks its thread.
    ///
    /// `check` runs just before, under the shard's lock if the store has locks; if it fails,
    /// nothing is published.
    ///
    /// # Errors
    /// `check` fails; the stored shard is broken and part of it remains; the store fails. The old
    /// shard stays then.
    pub async fn finish<E: From<EngineError>>(
        mut self,
        check: impl AsyncFnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let store = self.store.clone();
        let options = self.options.clone();
        let turn = match &store {
            AnyStore::Blocking(store) => self.turn(&**store).map_err(|cause| self.at(cause))?,
            AnyStore::Async(_) => None,
        };
        check().await?;
        let done = match (turn, &store) {
            (Some(turn), _) => self.finish_locked(turn),
            (None, AnyStore::Blocking(store)) => {
                self.finish_on_condition(&BlockingIo::one_thread(&**store, &options))
                    .await
            }
            (None, AnyStore::Async(store)) => {
                self.finish_on_condition(&AsyncIo::new(&**store, &options))
                    .await
            }
        };
        Ok(done.map_err(|cause| self.at(cause))?)
    }

    /// The shard's lock, if the store has locks.
    fn turn(&self, store: &dyn Store) -> Result<Option<Turn>, EngineCause> {
        match Turn::take(
            store,
            &self.key,
            Patience::Wait,
            self.options.cancel.as_ref(),
        )? {
            Taken::Turn(turn) => Ok(Some(turn)),
            // It was waited for, so it is not busy.
            Taken::Busy | Taken::Unsupported => Ok(None),
        }
    }

    fn finish_locked(&mut self, mut turn: Turn) -> Result<(), EngineCause> {
        let remaining = if self.keeps_any() {
            self.remaining(turn.fetch(Of::Any, index_want(&self.layout))?)?
        } else {
            Remaining::nothing()
        };
        let is_spilled = |state: &InnerState| matches!(state, InnerState::Spilled(..));
        let is_whole = {
            let states = self.states();
            remaining.places.is_empty() && !states.holes && states.list.iter().any(is_spilled)
        };
        if let Some(temporary) = self.temporary.take_if(|_| is_whole) {
            return self.publish_spilled(temporary, turn);
        }
        // The store copies what stays, in its order: an index that a reader has stays true for it.
        let old = remaining
            .pin
            .clone()
            .map_or(OldShard::None, OldShard::Pinned);
        let out = Out::Locked {
            turn: &mut turn,
            copied_at_once: COPIED_AT_ONCE,
        };
        let change = self.fill(out, old, &remaining, self.options.fill_chunks)?;
        change.publish(turn, ())
    }

    /// Makes the spilled inner chunks the value.
    fn publish_spilled(
        &self,
        temporary: Box<dyn Temporary>,
        turn: Turn,
    ) -> Result<(), EngineCause> {
        let mut shard = ShardBuilder::new(self.layout.clone())?;
        for state in &self.states().list {
            match state {
                InnerState::Spilled(at, len) => shard.add_at(*at, *len)?,
                InnerState::NotGiven | InnerState::Empty | InnerState::Memory(_) => shard.skip(),
            }
        }
        let (at, index) = with_workspace(|workspace| {
            self.sharding()?
                .end(shard, workspace)
                .map_err(EngineCause::from)
        })?;
        if self.layout.ends_with_index() {
            temporary.append(&index)?;
        } else {
            temporary.write_at(at, &index)?;
        }
        turn.end(|lock| temporary.publish(lock).map(drop))
    }

    async fn finish_on_condition<I: Io>(&self, io: &I) -> Result<(), EngineCause> {
        let keeps = self.keeps_any();
        let mut fill_chunks = self.options.fill_chunks;
        let mut attempts = 0;
        loop {
            check_cancel(self.options.cancel.as_ref())?;
            let remaining = if keeps {
                let index = self.request(Of::Any, index_want(&self.layout));
                self.remaining(io.fetch(&index).await?)?
            } else {
                Remaining::nothing()
            };
            let only_if = match (&remaining.pin, self.options.concurrent_update) {
                (_, ConcurrentUpdate::LastWriterWins) => Precondition::None,
                _ if !keeps => Precondition::None,
                (Some(pin), _) => Precondition::Current(pin.clone()),
                (None, _) => Precondition::Absent,
            };
            let Some(old) = self.kept(io, &remaining).await? else {
                attempts += 1;
                if attempts >= MAX_ATTEMPTS {
                    return Err(EngineCause::KeepsChanging);
                }
                continue;
            };
            let change = self.fill(Out::memory(), old, &remaining, fill_chunks)?;
            let _publishing = Publishing::begin(self.options.cancel.as_ref(), Under::Nothing)?;
            match change.put(io, &self.key, only_if).await? {
                Put::Done(_) => return Ok(()),
                Put::Conflict => {}
                // It may check only the condition of a put.
                Put::Unsupported if matches!(change, KeyChange::Erase) => {
                    fill_chunks = FillChunks::Store
                }
                Put::Unsupported => return Err(EngineCause::NoLocking),
            }
        }
    }

    fn request(&self, of: Of, want: Want) -> Fetch {
        Fetch {
            key: self.key.clone(),
            of,
            want,
        }
    }

    /// The inner chunks that stay; `None` if the shard was replaced after its index was read.
    async fn kept<I: Io>(
        &self,
        io: &I,
        remaining: &Remaining,
    ) -> Result<Option<OldShard>, EngineCause> {
        let places = remaining.places.iter();
        let ranges: Vec<Range<u64>> = places.map(|(_, range)| range.clone()).collect();
        if ranges.is_empty() {
            return Ok(Some(OldShard::None));
        }
        let of = remaining.pin.clone().map_or(Of::Any, Of::Snapshot);
        let fetched = io.fetch(&self.request(of, Want::Ranges(ranges))).await?;
        Ok(match fetched {
            Fetched::Parts { parts, .. } => Some(OldShard::Kept(parts.into_iter())),
            Fetched::Missing | Fetched::Changed => None,
        })
    }

    /// Puts all inner chunks into the value. Remaining ones come from `old`.
    fn fill(
        &self,
        out: Out<'_>,
        old: OldShard,
        remaining: &Remaining,
        fill_chunks: FillChunks,
    ) -> Result<KeyChange, EngineCause> {
        let chain = self.array.chain();
        let mut shard = NewShard::new(
            chain,
            self.sharding()?,
            &self.array.shape_of(&self.shard),
            out,
            old,
        )?;
        let mut places = remaining.places.iter().peekable();
        for number in 0..self.layout.n_chunks() {
            let state = self.states().list[number].clone();
            let stored_at = places.next_if(|(stored, _)| *stored == number);
            match (state, stored_at) {
                (InnerState::Memory(encoded), _) => shard.add_part(encoded)?,
                (InnerState::Spilled(at, len), _) => {
                    shard.add_part(self.spilled()?.read(at..at + len)?)?
                }
                (InnerState::NotGiven, Some((_, range))) => shard.keep(range.clone())?,
                (InnerState::NotGiven | InnerState::Empty, _) => shard.skip(),
            }
        }
        shard.end(fill_chunks)
    }

    fn spilled(&self) -> Result<&dyn Temporary, EngineCause> {
        let what = || "the temporary file is gone".to_owned();
        self.temporary.as_deref().ok_or_else(|| {
            StoreError::Other {
                action: "read",
                key: self.key.to_string(),
                what: what(),
            }
            .into()
        })
    }

    /// True if inner chunks that were not given stay as stored: those inside the array, or any that
    /// others may add.
    fn keeps_any(&self) -> bool {
        let stays = |number| self.array.outside == Outside::Shared || self.is_inside(number);
        let states = self.states();
        let list = &states.list;
        (0..list.len()).any(|number| matches!(list[number], InnerState::NotGiven) && stays(number))
    }

    /// The remaining part of the stored shard. It includes inner chunks outside the array, which
    /// another process may have grown, unless it is known that none exist.
    fn remaining(&self, fetched: Fetched) -> Result<Remaining, EngineCause> {
        let (pin, size, parts) = match fetched {
            Fetched::Missing => return Ok(Remaining::nothing()),
            // Of a fetch that names no state, it says nothing about the shard.
            Fetched::Changed => return Err(EngineCause::KeepsChanging),
            Fetched::Parts { pin, size, parts } => (pin, size, parts),
        };
        let encoded = parts.into_iter().next().ok_or_else(|| no_part(&self.key))?;
        let index = with_workspace(|workspace| {
            self.sharding()?
                .decode_index(&encoded, &self.shape, size, workspace)
                .map_err(EngineCause::from)
        })?;
        let states = self.states();
        let list = &states.list;
        let mut places = Vec::new();
        let remains = |number: &usize| {
            matches!(list[*number], InnerState::NotGiven)
                && (self.array.outside != Outside::Fill || self.is_inside(*number))
        };
        for number in (0..list.len()).filter(remains) {
            if let Some(range) = index.entry(number)? {
                places.push((number, range));
            }
        }
        Ok(Remaining {
            pin: Some(pin),
            places,
        })
    }
}

/// The remaining part of the stored shard: its pin, and the positions of inner chunks by their
/// numbers.
struct Remaining {
    pin: Option<Pin>,
    places: Vec<(usize, Range<u64>)>,
}

impl Remaining {
    fn nothing() -> Self {
        Self {
            pin: None,
            places: Vec::new(),
        }
    }
}
