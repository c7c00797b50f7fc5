//! Local files and disks: files of NumPy, incomplete results, damaged chunks, free space.

pub(crate) mod memory;
pub(crate) mod npy;
pub(crate) mod quarantine;
pub(crate) mod space;
pub(crate) mod staging;
pub(crate) mod stored;
