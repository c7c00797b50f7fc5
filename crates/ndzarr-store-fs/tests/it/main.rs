//! The store on files of all kinds, and at the same time as other threads and processes.
#![forbid(unsafe_code)]

mod files;
#[cfg(target_os = "linux")]
mod in_place;
#[cfg(unix)]
mod links;
mod processes;
#[cfg(windows)]
mod windows;
