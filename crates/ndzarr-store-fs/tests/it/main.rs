//! The store on files of all kinds, and beside other threads and processes.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod files;
mod links;
mod processes;
