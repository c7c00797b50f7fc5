//! The ranges that a request asks for.

use std::ops::Range;

use ndzarr_store::{Key, StoreError, Want};

/// The wanted ranges of a value of this size, in bytes. For `Whole` this is one range with all of
/// it.
pub(crate) fn ranges(want: &Want, key: &Key, size: u64) -> Result<Vec<Range<u64>>, StoreError> {
    match want {
        Want::Whole { limit } if size > *limit => Err(StoreError::TooLarge {
            key: key.clone(),
            size,
            limit: *limit,
        }),
        Want::Whole { .. } => Ok(vec![0..size]),
        Want::Tail(n) => Ok(vec![size.saturating_sub(*n)..size]),
        Want::Ranges(ranges) => {
            for &Range { start, end } in ranges {
                if start > end || end > size {
                    return Err(StoreError::OutOfRange {
                        key: key.clone(),
                        start,
                        end,
                        size,
                    });
                }
            }
            Ok(ranges.clone())
        }
        Want::Size => Ok(Vec::new()),
    }
}
