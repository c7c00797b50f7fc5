//! `NoElements`: what a write that only trims gets its elements from.

use ndzarr_codec::VlenBuffer;

use crate::{EngineCause, Source};

/// A source without elements, for a write that only trims.
pub(crate) struct NoElements;

impl Source for NoElements {
    fn gather(&self, _: &[usize], _: &[usize], _: &mut [u8], _: usize, _: &[isize]) {}

    fn gather_vlen(
        &self,
        _: &[usize],
        _: &[usize],
        _: &mut VlenBuffer,
        _: usize,
        _: &[isize],
    ) -> Result<(), EngineCause> {
        Ok(())
    }

    fn is_dense(&self) -> bool {
        false
    }

    fn piece(&self, _: &[usize], _: &[usize]) -> Box<dyn Source + Send> {
        Box::new(Self)
    }
}
