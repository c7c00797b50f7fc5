//! What is checked in what is stored: damage, checksums, and consolidated metadata.

pub(crate) mod checksum;
pub(crate) mod consolidated;
pub(crate) mod damage;
