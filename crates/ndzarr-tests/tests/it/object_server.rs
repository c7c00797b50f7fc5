//! The test server, by raw HTTP. Expected answers come from the services' documentation.

mod azure;
mod client;
mod faults;
mod gcs;
mod s3;
mod web;
