//! Several writers at the same time: threads, processes, hosts and other libraries; and their
//! readers.

pub(crate) mod appends;
pub(crate) mod attributes;
pub(crate) mod create;
pub(crate) mod dask;
pub(crate) mod hosts;
#[cfg(target_os = "linux")]
pub(crate) mod java;
pub(crate) mod one_unit;
pub(crate) mod peers;
pub(crate) mod torn;
