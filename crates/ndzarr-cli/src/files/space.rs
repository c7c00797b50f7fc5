//! Free space: what a copy is expected to take on local disks, and what is free there.

use std::path::Path;

use ndzarr::codec::CodecSpec;
use ndzarr::{AnyArray, DataType, ErrorKind};

use crate::arguments::sizes;
use crate::arguments::{Found, local_folder};
use crate::failure::Failure;
use crate::files::memory::{self, Disk};
use crate::files::stored::Stored;
use crate::output::describe;

/// What changes the size of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'c> {
    pub(crate) data_type: Option<&'c DataType>,
    pub(crate) codecs: Option<&'c [CodecSpec]>,
    /// The shape of what is copied, if that is not all of an array.
    pub(crate) part: Option<&'c [u64]>,
}

/// What a copy is expected to take, in bytes, and the disks that it goes to; `None` on other machines.
#[derive(Debug, Default)]
pub(crate) struct Space {
    copy: u64,
    temporary: u64,
    at_target: Option<Disk>,
    /// Behind `--temp`; otherwise it is beside the copy.
    at_temporary: Option<Option<Disk>>,
}

impl Space {
    /// The disks alone.
    pub(crate) fn of_disks(target: &Path, temporary: Option<&Path>) -> Self {
        let disk = |place: &Path| local_folder(place).and_then(|folder| memory::disk(&folder));
        Self { at_target: disk(target), at_temporary: temporary.map(disk), ..Self::default() }
    }

    /// Whether copies of arrays of this size fit in any case: not compressed, and with a temporary.
    pub(crate) fn is_plenty(&self, bytes: u64) -> bool {
        let disks = [self.at_target, self.at_temporary.flatten()];
        disks.into_iter().flatten().all(|disk| disk.free / 2 >= bytes)
    }

    /// With what arrays take at the source, as far as they can be listed, since it is not known how well
    /// another codec compresses. Beside each one is the size of its temporary array.
    pub(crate) fn with_copies<'a>(
        mut self,
        arrays: impl Iterator<Item = (&'a AnyArray, u64)>,
        change: Change<'_>,
    ) -> Result<Self, Failure> {
        for (array, temporary) in arrays {
            let Some(stored) = Stored::of(array)? else { continue };
            let part = |bytes: u64| scaled(bytes, stored.n, stored.of);
            let plain = change.codecs.is_some_and(<[_]>::is_empty);
            let bytes = describe::byte_len(array).filter(|_| plain).map_or(stored.bytes, part);
            self.copy = self.copy.saturating_add(change.resized(bytes, array));
            // One at a time.
            self.temporary = self.temporary.max(part(temporary));
        }
        Ok(self)
    }

    /// With the space of what the copy replaces.
    pub(crate) fn replacing(mut self, arrays: &[Found]) -> Result<Self, Failure> {
        let Some(disk) = &mut self.at_target else { return Ok(self) };
        for array in arrays.iter().filter_map(|found| found.array.as_ref().ok()) {
            let stored = match Stored::of(array) {
                Err(error) if error.kind() == ErrorKind::InvalidMetadata => None,
                stored => stored?,
            };
            disk.free = disk.free.saturating_add(stored.map_or(0, |stored| stored.bytes));
        }
        Ok(self)
    }

    /// What is free at the target.
    pub(crate) fn free(&self) -> Option<u64> {
        self.at_target.map(|disk| disk.free)
    }

    /// What is expected at the target for the copy alone.
    pub(crate) fn copy(&self) -> u64 {
        self.copy
    }

    /// What is missing: where, how much is needed, and how much is free.
    pub(crate) fn lack(&self) -> Option<String> {
        let is_beside = match self.at_temporary {
            None => true,
            Some(disk) => disk.zip(self.at_target).is_some_and(|(a, b)| a.id == b.id),
        };
        let beside = if is_beside { self.temporary } else { 0 };
        let needs = [
            ("the target", self.at_target, self.copy.saturating_add(beside)),
            ("the place of --temp", self.at_temporary.flatten(), self.temporary),
        ];
        needs.into_iter().find_map(|(place, disk, needed)| {
            let free = disk?.free;
            (free < needed).then(|| {
                let (needed, free) = (sizes::shown(needed), sizes::shown(free));
                format!("{place} has {free} of free space, and about {needed} are needed")
            })
        })
    }
}

impl Change<'_> {
    /// What bytes of all of an array become: of the part that is copied, with elements of the new size.
    pub(crate) fn resized(self, bytes: u64, array: &AnyArray) -> u64 {
        let bytes = self.part.map_or(bytes, |part| {
            let n = |shape: &[u64]| shape.iter().fold(1, |n: u64, &len| n.saturating_mul(len));
            scaled(bytes, n(part), n(array.shape()))
        });
        match (array.data_type().elem_size(), self.data_type.and_then(DataType::elem_size)) {
            (Some(from), Some(to)) => scaled(bytes, to as u64, from as u64),
            _ => bytes,
        }
    }
}

fn scaled(bytes: u64, by: u64, of: u64) -> u64 {
    let bytes = u128::from(bytes) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(id: u64, free: u64) -> Option<Disk> {
        Some(Disk { id, free })
    }

    #[test]
    fn cli_10_each_disk_needs_space_for_what_it_gets() {
        let space = |at_target, at_temporary| {
            Space { copy: 10 << 10, temporary: 40 << 10, at_target, at_temporary }.lack()
        };
        // Both on one disk, by default or by --temp.
        assert_eq!(space(disk(1, 50 << 10), None), None);
        let both = "the target has 49.0 KiB of free space, and about 50.0 KiB are needed";
        assert_eq!(space(disk(1, 49 << 10), None).as_deref(), Some(both));
        assert_eq!(space(disk(1, 49 << 10), Some(disk(1, 49 << 10))).as_deref(), Some(both));
        assert_eq!(space(disk(1, 10 << 10), Some(disk(2, 40 << 10))), None);
        let temp = "the place of --temp has 39.0 KiB of free space, and about 40.0 KiB are needed";
        assert_eq!(space(disk(1, 10 << 10), Some(disk(2, 39 << 10))).as_deref(), Some(temp));
        // On other machines.
        assert_eq!(space(None, Some(disk(2, 40 << 10))), None);
        assert_eq!(space(disk(1, 10 << 10), Some(None)), None);
        assert_eq!(space(None, None), None);
    }

    #[test]
    fn cli_10_twice_the_elements_is_plenty() {
        let space = |at_temporary| Space { at_target: disk(1, 20), at_temporary, ..Space::default() };
        assert!(space(None).is_plenty(10) && !space(None).is_plenty(11));
        assert!(!space(Some(disk(2, 19))).is_plenty(10));
    }
}
