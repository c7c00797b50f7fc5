//! The operating system and its file systems: every call of it, its errors, and what they support.

pub(crate) mod devices;
pub(crate) mod file_system;
pub(crate) mod host;
pub(crate) mod identity;
pub(crate) mod os_error;
pub(crate) mod stat;
pub(crate) mod syscalls;
