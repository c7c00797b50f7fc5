//! The parts of a lock file.

/// The maximum size in bytes of a lock file that names its owner.
pub(crate) const OWNER_BYTES: usize = 512;

/// The part of a file that is locked. Systems that lock no parts lock the same for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it, as other programs do.
    Whole,
    /// Where a lock file names its owner.
    Owner,
    /// All but that, so that others can read the owner also where a lock forbids it, as on SMB.
    Rest,
}
