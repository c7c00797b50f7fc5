//! Connections: requests and answers, the faults that are injected, and the counts.

pub(super) mod answer;
pub(super) mod connection;
pub(super) mod faults;
pub(super) mod request;
pub(super) mod server;
mod stream;
pub(super) mod traffic;
