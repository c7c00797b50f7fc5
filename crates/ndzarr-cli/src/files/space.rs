//! Free space: the expected size of a copy on local disks, and their free space.

use std::path::Path;

use ndzarr::codec::CodecSpec;
use ndzarr::{AnyArray, DataType, ErrorKind};

use crate::arguments::{FoundArray, local_folder, sizes};
use crate::failure::Failure;
use crate::files::memory::{self, Disk};
use crate::files::stored::Stored;
use crate::output::describe;

/// The changes of a copy that change its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'c> {
    pub(crate) data_type: Option<&'c DataType>,
    pub(crate) codecs: Option<&'c [CodecSpec]>,
    /// The shape of the copied part, if that is not all of an array.
    pub(crate) part: Option<&'c [u64]>,
}

/// The expected size of a copy, in bytes, and the disks that it goes to; `None` on other machines.
#[derive(Debug, Default)]
pub(crate) struct Space {
    copy: u64,
    temporary: u64,
    target_disk: Option<Disk>,
    /// The disk of `--temp`; without it, temporary arrays are next to the copy.
    temporary_disk: Option<Option<Disk>>,
}

impl Space {
    /// Only the disks, without sizes.
    pub(crate) fn of_disks(target: &Path, temporary: Option<&Path>) -> Self {
        let disk = |place: &Path| local_folder(place).and_then(|folder| memory::disk(&folder));
        Self {
            target_disk: disk(target),
            temporary_disk: temporary.map(disk),
            ..Self::default()
        }
    }

    /// True if copies of arrays of this size fit in any case: uncompressed, and with a temporary
    /// array.
    pub(crate) fn is_ample(&self, bytes: u64) -> bool {
        let disks = [self.target_disk, self.temporary_disk.flatten()];
        disks
            .into_iter()
            .flatten()
            .all(|disk| disk.free / 2 >= bytes)
    }

    /// Adds the sizes of arrays, each with the size of its temporary array. The size of a copy is
    /// that of the source, as far as it can be listed, since it is not known how well another codec
    /// compresses.
    pub(crate) fn with_copies<'a>(
        mut self,
        arrays: impl Iterator<Item = (&'a AnyArray, u64)>,
        change: Change<'_>,
    ) -> Result<Self, Failure> {
        for (array, temporary) in arrays {
            let Some(stored) = Stored::of(array)? else {
                continue;
            };
            let stored_part = |bytes: u64| scaled(bytes, stored.n, stored.n_all);
            let is_uncompressed = change.codecs.is_some_and(<[_]>::is_empty);
            let bytes = match describe::byte_len(array) {
                Some(bytes) if is_uncompressed => stored_part(bytes),
                _ => stored.bytes,
            };
            self.copy = self.copy.saturating_add(change.resized(bytes, array));
            // Only one exists at a time.
            self.temporary = self.temporary.max(stored_part(temporary));
        }
        Ok(self)
    }

    /// Adds the space of the arrays that the copy replaces.
    pub(crate) fn replacing(mut self, arrays: &[FoundArray]) -> Result<Self, Failure> {
        let Some(disk) = &mut self.target_disk else {
            return Ok(self);
        };
        for array in arrays.iter().filter_map(|found| found.array.as_ref().ok()) {
            let stored = match Stored::of(array) {
                Err(error) if error.kind() == ErrorKind::InvalidMetadata => None,
                stored => stored?,
            };
            disk.free = disk
                .free
                .saturating_add(stored.map_or(0, |stored| stored.bytes));
        }
        Ok(self)
    }

    /// The free bytes at the target.
    pub(crate) fn free(&self) -> Option<u64> {
        self.target_disk.map(|disk| disk.free)
    }

    /// The expected size of the copy, without temporary arrays.
    pub(crate) fn copy(&self) -> u64 {
        self.copy
    }

    /// A message about the place that has too little space; `None` if there is enough.
    pub(crate) fn shortage(&self) -> Option<String> {
        let is_one_disk = match self.temporary_disk {
            None => true,
            Some(disk) => disk
                .zip(self.target_disk)
                .is_some_and(|(a, b)| a.id == b.id),
        };
        let temporary = if is_one_disk { self.temporary } else { 0 };
        let needs = [
            (
                "the target",
                self.target_disk,
                self.copy.saturating_add(temporary),
            ),
            (
                "the place of --temp",
                self.temporary_disk.flatten(),
                self.temporary,
            ),
        ];
        for (place, disk, needed) in needs {
            if let Some(Disk { free, .. }) = disk
                && free < needed
            {
                let needed = sizes::shown(needed);
                let free = sizes::shown(free);
                return Some(format!(
                    "{place} has {free} of free space, and about {needed} are needed"
                ));
            }
        }
        None
    }
}

impl Change<'_> {
    /// The size of the copied part of an array, with elements of the new size, if all of it has
    /// `bytes`.
    pub(crate) fn resized(self, bytes: u64, array: &AnyArray) -> u64 {
        let bytes = self.part.map_or(bytes, |part| {
            let n = |shape: &[u64]| shape.iter().fold(1, |n: u64, &len| n.saturating_mul(len));
            scaled(bytes, n(part), n(array.shape()))
        });
        match (
            array.data_type().elem_size(),
            self.data_type.and_then(DataType::elem_size),
        ) {
            (Some(from), Some(to)) => scaled(bytes, to as u64, from as u64),
            _ => bytes,
        }
    }
}

/// `bytes * numerator / denominator`.
fn scaled(bytes: u64, numerator: u64, denominator: u64) -> u64 {
    let bytes = u128::from(bytes) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(id: u64, free: u64) -> Option<Disk> {
        Some(Disk { id, free })
    }

    #[test]
    fn cli_10_each_disk_needs_space_for_its_part() {
        let space = |target_disk, temporary_disk| {
            Space {
                copy: 10 << 10,
                temporary: 40 << 10,
                target_disk,
                temporary_disk,
            }
            .shortage()
        };
        // Both on one disk, by default or by --temp.
        assert_eq!(space(disk(1, 50 << 10), None), None);
        let both = "the target has 49.0 KiB of free space, and about 50.0 KiB are needed";
        assert_eq!(space(disk(1, 49 << 10), None).as_deref(), Some(both));
        assert_eq!(
            space(disk(1, 49 << 10), Some(disk(1, 49 << 10))).as_deref(),
            Some(both)
        );
        assert_eq!(space(disk(1, 10 << 10), Some(disk(2, 40 << 10))), None);
        let temp = "the place of --temp has 39.0 KiB of free space, and about 40.0 KiB are needed";
        assert_eq!(
            space(disk(1, 10 << 10), Some(disk(2, 39 << 10))).as_deref(),
            Some(temp)
        );
        // On other machines.
        assert_eq!(space(None, Some(disk(2, 40 << 10))), None);
        assert_eq!(space(disk(1, 10 << 10), Some(None)), None);
        assert_eq!(space(None, None), None);
    }

    #[test]
    fn cli_10_twice_the_elements_is_ample() {
        let space = |temporary_disk| Space {
            target_disk: disk(1, 20),
            temporary_disk,
            ..Space::default()
        };
        assert!(space(None).is_ample(10) && !space(None).is_ample(11));
        assert!(!space(Some(disk(2, 19))).is_ample(10));
    }
}
