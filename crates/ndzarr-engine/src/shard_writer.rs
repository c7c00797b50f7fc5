//! Assembles shards from inner chunks in any order.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr_codec::{Access, CodecError, ShardBuilder, ShardLayout, Sharding};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, Put, Store, StoreError, Temporary, Want};

use crate::cancel::{Patience, Publishing, Taken, Turn, Under};
use crate::chunked::Outside;
use crate::encode_job::EncodeJob;
use crate::error::no_part;
use crate::io::{Awaited, Here, Io};
use crate::new_shard::{KeyChange, NewShard, OldShard, Out};
use crate::scratch::with_workspace;
use crate::wanted::index_want;
use crate::{
    AnyStore, ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, FillChunks, RunOptions, Source,
};

/// Writes one shard from inner chunks that come in any order, from any number of threads.
///
/// They are encoded at once and kept encoded, in a temporary of the store if it supports that,
/// otherwise in memory. At the end the shard is published once; inner chunks that were not given
/// stay as they are stored at that moment. Dropping the writer leaves the old shard.
#[derive(Debug)]
pub struct ShardWriter {
    array: Arc<ChunkedArray>,
    store: AnyStore,
    shard: Vec<u64>,
    key: Key,
    /// Of the shard, by the stored axes.
    shape: Vec<u64>,
    /// The part of it that is inside the array, by the stored axes.
    bounds: Vec<u64>,
    /// Of the inner chunks, by the stored axes.
    grid: ChunkGrid,
    layout: ShardLayout,
    temporary: Option<Box<dyn Temporary>>,
    states: Mutex<InnerStates>,
    options: RunOptions,
}

#[derive(Debug)]
struct InnerStates {
    /// For each inner chunk, in C order of the stored axes.
    list: Vec<InnerState>,
    /// Whether the temporary contains bytes that no inner chunk uses.
    holes: bool,
}

/// The state of an inner chunk.
#[derive(Clone, Debug)]
enum InnerState {
    NotGiven,
    /// All fill value.
    Empty,
    Memory(Bytes),
    /// Position and length in the temporary.
    Spilled(u64, u64),
}

/// About how many bytes of inner chunks that stay are copied at once.
const COPIED_TOGETHER: u64 = 4 << 20;

impl ShardWriter {
    /// Begins to write a shard.
    ///
    /// # Errors
    /// The shard does not exist; the array's chain has no shards, or has further codecs after them;
    /// the store fails.
    pub fn new(
        array: &Arc<ChunkedArray>,
        store: AnyStore,
        shard: &[u64],
        options: &RunOptions,
    ) -> Result<Self, EngineError> {
        let chain = array.chain();
        let Access::Indexed(sharding) = chain.access() else {
            let what = "the chunks have no inner chunks that can be written one by one";
            return Err(CodecError::config("sharding_indexed", what).into());
        };
        let inside = array.grid().clipped_region(shard).ok_or_else(|| {
            let what = format!("no shard {shard:?} in a grid of {:?}", array.grid().grid_shape());
            CodecError::config("sharding_indexed", what)
        })?;
        let place = || array.place(&store.name(), shard);
        let key = array.key(shard).map_err(|error| EngineError::at(error, place()))?;
        let (shape, bounds) = (chain.stored(&array.shape_of(shard)), chain.stored(&inside.shape()));
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let layout = sharding.layout(&shape);
        let n = layout.n_chunks();
        let temporary = match &store {
            AnyStore::Blocking(store) => store.temporary(&key),
            AnyStore::Async(_) => Ok(None),
        };
        let temporary = temporary.map_err(|error| EngineError::at(error, place()))?;
        if let Some(temporary) = temporary.as_ref().filter(|_| !layout.ends_with_index()) {
            // Reserves the place of the index, which is written last.
            let place_of_index = vec![0; layout.index_len() as usize];
            temporary.append(&place_of_index).map_err(|error| EngineError::at(error, place()))?;
        }
        Ok(Self {
            array: Arc::clone(array),
            store,
            shard: shard.to_vec(),
            key,
            shape,
            bounds,
            grid,
            layout,
            temporary,
            states: Mutex::new(InnerStates { list: vec![InnerState::NotGiven; n], holes: false }),
            options: options.clone(),
        })
    }

    /// The same writer, which keeps inner chunks in memory. Nothing was given yet.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.temporary = None;
        self
    }

    /// The same writer, continued with these options.
    #[must_use]
    pub fn with_options(mut self, options: &RunOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// The same writer, for the array as it is now: it may be longer or shorter, with the same
    /// chunks. What was given has to be inside.
    #[must_use]
    pub fn within(mut self, array: &Arc<ChunkedArray>) -> Self {
        if let Some(inside) = array.grid().clipped_region(&self.shard) {
            self.bounds = array.chain().stored(&inside.shape());
        }
        self.array = Arc::clone(array);
        self
    }

    /// Encodes an inner chunk and keeps it. `inner` is its index within the shard. The elements are
    /// those of the source from `start` on, as many as the inner chunk has inside the array. An
    /// inner chunk given before is replaced.
    ///
    /// # Errors
    /// The array has no such inner chunk; a codec or the store fails.
    pub fn write_inner(
        &self,
        inner: &[u64],
        source: &dyn Source,
        start: &[usize],
    ) -> Result<(), EngineError> {
        self.give(inner, source, start).map_err(|cause| self.at(cause))
    }

    fn give(&self, inner: &[u64], source: &dyn Source, start: &[usize]) -> Result<(), EngineCause> {
        let chain = self.array.chain();
        let sharding = self.sharding()?;
        let refuse = || {
            let what = format!("no inner chunk {inner:?} of this shard is inside the array");
            CodecError::config("sharding_indexed", what)
        };
        if inner.len() != self.shape.len() {
            return Err(refuse().into());
        }
        let stored = chain.stored(inner);
        let inside = self.inside(&stored).ok_or_else(refuse)?;
        let job = EncodeJob {
            chain: Arc::clone(sharding.chunks()),
            shape: sharding.chunk_shape().to_vec(),
            region: Region::whole(&inside),
            bounds: inside,
            source_start: chain.order().iter().map(|&axis| start[axis]).collect(),
            axes: chain.order().to_vec(),
            old: None,
            outside: self.array.outside,
            fill_chunks: self.options.fill_chunks,
        };
        let encoded = with_workspace(|workspace| job.run(source, workspace))?;
        let state = match (encoded, &self.temporary) {
            (None, _) => InnerState::Empty,
            (Some(encoded), Some(temporary)) => {
                InnerState::Spilled(temporary.append(&encoded)?, encoded.len() as u64)
            }
            (Some(encoded), None) => InnerState::Memory(encoded.into()),
        };
        let mut states = self.states();
        let before = std::mem::replace(&mut states.list[self.layout.number(stored)], state);
        states.holes |= matches!(before, InnerState::Spilled(..));
        Ok(())
    }

    /// The part of an inner chunk inside the array, by the stored axes, if any.
    fn inside(&self, stored: &[u64]) -> Option<Vec<u64>> {
        let region = self.grid.chunk_region(stored)?.intersection(&Region::whole(&self.bounds));
        (!region.is_empty()).then(|| region.shape())
    }

    /// Whether an inner chunk, by its number, is inside the array.
    fn is_inside(&self, number: usize) -> bool {
        let mut rest = number as u64;
        let mut stored = self.grid.grid_shape();
        for n in stored.iter_mut().rev() {
            let len = (*n).max(1);
            *n = rest % len;
            rest /= len;
        }
        self.inside(&stored).is_some()
    }

    fn states(&self) -> MutexGuard<'_, InnerStates> {
        // They are replaced as a whole.
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sharding(&self) -> Result<&Arc<Sharding>, EngineCause> {
        match self.array.chain().access() {
            Access::Indexed(sharding) => Ok(sharding),
            Access::Whole | Access::Raw { .. } => {
                Err(CodecError::config("sharding_indexed", "there are no shards").into())
            }
        }
    }

    fn at(&self, cause: EngineCause) -> EngineError {
        EngineError::at(cause, self.array.place(&self.store.name(), &self.shard))
    }

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
        let (store, options) = (self.store.clone(), self.options.clone());
        let turn = match &store {
            AnyStore::Blocking(store) => self.turn(&**store).map_err(|cause| self.at(cause))?,
            AnyStore::Async(_) => None,
        };
        check().await?;
        let done = match (turn, &store) {
            (Some(turn), _) => self.finish_locked(turn),
            (None, AnyStore::Blocking(store)) => {
                self.finish_on_condition(&Here::alone(&**store, &options)).await
            }
            (None, AnyStore::Async(store)) => {
                self.finish_on_condition(&Awaited::new(&**store, &options)).await
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

    fn finish_locked(&mut self, mut turn: Turn) -> Result<(), EngineCause> {
        let mut kept = Kept { pin: None, places: Vec::new() };
        if self.missing() {
            kept = self.kept(turn.fetch(Of::Any, index_want(&self.layout))?)?;
        }
        if self.is_empty(&kept) {
            return turn.erase();
        }
        // The spilled bytes become the value, unless some are unused, or the store copies more than that.
        let rewrite = {
            let states = self.states();
            let given = |state: &InnerState| if let InnerState::Spilled(_, len) = state { *len } else { 0 };
            let stays = kept.places.iter().map(|(_, range)| range.end - range.start);
            // The places of a foreign shard may overlap.
            let stays = stays.fold(0, u64::saturating_add);
            states.holes || stays > states.list.iter().map(given).sum::<u64>()
        };
        if let Some(temporary) = self.temporary.take_if(|_| !rewrite) {
            return self.publish_spilled(temporary, &kept, turn);
        }
        let old = kept.pin.clone().map_or(OldShard::None, OldShard::Pinned);
        let out = Out::Locked { turn: &mut turn, piece: COPIED_TOGETHER };
        self.fill(out, old, &kept, Vec::new(), self.options.fill_chunks)?;
        turn.publish()
    }

    fn publish_spilled(
        &self,
        temporary: Box<dyn Temporary>,
        kept: &Kept,
        mut turn: Turn,
    ) -> Result<(), EngineCause> {
        let spilled = |state: &InnerState| match state {
            InnerState::Spilled(at, len) => Some((*at, *len)),
            InnerState::NotGiven | InnerState::Empty | InnerState::Memory(_) => None,
        };
        let mut places: Vec<Option<(u64, u64)>> = self.states().list.iter().map(spilled).collect();
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
            let at = temporary.append(&self.old(&mut turn, kept, &run)?)?;
            for (number, range) in &rest[..n] {
                places[*number] = Some((at + (range.start - run.start), range.end - range.start));
            }
            rest = &rest[n..];
        }
        let mut shard = ShardBuilder::new(self.layout.clone())?;
        for place in places {
            match place {
                Some((at, len)) => shard.add_at(at, len)?,
                None => shard.skip(),
            }
        }
        let (at, index) =
            with_workspace(|workspace| self.sharding()?.end(&shard, workspace).map_err(EngineCause::from))?;
        match self.layout.ends_with_index() {
            true => drop(temporary.append(&index)?),
            false => temporary.write_at(at, &index)?,
        }
        turn.end(|lock| temporary.publish(lock).map(drop))
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
            let mut kept = Kept { pin: None, places: Vec::new() };
            if missing {
                kept = self.kept(io.fetch(&fetch(Of::Any, index_want(&self.layout))).await?)?;
            }
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

    /// The remaining part of the stored shard, from its index. It includes inner chunks outside the
    /// array, which another process may have grown, unless it is known that there are none.
    fn kept(&self, fetched: Fetched) -> Result<Kept, EngineCause> {
        let Fetched::Parts { pin, size, parts } = fetched else {
            return Ok(Kept { pin: None, places: Vec::new() });
        };
        let (sharding, encoded) =
            (self.sharding()?, parts.into_iter().next().ok_or_else(|| no_part(&self.key))?);
        let index =
            with_workspace(|workspace| sharding.decode_index(&encoded, &self.shape, size, workspace))?;
        let list = self.states().list.clone();
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
