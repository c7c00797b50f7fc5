//! The test server, by raw HTTP. Expected answers come from the services' documentation.

mod client;
mod faults;
mod s3;
