//! `Cache`: the values of a coordinate, from the first search for labels to the next write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::coordinate::Coordinate;

/// The values of a coordinate, if they were read since it was last written.
///
/// Nothing waits for the lock, since it may stay locked for ever in a forked child: the values are
/// then read again.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The values, with the number of writes that had ended before they were read.
    values: RwLock<Option<(u64, Arc<Coordinate>)>>,
    /// The number of writes that have ended.
    n_writes: AtomicU64,
}

impl Cache {
    /// The values; if there are none, the number of writes that have ended until now, which
    /// [`set`](Self::set) takes after the values are read.
    pub(crate) fn get(&self) -> Result<Arc<Coordinate>, u64> {
        let n_writes = self.n_writes.load(Ordering::SeqCst);
        match self.values.try_read().ok().as_deref() {
            Some(Some((then, values))) if *then == n_writes => Ok(Arc::clone(values)),
            _ => Err(n_writes),
        }
    }

    /// Stores values that were read after `n_writes` writes. They are not returned if more writes
    /// have ended, since they may be older.
    pub(crate) fn set(&self, values: &Arc<Coordinate>, n_writes: u64) {
        if let Ok(mut current) = self.values.try_write() {
            *current = Some((n_writes, Arc::clone(values)));
        }
    }

    /// Begins a write. Dropping the result ends it, and invalidates the values, also if the write
    /// failed or was abandoned, since it may have written a part.
    pub(crate) fn begin_write(&self) -> WriteInProgress<'_> {
        WriteInProgress { cache: self }
    }
}

/// A write that has not ended.
#[derive(Debug)]
#[must_use]
pub(crate) struct WriteInProgress<'a> {
    cache: &'a Cache,
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        self.cache.n_writes.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::attributes::Attributes;
    use crate::encoding::Encoding;

    #[test]
    fn values_that_were_read_before_a_write_ended_are_not_returned() {
        let float = ndzarr::DataType::Float { bits: 64 };
        let attributes = Attributes {
            variable: "x",
            all: &Map::new(),
        };
        let encoding = Encoding::new(&float, attributes, None).expect("there is nothing wrong");
        let values = |number: f64| {
            let elements = ndzarr::ndarray::arr1(&[number]).into_dyn().into();
            Arc::new(Coordinate::new("x", &encoding, elements).expect("it is a number"))
        };
        let cache = Cache::default();
        let before = cache.get().expect_err("nothing was read");
        let write = cache.begin_write();
        let during = cache.get().expect_err("nothing was read");
        drop(write);
        for n_writes in [before, during] {
            cache.set(&values(1.0), n_writes);
            assert!(cache.get().is_err());
        }
        let after = cache.get().expect_err("nothing was read");
        let new = values(2.0);
        cache.set(&new, after);
        assert!(cache.get().is_ok_and(|values| Arc::ptr_eq(&values, &new)));
        drop(cache.begin_write());
        assert!(cache.get().is_err());
    }
}
