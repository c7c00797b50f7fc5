//! Writers that do not come to their end: killed processes, power cuts, dropped futures.

pub(crate) mod cancel;
pub(crate) mod kills;
pub(crate) mod power;
pub(crate) mod write_log;
