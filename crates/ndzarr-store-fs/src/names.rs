//! The names of files: where keys lie, and names that no key has, of lock files and temporaries.

pub(crate) mod key_path;
pub(crate) mod lock_names;
