use std::ops::Range;

use bytes::Bytes;
use ndzarr_store::RangeMerging;

/// Ranges of one value, merged with their neighbours, and which of the wanted ones each serves.
#[derive(Clone, Debug)]
pub(crate) struct MergedRanges {
    merged: Vec<Range<u64>>,
    /// For each wanted range, in their order: which merged one holds it.
    home: Vec<usize>,
    wanted: Vec<Range<u64>>,
}

impl MergedRanges {
    pub(crate) fn new(wanted: Vec<Range<u64>>, rule: RangeMerging) -> Self {
        let mut by_start: Vec<usize> = (0..wanted.len()).collect();
        by_start.sort_by_key(|&i| (wanted[i].start, wanted[i].end));
        let mut merged: Vec<Range<u64>> = Vec::new();
        let mut home = vec![0; wanted.len()];
        for i in by_start {
            let range = &wanted[i];
            match merged.last_mut() {
                // Ranges that overlap are merged whatever their size; others up to the limits.
                Some(last)
                    if range.start < last.end
                        || (range.start - last.end <= rule.gap && range.end - last.start <= rule.max) =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => merged.push(range.clone()),
            }
            home[i] = merged.len() - 1;
        }
        Self { merged, home, wanted }
    }

    /// What to ask the store for.
    pub(crate) fn merged(&self) -> &[Range<u64>] {
        &self.merged
    }

    /// For each wanted range, in their order: which merged one holds it.
    pub(crate) fn homes(&self) -> &[usize] {
        &self.home
    }

    /// The wanted parts, in their order, from the merged ones.
    pub(crate) fn cut(&self, parts: &[Bytes]) -> Vec<Bytes> {
        self.wanted
            .iter()
            .zip(&self.home)
            .map(|(range, &home)| {
                let start = (range.start - self.merged[home].start) as usize;
                parts[home].slice(start..start + (range.end - range.start) as usize)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_up_to_the_limits() {
        let rule = RangeMerging { gap: 4, max: 20, piece: None };
        let merged = MergedRanges::new(vec![30..40, 0..5, 8..10, 3..4, 15..20], rule);
        assert_eq!(merged.merged(), [0..10, 15..20, 30..40]);
        let value: Vec<u8> = (0..40).collect();
        let parts: Vec<Bytes> = merged
            .merged()
            .iter()
            .map(|r| Bytes::copy_from_slice(&value[r.start as usize..r.end as usize]))
            .collect();
        let cut = merged.cut(&parts);
        assert_eq!(cut[0], &value[30..40]);
        assert_eq!(cut[3], &value[3..4]);
    }
}
