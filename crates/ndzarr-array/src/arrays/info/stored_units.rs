//! What the keys of an array hold, encoded: shards, or chunks without shards.

use bytes::Bytes;
use ndzarr_codec::{Access, Workspace};
use ndzarr_grid::ChunkGrid;
use ndzarr_store::{
    Fetch, Fetched, Key, Listed, Of, Pin, Precondition, Prefix, Put, StoreError, Want,
};

use super::{ArrayInfo, no_chunks};
use crate::arrays::chunks::Chunks;
use crate::error::{Error, ErrorKind, Result};

impl ArrayInfo {
    /// The grid of the units, to be counted: none if the metadata has no valid grid.
    pub(crate) fn unit_grid(&self) -> ChunkGrid {
        self.grid()
            .unwrap_or_else(|_| no_chunks(self.shape().len()))
    }

    /// Does not check that the unit exists.
    pub(crate) fn unit_key(&self, unit: &[u64]) -> String {
        self.spec().keys.key(unit)
    }

    /// The key of a unit of the array.
    fn existing_unit(&self, unit: &[u64]) -> Result<Key> {
        self.chunk_ranges(unit, &self.grid()?)?;
        self.storage.named(Key::new(self.unit_key(unit)))
    }

    pub(crate) async fn is_unit_stored(&self, unit: &[u64]) -> Result<bool> {
        let key = self.existing_unit(unit)?;
        if self.storage.has(key.as_str()).await? {
            return Ok(true);
        }
        match self.spec().keys.fallback_key(unit) {
            Some(key) => self.storage.has(&key).await,
            None => self.absent_unit(unit).await.map(|()| false),
        }
    }

    /// After a unit was not found: fails if chunks lie under keys that the document does not state.
    async fn absent_unit(&self, unit: &[u64]) -> Result<()> {
        // Without its codecs it has no chunks that can be read.
        let Ok(data) = self.data() else { return Ok(()) };
        data.presence().note_absent(unit);
        self.check_presence().await
    }

    /// The number of the unit that a key is of, `None` beyond u64, and whether it is the usual key
    /// of the unit.
    fn number_of(&self, all: &Chunks, key: &Key) -> Option<(Option<u64>, bool)> {
        let keys = &self.spec().keys;
        let below = key.as_str().strip_prefix(&keys.prefix)?;
        let unit = keys.encoding.decode(below, self.shape().len())?;
        all.has(&unit)
            .then(|| (all.number(&unit), keys.encoding.encode(&unit) == below))
    }

    /// An error if there is a key of a unit beyond u64.
    fn check_numbered(&self, beyond: Option<Key>) -> Result<()> {
        let Some(key) = beyond else { return Ok(()) };
        let what = format!(
            "{key} is not listed: an array of shape {:?} has too many chunks",
            self.shape()
        );
        Err(self.name(Error::new(ErrorKind::Unsupported, what)))
    }

    /// The stored units inside the array, by a list of the keys and the lengths of values. Folders
    /// that cannot be listed, in which units may be, are passed on.
    pub(crate) async fn stored_units(
        &self,
        unlisted: &mut (dyn FnMut(Error) + Send),
    ) -> Result<Chunks> {
        let all = Chunks::new(self.unit_grid());
        let mut found = Vec::new();
        let mut others = Vec::new();
        let mut beyond = None;
        let mut mistaken = None;
        let mut take = |key: &Key, listed: Listed| {
            let byte_len = listed.byte_len();
            match (listed, self.number_of(&all, key)) {
                (Listed::Unlisted(error), _) => unlisted(self.name(error)),
                // The usual key counts, if the value is under another as well.
                (_, Some((Some(number), true))) => found.push((number, byte_len)),
                (_, Some((Some(number), false))) => others.push((number, byte_len)),
                (_, Some((None, _))) => beyond = Some(key.clone()),
                (_, None) if mistaken.is_none() && self.is_mistaken(&all, key) => {
                    mistaken = Some(key.clone())
                }
                (_, None) => {}
            }
        };
        self.storage
            .each_size(
                &self.spec().keys.prefix,
                &self.node.context.limits,
                &mut take,
            )
            .await?;
        self.check_numbered(beyond)?;
        found.extend(others);
        if found.is_empty() {
            self.check_mistaken(mistaken.as_ref().map(Key::as_str))?;
        }
        Ok(all.stored(found))
    }

    /// The stored units, if all folders can be listed.
    pub(crate) async fn all_stored_units(&self) -> Result<Chunks> {
        let mut first = None;
        let stored = self
            .stored_units(&mut |error| first = first.take().or(Some(error)))
            .await?;
        first.map_or(Ok(stored), Err)
    }

    /// The stored units inside the array, only by a list of the keys.
    pub(crate) async fn listed_units(&self) -> Result<Chunks> {
        Ok(self.listed_units_but(&mut |_| {}).await?.0)
    }

    /// [`listed_units`](Self::listed_units), which passes other keys on, and folders that cannot be
    /// those of chunks.
    pub(crate) async fn listed_units_but(
        &self,
        other: &mut (dyn FnMut(&Key) + Send),
    ) -> Result<(Chunks, Vec<Prefix>)> {
        let all = Chunks::new(self.unit_grid());
        let mut numbers = Vec::new();
        let mut beyond = None;
        let mut mistaken = None;
        let mut take = |key: &Key| match self.number_of(&all, key) {
            Some((Some(number), _)) => numbers.push(number),
            Some((None, _)) => beyond = Some(key.clone()),
            None => {
                if mistaken.is_none() && self.is_mistaken(&all, key) {
                    mistaken = Some(key.clone());
                }
                other(key);
            }
        };
        let keys = &self.spec().keys;
        let n_axes = self.shape().len();
        let folders = self
            .storage
            .chunk_keys(keys, n_axes, &self.node.context.limits, &mut take)
            .await?;
        self.check_numbered(beyond)?;
        if numbers.is_empty() {
            self.check_mistaken(mistaken.as_ref().map(Key::as_str))?;
        }
        Ok((all.listed(numbers), folders))
    }

    /// The encoded bytes of a unit; `None` if it is not stored.
    pub(crate) async fn encoded_unit(&self, unit: &[u64]) -> Result<Option<Bytes>> {
        Ok(self.pinned_unit(unit).await?.map(|(_, value)| value))
    }

    /// The encoded bytes of a unit, and the pin that names the value.
    pub(crate) async fn pinned_unit(&self, unit: &[u64]) -> Result<Option<(Pin, Bytes)>> {
        let key = self.existing_unit(unit)?;
        let grid = self.grid()?;
        let shape = grid.shape_of(unit);
        let limit = self
            .data()?
            .chain()
            .encoded_limit(shape.as_deref().unwrap_or(grid.chunk_shape()));
        let fetched = self
            .storage
            .fetch_whole(key, limit)
            .await
            .or_else(StoreError::or_missing);
        match self.storage.named(fetched)? {
            Fetched::Parts { pin, parts, .. } => {
                return Ok(parts.into_iter().next().map(|part| (pin, part)));
            }
            Fetched::Missing | Fetched::Changed => {}
        }
        let Some(key) = self.spec().keys.fallback_key(unit) else {
            return self.absent_unit(unit).await.map(|()| None);
        };
        self.storage.pinned_value(&key, limit).await
    }

    /// An error if an encoded value is shorter than any of its unit can be, as one that was cut is.
    pub(crate) fn check_not_cut(&self, unit: &[u64], byte_len: usize) -> Result<()> {
        let chain = self.data()?.chain();
        let grid = self.grid()?;
        let shape = grid.shape_of(unit);
        let expected = chain.encoded_len(shape.as_deref().unwrap_or(grid.chunk_shape()));
        let Some(expected) = expected.filter(|expected| byte_len < *expected) else {
            return Ok(());
        };
        let what = format!("it is cut: {byte_len} bytes are stored, of {expected}");
        let error = Error::new(ErrorKind::Corrupt, what).at_chunk(self.spec().keys.key(unit), unit);
        Err(self.name(error))
    }

    /// Reads the index of a shard, and checks where each of its entries leads. What is not a shard,
    /// or inside further codecs, has no index to be read by itself.
    pub(crate) async fn check_index(&self, unit: &[u64]) -> Result<()> {
        let key = self.existing_unit(unit)?;
        let chain = self.data()?.chain();
        let (Access::Indexed(sharding), Some(shape)) =
            (chain.access(), self.grid()?.shape_of(unit))
        else {
            return Ok(());
        };
        let shape = chain.stored(&shape);
        let layout = sharding.layout(&shape);
        let want = if layout.ends_with_index() {
            Want::Tail(layout.index_len())
        } else {
            Want::Ranges(vec![0..layout.index_len()])
        };
        let fetched = self
            .storage
            .fetch_raw(&Fetch {
                key: key.clone(),
                of: Of::Any,
                want,
            })
            .await;
        let (size, parts) = match self
            .storage
            .named(fetched.or_else(StoreError::or_missing))?
        {
            Fetched::Parts { size, parts, .. } => (size, parts),
            Fetched::Missing | Fetched::Changed => return Ok(()),
        };
        let encoded = parts.into_iter().next().unwrap_or_default();
        let check = || {
            let index = sharding.decode_index(&encoded, &shape, size, &mut Workspace::new())?;
            (0..index.n_chunks()).try_for_each(|number| index.entry(number).map(drop))
        };
        check().map_err(|error| self.name(Error::from(error).at_chunk(key.to_string(), unit)))
    }

    /// Replaces the encoded bytes of a unit, whatever its old content.
    pub(crate) async fn put_encoded_unit(&self, unit: &[u64], value: Bytes) -> Result<()> {
        let key = self.existing_unit(unit)?;
        self.confirm_keys().await?;
        match self.storage.put(&key, value, Precondition::None).await? {
            Put::Done(_) => Ok(()),
            Put::Conflict | Put::Unsupported => {
                Err(Error::new(ErrorKind::Store, "the store refused a write")
                    .in_store(|| self.storage.name()))
            }
        }
    }

    pub(crate) async fn erase_unit(&self, unit: &[u64]) -> Result<()> {
        let key = self.existing_unit(unit)?;
        self.confirm_keys().await?;
        // It would be read once the other is gone.
        if let Some(other) = self.spec().keys.fallback_key(unit) {
            self.storage.erase(&other).await?;
        }
        self.storage.erase(key.as_str()).await
    }

    /// The other key that some writers use for the value of a 0-d array.
    pub(super) fn scalar_fallback(&self) -> Option<String> {
        self.spec()
            .shape
            .is_empty()
            .then(|| self.spec().keys.fallback_key(&[]))
            .flatten()
    }

    /// Moves the value of a 0-d array to its proper key, if it is under the other key that some
    /// writers used. Otherwise it would reappear once the proper key is erased.
    pub(super) async fn move_scalar(&self) -> Result<()> {
        let Some(other) = self.scalar_fallback() else {
            return Ok(());
        };
        let limit = self.data()?.chain().encoded_limit(&self.spec().unit_shape);
        let Some(value) = self.storage.value(&other, limit).await? else {
            return Ok(());
        };
        let key = self.storage.named(self.data()?.key(&[]))?;
        let put = self
            .storage
            .put(&key, value.clone(), Precondition::Absent)
            .await?;
        if matches!(put, Put::Unsupported) && !self.storage.has(key.as_str()).await? {
            self.storage.put(&key, value, Precondition::None).await?;
        }
        self.storage.erase(&other).await
    }
}
