//! `Kept`: the values of a coordinate, from the first search for labels to the next write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::coordinate::Coordinate;

/// The values of a coordinate, if they were read since it was last written.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    values: Option<Arc<Coordinate>>,
    n_writes: u64,
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values; if there are none, how many writes have ended before they are read.
    pub(crate) fn get(&self) -> Result<Arc<Coordinate>, u64> {
        let state = self.state();
        state.values.clone().ok_or(state.n_writes)
    }

    /// Keeps values, unless a write has ended since there were `n_writes`: they may be older.
    pub(crate) fn keep(&self, values: &Arc<Coordinate>, n_writes: u64) {
        let mut state = self.state();
        if state.n_writes == n_writes {
            state.values = Some(Arc::clone(values));
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
        let mut state = self.0.state();
        state.values = None;
        state.n_writes += 1;
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
