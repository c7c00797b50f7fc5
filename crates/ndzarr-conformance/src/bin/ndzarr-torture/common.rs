//! What the workloads share: their input and output, other processes, arrays, and ways to run a
//! future.

pub(crate) mod drive;
pub(crate) mod foreign_writer;
pub(crate) mod layout;
pub(crate) mod process;
pub(crate) mod table;
pub(crate) mod torture;
