//! Puts the inner chunks of a `ShardWriter` together and publishes the shard.

use std::ops::Range;

use bytes::Bytes;
use ndzarr_codec::ShardBuilder;
use ndzarr_store::{Fetch, Fetched, Of, Pin, Precondition, Put, Store, StoreError, Temporary, Want};

use super::{InnerState, ShardWriter};
use crate::cancel::{Patience, Publishing, Taken, Turn, Under};
use crate::chunked::Outside;
use crate::error::no_part;
use crate::growing_shard::{COPIED_TOGETHER, PublishedShard};
use crate::io::{Awaited, Here, Io};
use crate::new_shard::{KeyChange, NewShard, OldShard, Out};
use crate::scratch::with_workspace;
use crate::wanted::index_want;
use crate::{AnyStore, ConcurrentUpdate, EngineCause, EngineError, FillChunks};

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
        self,
        check: impl AsyncFnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.end(check, false).await?;
        Ok(())
    }

    /// Like [`finish`](Self::finish); the next writer of the shard [continues](Self::continuing) from what
    /// this returns.
    ///
    /// # Errors
    /// The same as for [`finish`](Self::finish).
    pub async fn publish<E: From<EngineError>>(
        self,
        check: impl AsyncFnOnce() -> Result<(), E>,
    ) -> Result<Option<PublishedShard>, E> {
        self.end(check, true).await
    }

    async fn end<E: From<EngineError>>(
        mut self,
        check: impl AsyncFnOnce() -> Result<(), E>,
        continues: bool,
    ) -> Result<Option<PublishedShard>, E> {
        let (store, options) = (self.store.clone(), self.options.clone());
        let turn = match &store {
            AnyStore::Blocking(store) => self.turn(&**store).map_err(|cause| self.at(cause))?,
            AnyStore::Async(_) => None,
        };
        check().await?;
        let done = match (turn, &store) {
            (Some(turn), _) => self.finish_locked(turn, continues),
            (None, AnyStore::Blocking(store)) => {
                self.finish_on_condition(&Here::alone(&**store, &options)).await.map(|()| None)
            }
            (None, AnyStore::Async(store)) => {
                self.finish_on_condition(&Awaited::new(&**store, &options)).await.map(|()| None)
            }
        };
        Ok(done.map_err(|cause| self.at(cause))?)
    }

    /// The shard's lock, if the store has locks.
    fn turn(&self, store: &dyn Store) -> Result<Option<Turn>, EngineCause> {
        match Turn::take(store, &self.key, Patience::Wait, self.options.cancel.as_ref())? {
            Taken::Turn(turn) => Ok(Some(turn)),
            Taken::Busy => {
                let what = "the store does not wait for a lock".to_owned();
                Err(StoreError::Other { action: "lock", key: self.key.to_string(), what }.into())
            }
            Taken::Unsupported => Ok(None),
        }
    }

    fn finish_locked(
        &mut self,
        mut turn: Turn,
        continues: bool,
    ) -> Result<Option<PublishedShard>, EngineCause> {
        let base = self.current_base(&mut turn)?;
        let kept = match &base {
            Some(base) => self.kept(base.pin.clone(), |number| Ok(base.place(number)))?,
            None if self.missing() => self.kept_of(turn.fetch(Of::Any, index_want(&self.layout))?)?,
            None => Kept::nothing(),
        };
        if self.is_empty(&kept) {
            return turn.erase().map(|()| None);
        }
        // Some of what it begins with is not wanted any more.
        self.states().holes |= base.as_ref().is_some_and(|base| base.n_stored() > kept.places.len());
        // The spilled bytes become the value, unless some are unused, or the store copies more than that.
        let rewrite = {
            let states = self.states();
            let given = |state: &InnerState| if let InnerState::Spilled(_, len) = state { *len } else { 0 };
            let stays = kept.places.iter().map(|(_, range)| range.end - range.start);
            // The places of a foreign shard may overlap.
            let stays = stays.fold(0, u64::saturating_add);
            states.holes || (base.is_none() && stays > states.list.iter().map(given).sum::<u64>())
        };
        if let Some(temporary) = self.temporary.take_if(|_| !rewrite) {
            return self.publish_spilled(temporary, base, &kept, turn, continues);
        }
        let old = kept.pin.clone().map_or(OldShard::None, OldShard::Pinned);
        let out = Out::Locked { turn: &mut turn, piece: COPIED_TOGETHER };
        self.fill(out, old, &kept, Vec::new(), self.options.fill_chunks)?;
        turn.publish().map(|()| None)
    }

    /// What the temporary begins with, if that is still the value.
    fn current_base(&mut self, turn: &mut Turn) -> Result<Option<PublishedShard>, EngineCause> {
        let Some(base) = self.base.take() else { return Ok(None) };
        match turn.fetch(Of::IfCurrent(base.pin.clone()), Want::Size)? {
            Fetched::Parts { .. } => Ok(Some(base)),
            Fetched::Missing | Fetched::Changed => {
                self.states().holes = true;
                Ok(None)
            }
        }
    }

    fn publish_spilled(
        &self,
        temporary: Box<dyn Temporary>,
        base: Option<PublishedShard>,
        kept: &Kept,
        mut turn: Turn,
        continues: bool,
    ) -> Result<Option<PublishedShard>, EngineCause> {
        let spilled = |state: &InnerState| match state {
            InnerState::Spilled(at, len) => Some((*at, *len)),
            InnerState::NotGiven | InnerState::Empty | InnerState::Memory(_) => None,
        };
        let mut places: Vec<Option<(u64, u64)>> = self.states().list.iter().map(spilled).collect();
        let copied = match base {
            Some(_) => kept.places.iter().map(|(_, range)| range.start).collect(),
            None => self.copy_kept(&*temporary, kept, &mut turn)?,
        };
        for ((number, range), at) in kept.places.iter().zip(copied) {
            places[*number] = Some((at, range.end - range.start));
        }
        let mut shard = ShardBuilder::new(self.layout.clone())?;
        for place in &places {
            match place {
                Some((at, len)) => shard.add_at(*at, *len)?,
                None => shard.skip(),
            }
        }
        let (mut at, index) =
            with_workspace(|workspace| self.sharding()?.end(shard, workspace).map_err(EngineCause::from))?;
        match self.layout.ends_with_index() {
            true => at = temporary.append(&index)?,
            false => temporary.write_at(at, &index)?,
        }
        let (pin, before) = turn.end(|lock| match &base {
            Some(base) if continues && base.is_own => temporary.exchange(lock, &base.pin),
            _ => Ok((temporary.publish(lock)?, None)),
        })?;
        let before = before.zip(base.map(|base| base.byte_len));
        Ok(continues.then_some(PublishedShard {
            shard: self.shard.clone(),
            pin,
            byte_len: at,
            places,
            is_own: true,
            before,
        }))
    }

    /// Appends all that is kept, and returns where it is.
    fn copy_kept(
        &self,
        temporary: &dyn Temporary,
        kept: &Kept,
        turn: &mut Turn,
    ) -> Result<Vec<u64>, EngineCause> {
        let mut places = Vec::with_capacity(kept.places.len());
        let mut rest = &kept.places[..];
        while let [(_, first), behind @ ..] = rest {
            // Neighbours are copied together.
            let mut run = first.clone();
            let joins = |(_, next): &&(usize, Range<u64>)| {
                let joins = next.start == run.end && run.end - run.start < COPIED_TOGETHER;
                run.end = if joins { next.end } else { run.end };
                joins
            };
            let n = 1 + behind.iter().take_while(joins).count();
            let at = temporary.append(&self.old(turn, kept, &run)?)?;
            places.extend(rest[..n].iter().map(|(_, range)| at + (range.start - run.start)));
            rest = &rest[n..];
        }
        Ok(places)
    }

    /// The encoded bytes of an inner chunk that is kept.
    fn old(&self, turn: &mut Turn, kept: &Kept, range: &Range<u64>) -> Result<Bytes, EngineCause> {
        let of = kept.pin.clone().map_or(Of::Any, Of::Snapshot);
        match turn.fetch(of, Want::Ranges(vec![range.clone()]))? {
            Fetched::Parts { parts, .. } => parts.into_iter().next().ok_or_else(|| no_part(&self.key)),
            // The lock is held, so a writer without one must have changed it.
            Fetched::Missing | Fetched::Changed => Err(EngineCause::KeepsChanging),
        }
    }

    async fn finish_on_condition<I: Io>(&self, io: &I) -> Result<(), EngineCause> {
        let fetch = |of, want| Fetch { key: self.key.clone(), of, want };
        let missing = self.missing();
        let mut fill_chunks = self.options.fill_chunks;
        loop {
            let kept = match missing {
                true => self.kept_of(io.fetch(&fetch(Of::Any, index_want(&self.layout))).await?)?,
                false => Kept::nothing(),
            };
            let only_if = match (&kept.pin, self.options.concurrent_update) {
                (_, ConcurrentUpdate::LastWriterWins) => Precondition::None,
                _ if !missing => Precondition::None,
                (Some(pin), _) => Precondition::Current(pin.clone()),
                (None, _) => Precondition::Absent,
            };
            let ranges: Vec<Range<u64>> = kept.places.iter().map(|(_, range)| range.clone()).collect();
            let mut old = Vec::new();
            if !ranges.is_empty() {
                let of = kept.pin.clone().map_or(Of::Any, Of::Snapshot);
                match io.fetch(&fetch(of, Want::Ranges(ranges))).await? {
                    Fetched::Parts { parts, .. } => old = parts,
                    Fetched::Missing | Fetched::Changed => continue,
                }
            }
            let outcome = self.fill(Out::memory(), OldShard::None, &kept, old, fill_chunks)?;
            let _publishing = Publishing::begin(self.options.cancel.as_ref(), Under::Nothing)?;
            let put = match &outcome {
                KeyChange::Publish(parts) => io.put(&self.key, parts, only_if).await?,
                KeyChange::Erase | KeyChange::Keep => io.erase(&self.key, only_if).await?,
            };
            match put {
                Put::Done(_) => return Ok(()),
                Put::Conflict => {}
                // It may check the condition of a put alone.
                Put::Unsupported if !matches!(outcome, KeyChange::Publish(_)) => {
                    fill_chunks = FillChunks::Store;
                }
                Put::Unsupported => return Err(EngineCause::NoLocking),
            }
        }
    }

    /// Puts all inner chunks into the value. Kept ones come from `old`, unless `stored` contains
    /// them.
    fn fill(
        &self,
        out: Out<'_>,
        stored: OldShard,
        kept: &Kept,
        old: Vec<Bytes>,
        fill_chunks: FillChunks,
    ) -> Result<KeyChange, EngineCause> {
        let chain = self.array.chain();
        let mut shard =
            NewShard::new(chain, self.sharding()?, &self.array.shape_of(&self.shard), out, stored)?;
        let (list, mut old) = (self.states().list.clone(), old.into_iter());
        let mut places = kept.places.iter().peekable();
        for (number, state) in list.into_iter().enumerate() {
            let kept_at = places.next_if(|(kept, _)| *kept == number);
            match (state, kept_at) {
                (InnerState::Memory(encoded), _) => shard.add_part(encoded)?,
                (InnerState::Spilled(at, len), _) => shard.add_part(self.spilled()?.read(at..at + len)?)?,
                (InnerState::NotGiven, Some((_, range))) => match old.next() {
                    Some(encoded) => shard.add_part(encoded)?,
                    None => shard.keep(range.clone())?,
                },
                (InnerState::NotGiven | InnerState::Empty, _) => shard.skip(),
            }
        }
        shard.end(fill_chunks)
    }

    fn spilled(&self) -> Result<&dyn Temporary, EngineCause> {
        let what = || "the temporary file is gone".to_owned();
        self.temporary.as_deref().ok_or_else(|| {
            StoreError::Other { action: "read", key: self.key.to_string(), what: what() }.into()
        })
    }

    /// Whether an inner chunk stays as stored: one inside the array, or any that others may add.
    fn missing(&self) -> bool {
        let list = self.states().list.clone();
        let stays = |number| self.array.outside == Outside::Shared || self.is_inside(number);
        (0..list.len()).any(|number| matches!(list[number], InnerState::NotGiven) && stays(number))
    }

    fn kept_of(&self, fetched: Fetched) -> Result<Kept, EngineCause> {
        let Fetched::Parts { pin, size, parts } = fetched else { return Ok(Kept::nothing()) };
        let index = self.decoded_index(parts, size)?;
        self.kept(pin, |number| Ok(index.entry(number)?))
    }

    /// The remaining part of the stored shard. It includes inner chunks outside the array, which
    /// another process may have grown, unless it is known that there are none.
    fn kept(
        &self,
        pin: Pin,
        place: impl Fn(usize) -> Result<Option<Range<u64>>, EngineCause>,
    ) -> Result<Kept, EngineCause> {
        let list = self.states().list.clone();
        let mut places = Vec::new();
        let remains = |number: &usize| {
            matches!(list[*number], InnerState::NotGiven)
                && (self.array.outside != Outside::Fill || self.is_inside(*number))
        };
        for number in (0..list.len()).filter(remains) {
            if let Some(range) = place(number)? {
                places.push((number, range));
            }
        }
        Ok(Kept { pin: Some(pin), places })
    }

    fn is_empty(&self, kept: &Kept) -> bool {
        let given = |state: &InnerState| matches!(state, InnerState::Memory(_) | InnerState::Spilled(..));
        self.options.fill_chunks == FillChunks::Erase
            && kept.places.is_empty()
            && !self.states().list.iter().any(given)
    }
}

/// The remaining part of the stored shard: its pin, and the positions of inner chunks by their numbers.
struct Kept {
    pin: Option<Pin>,
    places: Vec<(usize, Range<u64>)>,
}

impl Kept {
    fn nothing() -> Self {
        Self { pin: None, places: Vec::new() }
    }
}
