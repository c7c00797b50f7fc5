//! The end of a shard: what was not given is copied, and all of it published.

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_codec::ShardIndex;
use ndzarr_model::IndexLocation;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Of, Pin, Precondition, Put, Store, StoreError, Temporary, Want,
};

use super::{ShardStore, ShardWriter, Slot, decode_index, no_part};
use crate::cancel::{Patience, Publishing, Taken, Turn, Under};
use crate::parallel::with_workspace;
use crate::{ConcurrentUpdate, EngineCause, EngineError, FillChunks};

/// What of the stored shard remains: the pin that names it, and the places of inner chunks by their numbers.
struct Kept {
    pin: Option<Pin>,
    places: Vec<(usize, Range<u64>)>,
}

impl ShardWriter {
    /// Publishes the shard. What was not given is what it is at this moment, for every other writer of the shard either
    /// before or after. A shard of which nothing is left is removed. Over a blocking store the future blocks its thread.
    ///
    /// `check` runs just before, with the shard's lock where the store has locks; after an error nothing is published.
    ///
    /// # Errors
    /// That of `check`; the stored shard is broken, where something of it remains; the store. The old shard stays then.
    pub async fn finish<E: From<EngineError>>(
        mut self,
        check: impl AsyncFnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let store = self.store.clone();
        let turn = match &store {
            ShardStore::Blocking(store) => self.turn(&**store).map_err(|cause| self.at(cause))?,
            ShardStore::Async(_) => None,
        };
        check().await?;
        let done = match (turn, &store) {
            (Some(turn), _) => self.finish_locked(turn),
            (None, ShardStore::Blocking(store)) => self.finish_on_condition(&Inline(&**store)).await,
            (None, ShardStore::Async(store)) => self.finish_on_condition(&**store).await,
        };
        Ok(done.map_err(|cause| self.at(cause))?)
    }

    /// The shard's lock, where writers take turns by locks.
    fn turn(&self, store: &dyn Store) -> Result<Option<Turn>, EngineCause> {
        if self.options.concurrent_update != ConcurrentUpdate::Merge {
            return Ok(None);
        }
        match Turn::take(store, &self.key, Patience::Wait, &self.options)? {
            Taken::Turn(turn) => Ok(Some(turn)),
            Taken::Busy => {
                let what = "the store does not wait for a lock".to_owned();
                Err(StoreError::Other { action: "lock", key: self.key.to_string(), what }.into())
            }
            Taken::Unsupported => Ok(None),
        }
    }

    fn finish_locked(&mut self, mut turn: Turn) -> Result<(), EngineCause> {
        let mut kept = Kept { pin: None, places: Vec::new() };
        if self.missing() {
            kept = self.kept(turn.fetch(Of::Any, self.index_want()?)?)?;
        }
        if self.is_empty(&kept) {
            return turn.erase();
        }
        // What was spilled becomes the value as it lies there, unless some of it is of no use any more.
        let holes = self.slots().holes;
        match self.temporary.take() {
            Some(temporary) if !holes => self.publish_spilled(temporary, &kept, turn),
            temporary => {
                self.temporary = temporary;
                self.publish_copy(&kept, turn)
            }
        }
    }

    fn publish_spilled(
        &self,
        temporary: Box<dyn Temporary>,
        kept: &Kept,
        mut turn: Turn,
    ) -> Result<(), EngineCause> {
        let mut entries = self.entries();
        for (linear, range) in &kept.places {
            let encoded = self.old(&mut turn, kept, range)?;
            entries[*linear] = [temporary.append(&encoded)?, encoded.len() as u64];
        }
        let sharding = self.sharding()?;
        let index = with_workspace(|workspace| sharding.encode_index(&entries, &self.shape, workspace))?;
        match sharding.location() {
            IndexLocation::Start => temporary.write_at(0, &index)?,
            IndexLocation::End => drop(temporary.append(&index)?),
        }
        turn.end(|lock| temporary.publish(lock).map(drop))
    }

    fn publish_copy(&self, kept: &Kept, mut turn: Turn) -> Result<(), EngineCause> {
        let list = self.slots().list.clone();
        let index = self.index_of(&list, kept)?;
        let location = self.sharding()?.location();
        if location == IndexLocation::Start {
            turn.append(&index)?;
        }
        let mut places = kept.places.iter().peekable();
        for (linear, slot) in list.into_iter().enumerate() {
            let encoded = match slot {
                Slot::Memory(encoded) => encoded,
                Slot::Spilled(at, len) => self.spilled()?.read(at..at + len)?,
                Slot::Empty => continue,
                Slot::NotGiven => match places.next_if(|(number, _)| *number == linear) {
                    Some((_, range)) => self.old(&mut turn, kept, range)?,
                    None => continue,
                },
            };
            turn.append(&encoded)?;
        }
        if location == IndexLocation::End {
            turn.append(&index)?;
        }
        turn.publish()
    }

    /// The encoded bytes of an inner chunk that is kept.
    fn old(&self, turn: &mut Turn, kept: &Kept, range: &Range<u64>) -> Result<Bytes, EngineCause> {
        let of = kept.pin.clone().map_or(Of::Any, Of::Snapshot);
        match turn.fetch(of, Want::Ranges(vec![range.clone()]))? {
            Fetched::Parts { parts, .. } => parts.into_iter().next().ok_or_else(|| no_part(&self.key)),
            // Under the lock, so by somebody who takes none.
            Fetched::Missing | Fetched::Changed => Err(EngineCause::KeepsChanging),
        }
    }

    async fn finish_on_condition(&mut self, store: &dyn AsyncStore) -> Result<(), EngineCause> {
        let fetch = |of, want| Fetch { key: self.key.clone(), of, want };
        let missing = self.missing();
        loop {
            let kept = if missing {
                let index = store.fetch(&fetch(Of::Any, self.index_want()?)).await?;
                self.kept(index)?
            } else {
                Kept { pin: None, places: Vec::new() }
            };
            let only_if = match (&kept.pin, self.options.concurrent_update) {
                (_, ConcurrentUpdate::LastWriterWins) => Precondition::None,
                _ if !missing => Precondition::None,
                (Some(pin), _) => Precondition::Current(pin.clone()),
                (None, _) => Precondition::Absent,
            };
            let put = if self.is_empty(&kept) {
                let _publishing = Publishing::begin(self.options.cancel.as_ref(), Under::Nothing)?;
                store.erase(&self.key, only_if).await?
            } else {
                let ranges: Vec<Range<u64>> = kept.places.iter().map(|(_, range)| range.clone()).collect();
                let mut old = Vec::new();
                if !ranges.is_empty() {
                    let of = kept.pin.clone().map_or(Of::Any, Of::Snapshot);
                    match store.fetch(&fetch(of, Want::Ranges(ranges))).await? {
                        Fetched::Parts { parts, .. } => old = parts,
                        Fetched::Missing | Fetched::Changed => continue,
                    }
                }
                let parts = self.parts(&kept, old)?;
                let _publishing = Publishing::begin(self.options.cancel.as_ref(), Under::Nothing)?;
                store.put(&self.key, &parts, only_if).await?
            };
            match put {
                Put::Done(_) => return Ok(()),
                Put::Conflict => {}
                Put::Unsupported => return Err(EngineCause::CannotMerge),
            }
        }
    }

    /// The whole value, of what was given and what is kept.
    fn parts(&self, kept: &Kept, old: Vec<Bytes>) -> Result<Vec<Bytes>, EngineCause> {
        let list = self.slots().list.clone();
        let index: Bytes = self.index_of(&list, kept)?.into();
        let mut old = kept.places.iter().map(|(number, _)| *number).zip(old).peekable();
        let mut parts = Vec::with_capacity(list.len() + 1);
        for (linear, slot) in list.into_iter().enumerate() {
            match slot {
                Slot::Memory(encoded) => parts.push(encoded),
                Slot::Spilled(at, len) => parts.push(self.spilled()?.read(at..at + len)?),
                Slot::Empty => {}
                Slot::NotGiven => parts.extend(old.next_if(|(number, _)| *number == linear).map(|(_, b)| b)),
            }
        }
        match self.sharding()?.location() {
            IndexLocation::Start => parts.insert(0, index),
            IndexLocation::End => parts.push(index),
        }
        Ok(parts)
    }

    /// The index of a value that has all inner chunks in their order.
    fn index_of(&self, list: &[Slot], kept: &Kept) -> Result<Vec<u8>, EngineCause> {
        let sharding = self.sharding()?;
        let mut lens: Vec<Option<u64>> = list
            .iter()
            .map(|slot| match slot {
                Slot::Memory(encoded) => Some(encoded.len() as u64),
                Slot::Spilled(_, len) => Some(*len),
                Slot::Empty | Slot::NotGiven => None,
            })
            .collect();
        for (linear, range) in &kept.places {
            lens[*linear] = Some(range.end - range.start);
        }
        let mut at = match sharding.location() {
            IndexLocation::Start => sharding.index_len(&self.shape).unwrap_or(0) as u64,
            IndexLocation::End => 0,
        };
        let entry = |len: Option<u64>| match len {
            None => ShardIndex::EMPTY,
            Some(len) => {
                at += len;
                [at - len, len]
            }
        };
        let entries: Vec<[u64; 2]> = lens.into_iter().map(entry).collect();
        Ok(with_workspace(|workspace| sharding.encode_index(&entries, &self.shape, workspace))?)
    }

    /// The index entries of what was spilled.
    fn entries(&self) -> Vec<[u64; 2]> {
        let entry = |slot: &Slot| match slot {
            Slot::Spilled(at, len) => [*at, *len],
            Slot::NotGiven | Slot::Empty | Slot::Memory(_) => ShardIndex::EMPTY,
        };
        self.slots().list.iter().map(entry).collect()
    }

    fn spilled(&self) -> Result<&dyn Temporary, EngineCause> {
        let what = || "the temporary is gone".to_owned();
        self.temporary.as_deref().ok_or_else(|| {
            StoreError::Other { action: "read", key: self.key.to_string(), what: what() }.into()
        })
    }

    /// Whether an inner chunk inside the array was not given, so that it is what is stored.
    fn missing(&self) -> bool {
        let not_given: Vec<usize> = {
            let slots = self.slots();
            (0..slots.list.len()).filter(|&i| matches!(slots.list[i], Slot::NotGiven)).collect()
        };
        not_given.into_iter().any(|linear| self.is_inside(linear))
    }

    fn index_want(&self) -> Result<Want, EngineCause> {
        let sharding = self.sharding()?;
        let len = sharding.index_len(&self.shape).unwrap_or(0) as u64;
        Ok(match sharding.location() {
            IndexLocation::Start => Want::Ranges(vec![0..len]),
            IndexLocation::End => Want::Tail(len),
        })
    }

    /// What remains of the stored shard, from its index; also what is outside the array, which others may have made larger.
    fn kept(&self, fetched: Fetched) -> Result<Kept, EngineCause> {
        let Fetched::Parts { pin, size, parts } = fetched else {
            return Ok(Kept { pin: None, places: Vec::new() });
        };
        let encoded = parts.into_iter().next().ok_or_else(|| no_part(&self.key))?;
        let index = decode_index(self.sharding()?, &encoded, &self.shape, size)?;
        let list = self.slots().list.clone();
        let mut places = Vec::new();
        for linear in (0..list.len()).filter(|&i| matches!(list[i], Slot::NotGiven)) {
            if let Some(range) = index.entry(linear)? {
                places.push((linear, range));
            }
        }
        Ok(Kept { pin: Some(pin), places })
    }

    fn is_empty(&self, kept: &Kept) -> bool {
        let given = |slot: &Slot| matches!(slot, Slot::Memory(_) | Slot::Spilled(..));
        self.options.fill_chunks == FillChunks::Erase
            && kept.places.is_empty()
            && !self.slots().list.iter().any(given)
    }
}

/// A blocking store whose calls are done when they return.
#[derive(Debug)]
struct Inline<'s>(&'s dyn Store);

impl AsyncStore for Inline<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(std::future::ready(self.0.fetch(fetch)))
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(self.0.put(key, parts, only_if)))
    }

    fn erase<'a>(&'a self, key: &'a Key, only_if: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(self.0.erase(key, only_if)))
    }
}
