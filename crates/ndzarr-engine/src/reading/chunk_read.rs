//! `ChunkRead`: reads a region of one chunk without doing I/O itself.

use std::sync::Arc;

use ndzarr_codec::{Access, Workspace};
use ndzarr_grid::{Region, n_elements};
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, RangeMerging, StoreError, Want};

use crate::cache::{ArrayCache, CachedIndex, Held, new_version};
use crate::chunked::ChunkedArray;
use crate::reading::level::{Jobs, Level, Value};
use crate::reading::merge_ranges::{FetchedRanges, MergedRanges, WantedRanges};
use crate::reading::reread::Reread;
use crate::reading::wanted::{Content, Damage, Wanted};
use crate::tile::Picked;
use crate::{Broken, EngineCause, Tile};

/// Reads a region of one chunk, sans I/O: [`step`](Self::step) names what to fetch,
/// [`supply`](Self::supply) takes it, and once everything is fetched [`jobs`](Self::jobs) returns
/// the work that fills the output.
///
/// ```text
/// whole chunk: fetch, decode
/// raw chunk:   fetch the windows that the region needs
/// shard:       fetch the index, then the inner chunks that overlap the region, neighbours merged
/// nested:      one more round for each level, all inner indexes of a level in one fetch
/// ```
#[derive(Debug)]
pub struct ChunkRead {
    key: Key,
    fallback: Option<Key>,
    merging: RangeMerging,
    pin: Option<Pin>,
    root: Level,
    /// The purpose of the last fetch.
    requested: Requested,
    /// The state of the value that a cached index or content belongs to, if this attempt uses it.
    cached: Option<Pin>,
    /// Where a cache keeps the value, and the number that its state has there.
    cache: Option<(ArrayCache, u64)>,
    /// The index of the outermost shard as read, to be cached.
    found: Option<CachedIndex>,
    attempts: u32,
    /// True if the first fetch only checks that the cached index belongs to the current value.
    check_first: bool,
    /// Broken parts, which will be filled.
    damage: Damage,
}

/// The next step.
#[derive(Debug)]
pub enum ReadStep {
    /// Fetch this and supply it.
    Fetch(Fetch),
    /// Everything has been fetched: take the jobs.
    Ready,
}

/// What a fetch is for.
#[derive(Debug)]
enum Requested {
    Nothing,
    /// Shows if what is known still belongs to the current value.
    Revalidation,
    /// The value, or the index at its end.
    Value,
    Ranges(MergedRanges),
}

/// How often a value may be replaced during one read.
pub(crate) const MAX_ATTEMPTS: u32 = 64;

impl ChunkRead {
    /// A read of `want`, a region relative to the first element of the chunk.
    pub fn new(
        array: &ChunkedArray,
        key: Key,
        chunk: &[u64],
        want: Region,
        merging: RangeMerging,
    ) -> Self {
        Self::with_picked(array, key, chunk, (want, Picked::All), merging)
    }

    /// A read of only these elements of a region. They are those that the tile wants, see
    /// [`Tile::picked`].
    pub(crate) fn with_picked(
        array: &ChunkedArray,
        key: Key,
        chunk: &[u64],
        (want, picked): (Region, Picked),
        merging: RangeMerging,
    ) -> Self {
        let shape = array.shape_of(chunk);
        let cache = array
            .cache_for(chunk)
            .map(|cache| (cache.clone(), new_version()));
        let wanted = Wanted {
            chain: Arc::clone(&array.chain),
            at: None,
            shape,
            want,
            picked,
            axes: (0..chunk.len()).collect(),
            inner_chunk: Vec::new(),
            slot: cache.as_ref().map(|(cache, _)| Box::new(cache.value(&key))),
        };
        let mut read = Self {
            fallback: array.fallback_key(chunk),
            key,
            merging,
            pin: None,
            root: Level::new(wanted),
            requested: Requested::Nothing,
            cached: None,
            cache,
            found: None,
            attempts: 0,
            check_first: false,
            damage: None,
        };
        read.use_known(array);
        read
    }

    /// Begins with what is known from earlier reads.
    fn use_known(&mut self, array: &ChunkedArray) {
        let entry = self.root.wanted.slot.as_ref().and_then(|slot| slot.get());
        let trusts = self.trusts();
        let chain = Arc::clone(&self.root.wanted.chain);
        let index = match (chain.access(), &entry) {
            (Access::Indexed(_), Some(entry)) => entry.index(),
            (Access::Indexed(sharding), None) if self.cache.is_none() => {
                array.indexes.get(self.key.as_str(), sharding)
            }
            _ => None,
        };
        if let Access::Indexed(sharding) = chain.access()
            && let Some(CachedIndex {
                pin,
                index,
                version,
            }) = index
        {
            let cache = self.cache.clone().map(|(cache, _)| (cache, version));
            // An index that does not fit is read again; errors are reported then.
            if self
                .root
                .expand(sharding, &index, self.merging, cache.clone(), &mut None)
                .is_ok()
            {
                self.cached = Some(pin);
                self.cache = cache;
            }
            return;
        }
        let Some(entry) = entry else { return };
        if let Some(content) = self.root.wanted.cached_content(&entry)
            && (entry.pin.is_some() || trusts)
        {
            self.cached.clone_from(&entry.pin);
            self.root.wanted.slot = None;
            self.root.set(content);
        }
    }

    fn trusts(&self) -> bool {
        self.cache.as_ref().is_some_and(|(cache, _)| cache.trusts())
    }

    /// From now on, broken parts count as missing, and [`take_broken`](Self::take_broken) lists
    /// them.
    pub(crate) fn fill_broken(&mut self) {
        self.damage.get_or_insert_default();
    }

    /// True if broken parts were found that will be filled.
    pub(crate) fn has_broken(&self) -> bool {
        self.damage
            .as_ref()
            .is_some_and(|broken| !broken.is_empty())
    }

    /// The broken parts found so far.
    pub(crate) fn take_broken(&mut self) -> Vec<Broken> {
        self.damage.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The next step.
    ///
    /// # Errors
    /// A stored value is invalid.
    pub fn step(&mut self) -> Result<ReadStep, EngineCause> {
        let mut ranges = WantedRanges::new(self.merging);
        let whole = self.root.collect(&mut ranges, &mut self.damage);
        let first = self.pin.is_none();
        if first && self.cached.is_some() && (whole.is_err() || self.has_broken()) {
            // The cached index may be that of a value which is gone, perhaps of another array.
            self.start_again()?;
            return self.step();
        }
        let whole = whole?;
        let of = match (&self.pin, &self.cached) {
            (Some(pin), _) => Of::Snapshot(pin.clone()),
            (None, Some(pin)) => Of::IfCurrent(pin.clone()),
            (None, None) => Of::Any,
        };
        let want = match whole {
            Some(want) => {
                self.requested = Requested::Value;
                want
            }
            None if !(ranges.is_empty() || first && self.check_first) => {
                let merged = ranges.merged();
                let want = Want::Ranges(merged.ranges().to_vec());
                self.requested = Requested::Ranges(merged);
                want
            }
            None if first && self.cached.is_some() && !(ranges.is_empty() && self.trusts()) => {
                self.requested = Requested::Revalidation;
                // With a range, the store opens the value that later requests need.
                if ranges.is_empty() {
                    Want::Size
                } else {
                    Want::Ranges(Vec::new())
                }
            }
            None => return Ok(ReadStep::Ready),
        };
        Ok(ReadStep::Fetch(Fetch {
            key: self.key.clone(),
            of,
            want,
        }))
    }

    /// Leaves the last fetch to the jobs, if it is only for inner chunks and has more than this
    /// many bytes: these jobs are then [`late`](crate::Job::late). Returns the pin to fetch them
    /// with.
    ///
    /// # Errors
    /// A stored value is invalid.
    pub(crate) fn postpone(&mut self, at_once: u64) -> Result<Option<Pin>, EngineCause> {
        if self.root.inner_bytes().is_none_or(|bytes| bytes <= at_once) {
            return Ok(None);
        }
        let Some(pin) = &self.pin else {
            self.check_first = self.cached.is_some();
            return Ok(None);
        };
        self.root.postpone();
        Ok(Some(pin.clone()))
    }

    /// Forgets what was read, and what the cache had, so that the read begins again.
    fn start_again(&mut self) -> Result<(), EngineCause> {
        self.attempts += 1;
        if self.attempts >= MAX_ATTEMPTS {
            return Err(EngineCause::KeepsChanging);
        }
        self.pin = None;
        self.cached = None;
        self.found = None;
        if let Some((cache, version)) = &mut self.cache {
            *version = new_version();
            self.root.wanted.slot = Some(Box::new(cache.value(&self.key)));
        }
        self.take_broken();
        self.root.restart();
        Ok(())
    }

    /// Takes the result of a fetch.
    ///
    /// # Errors
    /// A stored value is invalid, or keeps changing.
    pub fn supply(
        &mut self,
        fetched: Fetched,
        workspace: &mut Workspace,
    ) -> Result<(), EngineCause> {
        let (pin, size, parts) = match fetched {
            Fetched::Missing => {
                self.cached = None;
                self.take_broken();
                if let Some(fallback) = self.fallback.take() {
                    self.key = fallback;
                    self.cache = None;
                    self.root.wanted.slot = None;
                    self.requested = Requested::Nothing;
                    return Ok(());
                }
                self.root.set_missing();
                if self.trusts()
                    && let Some(slot) = &self.root.wanted.slot
                {
                    slot.keep(&self.root.wanted.shape, Held::Missing);
                }
                return Ok(());
            }
            Fetched::Changed => return self.start_again(),
            Fetched::Parts { pin, size, parts } => (pin, size, parts),
        };
        self.pin = Some(pin.clone());
        let cache = self.cache.clone().filter(|_| pin.light().is_some());
        let of = Value {
            pin,
            len: size,
            merging: self.merging,
            cache,
        };
        match std::mem::replace(&mut self.requested, Requested::Nothing) {
            Requested::Nothing | Requested::Revalidation => Ok(()),
            Requested::Value => {
                match self.root.resolve(parts, &of, &mut self.damage, workspace) {
                    Ok(found) => self.found = found,
                    Err(cause) => self.root.give_up(cause, &mut self.damage)?,
                }
                if let Some(mut slot) = self.root.wanted.slot.take() {
                    slot.pin = of.pin.light();
                    self.root.wanted.slot = slot.pin.is_some().then_some(slot);
                }
                Ok(())
            }
            Requested::Ranges(merged) => {
                let fetched = Arc::new(FetchedRanges::new(merged, parts)?);
                let found = self
                    .root
                    .supply(&fetched, &of, &mut self.damage, workspace)?;
                if found.is_some() {
                    self.found = found;
                }
                Ok(())
            }
        }
    }

    /// Takes a store's error instead: a value of the wrong size is broken, anything else is an
    /// error.
    ///
    /// # Errors
    /// The given one, unless broken values are filled and it is about one.
    pub(crate) fn supply_error(&mut self, error: StoreError) -> Result<(), EngineCause> {
        self.cached = None;
        self.requested = Requested::Nothing;
        self.root.give_up(error.into(), &mut self.damage)
    }

    /// Keeps the index that was read for the outermost shard.
    pub(crate) fn keep_found(&mut self, array: &ChunkedArray) {
        let Some(found) = self.found.take() else {
            return;
        };
        let wanted = &self.root.wanted;
        let Access::Indexed(sharding) = wanted.chain.access() else {
            return;
        };
        match (&self.cache, &wanted.slot) {
            (Some(_), Some(slot)) => {
                let mut slot = slot.clone();
                slot.pin = found.pin.light();
                if slot.pin.is_some() {
                    slot.keep(&wanted.shape, Held::Index(found.index, found.version));
                }
            }
            _ => array.indexes.insert(self.key.as_str(), found, sharding),
        }
    }

    /// The value that was read, if any.
    pub(crate) fn pin(&self) -> Option<&Pin> {
        self.pin.as_ref()
    }

    /// The whole value, if it is no longer the one that was read.
    pub(crate) fn again(&self, reread: &Reread<'_>) -> Result<Option<Content>, EngineCause> {
        let Some(pin) = &self.pin else {
            return Ok(None);
        };
        let Wanted { chain, shape, .. } = &self.root.wanted;
        reread.whole(&self.key, pin, chain.encoded_limit(shape))
    }

    /// Key of the value.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// An estimate of the bytes to be fetched, before anything is known.
    pub(crate) fn expected_bytes(&self) -> u64 {
        // A value is read whole, whatever part of it is wanted.
        let n = n_elements(&self.root.wanted.shape).unwrap_or(u64::MAX);
        n.saturating_mul(self.root.wanted.chain.elem_size() as u64)
    }

    /// The jobs that fill `tile`, which must have exactly the shape of the region. Jobs are
    /// independent of each other.
    ///
    /// # Errors
    /// None that a stored value could cause.
    pub fn jobs<'t>(&self, tile: Box<dyn Tile + 't>) -> Result<Jobs<'_, 't>, EngineCause> {
        Jobs::new(&self.root, tile)
    }
}
