//! Checks of stored data: damage, checksums, and consolidated metadata.

pub(crate) mod checksum;
pub(crate) mod consolidated;
pub(crate) mod damage;
pub(crate) mod finding;
