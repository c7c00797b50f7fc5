//! Buckets and web servers as stores.
#![forbid(unsafe_code)]
