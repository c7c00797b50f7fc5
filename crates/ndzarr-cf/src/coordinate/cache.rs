//! `Kept`: the values of a coordinate, from the first search for labels to the next write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use crate::coordinate::Coordinate;

/// The values of a coordinate, if they were read since it was last written.
///
/// Nothing waits for the lock, which a forked child may find locked for ever: the values are then read
/// again.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// With the number of writes that had ended before they were read.
    values: RwLock<Option<(u64, Arc<Coordinate>)>>,
    n_writes: AtomicU64,
}

impl Kept {
    /// The values; if there are none, how many writes have ended before they are read.
    pub(crate) fn get(&self) -> Result<Arc<Coordinate>, u64> {
        let n_writes = self.n_writes.load(Ordering::SeqCst);
        match self.values.try_read().ok().as_deref() {
            Some(Some((then, values))) if *then == n_writes => Ok(Arc::clone(values)),
            _ => Err(n_writes),
        }
    }

    /// Keeps values, unless a write has ended since there were `n_writes`: they may be older.
    pub(crate) fn keep(&self, values: &Arc<Coordinate>, n_writes: u64) {
        if let Ok(mut kept) = self.values.try_write() {
            *kept = Some((n_writes, Arc::clone(values)));
        }
    }

    /// Forgets the values when the result is dropped: also after a write that fails or is
    /// abandoned, since that may have written a part.
    pub(crate) fn until_written(&self) -> Forget<'_> {
        Forget(self)
    }
}

/// A write that has not ended.
#[derive(Debug)]
#[must_use]
pub(crate) struct Forget<'a>(&'a Kept);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.n_writes.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::attributes::Attributes;
    use crate::encoding::Encoding;

    #[test]
    fn values_that_were_read_before_a_write_ended_are_not_kept() {
        let float = ndzarr::DataType::Float { bits: 64 };
        let attributes = Attributes { variable: "x", all: &Map::new() };
        let encoding = Encoding::new(&float, attributes, None).expect("there is nothing wrong");
        let values = |number: f64| {
            let elements = ndzarr::ndarray::arr1(&[number]).into_dyn().into();
            Arc::new(Coordinate::new("x", &encoding, elements).expect("it is a number"))
        };
        let kept = Kept::default();
        let before = kept.get().expect_err("nothing was read");
        let write = kept.until_written();
        let during = kept.get().expect_err("nothing was read");
        drop(write);
        for n_writes in [before, during] {
            kept.keep(&values(1.0), n_writes);
            assert!(kept.get().is_err());
        }
        let (after, new) = (kept.get().expect_err("nothing was read"), values(2.0));
        kept.keep(&new, after);
        assert!(kept.get().is_ok_and(|values| Arc::ptr_eq(&values, &new)));
        drop(kept.until_written());
        assert!(kept.get().is_err());
    }
}
